"""From a user's text to the words and ids of a corpus."""

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
from pipeline.core.text.pieces import EMPHASIS, Piece, composed, fold, paragraphs, stream, visible
from pipeline.core.text.vocabulary import PROPER
from pipeline.data.corpus import Corpus

PRINTED = ("senate", "plain", "lines")  # formats of printed text, which is not tokenised
OPENING = re.compile(r'(?:(?<=[\s(\[-])|^)"|\u201c')  # an opening quotation mark, straight or curly
DASH = re.compile(r"--+|\u2014|(?<!\d)\u2013|\u2013(?!\d)")
SIGN = re.compile(r"``|''|--|[^\w\s]")
CORE = re.compile(r"\w(?:.*\w)?|$")  # from the first letter or digit to the last
# A sign is doubled if it occurs at least FEWEST times and a share of at least PAIRED of them follows the same sign.
FEWEST = 20
PAIRED = 0.45
MOST = 4  # signs at the beginning or end of a word of the vocabulary; without a bound a run of signs takes cubic time


class Tokeniser:
    """Reads a text as the corpus was read.

    Brown, and corpora in the format tokens, were tokenised by others. Only their vocabulary shows by which rules: how
    quotation marks and dashes are spelled, which abbreviations keep their full stop, which signs are written twice. If
    the corpus is in lower case, so are the vocabulary and the words that models give. A user's words keep their case
    and are looked up in lower case.
    """

    def __init__(self, corpus: Corpus):
        self._corpus = corpus
        self._ids = {word: k for k, word in enumerate(corpus.vocabulary)}
        self._folds = not any(word != word.lower() for word in corpus.vocabulary)
        frequency = np.bincount(corpus.train, minlength=len(corpus.vocabulary))
        self.marks = corpus.counts["marks"].keys()
        self._marks_in_training = [mark for mark, place in corpus.counts["marks"].items() if frequency[place]]
        # "Mr." is a word. "it." is not: in most cases it is a word and a full stop.
        count = dict(zip(corpus.vocabulary, frequency.tolist(), strict=True))
        with_full_stop = {word for word in count if len(word) > 1 and word.endswith(".")}
        self.known_words = count.keys() - {word for word in with_full_stop if count[word] <= count.get(word[:-1], 0)}
        # The doubled signs: in Brown the question mark, the exclamation mark and the semicolon.
        repeats = np.bincount(corpus.train[1:][corpus.train[1:] == corpus.train[:-1]], minlength=len(frequency))
        pairs = [corpus.vocabulary[k] for k in np.flatnonzero((frequency >= FEWEST) & (repeats >= PAIRED * frequency))]
        self.doubled = {word for word in pairs if not any(map(str.isalnum, word))} - {UNKNOWN}
        self.unknown = np.isin(corpus.vocabulary, [UNKNOWN, PROPER])  # mask (V,) of the symbols for all other words

    def words(self, text: str, tokens: bool = False) -> list[str]:
        """The words of a text as the corpus would have them, with marks after each paragraph and at the end.

        tokens: the text is tokenised: white space separates words, and a line is a paragraph. Raises InputError if the
        text has no words, or characters that no text has.
        """
        if "\0" in text:
            raise InputError(
                "NUL characters, so no text, or UTF-16 without its mark: convert it, for example with iconv"
            )
        if broken := re.search("[\ud800-\udfff]", text):
            raise InputError(f"{broken[0]!r} is half a character, or a byte that is not UTF-8: convert it with iconv")
        lines = io.StringIO(visible(text), newline=None)  # line breaks as in the files of a corpus
        pieces = list(self._tokenised(lines) if tokens else self._printed(lines))
        if not any(words for words, _ in pieces):
            raise InputError("no words in the text")
        return list(chain.from_iterable(stream(pieces, self._marks_in_training)))

    def beginning(self, text: str) -> list[str]:
        """The words of the beginning of a text: without the marks that would end it. No words for an empty text."""
        words = self.words(text) if text.strip() else []
        while words and words[-1] in self.marks:
            words.pop()
        return words

    @property
    def note(self) -> str:
        """A note about the words that a model of this corpus gives; empty if the corpus keeps their case."""
        number = f", and {NUMBER} stands for each word with a digit" if NUMBER in self._ids else ""
        return f"words are in lower case, as in the corpus{number}" if self._folds else ""

    def folded(self, words: list[str]) -> list[str]:
        """Words as the vocabulary spells them."""
        if not self._folds:
            return words
        return fold(words) if NUMBER in self._ids else [word.lower() for word in words]

    def ids(self, words: list[str]) -> np.ndarray:
        """The ids (T,) of words, folded as in the corpus. A word that is not in the vocabulary has the id of a
        symbol."""
        proper = self._ids.get(PROPER, 0)
        pairs = zip(self.folded(words), words, strict=True)
        ids = [self._ids.get(key, proper if word[:1].isupper() else 0) for key, word in pairs]
        return np.array(ids, dtype=np.int64)

    @cached_property
    def before(self) -> np.ndarray:
        """The context before a text: the ids that precede a text most often in training, such as `. <p> <text>`. Marks
        alone never precede a text in training, so after them the first word would be less likely."""
        train = self._corpus.train
        ends = np.flatnonzero(train[2:] == self._corpus.mark) + 2
        most_common = Counter(tuple(train[place - 2 : place + 1].tolist()) for place in ends).most_common(1)
        return np.array(most_common[0][0] if most_common else (), dtype=np.int64)

    def printed(self, words: list[str]) -> str:
        """Words as a text: doubled signs are written once, and each paragraph is a line."""
        undoubled = chain.from_iterable([word] if word in self.doubled else run for word, run in groupby(words))
        return re.sub(rf"\s*{PARAGRAPH}\s*", "\n", " ".join(undoubled)).strip()

    def _tokenised(self, lines: Iterable[str]) -> Iterator[Piece]:
        """The pieces of a tokenised text. An empty line is a paragraph only if it is one in the corpus."""
        keeps_empty_lines = self._corpus.counts["format"] == "tokens"
        return tokenised.pieces(line for line in lines if keeps_empty_lines or line.strip())

    def _printed(self, lines: Iterable[str]) -> Iterator[Piece]:
        """The pieces of a printed text. Paragraphs are as in the corpus: one line each, or with blank lines between
        them."""
        form = self._corpus.counts["format"]
        if self._corpus.counts.get("normalised", form not in PRINTED):
            lines = composed(lines)
        if form in PRINTED:
            return reader(form).pieces(lines)
        return paragraphs(map(self._spelled, lines), self._words_of_line)

    def _spelled(self, line: str) -> str:
        """Quotation marks, apostrophes and dashes as the vocabulary spells them."""
        line = EMPHASIS.sub("", line)
        if "\u2019" not in self.known_words:
            line = line.replace("\u2019", "'").replace("\u2018", "`" if "`" in self.known_words else "'")
        if '"' not in self.known_words and "``" in self.known_words:
            line = OPENING.sub("``", line).replace('"', "''").replace("\u201d", "''")
        return DASH.sub(" -- ", line) if "--" in self.known_words else line

    def _words_of_line(self, line: str) -> list[str]:
        """The words of a line and the signs around them. A single sign is doubled if the corpus doubles it."""
        runs = ([*run] for _, run in groupby(chain.from_iterable(map(self._without_signs, line.split()))))
        return [*chain.from_iterable(run * 2 if len(run) == 1 and run[0] in self.doubled else run for run in runs)]

    def _without_signs(self, chunk: str) -> list[str]:
        """A word and the signs around it. The fewest signs are cut off that leave a known word; all if none is left."""
        core = CORE.search(chunk)
        before = SIGN.findall(chunk[: core.start()])
        after = SIGN.findall(chunk[core.end() :])
        places = product(range(max(0, len(before) - MOST), len(before) + 1), range(min(len(after), MOST) + 1))
        for first, last in sorted(places, key=lambda place: place[0] - place[1]):
            signs = [*before[first:], *after[:last]]
            word = "".join([*before[first:], core[0], *after[:last]])
            if self._is_known(word, signs):
                return [*before[:first], word, *after[last:]]
        return [*before, *filter(None, [core[0]]), *after]

    def _is_known(self, word: str, signs: list[str]) -> bool:
        """Whether the vocabulary has this word, which includes some signs. Words with a digit are all one symbol; they
        keep signs that are not words themselves, such as those of $100 and 10%."""
        (folded,) = self.folded([word])
        return folded in self.known_words and (folded == word or folded != NUMBER or self.known_words.isdisjoint(signs))
