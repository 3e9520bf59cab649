"""N-gram models in the form of an ARPA file: what each known n-gram has, and how to go on where it is not known."""

from dataclasses import dataclass

import numpy as np

from pipeline.core.ngrams.counts import NEVER, Counts, of_the_word_before
from pipeline.core.ngrams.model import Model


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
