"""Word features for words outside the vocabulary (paper, section 5.1): log-probabilities of held-out words, and of
the words after them, with and without such features.

Words of the vocabulary that never occur in training play the held-out words. At its first occurrence in a split, a
held-out word gets the features that the network expects there, and keeps them. The words after it are scored three
times: `merged`, with the symbol `<unk>` in its place; `untrained`, with the features that the network has for it, which
training has not fitted; `expected`, with the new features. A network that scores pairs of word and context can also
score the held-out word itself, from its second occurrence on.
"""

import numpy as np
import torch

from pipeline.core.beyond import new_words
from pipeline.core.common.errors import InputError, Watcher
from pipeline.core.networks.base import BATCH, Network, contexts, score


def log_probabilities(
    network: Network, ids: np.ndarray, before: np.ndarray, mark: int, counts: np.ndarray, unknown: int, watch: Watcher
) -> tuple[int, dict[str, tuple[np.ndarray, dict[str, np.ndarray]]]]:
    """The number of held-out words; and for each line the places (T,) of its tokens, with their log P (T,) by kind of
    scoring.

    Lines: `after`, the tokens with a held-out word in their context; `itself`, the held-out words from their second
    occurrence on. ids: a split; before: the words that precede it; counts: (V,) of training; unknown: id of `<unk>`.
    The features of `expected` are used in contexts only, and targets keep their output weights; in the line `itself`
    they are used for the targets too, with the mean bias of the rarest trained words. Raises InputError where the split
    has no held-out word.
    """
    ids, n = ids.astype(np.int64), network.architecture.n
    held_out = (counts == 0) & (np.arange(len(counts)) != unknown)
    places = np.flatnonzero(held_out[ids])
    if not len(places):
        raise InputError("no word of the vocabulary is missing in training and in this split, so none can be held out")
    words, first, number = np.unique(ids[places], return_index=True, return_inverse=True)
    context = contexts(ids, before, n, mark)
    features = _expected(network, context[places[first]], watch)
    merged, renamed = ids.copy(), ids.copy()
    merged[places], renamed[places] = unknown, len(network.b) + number  # the ids of with_words
    merged, renamed = (contexts(stream, before, n, mark) for stream in (merged, renamed))

    after = np.flatnonzero((renamed >= len(network.b)).any(1))
    larger = new_words.with_words(network, features)
    scored = {
        "merged": score(network, merged[after], ids[after]),
        "untrained": score(network, context[after], ids[after]),
        "expected": score(larger, renamed[after], ids[after]),
    }
    lines = {"after": (after, scored)}
    if new_words.scores_new_words(network):
        again, target = np.delete(places, first), len(network.b) + np.delete(number, first)
        larger = new_words.with_words(network, features, _rare_bias(network, counts).expand(len(words)))
        scored = {
            "untrained": score(network, context[again], ids[again]),
            "expected": score(larger, renamed[again], target),
        }
        lines["itself"] = again, scored
    return len(words), lines


def _expected(network: Network, context: np.ndarray, watch: Watcher) -> torch.Tensor:
    """The features that a network expects after each context (B, n-1), (B, m)."""
    watch.begin(len(context))
    features = []
    for part in torch.from_numpy(context).split(BATCH // 4):
        features.append(new_words.expected_features(network, part))
        watch.advance(len(part))
    return torch.cat(features)


def _rare_bias(network: Network, counts: np.ndarray) -> torch.Tensor:
    """The mean bias (1,) of the words that training shows least often."""
    return network.b.detach()[torch.from_numpy(counts == counts[counts > 0].min())].mean().reshape(1)
