"""A network's word features for other tools: word2vec's text format, and TensorBoard's projector.

features.txt: a line with the number of words and of features, then a word a line with its features. vectors.tsv,
metadata.tsv and projector_config.pbtxt: what `tensorboard --logdir FOLDER` shows under PROJECTOR.
"""

import csv
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.commands.command import Command
from pipeline.data.errors import InputError

PROJECTOR = """embeddings {
  tensor_name: "C"
  tensor_path: "vectors.tsv"
  metadata_path: "metadata.tsv"
}
"""


def main() -> None:
    """python -m pipeline.commands.export MODEL FOLDER"""
    command = Command("export", __doc__)
    command.parser.add_argument("model", help="a network, such as mlp9 or mlp1/2")
    command.parser.add_argument("folder", type=Path, help="where the files go")

    def export(arguments) -> None:
        features = command.features(arguments.model)
        vocabulary = command.corpus.vocabulary
        spaced = [word for word in vocabulary if not word or len(word.split()) != 1]
        if spaced:
            raise InputError(f"{spaced[0]!r} has white space, which none of these formats can hold")
        counts = np.bincount(command.corpus.train, minlength=len(vocabulary))
        folder = arguments.folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder}: {error.strerror}; give a folder that is there or can be made") from error
        size = f"{features.shape[0]} {features.shape[1]}"
        rows = np.char.mod("%.6g", features)
        lines = [f"{word} {' '.join(row)}" for word, row in zip(vocabulary, rows, strict=True)]
        (folder / "features.txt").write_text("\n".join([size, *lines, ""]), encoding="utf-8")
        np.savetxt(folder / "vectors.tsv", features, fmt="%.6g", delimiter="\t")
        metadata = pd.DataFrame({"word": vocabulary, "count": counts})
        metadata.to_csv(folder / "metadata.tsv", sep="\t", index=False, quoting=csv.QUOTE_NONE)
        (folder / "projector_config.pbtxt").write_text(PROJECTOR, encoding="utf-8")
        print(f"{len(vocabulary)} words in {folder.resolve()}")

    command.run(export)


if __name__ == "__main__":
    main()
