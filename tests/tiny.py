"""Tiny results of each kind on twenty texts of Brown, in the places of a checkout: for tests."""

from pathlib import Path

FEW = ["corpus.texts=20", "corpus.train=0.7", "corpus.valid=0.15"]
TINY = ["model.h=4", "model.m=3", "recipe.epochs=2", "recipe.batch=64", "recipe.samples=100"]
TABLE = ["table=demo", "table.models={train: [mlp9], ngram: [interpolated3, kn3], class_ngram: [class150-3]}"]
RESULTS = {  # by their places: the stage, and what it is given beside its usual words
    "clusters/brown/150": "cluster",
    "features/svd3": "features",
    "predictions/table1/mlp9/0": "train",
    "predictions/table1/mlp9/1": "train seed=1",
    "predictions/table1/cycling3/0": "train model=cycling3 recipe=energy",
    "predictions/table1/recurrent/0": "train model=recurrent model.n=4",
    "predictions/table1/plane/0": "train model=plane model.m=2",
    "predictions/table1/interpolated3/0": "ngram ngram=interpolated3",
    "predictions/table1/kn3/0": "ngram ngram.order=2 export={root}/kn3.arpa",  # not what conf/ has by that name
    "predictions/table1/class150-3/0": "ngram ngram=class150-3",
    "predictions/table1/best-ngram/0": "mix name=best-ngram mix=learned mix.components=[kn3/0,class150-3/0]",
    "predictions/beyond/mlp9-mixed/0": "mix",
    "predictions/beyond/mlp9-learned/0": "mix name=mlp9-learned mix=learned",
    "predictions/beyond/mlp9-by-frequency/0": "mix name=mlp9-by-frequency mix=by-frequency",
    "predictions/published/mlp9/0": "train recipe.epochs=1",
    "predictions/out_of_vocabulary/mlp9": "out_of_vocabulary",
}


def tables(root: Path) -> list[Path]:
    """Where the models are."""
    return [root / "predictions" / table for table in ("table1", "beyond")]


def words(root: Path, stage: str, out: Path, *more: str) -> list[str]:
    """The overrides by which a stage makes its tiny result in a folder; those in `more` replace some."""
    predictions = f"predictions=[{','.join(map(str, tables(root)))}]"
    own = {
        "download": [f"corpus.path={root}/raw"],
        "preprocess": [f"corpus.raw={root}/raw", *FEW],
        "cluster": ["classes=150", "passes=2"],
        "ngram": ["ngram=kn3", f"clusters={root}/clusters/brown"],
        "train": [*TINY, f"checkpoints={out}/checkpoints"],
        "mix": ["name=mlp9-mixed", predictions],
        "features": ["m=3", "contexts=50"],
        "out_of_vocabulary": ["network=mlp9/0", f"csv={out}/oov.csv", predictions],
        "shortlist": ["network=cycling3/0", "size=50", predictions],
        "word_map": ["plane=plane", "neighbours=mlp9", "words=[said]", predictions],
        "report": ["clusters=", *TABLE, "table.baselines=[kn3]", f"table.{predictions}"],
    }[stage]
    data = [] if stage in ("download", "preprocess") else [f"data={root}/data/brown"]
    # beside, as a download's folder holds texts alone
    places = [f"out={out}", f"timing={out}-timing.json", f"hydra.run.dir={out}-run", "hydra.output_subdir=null"]
    given = tuple(word.partition("=")[0] + "=" for word in more)
    usual = [*own, *data, *places, "hydra/job_logging=disabled"]
    return [*(word for word in usual if not word.startswith(given)), *more]
