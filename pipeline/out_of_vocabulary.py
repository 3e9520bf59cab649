"""Stage out_of_vocabulary: what a word outside the vocabulary gains from features of its own (paper, section 5.1).

The words of the vocabulary that training never shows are held-out words whose names are known. Where such a word comes
for the first time in a split, it gets the features that the network expects there, and keeps them. The words after it
are scored three times: with the merged symbol `<unk>` in its place, with the features that the network has for it,
which training never moved towards anything, and with the new ones. The energy network can score the word itself too,
where it comes again.
"""

import logging
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from tqdm import tqdm

from pipeline.data.corpus import Corpus, read_corpus
from pipeline.data.errors import InputError
from pipeline.data.evaluation import perplexity
from pipeline.data.files import write_json
from pipeline.data.predictions import folder_of
from pipeline.data.symbols import UNKNOWN
from pipeline.networks import new_words
from pipeline.networks.base import BATCH, Network, contexts, score
from pipeline.networks.saved import read_network
from pipeline.reporting import resampling
from pipeline.reporting.by_text import texts_of
from pipeline.running import app
from pipeline.running.recorded import recorded

log = logging.getLogger(__name__)


@dataclass
class Config:
    """conf/out_of_vocabulary.yaml."""

    name: str
    network: str
    data: str
    predictions: list[str]
    out: str
    csv: str
    timing: str


def main(config: Config) -> None:
    """Writes the table of perplexities to config.csv, and the same figures to out_of_vocabulary.json in config.out."""
    corpus = read_corpus(config.data)
    network = read_network(folder_of(config.network, config.predictions), len(corpus.vocabulary))
    check_family(config.network, network)
    with recorded("out_of_vocabulary", config, corpus):
        table = pd.concat([compare(network, corpus, split) for split in ("valid", "test")], keys=("valid", "test"))
        table = table.rename_axis(["split", "scored"])
        figures = {f"{'_'.join(line)}_{key}": value for key in table for line, value in table[key].dropna().items()}
        write_json(Path(config.out, "out_of_vocabulary.json"), {"network": config.network} | figures)
        Path(config.csv).parent.mkdir(parents=True, exist_ok=True)
        table.to_csv(config.csv, float_format="%.4f")
        log.info("%s\n%s", config.network, table)


def check_family(name: str, network: Network) -> None:
    """Raises InputError for a network that has no windows of context."""
    if network.in_order:
        raise InputError(f"network={name}: a word is held out of windows of context, and this reads a stream in order")


def compare(network: Network, corpus: Corpus, split: str) -> pd.DataFrame:
    """Two lines of a split, the second by an energy network alone: after, the tokens with a held-out word in their
    context; itself, the held-out words where they come again.

    Columns: words and tokens; the perplexities merged, untrained and expected; ratio, of expected over merged
    (itself: over untrained), with low and high, its 95 % interval over texts. As targets all words keep the place
    that training gave them, but for the line itself, where held-out words get the mean bias of the rarest trained.
    """
    ids, before, n = corpus.ids(split).astype(np.int64), corpus.before(split), network.architecture.n
    unknown = corpus.vocabulary.index(UNKNOWN)
    held_out = corpus.unseen & (np.arange(len(corpus.vocabulary)) != unknown)
    places = np.flatnonzero(held_out[ids])
    if not len(places):
        raise InputError(f"{split} has no word of the vocabulary that training never shows, so none can be held out")
    words, first, number = np.unique(ids[places], return_index=True, return_inverse=True)
    context = contexts(ids, before, n, corpus.mark)
    features = _expected(network, context[places[first]])
    merged, renamed = ids.copy(), ids.copy()
    merged[places], renamed[places] = unknown, len(network.b) + number  # the ids of with_words
    merged, renamed = (contexts(stream, before, n, corpus.mark) for stream in (merged, renamed))

    after = np.flatnonzero((renamed >= len(network.b)).any(1))
    larger = new_words.with_words(network, features)
    lines = {
        "after": {
            "merged": score(network, merged[after], ids[after]),
            "untrained": score(network, context[after], ids[after]),
            "expected": score(larger, renamed[after], ids[after]),
        }
    }
    at = {"after": after, "itself": np.delete(places, first)}
    if new_words.scores_new_words(network):
        again, own = at["itself"], len(network.b) + np.delete(number, first)
        larger = new_words.with_words(network, features, _rare_bias(network, corpus).expand(len(words)))
        lines["itself"] = {
            "untrained": score(network, context[again], ids[again]),
            "expected": score(larger, renamed[again], own),
        }
    texts = texts_of(corpus, split)
    found = {}
    for name, scored in lines.items():
        ratio = _ratio(texts, at[name], scored["expected"], scored.get("merged", scored["untrained"]))
        found[name] = {"words": len(words), "tokens": len(at[name])} | {k: perplexity(v) for k, v in scored.items()}
        found[name] |= {"ratio": ratio.value, "low": ratio.low, "high": ratio.high}
    columns = ["words", "tokens", "merged", "untrained", "expected", "ratio", "low", "high"]
    return pd.DataFrame.from_dict(found, orient="index", columns=columns)


def _expected(network: Network, context: np.ndarray) -> torch.Tensor:
    """The features that a network expects after each context (B, n-1), (B, m)."""
    parts = torch.from_numpy(context).split(BATCH // 4)
    return torch.cat(
        [new_words.expected_features(network, part) for part in tqdm(parts, desc="features", disable=None)]
    )


def _rare_bias(network: Network, corpus: Corpus) -> torch.Tensor:
    """The mean bias (1,) of the words that training shows least often."""
    counts = np.bincount(corpus.train, minlength=len(corpus.vocabulary))
    return network.b.detach()[torch.from_numpy(counts == counts[counts > 0].min())].mean().reshape(1)


def _ratio(texts: pd.DataFrame, places: np.ndarray, own: np.ndarray, other: np.ndarray) -> resampling.Estimate:
    """The perplexity of own (T,) over that of other (T,) at some places of a split, by resampling the texts there."""
    text = np.searchsorted(texts["first"].to_numpy(), places, side="right") - 1
    sums = pd.DataFrame({"own": own, "other": other, "tokens": 1}).astype(float).groupby(text).sum()
    return resampling.ratio(*sums.to_numpy().T)


if __name__ == "__main__":
    app.run("out_of_vocabulary", Config, main)
