"""What a word outside the vocabulary gains from features of its own (paper, section 5.1): log-probabilities of the
words that stand after held-out words, and of these words themselves.

The words of the vocabulary that training never shows are held-out words whose names are known. Where such a word comes
for the first time in a split, it gets the features that the network expects there, and keeps them. The words after it
are scored three times: `merged`, with the symbol `<unk>` in its place; `untrained`, with the features that the network
has for it, which training never moved towards anything; `expected`, with the new ones. A network that scores a word
together with its context can score the word itself too, where it comes again.
"""

import numpy as np
import torch

from pipeline.core.beyond import new_words
from pipeline.core.common.errors import InputError, Watcher
from pipeline.core.networks.base import BATCH, Network, contexts, score


def log_probabilities(
    network: Network, ids: np.ndarray, before: np.ndarray, mark: int, counts: np.ndarray, unknown: int, watch: Watcher
) -> tuple[int, dict[str, tuple[np.ndarray, dict[str, np.ndarray]]]]:
    """How many words are held out, and by line the places (T,) of its tokens and their log P (T,) by way of scoring.

    Lines: `after`, the tokens with a held-out word in their context; `itself`, the held-out words where they come
    again. ids: a split; before: what precedes it; counts: (V,) of training; unknown: id of `<unk>`. As targets all
    words keep the place that training gave them, but for the line `itself`, where held-out words get the mean bias of
    the rarest trained. Raises InputError where the split has no such word.
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
        again, own = np.delete(places, first), len(network.b) + np.delete(number, first)
        larger = new_words.with_words(network, features, _rare_bias(network, counts).expand(len(words)))
        scored = {
            "untrained": score(network, context[again], ids[again]),
            "expected": score(larger, renamed[again], own),
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
