"""Stage ngram: one n-gram model, from ids to log-probabilities."""

import gzip
import time
from collections.abc import Iterable
from pathlib import Path

from pipeline.config.ngram import Ngram
from pipeline.core.common.stream import SPLITS
from pipeline.data import ngrams
from pipeline.data.corpus import read_corpus
from pipeline.data.files import replacing
from pipeline.data.predictions import write_predictions
from pipeline.running import app
from pipeline.running.stage import recorded


def main(config: Ngram) -> None:
    """Writes the arrays and metrics.json into config.out."""
    corpus = read_corpus(config.data)
    with recorded("ngram", config, corpus) as run:
        start = time.perf_counter()
        model = ngrams.fit(
            config.ngram,
            corpus,
            clusters=config.clusters,
            memory=config.memory,
            place=Path(config.out).absolute().parent,
        )
        lines = model.arpa(corpus.vocabulary) if config.export else ()
        run.costs["fit_seconds"] = time.perf_counter() - start
        raw = {split: model.log_probabilities(corpus.before(split), corpus.ids(split)) for split in SPLITS}
        write_predictions(Path(config.out), corpus, raw)
        if config.export:
            _export(lines, Path(config.export))


def _export(lines: Iterable[str], path: Path) -> None:
    """Writes an ARPA file, compressed if its name ends in .gz."""
    open_file = gzip.open if path.suffix == ".gz" else open
    with replacing(path) as temporary, open_file(temporary, "wt", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


if __name__ == "__main__":
    app.run("ngram", main)
