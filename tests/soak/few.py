"""What the trials start from, twenty texts of Brown and a tiny result of each kind; and how a trial is judged."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from forks import Ended, call

FEW = ["corpus.texts=20", "corpus.train=0.7", "corpus.valid=0.15"]
TINY = ["model.h=4", "model.m=3", "recipe.epochs=2", "recipe.batch=64", "recipe.samples=100"]
TABLE = ["table=demo", "table.models={train: [mlp9], ngram: [interpolated3, kn3], class_ngram: [class150-3]}"]
# What a result holds whose every bit is the same when its stage is repeated.
RESULTS = (".npy", ".csv", ".safetensors", "metrics.json", "counts.json", "run.json", "weights.json", ".txt", ".md")


@dataclass(frozen=True)
class Few:
    """The folder of the tiny results."""

    root: Path

    def words(self, stage: str, out: Path, *more: str) -> list[str]:
        """The overrides by which a stage makes its tiny result in a folder; those in `more` replace some."""
        places = [f"predictions=[{self.root}/predictions]"]
        own = {
            "download": [f"corpus.path={self.root}/raw"],
            "preprocess": [f"corpus.raw={self.root}/raw", *FEW],
            "cluster": ["classes=150", "passes=2"],
            "ngram": ["ngram=kn3", f"clusters={self.root}/clusters"],
            "train": [*TINY, f"checkpoints={out}/checkpoints"],
            "mix": ["name=mlp9-mixed", *places],
            "features": ["m=3", "contexts=50"],
            "out_of_vocabulary": ["network=mlp9/0", f"csv={out}/oov.csv", *places],
            "shortlist": ["network=cycling3/0", "size=50", *places],
            "word_map": ["plane=flat", "neighbours=mlp9", "words=[said]", *places],
            "report": ["clusters=", *TABLE, "table.yardsticks=[kn3]", f"table.predictions=[{self.root}/predictions]"],
        }[stage]
        data = [] if stage in ("download", "preprocess") else [f"data={self.root}/data"]
        beside = [f"timing={out}-timing.json", f"hydra.run.dir={out}-run", "hydra/job_logging=disabled"]
        words = [
            *own,
            *data,
            f"out={out}",
            *beside,
            "hydra.output_subdir=null",
        ]  # a download's folder holds texts alone
        given = tuple(word.partition("=")[0] + "=" for word in more)
        return [*(word for word in words if not word.startswith(given)), *more]


def make(root: Path) -> Few:
    """The tiny results, made anew; tracking goes to a database beside them."""
    few, raw = Few(root), Path("data/raw/brown").resolve()
    os.environ["MLFLOW_TRACKING_URI"] = f"sqlite:///{root}/mlflow.db"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    results = {
        "raw": ("download", "corpus=brown", *([f"corpus.path={raw}"] if raw.is_dir() else ["corpus.path="])),
        "data": ("preprocess",),
        "clusters/150": ("cluster",),
        "predictions/mlp9/0": ("train",),
        "predictions/cycling3/0": ("train", "model=cycling3", "recipe=energy"),
        "predictions/flat/0": ("train", "model.m=2"),
        "predictions/interpolated3/0": ("ngram", "ngram=interpolated3"),
        "predictions/kn3/0": ("ngram", "ngram=kn3", f"export={root}/kn3.arpa"),
        "predictions/class150-3/0": ("ngram", "ngram=class150-3"),
        "predictions/mlp9-mixed/0": ("mix",),
    }
    for out, (stage, *more) in results.items():
        ended = call(stage, *few.words(stage, root / out, *more))
        if ended.code:
            raise SystemExit(f"{stage} {' '.join(more)}\n{ended.said}")
    shutil.make_archive(str(root / "texts"), "gztar", root / "raw")
    return few


def refused(ended: Ended, *names: str) -> str:
    """Empty where a call ended as a mistake of the user's should: code 2, and a message that has one of these names."""
    said = ended.errors.strip()
    if ended.code != 2 or not said.startswith("error: ") or "Traceback" in said:
        return f"exit code {ended.code}: {(ended.said.strip() or 'silence')[-200:]}"
    return "" if any(name in said for name in names) else f"does not name it: {said}"


def differs(folder: Path, expected: Path) -> str:
    """Which files of a result have other bits than expected, or are there in one place alone; empty for none."""
    ours, others = bits(folder), bits(expected)
    kept = [name for name in ours | others if name.endswith(RESULTS) or "." not in name]
    names = sorted(name for name in kept if ours.get(name) != others.get(name))
    return f"other bits: {names[:3]}" if names else ""


def bits(folder: Path) -> dict[str, bytes]:
    """The files below a folder, and what they hold."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
