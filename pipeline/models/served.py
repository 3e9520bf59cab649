"""A model of the pipeline as MLflow loads and serves it: texts in, the log-probability of each word out.

A text that cannot be scored gets a reason in `error`, and the other texts of the request their answers.

MLflow runs this file when it loads the model. Beside it lie `data`, the preprocessed corpus, `predictions` with the
model and its components, and `clusters`.
"""

import sys
import warnings
from pathlib import Path

import mlflow
import pandas as pd
from mlflow.exceptions import MlflowException
from mlflow.models import ModelSignature, set_model
from mlflow.pyfunc import PythonModel
from mlflow.types import ColSpec, DataType, Schema
from mlflow.types.schema import Array, Object, Property

from pipeline.core.common.errors import InputError
from pipeline.core.common.evaluation import perplexity
from pipeline.models.model import load

LONGEST = 100_000  # characters of a text, some 20,000 words; the answer takes twenty times as many
SENTENCE = "The jury said that the election was fair."
EXAMPLE = pd.DataFrame({"text": [SENTENCE]})
NO_TEXT = 'no column `text`: send such as {"dataframe_records": [{"text": "It was fair."}]}'
WORD = [
    Property("word", DataType.string),
    Property("log_probability", DataType.double),  # natural
    Property("unknown", DataType.boolean),
]
SIGNATURE = ModelSignature(
    inputs=Schema([ColSpec(DataType.string, "text", required=False)]),  # or one null would refuse a whole request
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
            # It makes the frame of a request before `predict` sees it: as str, half a letter in one text fails all.
            with warnings.catch_warnings(action="ignore"):  # pandas 4 will lack it
                pd.set_option("future.infer_string", False)
        folder = Path(context.artifacts["model"])
        self.model = load(context.model_config["name"], folder / "data", folder / "predictions", folder / "clusters")
        self.model.score(SENTENCE)  # loads it now, and not for the first request

    def predict(self, context, model_input: pd.DataFrame, params: dict | None = None) -> pd.DataFrame:
        """One line a text: its words, marks included, each with its natural-log probability, and the perplexity; or
        why there are none. A request without a column `text` is refused: MLflow drops other columns, rows with them."""
        if "text" not in model_input:
            raise MlflowException.invalid_parameter_value(NO_TEXT)
        texts = model_input["text"]
        # As objects: a perplexity that is not there is null then, where NaN is no JSON.
        return pd.DataFrame([self._answer(each) for each in texts], dtype=object)

    def _answer(self, given: str | None) -> dict:
        try:
            if not isinstance(given, str):
                raise InputError("no text: give one as `text`")
            if len(given) > LONGEST:
                raise InputError(f"{len(given):,} characters; at most {LONGEST:,} are scored at once: send parts")
            scored = self.model.score(given).drop(columns="raw")
        except InputError as error:
            return {"words": [], "perplexity": None, "error": str(error)}
        total = float(perplexity(scored["log_probability"].to_numpy()))
        return {"words": scored.to_dict("records"), "perplexity": total, "error": None}


set_model(Served())
