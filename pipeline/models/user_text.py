"""A user's text as the ids of a corpus."""

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, product

import numpy as np
import pandas as pd

from pipeline.core.common.symbols import NUMBER, UNKNOWN
from pipeline.core.readers import tokens as tokenised
from pipeline.core.text.build import reader
from pipeline.core.text.pieces import Piece, composed, fold, paragraphs, stream
from pipeline.core.text.vocabulary import PROPER
from pipeline.data.corpus import Corpus
from pipeline.data.errors import InputError
from pipeline.models.by_name import LanguageModel

PRINTED = ("senate", "plain", "lines")  # formats of text as it is printed
CONTEXT = 32  # marks before a text: more than any model looks back
OPENING = re.compile(r'(?:(?<=[\s(\[-])|^)"|\u201c')  # a straight quotation mark that opens, or a printed one
DASH = re.compile(r"--+|\u2014|(?<!\d)\u2013|\u2013(?!\d)")
SIGN = re.compile(r"``|''|--|[^\w\s]")
FEWEST, PAIRED = 20, 0.45  # times that a sign must come, and the share of them that follow the same sign, to be doubled
MOST = 4  # signs that a word of a vocabulary may begin or end with; without a bound a run of signs takes cubic time


def words_of(text: str, corpus: Corpus, tokens: bool = False) -> list[str]:
    """The words of a text as the corpus would have them, with its marks after each paragraph and at the end.

    tokens: the text is tokenised, words apart by white space. Raises InputError where there are no words, or what
    is no text.
    """
    if "\0" in text:
        raise InputError("NUL characters, so no text, or UTF-16 without its mark: convert it, for example with iconv")
    if broken := re.search("[\ud800-\udfff]", text):
        raise InputError(f"{broken[0]!r} is half a character, or a byte that is not UTF-8: convert it with iconv")
    text = text.replace("\ufeff", "")  # the mark of an encoding
    lines = io.StringIO(text, newline=None)  # breaks where a corpus's files do
    if not tokens and corpus.counts.get("normalised", corpus.counts["format"] not in PRINTED):
        lines = composed(lines)
    pieces = list(_tokenised(lines, corpus) if tokens else _printed(lines, corpus))
    if not any(words for words, _ in pieces):
        raise InputError("no words in the text")
    marks = [mark for mark, place in corpus.counts["marks"].items() if (corpus.train == place).any()]
    return list(chain.from_iterable(stream(pieces, marks)))


def _tokenised(lines: Iterable[str], corpus: Corpus) -> Iterator[Piece]:
    """A paragraph a line; an empty line is one only where it is in the corpus."""
    kept = corpus.counts["format"] == "tokens"
    return tokenised.pieces(line for line in lines if kept or line.strip())


def _printed(lines: Iterable[str], corpus: Corpus) -> Iterator[Piece]:
    """A text as it is printed, paragraphs as in the corpus: a line each, or blank lines between them."""
    if corpus.counts["format"] in PRINTED:
        return reader(corpus.counts["format"]).pieces(lines)
    # Others were tokenised before we had them, by rules that only their vocabulary shows.
    known, twice = whole_words(corpus), doubled(corpus)
    words_of_line = partial(_whole, known=known)
    return paragraphs(map(partial(_spelled, known=known), lines), lambda line: _twice(words_of_line(line), twice))


def doubled(corpus: Corpus) -> set[str]:
    """The signs that the corpus writes twice where print has one: in Brown question and exclamation mark, semicolon."""
    often = np.bincount(corpus.train, minlength=len(corpus.vocabulary))
    again = np.bincount(corpus.train[1:][corpus.train[1:] == corpus.train[:-1]], minlength=len(often))
    pairs = np.flatnonzero((often >= FEWEST) & (again >= PAIRED * often))
    return {corpus.vocabulary[k] for k in pairs if not any(map(str.isalnum, corpus.vocabulary[k]))} - {UNKNOWN}


def _twice(words: list[str], twice: set[str]) -> list[str]:
    """Words with signs that stand alone written as the corpus writes them."""
    alone = [
        word in twice and word not in words[max(k - 1, 0) : k] + words[k + 1 : k + 2] for k, word in enumerate(words)
    ]
    return list(chain.from_iterable([word, word] if each else [word] for word, each in zip(words, alone, strict=True)))


def once(words: list[str], twice: set[str]) -> list[str]:
    """Words with such signs as print has them."""
    return [word for k, word in enumerate(words) if k == 0 or word not in twice or words[k - 1] != word]


def whole_words(corpus: Corpus) -> set[str]:
    """The vocabulary without what is more often a word and a full stop: "Mr." is in it, "it." is not."""
    counts = np.bincount(corpus.train, minlength=len(corpus.vocabulary))
    frequency = dict(zip(corpus.vocabulary, counts.tolist(), strict=True))
    stopped = {word for word in frequency if len(word) > 1 and word.endswith(".")}
    return frequency.keys() - {word for word in stopped if frequency[word] <= frequency.get(word[:-1], 0)}


def _spelled(line: str, known: set[str]) -> str:
    """Quotation marks, apostrophes and dashes as the vocabulary spells them."""
    if "\u2019" not in known:
        line = line.replace("\u2019", "'").replace("\u2018", "`" if "`" in known else "'")
    if '"' not in known and "``" in known:
        line = OPENING.sub("``", line).replace('"', "''").replace("\u201d", "''")
    if "--" in known:
        line = DASH.sub(" -- ", line)
    return line


def _around(chunk: str) -> tuple[str, str, str]:
    """The signs before and behind, and what stands between, from the first letter or digit to the last."""
    place = [k for k, sign in enumerate(chunk) if sign.isalnum() or sign == "_"]
    first, last = (place[0], place[-1] + 1) if place else (len(chunk), len(chunk))
    return chunk[:first], chunk[first:last], chunk[last:]


def _whole(line: str, known: set[str]) -> list[str]:
    """Words apart by white space; of the signs around one as few are taken off as make it a known word, or all."""
    words = []
    for chunk in line.split():
        before, core, after = _around(chunk)
        front, behind = SIGN.findall(before), SIGN.findall(after)
        places = product(range(max(0, len(front) - MOST), len(front) + 1), range(min(len(behind), MOST) + 1))
        for first, last in sorted(places, key=lambda place: place[0] - place[1]):
            if "".join([*front[first:], core, *behind[:last]]) in known:
                break
        else:
            first, last = len(front), 0
        inside = "".join([*front[first:], core, *behind[:last]])
        words += [*front[:first], *([inside] if inside else []), *behind[last:]]
    return words


def ids_of(words: list[str], corpus: Corpus) -> np.ndarray:
    """Ids (T,), as the corpus folds its words; for a word that the vocabulary does not hold that of a symbol."""
    place = {word: k for k, word in enumerate(corpus.vocabulary)}
    if not any(word != word.lower() for word in corpus.vocabulary):  # a corpus without capitals
        folded = fold(words) if NUMBER in place else [word.lower() for word in words]
    else:
        folded = words
    proper = place.get(PROPER, 0)
    ids = [place.get(key, proper if word[:1].isupper() else 0) for key, word in zip(folded, words, strict=True)]
    return np.array(ids, dtype=np.int64)


def unknown(ids: np.ndarray, corpus: Corpus) -> np.ndarray:
    """Mask (T,) of the words that the vocabulary does not hold."""
    return np.isin(corpus.vocabulary, [UNKNOWN, PROPER])[ids]


def before(corpus: Corpus) -> np.ndarray:
    """What stands before a text: marks, and as the last words those that stand there most often in training, such as
    `. <p> <text>`. After marks alone, as never in training, the first word would be a surprise."""
    starts = np.flatnonzero(corpus.train[2:] == corpus.mark) + 2
    ends = Counter(tuple(corpus.train[place - 2 : place + 1].tolist()) for place in starts)
    usual = ends.most_common(1)[0][0] if ends else ()
    return np.array([corpus.mark] * (CONTEXT - len(usual)) + [*usual], dtype=np.int64)


def start_of(text: str, corpus: Corpus) -> list[str]:
    """The words of a text that goes on: without the marks that would end it; none of an empty one."""
    words = words_of(text, corpus) if text.strip() else []
    while words and words[-1] in corpus.counts["marks"]:
        words.pop()
    return words


def scored(words: list[str], model: LanguageModel, corpus: Corpus, marks: bool = True) -> pd.DataFrame:
    """A line a word, by its place: word, natural log_probability, and whether it is unknown: a symbol stood for it.

    marks: whether those of paragraphs and text have lines too; they are read in any case.
    """
    ids = ids_of(words, corpus)
    log_p = model.log_probabilities(before(corpus), ids).astype(float)
    table = pd.DataFrame({"word": words, "log_probability": log_p, "unknown": unknown(ids, corpus)})
    return table if marks else table[~table["word"].isin([*corpus.counts["marks"]])]
