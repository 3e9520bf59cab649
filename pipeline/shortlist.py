"""Stage shortlist: an energy network that scores only the words that the trigram finds likeliest (NIPS 2000)."""

import logging
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from tqdm import tqdm

from pipeline.data.corpus import read_corpus
from pipeline.data.errors import InputError
from pipeline.data.predictions import folder_of, write_predictions
from pipeline.networks import shortlist
from pipeline.networks.base import contexts
from pipeline.networks.saved import read_network
from pipeline.ngrams import build, likeliest
from pipeline.running import app
from pipeline.running.recorded import recorded

BATCH = 128  # contexts at a time: their lists' hidden units stay in the cache

log = logging.getLogger(__name__)


@dataclass
class Config:
    """conf/shortlist.yaml."""

    name: str
    network: str
    size: int
    ngram: build.Ngram
    data: str
    predictions: list[str]
    out: str
    timing: str


def main(config: Config) -> None:
    """Writes the arrays of valid and test, and metrics.json, into config.out."""
    if config.ngram.kind != "interpolated":
        raise InputError(f"ngram.kind={config.ngram.kind}: short lists are the interpolated trigram's")
    corpus = read_corpus(config.data)
    vocabulary = len(corpus.vocabulary)
    if not 1 <= config.size <= vocabulary:
        raise InputError(f"size={config.size}: from 1 to the {vocabulary:,} words of the vocabulary")
    network = read_network(folder_of(config.network, config.predictions), vocabulary)
    if network.architecture.family != "energy":
        raise InputError(f"network={config.network}: short lists are for the energy family, which alone needs them")
    with recorded("shortlist", config, corpus) as run:
        trigram = build.fit(config.ngram, corpus, Path())
        raw, spent = {}, {"trigram_seconds": 0.0, "network_seconds": 0.0}
        for split in ("valid", "test"):
            ids, before = corpus.ids(split), corpus.before(split)
            otherwise = torch.from_numpy(trigram.log_probabilities(before, ids))
            shorter, longer = (contexts(ids, before, n, corpus.mark) for n in (3, network.architecture.n))
            raw[split] = np.empty(len(ids), dtype=np.float32)
            for first in tqdm(range(0, len(ids), BATCH), desc=split, disable=None):
                part = slice(first, first + BATCH)
                context, target = (torch.from_numpy(each[part].astype(np.int64)) for each in (longer, ids))
                began = time.perf_counter()
                words, p = map(torch.from_numpy, likeliest.likeliest(trigram, shorter[part], config.size))
                listed = time.perf_counter()
                raw[split][part] = shortlist.log_probabilities(network, context, target, words, p, otherwise[part])
                spent["trigram_seconds"] += listed - began
                spent["network_seconds"] += time.perf_counter() - listed
        metrics = write_predictions(Path(config.out), corpus, raw)
        run.costs |= spent
        log.info("%s: validation %.2f with share", config.name, metrics["valid"])  # test is for the report


if __name__ == "__main__":
    app.run("shortlist", Config, main)
