"""Kneser-Ney 5 on Brown: ours beside KenLM, an independent tool in C++.

Both estimate from the training part and score validation and test, in turns; medians of the turns. Ours runs on one
thread; KenLM's `lmplz` divides its work between several, writes an ARPA file, and the package `kenlm` reads it back to
score. Words are numbered, so that both have the same vocabulary, padded by the words that training never shows. It is
measured only when named, `python -m benchmarks kneser_ney`, with `lmplz` on the path: the source package kenlm 0.3.0
holds it, for cmake and Boost.
"""

import math
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.core.common import evaluation
from pipeline.core.common.errors import InputError
from pipeline.core.ngrams import counts, kneser_ney
from pipeline.data.corpus import Corpus, read_corpus

ORDER = 5
REPEATS = 5
MEMORY = "1G"  # for lmplz, which by itself takes four fifths of the machine's and spends seconds on that alone
SPLITS = ("valid", "test")


def text(ids: np.ndarray) -> str:
    """A stream as a line of numbered words."""
    return " ".join(f"w{word}" for word in ids)


def ours(corpus: Corpus) -> dict:
    """Seconds of each part, and perplexities."""
    start = time.perf_counter()
    model = kneser_ney.fit(counts.count(corpus.train, ORDER, len(corpus.vocabulary)))
    fitted = time.perf_counter()
    raw = {split: model.log_probabilities(corpus.before(split), corpus.ids(split)) for split in SPLITS}
    found = {"estimation, s": fitted - start, "reading, s": 0.0, "scoring, s": time.perf_counter() - fitted}
    return found | {f"{split}_raw": evaluation.perplexity(raw[split]) for split in SPLITS}


def kenlm(corpus: Corpus, lmplz: str, folder: Path) -> dict:
    """The same of KenLM, which takes and gives text."""
    import kenlm  # of the extra `peers`

    stream, arpa = folder / "train.txt", folder / "model.arpa"
    stream.write_text(text(corpus.train) + "\n")
    before = {split: text(corpus.before(split)[1 - ORDER :]) for split in SPLITS}
    whole = {split: f"{before[split]} {text(corpus.ids(split))}" for split in SPLITS}
    # Its vocabulary counts its unknown word and the marks of a sentence as well.
    told = [lmplz, "-o", str(ORDER), "--vocab_pad", str(len(corpus.vocabulary)), "-T", folder, "-S", MEMORY]
    start = time.perf_counter()
    subprocess.run([*told, "--text", stream, "--arpa", arpa], check=True, capture_output=True)
    fitted = time.perf_counter()
    model = kenlm.Model(str(arpa))
    read = time.perf_counter()
    of_split = {
        split: model.score(whole[split], bos=False, eos=False) - model.score(before[split], bos=False, eos=False)
        for split in SPLITS
    }
    scored = time.perf_counter()
    found = {"estimation, s": fitted - start, "reading, s": read - fitted, "scoring, s": scored - read}
    nats = {split: -of_split[split] * math.log(10) / len(corpus.ids(split)) for split in SPLITS}
    return found | {f"{split}_raw": math.exp(nats[split]) for split in SPLITS}


def run() -> pd.DataFrame:
    """A line for each tool."""
    lmplz = shutil.which("lmplz")
    if not lmplz:
        raise InputError("no lmplz on the path: build it from KenLM's sources (cmake, Boost), then call this again")
    corpus, turns = read_corpus("data/brown"), {"ours": [], "KenLM": []}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(REPEATS):
            turns["ours"].append(ours(corpus))
            turns["KenLM"].append(kenlm(corpus, lmplz, Path(folder)))
    median = {who: pd.DataFrame(found).median() for who, found in turns.items()}
    return pd.DataFrame(median).T.rename_axis("who")
