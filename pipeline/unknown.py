"""Stage unknown: does it help what follows a word outside the vocabulary to give that word features of its own?

Wherever a split holds `<unk>`, the words after it are scored twice: after the merged symbol, as the network was
trained, and after a word whose features are those that the network expected at its place.
"""

import logging
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from tqdm import tqdm

from pipeline import app, store, tracking
from pipeline.core import newword
from pipeline.core.contexts import contexts
from pipeline.core.evaluation import perplexity
from pipeline.core.networks.base import Network
from pipeline.core.scoring import BATCH, log_probabilities
from pipeline.weights import read_network

log = logging.getLogger(__name__)

UNKNOWN = 0  # the id of the symbol for rare words


@dataclass
class Config:
    """conf/unknown.yaml."""

    network: str
    data: str
    predictions: str
    out: str


def main(config: Config) -> None:
    """Writes unknown.json into config.out: perplexities of the tokens that have `<unk>` in their context."""
    torch.set_num_threads(1)
    corpus = store.read_corpus(config.data)
    network = read_network(Path(config.predictions, config.network), len(corpus.vocabulary))
    with tracking.run("unknown", config.network, 0, {"network": config.network}, corpus.counts["digest"]) as run:
        found = {"network": config.network}
        for split in ("valid", "test"):
            found |= {f"{split}_{key}": value for key, value in _compare(network, corpus, split).items()}
        run.metrics({key: value for key, value in found.items() if key != "network"})
        store.write_json(Path(config.out, "unknown.json"), found)
        log.info("%s", found)


def _compare(network: Network, corpus: store.Corpus, split: str) -> dict[str, float]:
    ids, n = corpus.ids(split), network.architecture.n
    context = contexts(ids, corpus.before(split), n, corpus.mark)
    places = np.flatnonzero(ids == UNKNOWN)
    features = []
    for start in tqdm(range(0, len(places), BATCH // 4), desc=f"{split}: features", disable=None):
        part = torch.from_numpy(context[places[start : start + BATCH // 4]].astype(np.int64))
        features.append(newword.expected_features(network, part))
    own = ids.astype(np.int64).copy()
    own[places] = len(network.b) + np.arange(len(places))
    new_context = contexts(own, corpus.before(split).astype(np.int64), n, corpus.mark)
    after = np.flatnonzero((new_context >= len(network.b)).any(1))
    larger = newword.with_words(network, torch.cat(features))
    merged = log_probabilities(network, context[after], ids[after])
    expected = log_probabilities(larger, new_context[after], ids[after])
    return {
        "unknown": len(places),
        "tokens": len(after),
        "merged": perplexity(merged),
        "expected": perplexity(expected),
    }


if __name__ == "__main__":
    app.run("unknown", Config, main)
