"""A table of a text of one's own: n-grams, two networks and their mixtures with the trigram, trained and compared.

The text is a file, or a folder of files in the order of their names; its first 80 % train, then 10 % each validate and
test. Every command that is run is printed, so that each can be repeated with other values. The last lines hold each
model against Kneser-Ney 5, with intervals.
"""

import argparse
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np

from pipeline.commands import Parser
from pipeline.config import check
from pipeline.data.errors import InputError
from pipeline.data.files import read_json

EXAMPLE = "nplm study novel.txt"
NETWORKS, NGRAMS = ("mlp5", "mlp9"), ("interpolated3", "kn5")
DECAY = 1e-4 * 800_000  # of Brown's recipe, times its words: it acts by the word, so a smaller text asks for more
BATCH = 512  # at most, Brown's; a smaller text asks for more updates
RARE = 120_000  # bytes of text, some 20,000 words, below which words seen twice stay


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("text", type=Path, metavar="TEXT", help="a file or a folder with *.txt, UTF-8; blank lines between paragraphs")
    add("--out", type=Path, metavar="FOLDER", help="where all goes; default outputs/<name of the text>")
    add("keys", nargs="*", metavar="corpus.KEY=VALUE", help="of conf/corpus, such as corpus.format=tokens")


def run(given: argparse.Namespace) -> None:
    """Runs the stages, and prints the table and where it is."""
    if not given.text.exists():
        raise InputError(f"{given.text}: no such file or folder")
    if wrong := [key for key in given.keys if not re.match(r"corpus\.\w+=", key)]:
        raise InputError(f"{wrong[0]}: give keys of the corpus, such as corpus.format=tokens")
    out = given.out or Path("outputs", given.text.stem or "study")
    data, predictions, report = out / "data", out / "predictions", out / "report"
    files = [given.text] if given.text.is_file() else given.text.rglob("*.txt")
    rare = 3 if sum(file.stat().st_size for file in files) > RARE else 1
    text = ["corpus=text", f"corpus.raw={_value(given.text)}", f"corpus.rare={rare}"]
    _run("preprocess", *text, *given.keys, f"out={_value(data)}")

    def make(stage: str, name: str, *keys: str) -> None:
        _run(stage, *keys, f"data={_value(data)}", f"out={_value(predictions / name / '0')}")

    for name in NGRAMS:
        make("ngram", name, f"ngram={name}", "ngram.fallback=true")
    tokens = len(np.load(data / "train.npy", mmap_mode="r"))
    batch = min(2 ** round(np.log2(np.sqrt(tokens))), BATCH)
    for name in NETWORKS:
        sizes = [f"recipe.batch={batch}", f"recipe.weight_decay={DECAY / tokens:.2g}"]
        make("train", name, f"model={name}", *sizes)
    where = f"predictions=[{_value(predictions)}]"
    for name in NETWORKS:
        make("mix", f"{name}-mixed", "mix=mixed", f"network={name}", f"name={name}-mixed", where)
    _run("report", "table=study", f"data={_value(data)}", f"table.{where}", "clusters=", f"out={_value(report)}")
    print((report / "study.md").read_text(encoding="utf-8"))
    models = ["kn5", *NETWORKS, *(f"{name}-mixed" for name in NETWORKS)]
    _run("verdict", *(str(predictions / name) for name in models), "--data", str(data))
    unknown = read_json(data / "counts.json")["unknown_rate"]
    shares = f"{unknown['valid']:.0%} of validation's tokens and {unknown['test']:.0%} of test's"
    print(
        f"\n{shares} are unknown words, one symbol and easy to guess: compare these perplexities with no other corpus's"
    )
    print(f"The table: {report / 'study.csv'}; learning curves: {report / 'study.svg'}")
    print("To try other values: repeat a command with another out=FOLDER, and hold it against these by nplm verdict")


def _value(path: Path) -> str:
    """A path as Hydra takes it: in quotes where its grammar would stumble."""
    text = str(path)
    return text if re.fullmatch(r"[\w./+ -]+", text, re.ASCII) else check.in_quotes(text)


def _run(*words: str) -> None:
    """Prints and runs `nplm WORDS`; ends the study where it fails, which says why by itself."""
    print(f"\n$ nplm {shlex.join(words)}", flush=True)
    if code := subprocess.run([sys.executable, "-m", "pipeline.commands", *words]).returncode:
        raise SystemExit(code)
