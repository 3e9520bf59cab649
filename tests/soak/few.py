"""What the trials start from: twenty texts of Brown and a tiny result of each kind."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from .trial import call

FEW = ["corpus.texts=20", "corpus.train=0.7", "corpus.valid=0.15"]
TINY = ["model.h=4", "model.m=3", "recipe.epochs=2", "recipe.batch=64", "recipe.samples=100"]
TABLE = ["table=demo", "table.models={train: [mlp9], ngram: [interpolated3, kn3], class_ngram: [class150-3]}"]
QUIET = "hydra/job_logging=disabled"


@dataclass(frozen=True)
class Few:
    """Folders of the tiny results."""

    root: Path

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def predictions(self) -> Path:
        return self.root / "predictions"

    def words(self, stage: str, out: Path) -> list[str]:
        """The overrides by which a stage makes its tiny result in a folder."""
        places = [f"predictions=[{self.predictions}]"]
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
            "report": ["clusters=", *TABLE, "table.yardsticks=[kn3]", f"table.predictions=[{self.predictions}]"],
        }[stage]
        data = [] if stage in ("download", "preprocess") else [f"data={self.data}"]
        beside = [f"timing={out}-timing.json", f"hydra.run.dir={out}-run"]  # a download's folder holds texts alone
        return [*own, *data, f"out={out}", *beside, QUIET]


def make(root: Path) -> Few:
    """The tiny results, made anew; tracking goes to a database beside them."""
    few = Few(root)
    os.environ["MLFLOW_TRACKING_URI"] = f"sqlite:///{root}/mlflow.db"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    there = Path("data/raw/brown").resolve()
    given = [f"corpus.path={there}"] if there.is_dir() else []
    made("download", "corpus=brown", *given, f"out={root}/raw", f"timing={root}/t.json", f"hydra.run.dir={root}/run")
    made("preprocess", *few.words("preprocess", few.data))
    made("cluster", *few.words("cluster", root / "clusters" / "150"))
    for name, more in {"mlp9": [], "cycling3": ["model=cycling3", "recipe=energy"], "flat": ["model.m=2"]}.items():
        made("train", *few.words("train", few.predictions / name / "0"), *more)
    for name in ("interpolated3", "kn3", "class150-3"):
        export = [f"export={root}/kn3.arpa"] if name == "kn3" else []
        made("ngram", *few.words("ngram", few.predictions / name / "0"), f"ngram={name}", *export)
    made("mix", *few.words("mix", few.predictions / "mlp9-mixed" / "0"))
    shutil.make_archive(str(root / "texts"), "gztar", root / "raw")
    return few


def made(stage: str, *words: str) -> None:
    """Runs a stage that must end well."""
    ended = call(stage, *words)
    if ended.code:
        raise SystemExit(f"{stage} {' '.join(words)}\n{ended.said}")
