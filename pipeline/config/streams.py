"""Interpretations of a corpus: which words its stream could have had, as conf/streams.yaml lists them."""

from typing import Annotated, Literal

from pydantic import Field

from pipeline.config.base import Keys, Text


class Interpretation(Keys):
    """The choices by which the texts' words become a stream. What an entry leaves out stays as the texts have it."""

    name: Annotated[Text, Field(min_length=1, description="in plain words")]
    case: Literal["kept", "lower", "lower at sentence starts"] = Field("kept", description="of letters")
    numbers: Literal["kept", "merged", "words with a digit merged"] = Field(
        "kept", description="merged: one symbol for all words of digits and signs of numbers, such as $1,000 and 1/2"
    )
    number_signs: Literal["kept", "split", "split, hyphens too"] = Field(
        "kept", description="split: words are cut between a digit and a sign, so that $1,000 is four words"
    )
    points: Literal["kept", "split"] = Field("kept", description="split: U.S. is the four words U . S .")
    contractions: Literal["kept", "split"] = Field("kept", description="split: isn't is the two words is n't")
    possessives: Literal["kept", "'s split", "'s and ' split"] = Field(
        "kept", description="split: Fulton's is the two words Fulton 's; it's too"
    )
    hyphens: Literal["kept", "split", "dropped"] = Field(
        "kept", description="split: over-all is the three words over - all; dropped: the two words over all"
    )
    doubled_signs: Literal["kept", "single"] = Field(
        "kept", description="single: one sign where the texts repeat ; or ? or ! as a word of its own"
    )
    marks: list[Literal["sentence", "paragraph", "text"]] = Field(
        ["paragraph", "text"], description="after which a mark stands"
    )
