"""Stage word_map: what networks' word features look like. A map of words by a network with two features (m = 2), and
nearest neighbours by a network with more."""

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
    corpus = read_corpus(config.data)
    plane = read_features(folder_of(config.plane, config.predictions))
    if plane.shape[1] != 2:
        raise InputError(f"plane={config.plane}: a network with m = 2 can be drawn, this one has m = {plane.shape[1]}")
    points = plane[: config.drawn]
    words = corpus.vocabulary[: config.drawn]
    svgs = {"plane": figures.plane(points, words), "closeup": figures.plane(points, words, middle=True)}
    features = read_features(folder_of(config.neighbours, config.predictions))
    frequent = np.bincount(corpus.train, minlength=len(corpus.vocabulary)) >= config.seen
    rows = []
    for word in config.words:
        if word not in corpus.vocabulary:
            raise InputError(f"words: {word!r} is not in the vocabulary of {config.data}")
        ids, cosines = nearest(features, corpus.vocabulary.index(word), count=config.count, among=frequent)
        neighbours = [f"{corpus.vocabulary[i]} ({cosine:.2f})" for i, cosine in zip(ids, cosines, strict=True)]
        rows.append({"word": word, "nearest": ", ".join(neighbours)})
    head = (
        f"Nearest neighbours, with their cosines, by the features of {config.neighbours}, among words seen "
        f"{config.seen} times or more."
    )
    table = pd.DataFrame(rows, columns=["word", "nearest"])
    out = Path(config.out)
    out.mkdir(parents=True, exist_ok=True)
    for name, svg in svgs.items():
        (out / f"{name}.svg").write_text(style.alone(svg), encoding="utf-8")
    table.to_csv(out / "neighbours.csv", index=False)
    (out / "neighbours.md").write_text(f"{head}\n\n{table.to_markdown(index=False)}\n", encoding="utf-8")


if __name__ == "__main__":
    app.run("word_map", main, timed=True)
