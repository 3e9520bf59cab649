"""N-gram models in the form of an ARPA file: what each known n-gram has, and how to go on where it is not known."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.core.ngrams.counts import NEVER, Counts, of_the_word_before
from pipeline.core.ngrams.model import Model

START, _ = MARKS = ("<s>", "</s>")  # of sentences: this project has none, and other tools insist on them
IMPOSSIBLE = -99  # how an ARPA file writes a probability of zero
LN10 = math.log(10)


@dataclass(frozen=True)
class Backoff(Model):
    """log P(w | h) = log_p of hw where it is known, else log_backoff of h + log P(w | h without its first word)."""

    counts: Counts  # its tables say which n-grams are known
    log_p: list[np.ndarray]  # natural log, [k-1] (N_k,) of k-grams; NaN: not known after all
    log_backoff: list[np.ndarray]  # [k-1] (N_k,) of each k-gram as a context, k < n

    @property
    def order(self) -> int:
        """n of the longest n-grams."""
        return self.counts.order

    @property
    def vocabulary(self) -> int:
        """V, words."""
        return self.counts.vocabulary

    def log_probabilities(self, before: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """See Model."""
        skip = min(self.counts.order - 1, len(before))
        stream = np.concatenate([before[len(before) - skip :], ids])
        places = self.counts.places(stream)
        result = self.log_p[0][stream]
        for k in range(2, self.counts.order + 1):
            context = of_the_word_before(places[k - 2])
            own = np.where(places[k - 1] == NEVER, np.nan, self.log_p[k - 1][places[k - 1]])
            passed_on = result + np.where(context == NEVER, 0, self.log_backoff[k - 2][context])
            result = np.where(np.isnan(own), passed_on, own)
        return result[skip:].astype(np.float32)

    def arpa(self, vocabulary: Sequence[str]) -> Iterator[str]:
        """The lines of the model's ARPA file over this vocabulary, which gets `<s>` and `</s>` at -99. See arpa.py."""
        marks, tables, log_p = [mark for mark in MARKS if mark not in vocabulary], self.counts.tables, list(self.log_p)
        contexts, last = zip(*(np.divmod(table.keys, len(vocabulary)) for table in tables), strict=True)
        kept = [~np.isnan(each) for each in log_p]
        for k in range(len(kept) - 1, 1, -1):
            # What a longer n-gram begins or ends with stays, with what back-off makes of it: other tools want it there.
            kept[k - 1][contexts[k][kept[k]]] = True
            kept[k - 1][tables[k].suffixes[kept[k]]] = True
        for k in range(1, len(kept) - 1):
            passed_on = self.log_backoff[k - 1][contexts[k]] + log_p[k - 1][tables[k].suffixes]
            log_p[k] = np.where(np.isnan(log_p[k]), passed_on, log_p[k])

        yield "\\data\\"
        for k, chosen in enumerate(kept):
            yield f"ngram {k + 1}={int(chosen.sum()) + (0 if k else len(marks))}"
        texts = words = np.array(vocabulary, dtype=object)
        for k, chosen in enumerate(kept):
            yield from ("", f"\\{k + 1}-grams:")
            if k:
                texts = texts[contexts[k]] + " " + words[last[k]]
            else:
                yield from (f"{IMPOSSIBLE}\t{mark}\t0" for mark in marks)
            lines = (f"{p:.7g}\t{text}" for p, text in zip(log_p[k][chosen] / LN10, texts[chosen], strict=True))
            if k + 1 < len(kept):
                backoff = self.log_backoff[k][chosen] / LN10
                lines = (f"{line}\t{weight:.7g}" for line, weight in zip(lines, backoff, strict=True))
            yield from lines
        yield from ("", "\\end\\")
