"""A table of a text of one's own: n-grams, two networks and their mixtures with the trigram, trained and compared.

The text is a file, or a folder of files, which are put in a random order (corpus.shuffle=0: that of their names); its
first 80 % train, then 10 % each validate and test. Every command that is run is printed, so that each can be repeated
with other values. The last lines hold each model against Kneser-Ney 5, with intervals.
"""

import argparse
import re
import shlex
from pathlib import Path

import numpy as np

from pipeline.commands import Parser
from pipeline.commands.__main__ import main
from pipeline.config import check
from pipeline.data.files import read_json

EXAMPLE = "nplm study novel.txt"
DECAY = 1e-4 * 800_000  # of Brown's recipe, times its words: it acts by the word, so a smaller text asks for more
BATCH = 512  # at most, Brown's; a smaller text asks for more updates
RARE = 120_000  # bytes of text, some 20,000 words, below which words seen twice stay
# What is run: of a stage its keys; where the corpus and the models lie follows them.
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


def run(given: argparse.Namespace) -> None:
    """Runs the stages, and prints the table and where it is."""
    name = given.text.resolve().stem or "study"
    out = given.out or Path("outputs", name)
    data, predictions, report = out / "data", out / "predictions", out / "report"
    files = [given.text] if given.text.is_file() else given.text.rglob("*.txt")
    rare = 3 if sum(file.stat().st_size for file in files) > RARE else 1
    values = {"name": _value(name), "text": _value(given.text), "rare": rare, "predictions": _value(predictions)}

    def make(stage: str, place: Path, *keys: str) -> None:
        place.mkdir(parents=True, exist_ok=True)  # also far from the checkout, where a stage makes one folder alone
        _run(*(word.format(**values) for word in stage.split()), *keys, f"out={_value(place)}")

    make(PREPROCESS, data, *given.keys)
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
    print(f"The table: {report / 'study.csv'}; learning curves: {report / 'study.svg'}")
    print("To try other values: repeat a command with another out=FOLDER, and hold it against these by nplm verdict")


def _value(path: Path) -> str:
    """A path as Hydra takes it: in quotes where its grammar would stumble."""
    text = str(path)
    return text if re.fullmatch(r"[\w./+ -]+", text, re.ASCII) else check.in_quotes(text)


def _run(*words: str) -> None:
    """Prints and runs `nplm WORDS` in this process, which has its imports; ends the study where it fails, which says
    why by itself."""
    print(f"\n$ nplm {shlex.join(words)}", flush=True)
    if code := main(list(words)):
        raise SystemExit(code)
