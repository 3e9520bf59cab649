"""conf/preprocess.yaml."""

from typing import Annotated

from pydantic import Field

from pipeline.config.base import NO_NUMBER, Float, Stage
from pipeline.config.corpus import Corpus


class Preprocess(Stage):
    """conf/preprocess.yaml."""

    corpus: Corpus
    most_unknown: Annotated[
        Float, NO_NUMBER, Field(gt=0, le=1, description="share of training's words that may be unknown")
    ]
