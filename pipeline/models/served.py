"""A model of the pipeline as MLflow loads and serves it: from texts to the log-probability of each word.

For a text that cannot be scored, `error` has the reason; the other texts of the request are scored.

MLflow runs this file when it loads the model. Its artifacts are `data` (the preprocessed corpus), `predictions` (the
model and its components) and `clusters`.
"""

import sys
import warnings
from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
from mlflow.exceptions import MlflowException
from mlflow.models import ModelSignature, set_model
from mlflow.pyfunc import PythonModel
from mlflow.types import ColSpec, DataType, Schema
from mlflow.types.schema import Array, Object, Property

from pipeline.core.common.errors import InputError
from pipeline.core.common.evaluation import perplexity
from pipeline.models.model import load

LONGEST = 100_000  # characters of a text, some 20,000 words; the answer has twenty times as many characters
SENTENCE = "The jury said that the election was fair."
EXAMPLE = pd.DataFrame({"text": [SENTENCE]})
NO_TEXT = (
    "no column `text`: give a data frame with it, as pandas.DataFrame({'text': ['It was fair.']}) in Python or "
    '{"dataframe_records": [{"text": "It was fair."}]} over HTTP'
)
WORD = [
    Property("word", DataType.string),
    Property("log_probability", DataType.double),  # natural
    Property("unknown", DataType.boolean),
]
SIGNATURE = ModelSignature(
    inputs=Schema(
        [ColSpec(DataType.string, "text", required=False)]
    ),  # if required, one null would refuse the whole request
    outputs=Schema(
        [
            ColSpec(Array(Object(WORD)), "words"),
            ColSpec(DataType.double, "perplexity", required=False),
            ColSpec(DataType.string, "error", required=False),
        ]
    ),
)


class Served(PythonModel):
    """One model with its vocabulary."""

    def load_context(self, context: mlflow.pyfunc.PythonModelContext) -> None:
        """Reads the model from the artifacts."""
        if "mlflow.pyfunc.scoring_server.app" in sys.modules:  # the server's own process
            # The server makes the frame of a request before `predict` gets it. In a column of pandas' type str, half a
            # character in one text would fail the whole request.
            with warnings.catch_warnings(action="ignore"):  # pandas 4 will lack this option
                pd.set_option("future.infer_string", False)
        folder = Path(context.artifacts["model"])
        self.model = load(
            context.model_config["name"],
            data=folder / "data",
            predictions=folder / "predictions",
            clusters=folder / "clusters",
        )
        self.model.score(SENTENCE)  # loads the model now, not at the first request

    def predict(self, context, model_input: pd.DataFrame, params: dict | None = None) -> pd.DataFrame:
        """A row for each text: its words with their natural-log probabilities, marks included, and the perplexity; or
        the error. A request without a column `text` is refused: MLflow drops other columns, and the rows with them. In
        Python {"text": ["...", "..."]} does as well: MLflow makes one row of it, which holds the list."""
        if "text" not in model_input:
            raise MlflowException.invalid_parameter_value(NO_TEXT)
        answers = [self._read(text) for text in model_input["text"].explode()]
        readable = [answer for answer in answers if answer["error"] is None]
        scored = self.model.log_probabilities([answer["words"] for answer in readable])
        for answer, log_p in zip(readable, scored, strict=True):
            answer["perplexity"] = float(perplexity(log_p))
            answer["words"] = self._rows(answer["words"], log_p)
        # As objects, so that a missing perplexity is null: NaN is not JSON.
        return pd.DataFrame(answers, dtype=object)

    def _read(self, text: str | None) -> dict:
        """The words of a text, or the error."""
        try:
            if not isinstance(text, str):
                raise InputError("no text: give one as `text`")
            if len(text) > LONGEST:
                raise InputError(f"{len(text):,} characters; at most {LONGEST:,} are scored at once: send parts")
            return {"words": self.model.tokeniser.words(text), "perplexity": None, "error": None}
        except InputError as error:
            return {"words": [], "perplexity": None, "error": str(error)}

    def _rows(self, words: list[str], log_p: np.ndarray) -> list[dict]:
        unknown = self.model.tokeniser.unknown[self.model.tokeniser.ids(words)]
        columns = zip(words, log_p.tolist(), unknown.tolist(), strict=True)
        return [{"word": word, "log_probability": value, "unknown": mark} for word, value, mark in columns]


set_model(Served())
