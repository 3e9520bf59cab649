"""conf/shortlist.yaml."""

from pydantic import Field

from pipeline.config.base import OnNetwork, Positive
from pipeline.config.ngram import NgramModel


class Shortlist(OnNetwork):
    """conf/shortlist.yaml."""

    size: Positive = Field(description="words that the network scores after each context: the trigram's likeliest")
    ngram: NgramModel
