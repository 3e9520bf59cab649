"""Perplexity, and the share for words of the vocabulary that training never shows."""

import math

import numpy as np

from pipeline.core.common.errors import InputError
from pipeline.core.common.mixture import fit_weights


def perplexity(log_probabilities: np.ndarray) -> float:
    """exp of the mean negative natural-log probability over all tokens; summed in float64, divided once.

    Raises InputError where that is more than a number can hold.
    """
    if not len(log_probabilities):
        return math.nan
    nats = -np.sum(log_probabilities, dtype=np.float64) / len(log_probabilities)
    try:
        return math.exp(nats)
    except OverflowError:
        raise InputError(f"{nats:.3g} nats a word: no model of words gives them so little probability") from None


def unseen_words(train: np.ndarray, vocabulary: int) -> np.ndarray:
    """Mask (V,) of the words that never occur in the training ids."""
    return np.bincount(train, minlength=vocabulary) == 0


def fit_share(log_probabilities: np.ndarray, ids: np.ndarray, unseen: np.ndarray) -> float:
    """e of P' = (1 - e) P + e [w unseen] / N_unseen, by EM on these tokens (validation); 0 where N_unseen = 0.

    The paper counts the vocabulary over the whole stream, so some of its words never occur in the training part,
    and what a model happens to give them decides much of its perplexity. Every base model gets the same last step.
    """
    if not unseen.any():
        return 0.0
    return float(fit_weights(np.stack([log_probabilities, _uniform(ids, unseen)]))[1])


def apply_share(log_probabilities: np.ndarray, ids: np.ndarray, unseen: np.ndarray, share: float) -> np.ndarray:
    """log P' (T,) float32, from log P (T,) and the ids it was given to."""
    if share == 0:
        return log_probabilities
    own = log_probabilities + math.log1p(-share)
    return np.logaddexp(own, _uniform(ids, unseen) + math.log(share)).astype(np.float32)


def _uniform(ids: np.ndarray, unseen: np.ndarray) -> np.ndarray:
    """log of [w unseen] / N_unseen for each token."""
    with np.errstate(divide="ignore"):
        return np.log(unseen / unseen.sum())[ids]


def treat(raw: dict[str, np.ndarray], ids: dict[str, np.ndarray], unseen: np.ndarray) -> tuple[dict, dict]:
    """The log-probabilities (T,) of valid and test with the share for unseen words, fitted on validation; and the
    perplexities of all splits: as the model gives them (`_raw`), with the share, and of seen words alone (`_seen`).

    raw: log P (T,) of every token of valid and test, and of train where it was computed; ids: of the same splits.
    """
    share = fit_share(raw["valid"], ids["valid"], unseen)
    treated, metrics = {}, {"share": share}
    for split, array in raw.items():
        if split == "train":
            metrics["train"] = perplexity(array)
            continue
        treated[split] = apply_share(array, ids[split], unseen, share)
        metrics[split] = perplexity(treated[split])
        metrics[f"{split}_raw"] = perplexity(array)
        metrics[f"{split}_seen"] = perplexity(treated[split][~unseen[ids[split]]])
    return treated, metrics
