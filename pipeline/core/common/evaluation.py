"""Perplexity, and the correction for unseen words: words of the vocabulary that never occur in training."""

import math

import numpy as np

from pipeline.core.common.errors import InputError
from pipeline.core.common.mixture import fit_weights


def perplexity(log_probabilities: np.ndarray) -> float:
    """exp of the mean negative natural-log probability over all tokens; summed in float64, divided once.

    NaN for no tokens. Raises InputError where the result overflows.
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


def fit_correction(log_probabilities: np.ndarray, ids: np.ndarray, unseen: np.ndarray) -> float:
    """e of the correction P' = (1 - e) P + e [w unseen] / N_unseen, by EM on these tokens (validation); 0 where
    N_unseen = 0.

    The paper counts the vocabulary over the whole stream, so some of its words never occur in the training part. The
    arbitrary probabilities that a model gives to them decide much of its perplexity. All base models are corrected in
    the same way.
    """
    if not unseen.any():
        return 0.0
    return float(fit_weights(np.stack([log_probabilities, _uniform(ids, unseen)]))[1])


def apply_correction(
    log_probabilities: np.ndarray, ids: np.ndarray, unseen: np.ndarray, correction: float
) -> np.ndarray:
    """The corrected log P' (T,) float32, from log P (T,) of the tokens `ids` (T,). correction: the e of
    fit_correction."""
    if correction == 0:
        return log_probabilities
    log_weighted = log_probabilities + math.log1p(-correction)
    return np.logaddexp(log_weighted, _uniform(ids, unseen) + math.log(correction)).astype(np.float32)


def _uniform(ids: np.ndarray, unseen: np.ndarray) -> np.ndarray:
    """log of [w unseen] / N_unseen for each token."""
    with np.errstate(divide="ignore"):
        return np.log(unseen / unseen.sum())[ids]


def treat(raw: dict[str, np.ndarray], ids: dict[str, np.ndarray], unseen: np.ndarray) -> tuple[dict, dict]:
    """The log-probabilities (T,) of valid and test corrected for unseen words; the weight e of the correction, which is
    fitted on validation (`correction`); and the perplexities of these splits: uncorrected (`_raw`), corrected
    (`_corrected`), and corrected over the tokens of seen words (`_corrected_seen`). Train has only `train_raw`.

    raw: uncorrected log P (T,) of every token of valid and test, and of train where it was computed; ids: of the same
    splits.
    """
    correction = fit_correction(raw["valid"], ids["valid"], unseen)
    treated, metrics = {}, {"correction": correction}
    for split, array in raw.items():
        if split == "train":
            metrics["train_raw"] = perplexity(array)
            continue
        treated[split] = apply_correction(array, ids[split], unseen, correction)
        metrics[f"{split}_raw"] = perplexity(array)
        metrics[f"{split}_corrected"] = perplexity(treated[split])
        metrics[f"{split}_corrected_seen"] = perplexity(treated[split][~unseen[ids[split]]])
    return treated, metrics
