"""Stage mix: a mixture of models, from their log-probabilities to those of the mixture (paper, section 4.1).

The uncorrected probabilities of the models are mixed, as in the paper. The mixture is then corrected for unseen words,
like any other model."""

from pathlib import Path

import numpy as np

from pipeline.config.mix import Mix
from pipeline.core.ngrams import mixtures
from pipeline.data.corpus import read_corpus
from pipeline.data.files import write_json
from pipeline.data.predictions import folder_of, read_raw, write_predictions
from pipeline.running import app
from pipeline.running.stage import recorded


def main(config: Mix) -> None:
    """Writes the arrays, metrics.json and weights.json into config.out."""
    corpus = read_corpus(config.data)
    with recorded("mix", config, corpus):
        raw = [read_raw(folder_of(part, config.predictions), corpus) for part in config.mix.components]
        parts = {split: np.stack([component[split] for component in raw]) for split in ("valid", "test")}
        mixed, weights = mixtures.mix(config.mix, parts=parts, ids=corpus.splits, vocabulary=len(corpus.vocabulary))
        write_predictions(Path(config.out), corpus, mixed)
        write_json(Path(config.out, "weights.json"), weights)


if __name__ == "__main__":
    app.run("mix", main)
