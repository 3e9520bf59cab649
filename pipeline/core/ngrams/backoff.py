"""N-gram models in back-off form, as in an ARPA file: probabilities of known n-grams, back-off weights for others."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.core.ngrams.counts import NEVER, Counts, of_the_word_before
from pipeline.core.ngrams.model import Model

START, _ = MARKS = ("<s>", "</s>")  # of sentences: not in our streams, but other tools require them
IMPOSSIBLE = -99  # how an ARPA file writes a probability of zero
LN10 = math.log(10)


@dataclass(frozen=True)
class Backoff(Model):
    """log P(w | h) = log_p of hw where it is known, else log_backoff of h + log P(w | h without its first word)."""

    counts: Counts  # its tables say which n-grams are known
    log_p: list[np.ndarray]  # natural log, [k-1] (N_k,) of k-grams; NaN: not known, though in the table
    log_backoff: list[np.ndarray]  # natural log, [k-1] (N_k,) of each k-gram as a context, k < n

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
            known = np.where(places[k - 1] == NEVER, np.nan, self.log_p[k - 1][places[k - 1]])
            backed_off = result + np.where(context == NEVER, 0, self.log_backoff[k - 2][context])
            result = np.where(np.isnan(known), backed_off, known)
        return result[skip:].astype(np.float32)

    def arpa(self, vocabulary: Sequence[str]) -> Iterator[str]:
        """The lines of the model's ARPA file over this vocabulary, with `<s>` and `</s>` added at -99. See arpa.py."""
        marks = [mark for mark in MARKS if mark not in vocabulary]
        tables, log_p = self.counts.tables, list(self.log_p)
        contexts, last = zip(*(np.divmod(table.keys, len(vocabulary)) for table in tables), strict=True)
        masks = [~np.isnan(array) for array in log_p]  # [k-1] (N_k,): the k-grams of the file
        for k in range(len(masks) - 1, 1, -1):
            # Other tools require a line for the first and the last words of each longer n-gram: its probability is then
            # the backed-off one.
            masks[k - 1][contexts[k][masks[k]]] = True
            masks[k - 1][tables[k].suffixes[masks[k]]] = True
        for k in range(1, len(masks) - 1):
            backed_off = self.log_backoff[k - 1][contexts[k]] + log_p[k - 1][tables[k].suffixes]
            log_p[k] = np.where(np.isnan(log_p[k]), backed_off, log_p[k])

        yield "\\data\\"
        for k, mask in enumerate(masks):
            yield f"ngram {k + 1}={int(mask.sum()) + (0 if k else len(marks))}"
        texts = words = np.array(vocabulary, dtype=object)
        for k, mask in enumerate(masks):
            yield from ("", f"\\{k + 1}-grams:")
            if k:
                texts = texts[contexts[k]] + " " + words[last[k]]
            else:
                yield from (f"{IMPOSSIBLE}\t{mark}\t0" for mark in marks)
            lines = (f"{p:.7g}\t{text}" for p, text in zip(log_p[k][mask] / LN10, texts[mask], strict=True))
            if k + 1 < len(masks):
                backoff = self.log_backoff[k][mask] / LN10
                lines = (f"{line}\t{weight:.7g}" for line, weight in zip(lines, backoff, strict=True))
            yield from lines
        yield from ("", "\\end\\")
