"""A network's word features for other tools: word2vec's text format, and TensorBoard's projector.

features.txt: the first line has the number of words and the number of features; each other line has a word and its
features. vectors.tsv, metadata.tsv and projector_config.pbtxt: `tensorboard --logdir FOLDER` shows them under
PROJECTOR.
"""

import argparse
import csv
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.commands import Parser, add_model, add_places, open_models
from pipeline.core.common.errors import InputError
from pipeline.data.weights import read_features

EXAMPLE = "nplm export mlp1 outputs/features"
PROJECTOR = """embeddings {
  tensor_name: "C"
  tensor_path: "vectors.tsv"
  metadata_path: "metadata.tsv"
}
"""


def arguments(parser: Parser) -> None:
    add_model(parser, examples="mlp9")
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="where the files go")
    add_places(parser, formats=False)


def run(options: argparse.Namespace) -> None:
    """Writes the files and prints their folder."""
    (model,) = open_models(options, options.model)
    features = read_features(model.folder)
    vocabulary = model.corpus.vocabulary
    folder = options.folder
    if words_with_space := [word for word in vocabulary if len(word.split()) != 1]:
        raise InputError(f"{words_with_space[0]!r} has white space, which none of these formats can hold")
    folder.mkdir(parents=True, exist_ok=True)
    csv_format = {"float_format": "%.6g", "quoting": csv.QUOTE_NONE}
    table = pd.DataFrame(features, index=vocabulary)
    with (folder / "features.txt").open("w", encoding="utf-8") as file:
        file.write(f"{len(vocabulary)} {features.shape[1]}\n")
        table.to_csv(file, sep=" ", header=False, **csv_format)
    table.to_csv(folder / "vectors.tsv", sep="\t", header=False, index=False, **csv_format)
    counts = np.bincount(model.corpus.train, minlength=len(vocabulary))
    metadata = pd.DataFrame({"word": vocabulary, "count": counts})
    metadata.to_csv(folder / "metadata.tsv", sep="\t", index=False, **csv_format)
    (folder / "projector_config.pbtxt").write_text(PROJECTOR, encoding="utf-8")
    print(f"{len(vocabulary)} words in {folder.resolve()}")
