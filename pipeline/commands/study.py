"""A table for your own text: n-grams, two networks and their mixtures with the trigram, trained and compared.

The text is a file or a folder of files. The files are put in a random order (corpus.shuffle=0: in the order of their
names). The first 80 % are for training, then 10 % each for validation and test. Every command is printed before it
runs, so that you can repeat it with other values. The last lines compare each model with Kneser-Ney 5, with intervals.
"""

import argparse
import re
import shlex
from pathlib import Path

import numpy as np

from pipeline.commands import Parser
from pipeline.commands.__main__ import main
from pipeline.config import check
from pipeline.core.common.errors import InputError
from pipeline.data import record as records
from pipeline.data.files import read_json
from pipeline.data.looks import remarks

EXAMPLE = "nplm study novel.txt"
DECAY = 80  # over the words of training, for each of which it acts: reports/LOG.md, 2026-11-30, "Small texts"
BATCH = 512  # at most, Brown's; a smaller text needs more updates
# Bytes, some 20,000 words: in a smaller text words that occur twice or three times stay in the vocabulary.
RARE = 120_000
# The stages that run, with their keys; `make` adds the places of the corpus and the models.
PREPROCESS = "preprocess corpus=text corpus.name={name} corpus.raw={text} corpus.rare={rare}"
MODELS = {
    "interpolated3": "ngram ngram=interpolated3",
    "kn5": "ngram ngram=kn5 ngram.undefined=fixed",
    "mlp5": "train model=mlp5 recipe.batch={batch} recipe.weight_decay={decay:.2g}",
    "mlp9": "train model=mlp9 recipe.batch={batch} recipe.weight_decay={decay:.2g}",
    "mlp5-mixed": "mix mix=mixed network=mlp5 name=mlp5-mixed predictions=[{predictions}]",
    "mlp9-mixed": "mix mix=mixed network=mlp9 name=mlp9-mixed predictions=[{predictions}]",
}
REPORT = "report table=study table.predictions=[{predictions}] clusters="


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("text", type=Path, metavar="TEXT", help="a file or a folder with *.txt, UTF-8; blank lines between paragraphs")
    add("--out", type=Path, metavar="FOLDER", help="where all goes; default outputs/<name of the text>")
    add("keys", nargs="*", metavar="corpus.KEY=VALUE", help="of conf/corpus, such as corpus.format=tokens")


def run(options: argparse.Namespace) -> None:
    """Runs the stages, and prints the table and its place."""
    name = options.text.resolve().stem or "study"
    out = options.out or Path("outputs", name)
    data = out / "data"
    if (data / records.FILE).is_file():
        text = Path(records.read(data).config["corpus"]["raw"])
        if text.resolve() != options.text.resolve():
            raise InputError(f"{out} holds the study of {text}: give another folder with --out")
    predictions = out / "predictions"
    report = out / "report"
    files = [options.text] if options.text.is_file() else [*options.text.rglob("*.txt")]
    rare = 3 if sum(file.stat().st_size for file in files) > RARE else 1
    values = {"name": _value(name), "text": _value(options.text), "rare": rare, "predictions": _value(predictions)}

    def make(stage: str, place: Path, *keys: str) -> None:
        place.mkdir(parents=True, exist_ok=True)  # also far from the checkout, where a stage makes only one folder
        _run(*(word.format(**values) for word in stage.split()), *keys, f"out={_value(place)}")

    make(PREPROCESS, data, *options.keys)
    tokens = len(np.load(data / "train.npy", mmap_mode="r"))
    values |= {"batch": min(2 ** round(np.log2(np.sqrt(tokens))), BATCH), "decay": DECAY / tokens}
    for name, stage in MODELS.items():
        make(stage, predictions / name / "0", f"data={_value(data)}")
    make(REPORT, report, f"data={_value(data)}")
    print((report / "study.md").read_text(encoding="utf-8"))
    _run("verdict", *(str(predictions / name) for name in list(MODELS)[1:]), "--data", str(data))
    unknown = read_json(data / "counts.json")["unknown_rate"]
    print(f"\n{unknown['valid']:.0%} of validation's tokens and {unknown['test']:.0%} of test's are unknown words,")
    print("one symbol and easy to guess: compare these perplexities with no other corpus's")
    corpus = records.read(data).config["corpus"]
    for remark in remarks(files, corpus["encoding"], corpus["format"]):  # `preprocess` said so, far above
        print(f"{options.text}: {remark}")
    print(f"The table: {report / 'study.csv'}; learning curves: {report / 'study.svg'}")
    print("To try other values: repeat a command with another out=FOLDER, and compare it with these by nplm verdict")


def _value(path: Path) -> str:
    """A path as Hydra reads it: in quotes if Hydra's grammar needs them."""
    text = str(path)
    return text if re.fullmatch(r"[\w./+ -]+", text, re.ASCII) else check.in_quotes(text)


def _run(*words: str) -> None:
    """Prints `nplm WORDS` and runs it in this process, which has the imports already. If the command fails, it prints
    why, and the study ends."""
    print(f"\n$ nplm {shlex.join(words)}", flush=True)
    if code := main(list(words)):
        raise SystemExit(code)
