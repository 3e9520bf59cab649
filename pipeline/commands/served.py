"""A model of the pipeline as MLflow loads and serves it: texts in, the log-probability of each word out.

MLflow runs this file when it loads the model. Beside it lie `data`, the preprocessed corpus, `predictions` with the
model and its components, and `clusters`.
"""

import math
from pathlib import Path

import mlflow
import pandas as pd
from mlflow.models import ModelSignature, set_model
from mlflow.pyfunc import PythonModel
from mlflow.types import ColSpec, DataType, Schema
from mlflow.types.schema import Array, Object, Property

from pipeline.commands import models, user_text
from pipeline.data.corpus import read_corpus
from pipeline.data.evaluation import perplexity
from pipeline.data.files import read_json

EXAMPLE = pd.DataFrame({"text": ["The jury said that the election was fair."]})
WORD = [
    Property("word", DataType.string),
    Property("log_probability", DataType.double),  # natural
    Property("unknown", DataType.boolean),
]
SIGNATURE = ModelSignature(
    inputs=Schema([ColSpec(DataType.string, "text")]),
    outputs=Schema([ColSpec(Array(Object(WORD)), "words"), ColSpec(DataType.double, "perplexity")]),
)


class Served(PythonModel):
    """One model with its vocabulary."""

    def load_context(self, context: mlflow.pyfunc.PythonModelContext) -> None:
        """Reads the model from the artifacts."""
        folder = Path(context.artifacts["model"])
        self.corpus = read_corpus(folder / "data")
        name = read_json(folder / "name.json")["name"]
        self.model = models.load(name, self.corpus, [folder / "predictions"], folder / "clusters")

    def predict(self, context, model_input: pd.DataFrame, params: dict | None = None) -> pd.DataFrame:
        """One line a text: its words, marks included, each with its natural-log probability, and the perplexity; of an
        empty text none."""
        return pd.DataFrame([self._scored(text) for text in model_input["text"]])

    def _scored(self, text: str) -> dict:
        if not text or not text.strip():  # the other texts of the request are answered
            return {"words": [], "perplexity": math.nan}
        words = user_text.words_of(text, self.corpus)
        scored = user_text.scored(words, self.model, self.corpus)
        return {"words": scored.to_dict("records"), "perplexity": perplexity(scored["log_probability"].to_numpy())}


set_model(Served())
