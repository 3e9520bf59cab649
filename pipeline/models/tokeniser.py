"""A user's text as the words and ids of a corpus."""

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain, groupby, product

import numpy as np

from pipeline.core.common.errors import InputError
from pipeline.core.common.stream import NUMBER, PARAGRAPH, UNKNOWN
from pipeline.core.readers import tokens as tokenised
from pipeline.core.text.build import reader
from pipeline.core.text.pieces import Piece, composed, fold, paragraphs, stream
from pipeline.core.text.vocabulary import PROPER
from pipeline.data.corpus import Corpus

PRINTED = ("senate", "plain", "lines")  # formats of text as it is printed
OPENING = re.compile(r'(?:(?<=[\s(\[-])|^)"|\u201c')  # a straight quotation mark that opens, or a printed one
DASH = re.compile(r"--+|\u2014|(?<!\d)\u2013|\u2013(?!\d)")
SIGN = re.compile(r"``|''|--|[^\w\s]")
CORE = re.compile(r"\w(?:.*\w)?|$")  # from the first letter or digit to the last
FEWEST, PAIRED = 20, 0.45  # times that a sign must come, and the share of them that follow the same sign, to be doubled
MOST = 4  # signs that a word of a vocabulary may begin or end with; without a bound a run of signs takes cubic time


class Tokeniser:
    """Reads a text as a corpus was read.

    Brown and text in tokens were tokenised before we had them, by rules that only their vocabulary shows: from it
    follow the spelling of quotation marks and dashes, which abbreviations keep their full stop, and which signs are
    written twice. Of a corpus in lower case, the vocabulary and what models give are in lower case too; a user's words
    keep their case, and are looked up in lower case.
    """

    def __init__(self, corpus: Corpus):
        self._corpus, self._places = corpus, {word: k for k, word in enumerate(corpus.vocabulary)}
        self._folds = not any(word != word.lower() for word in corpus.vocabulary)
        frequency = np.bincount(corpus.train, minlength=len(corpus.vocabulary))
        self.marks = corpus.counts["marks"].keys()
        self._marks_in_training = [mark for mark, place in corpus.counts["marks"].items() if frequency[place]]
        # "Mr." is a word; "it." is more often a word and a full stop, and no word.
        count = dict(zip(corpus.vocabulary, frequency.tolist(), strict=True))
        stopped = {word for word in count if len(word) > 1 and word.endswith(".")}
        self.whole = count.keys() - {word for word in stopped if count[word] <= count.get(word[:-1], 0)}
        # In Brown question mark, exclamation mark and semicolon.
        again = np.bincount(corpus.train[1:][corpus.train[1:] == corpus.train[:-1]], minlength=len(frequency))
        pairs = [corpus.vocabulary[k] for k in np.flatnonzero((frequency >= FEWEST) & (again >= PAIRED * frequency))]
        self.doubled = {word for word in pairs if not any(map(str.isalnum, word))} - {UNKNOWN}
        self.unknown = np.isin(corpus.vocabulary, [UNKNOWN, PROPER])  # mask (V,) of the symbols for all other words

    def words(self, text: str, tokens: bool = False) -> list[str]:
        """The words of a text as the corpus would have them, with its marks after each paragraph and at the end.

        tokens: the text is tokenised, words apart by white space, a paragraph a line. Raises InputError where there are
        no words, or what is no text.
        """
        if "\0" in text:
            raise InputError(
                "NUL characters, so no text, or UTF-16 without its mark: convert it, for example with iconv"
            )
        if broken := re.search("[\ud800-\udfff]", text):
            raise InputError(f"{broken[0]!r} is half a character, or a byte that is not UTF-8: convert it with iconv")
        lines = io.StringIO(text.replace("\ufeff", ""), newline=None)  # breaks where a corpus's files do
        pieces = list(self._tokenised(lines) if tokens else self._printed(lines))
        if not any(words for words, _ in pieces):
            raise InputError("no words in the text")
        return list(chain.from_iterable(stream(pieces, self._marks_in_training)))

    def beginning(self, text: str) -> list[str]:
        """The words of a text that goes on: without the marks that would end it; none of an empty one."""
        words = self.words(text) if text.strip() else []
        while words and words[-1] in self.marks:
            words.pop()
        return words

    @property
    def note(self) -> str:
        """What to know of the words that a model of this corpus gives; empty where the corpus keeps their case."""
        number = f", and {NUMBER} stands for each word with a digit" if NUMBER in self._places else ""
        return f"words are in lower case, as in the corpus{number}" if self._folds else ""

    def folded(self, words: list[str]) -> list[str]:
        """Words as the vocabulary spells them."""
        if not self._folds:
            return words
        return fold(words) if NUMBER in self._places else [word.lower() for word in words]

    def ids(self, words: list[str]) -> np.ndarray:
        """Ids (T,), as the corpus folds its words; for a word that the vocabulary does not hold that of a symbol."""
        proper = self._places.get(PROPER, 0)
        pairs = zip(self.folded(words), words, strict=True)
        ids = [self._places.get(key, proper if word[:1].isupper() else 0) for key, word in pairs]
        return np.array(ids, dtype=np.int64)

    @cached_property
    def before(self) -> np.ndarray:
        """The ids that stand before a text: those that stand there most often in training, such as `. <p> <text>`.
        After marks alone, as never in training, the first word would be a surprise."""
        train = self._corpus.train
        ends = np.flatnonzero(train[2:] == self._corpus.mark) + 2
        usual = Counter(tuple(train[place - 2 : place + 1].tolist()) for place in ends).most_common(1)
        return np.array(usual[0][0] if usual else (), dtype=np.int64)

    def printed(self, words: list[str]) -> str:
        """Words as a text: signs once that the corpus writes twice, paragraphs as lines."""
        once = chain.from_iterable([word] if word in self.doubled else run for word, run in groupby(words))
        return re.sub(rf"\s*{PARAGRAPH}\s*", "\n", " ".join(once)).strip()

    def _tokenised(self, lines: Iterable[str]) -> Iterator[Piece]:
        """An empty line is a paragraph only where it is in the corpus."""
        kept = self._corpus.counts["format"] == "tokens"
        return tokenised.pieces(line for line in lines if kept or line.strip())

    def _printed(self, lines: Iterable[str]) -> Iterator[Piece]:
        """Paragraphs as in the corpus: a line each, or blank lines between them."""
        form = self._corpus.counts["format"]
        if self._corpus.counts.get("normalised", form not in PRINTED):
            lines = composed(lines)
        if form in PRINTED:
            return reader(form).pieces(lines)
        return paragraphs(map(self._spelled, lines), self._words_of_line)

    def _spelled(self, line: str) -> str:
        """Quotation marks, apostrophes and dashes as the vocabulary spells them."""
        if "\u2019" not in self.whole:
            line = line.replace("\u2019", "'").replace("\u2018", "`" if "`" in self.whole else "'")
        if '"' not in self.whole and "``" in self.whole:
            line = OPENING.sub("``", line).replace('"', "''").replace("\u201d", "''")
        return DASH.sub(" -- ", line) if "--" in self.whole else line

    def _words_of_line(self, line: str) -> list[str]:
        """Words apart by white space and signs around them, with signs that stand alone written as the corpus does."""
        runs = ([*run] for _, run in groupby(chain.from_iterable(map(self._without_signs, line.split()))))
        return [*chain.from_iterable(run * 2 if len(run) == 1 and run[0] in self.doubled else run for run in runs)]

    def _without_signs(self, chunk: str) -> list[str]:
        """A word and the signs around it: as few are taken off as make it a known word, or all."""
        core = CORE.search(chunk)
        front, behind = SIGN.findall(chunk[: core.start()]), SIGN.findall(chunk[core.end() :])
        places = product(range(max(0, len(front) - MOST), len(front) + 1), range(min(len(behind), MOST) + 1))
        for first, last in sorted(places, key=lambda place: place[0] - place[1]):
            signs = [*front[first:], *behind[:last]]
            word = "".join([*front[first:], core[0], *behind[:last]])
            if self._holds(word, signs):
                return [*front[:first], word, *behind[last:]]
        return [*front, *filter(None, [core[0]]), *behind]

    def _holds(self, word: str, signs: list[str]) -> bool:
        """Whether the vocabulary has a word with signs around it. All words with a digit are one symbol: they keep the
        signs that are no words by themselves, such as those of $100 and 10%."""
        (folded,) = self.folded([word])
        return folded in self.whole and (folded == word or folded != NUMBER or self.whole.isdisjoint(signs))
