"""Stage out_of_vocabulary: what a word outside the vocabulary gains from features of its own (paper, section 5.1).

pipeline/core/beyond/held_out.py says which words are held out, and how they are scored.
"""

import logging
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.config.out_of_vocabulary import OutOfVocabulary
from pipeline.core.beyond import held_out
from pipeline.core.common.errors import InputError
from pipeline.core.common.evaluation import perplexity
from pipeline.core.common.stream import UNKNOWN
from pipeline.core.networks.base import Network
from pipeline.data.corpus import Corpus, read_corpus
from pipeline.data.files import replacing, write_json
from pipeline.data.predictions import folder_of
from pipeline.data.weights import read_network
from pipeline.reporting import resampling
from pipeline.reporting.resampling import texts_of
from pipeline.running import app
from pipeline.running.progress import Bar
from pipeline.running.stage import recorded

COLUMNS = ["words", "tokens", "merged", "untrained", "expected", "ratio", "low", "high"]

log = logging.getLogger(__name__)


def main(config: OutOfVocabulary) -> None:
    """Writes the table of perplexities to config.csv, and the same figures to out_of_vocabulary.json in config.out."""
    corpus = read_corpus(config.data)
    network = read_network(folder_of(config.network, config.predictions), len(corpus.vocabulary))
    if network.in_order:
        raise InputError(
            f"network={config.network}: a word is held out of windows of context, and this reads a stream in order"
        )
    with recorded("out_of_vocabulary", config, corpus):
        table = pd.concat([compare(network, corpus, split) for split in ("valid", "test")], keys=("valid", "test"))
        table = table.rename_axis(["split", "scored"])
        figures = {f"{'_'.join(line)}_{key}": value for key in table for line, value in table[key].dropna().items()}
        write_json(Path(config.out, "out_of_vocabulary.json"), {"network": config.network} | figures)
        with replacing(Path(config.csv)) as temporary:
            table.to_csv(temporary, float_format="%.4f")
        log.info("%s\n%s", config.network, table)


def compare(network: Network, corpus: Corpus, split: str) -> pd.DataFrame:
    """A split's lines of held_out.log_probabilities.

    Columns: words and tokens; the perplexities merged, untrained and expected; ratio, of expected over merged
    (itself: over untrained), with low and high, its 95 % interval over texts.
    """
    counts = np.bincount(corpus.train, minlength=len(corpus.vocabulary))
    of_split = corpus.ids(split), corpus.before(split), corpus.mark, counts, corpus.vocabulary.index(UNKNOWN)
    with Bar("features") as bar:
        words, lines = held_out.log_probabilities(network, *of_split, bar)
    texts, table = texts_of(corpus, split), {}
    for name, (places, scored) in lines.items():
        ratio = _ratio(texts, places, scored["expected"], scored.get("merged", scored["untrained"]))
        table[name] = {"words": words, "tokens": len(places)} | {way: perplexity(p) for way, p in scored.items()}
        table[name] |= {"ratio": ratio.value, "low": ratio.low, "high": ratio.high}
    return pd.DataFrame.from_dict(table, orient="index", columns=COLUMNS)


def _ratio(texts: pd.DataFrame, places: np.ndarray, own: np.ndarray, other: np.ndarray) -> resampling.Estimate:
    """The perplexity of own (T,) over that of other (T,) at some places of a split, by resampling the texts there."""
    text = np.searchsorted(texts["first"].to_numpy(), places, side="right") - 1
    sums = pd.DataFrame({"own": own, "other": other, "tokens": 1}).astype(float).groupby(text).sum()
    return resampling.ratio(*sums.to_numpy().T)


if __name__ == "__main__":
    app.run("out_of_vocabulary", main)
