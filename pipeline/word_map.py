"""Stage word_map: what the networks' features hold. Words in the plane of a network with m = 2, and nearest neighbours
by one with more."""

import logging
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.config.word_map import WordMap
from pipeline.core.beyond.nearest import nearest
from pipeline.core.common.errors import InputError
from pipeline.data.corpus import read_corpus
from pipeline.data.predictions import folder_of
from pipeline.data.weights import read_features
from pipeline.reporting import figures, style
from pipeline.running import app

log = logging.getLogger(__name__)


def main(config: WordMap) -> None:
    """Writes plane.svg, closeup.svg, neighbours.csv and neighbours.md into config.out."""
    corpus, out = read_corpus(config.data), Path(config.out)
    flat = read_features(folder_of(config.plane, config.predictions))
    if flat.shape[1] != 2:
        raise InputError(f"plane={config.plane}: a network with m = 2 can be drawn, this one has m = {flat.shape[1]}")
    words = flat[: config.drawn], corpus.vocabulary[: config.drawn]
    drawn = {"plane": figures.plane(*words), "closeup": figures.plane(*words, middle=True)}
    features = read_features(folder_of(config.neighbours, config.predictions))
    often = np.bincount(corpus.train, minlength=len(corpus.vocabulary)) >= config.seen
    rows = []
    for word in config.words:
        if word not in corpus.vocabulary:
            raise InputError(f"words: {word!r} is not in the vocabulary of {config.data}")
        ids, cosines = nearest(features, corpus.vocabulary.index(word), config.count, often)
        named = [f"{corpus.vocabulary[i]} ({cosine:.2f})" for i, cosine in zip(ids, cosines, strict=True)]
        rows.append({"word": word, "nearest": ", ".join(named)})
    head = (
        f"Nearest neighbours, with their cosines, by the features of {config.neighbours}, among words seen "
        f"{config.seen} times or more."
    )
    table = pd.DataFrame(rows, columns=["word", "nearest"])
    out.mkdir(parents=True, exist_ok=True)
    for name, svg in drawn.items():
        (out / f"{name}.svg").write_text(style.alone(svg), encoding="utf-8")
    table.to_csv(out / "neighbours.csv", index=False)
    (out / "neighbours.md").write_text(f"{head}\n\n{table.to_markdown(index=False)}\n", encoding="utf-8")


if __name__ == "__main__":
    app.run("word_map", main, timed=True)
