"""A table of a text of one's own: n-grams, two networks and their mixtures with the trigram, trained and compared.

The text is a file, or a folder of files in the order of their names; its first 80 % train, then 10 % each validate and
test. Every command that is run is printed, so that each can be repeated with other values. The last lines hold each
model against Kneser-Ney 5, with intervals.
"""

import argparse
import os
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
    files = [given.text] if given.text.is_file() else given.text.rglob("*.txt")
    rare = 3 if sum(file.stat().st_size for file in files) > RARE else 1
    place, data = f"out={_value(out / 'data')}", f"data={_value(out / 'data')}"
    text = ["corpus=text", f"corpus.raw={_value(given.text)}", f"corpus.rare={rare}", *given.keys]
    _run("preprocess", *text, place)
    tokens = len(np.load(out / "data" / "train.npy", mmap_mode="r"))
    batch = min(2 ** round(np.log2(np.sqrt(tokens))), BATCH)
    sizes = [f"recipe.batch={batch}", f"recipe.weight_decay={DECAY / tokens:.2g}"]
    for name in NGRAMS:
        _run("ngram", f"ngram={name}", "ngram.fallback=true", data, _place(out, name))
    for name in NETWORKS:
        _run("train", f"model={name}", *sizes, data, _place(out, name))
    predictions = f"predictions=[{_value(out / 'predictions')}]"
    mixtures = {f"{name}-mixed": name for name in NETWORKS}
    for name, network in mixtures.items():
        _run("mix", "mix=mixed", f"network={network}", f"name={name}", data, predictions, _place(out, name))
    report = out / "report"
    _run("report", "table=study", data, f"table.{predictions}", "clusters=", f"out={_value(report)}")
    print((report / "study.md").read_text(encoding="utf-8"))
    places = [str(out / "predictions" / name) for name in ("kn5", *NETWORKS, *mixtures)]
    _run("verdict", *places, "--data", str(out / "data"))
    unknown = read_json(out / "data" / "counts.json")["unknown_rate"]
    shares = f"{unknown['valid']:.0%} of validation's tokens and {unknown['test']:.0%} of test's"
    print(
        f"\n{shares} are unknown words, one symbol and easy to guess: compare these perplexities with no other corpus's"
    )
    print(f"The table: {report / 'study.csv'}; learning curves: {report / 'study.svg'}")
    print("To try other values: repeat a command with another out=FOLDER, and hold it against these by nplm verdict")


def _place(out: Path, name: str) -> str:
    return f"out={_value(out / 'predictions' / name / '0')}"


def _value(path: Path) -> str:
    """A path as Hydra takes it: in quotes where its grammar would stumble."""
    text = str(path)
    return text if re.fullmatch(r"[\w./+ -]+", text, re.ASCII) else check.in_quotes(text)


def _run(*words: str) -> None:
    """Prints and runs `nplm WORDS`; ends the study where it fails, which says why by itself."""
    print(f"\n$ nplm {shlex.join(words)}", flush=True)
    code = subprocess.run([sys.executable, "-m", "pipeline.commands", *words], env=os.environ).returncode
    if code:
        raise SystemExit(code)
