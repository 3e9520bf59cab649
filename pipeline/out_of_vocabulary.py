"""Stage out_of_vocabulary: how much features of its own help a word outside the vocabulary (paper, section 5.1).

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
    """The lines of held_out.log_probabilities on one split.

    Columns: words and tokens; the perplexities merged, untrained and expected; ratio, of expected over merged (in the
    line `itself` over untrained); low and high, the ratio's 95 % interval over texts.
    """
    counts = np.bincount(corpus.train, minlength=len(corpus.vocabulary))
    with Bar("features") as bar:
        words, lines = held_out.log_probabilities(
            network,
            corpus.ids(split),
            before=corpus.before(split),
            mark=corpus.mark,
            counts=counts,
            unknown=corpus.vocabulary.index(UNKNOWN),
            watch=bar,
        )
    texts = texts_of(corpus, split)
    table = {}
    for name, (places, scores) in lines.items():
        baseline = scores.get("merged", scores["untrained"])
        ratio = _ratio(texts, places, log_p=scores["expected"], baseline=baseline)
        table[name] = {"words": words, "tokens": len(places)} | {key: perplexity(p) for key, p in scores.items()}
        table[name] |= {"ratio": ratio.value, "low": ratio.low, "high": ratio.high}
    return pd.DataFrame.from_dict(table, orient="index", columns=COLUMNS)


def _ratio(texts: pd.DataFrame, places: np.ndarray, log_p: np.ndarray, baseline: np.ndarray) -> resampling.Estimate:
    """The perplexity of log_p (T,) over that of baseline (T,), both at `places` (T,) of a split. The interval resamples
    the texts that have such places."""
    text = np.searchsorted(texts["first"].to_numpy(), places, side="right") - 1
    frame = pd.DataFrame({"own": log_p, "other": baseline, "tokens": 1}).astype(float)
    sums, baseline_sums, tokens = frame.groupby(text).sum().to_numpy().T  # each (texts,)
    return resampling.ratio(sums, baseline_sums, tokens)


if __name__ == "__main__":
    app.run("out_of_vocabulary", main)
