"""Stage ngram: one n-gram model, from ids to log-probabilities."""

import time
from pathlib import Path

from pipeline.config.stages import NgramStage
from pipeline.core.common.splits import SPLITS
from pipeline.core.ngrams.backoff import Backoff
from pipeline.data import arpa, ngrams
from pipeline.data.corpus import read_corpus
from pipeline.data.errors import InputError
from pipeline.data.predictions import write_predictions
from pipeline.running import app
from pipeline.running.stage import recorded


def main(config: NgramStage) -> None:
    """Writes the arrays and metrics.json into config.out."""
    corpus, ngram = read_corpus(config.data), config.ngram
    with recorded("ngram", config, corpus) as run:
        start = time.perf_counter()
        model = ngrams.fit(ngram, corpus, config.clusters, config.memory, Path(config.out).absolute().parent)
        if config.export and not isinstance(model, Backoff):
            raise InputError("export: only Kneser-Ney and ARPA models have the form of an ARPA file")
        run.costs["fit_seconds"] = time.perf_counter() - start
        raw = {split: model.log_probabilities(corpus.before(split), corpus.ids(split)) for split in SPLITS}
        write_predictions(Path(config.out), corpus, raw)
        if config.export:
            arpa.write_file(model, corpus.vocabulary, Path(config.export))


if __name__ == "__main__":
    app.run("ngram", main)
