"""conf/streams.yaml: interpretations of a corpus, which are streams of words that the paper could have used."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from pipeline.config.base import Count, InFolder, Keys, Stage, Text
from pipeline.config.corpus import Corpus


class Interpretation(Keys):
    """Choices by which the words of the texts become a stream. A choice that an entry leaves out changes nothing."""

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


class Streams(Stage):
    """conf/streams.yaml."""

    corpus: Corpus
    interpretations: list[Interpretation] = Field(min_length=1, description="the streams that are counted")
    checked: Count = Field(description="how many get perplexities: those whose counts are nearest to the paper's")
    also: list[Text] = Field(description="names of more that get perplexities")
    ngrams: list[Text] = Field(description="entries of conf/ngrams.yaml that give them, each a row of `printed`")
    printed: Text = Field(description="the table of conf/table that has what the paper prints of these n-grams")
    tables: InFolder = Field(description="the folder of the lists of tables")

    @model_validator(mode="after")
    def _unique(self) -> "Streams":
        names = [interpretation.name for interpretation in self.interpretations]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"interpretations: {' and '.join(map(repr, repeated))} stands there twice")
        if unknown := sorted(set(self.also) - set(names)):
            raise ValueError(f"also: no interpretation is called {' or '.join(map(repr, unknown))}")
        return self
