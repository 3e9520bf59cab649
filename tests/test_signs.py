"""Signs that nobody sees, and those of emphasis, are no words: in files of a corpus and in a user's text alike."""

import numpy as np
import pytest
from conftest import settings

from pipeline.core.common.errors import Watcher
from pipeline.core.text.build import reader
from pipeline.data.corpus import Corpus
from pipeline.models.tokeniser import Tokeniser

GONE = [0x00AD, 0x061C, 0x180E, 0x200E, 0x200F, 0x202A, 0x202E, 0x2060, 0x2063, 0x2066, 0x2069, 0xFEFF]


def tokeniser(form: str) -> Tokeniser:
    """Of a corpus in a format, with a small vocabulary."""
    words = ["<unk>", "<p>", "<text>", "the", "conversation", "was", "fair", ".", "a", "b"]
    ids = np.arange(len(words), dtype=np.int32)
    counts = {"marks": {"<p>": 1, "<text>": 2}, "format": form, "digest": "x", "normalised": True}
    return Tokeniser(Corpus(words, ids, ids, ids, "", counts))


def of_user(form: str, text: str) -> list[str]:
    return [word for word in tokeniser(form).words(text) if word not in ("<p>", "<text>")]


def of_file(form: str, text: str, folder) -> list[str]:
    """The words of a file as `preprocess` reads it, without marks."""
    (folder / "text.txt").write_text(text, encoding="utf-8")
    keys = ["corpus=text", f"corpus.raw={folder}/text.txt", f"corpus.format={form}", "corpus.marks=[]"]
    corpus = settings("preprocess", *keys, "corpus.rare=0").corpus
    texts = reader(form).texts(corpus, Watcher())
    return [word for _, pieces in texts for words, _ in pieces for word in words]


@pytest.fixture(params=["plain", "lines"])
def words_of(request, tmp_path):
    """Both ways from a text to words, which have to give the same."""

    def words(text: str) -> list[str]:
        by_file, by_user = of_file(request.param, text, tmp_path), of_user(request.param, text)
        assert by_file == by_user
        return by_file

    return words


@pytest.mark.parametrize("code", GONE)
def test_a_sign_that_nobody_sees_is_no_part_of_a_word(words_of, code, tmp_path):
    sign = chr(code)
    plain = ["The", "conversation", "was", "fair", "."]
    assert words_of(f"{sign}The con{sign}ver{sign}sation {sign} was fair{sign}.{sign}\n") == plain
    for form in ("tokens", "brown"):
        assert of_user(form, f"The con{sign}versation was fair {sign} .") == plain
    assert of_file("tokens", f"The con{sign}versation was fair {sign} .\n", tmp_path) == plain


def test_a_zero_width_space_separates(words_of, tmp_path):
    assert words_of("a\u200bb\n") == ["a", "b"]
    assert words_of("\u1797\u17b6\u179f\u17b6\u200b\u1781\u17d2\u1798\u17c2\u179a\n") == [
        "\u1797\u17b6\u179f\u17b6",
        "\u1781\u17d2\u1798\u17c2\u179a",
    ]  # Khmer
    assert of_file("tokens", "a\u200bb\n", tmp_path) == of_user("tokens", "a\u200bb") == ["a", "b"]


def test_joiners_stay_within_a_word_and_nowhere_else(words_of):
    persian, emoji = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\U0001f469\u200d\U0001f467"
    assert words_of(f"{persian} {emoji}\n") == [persian, emoji]
    assert words_of("\u200ca\u200d b\u200c\n") == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("He _must_ go.", ["He", "must", "go", "."]),
        ("_The whole of it_, he said", ["The", "whole", "of", "it", ",", "he", "said"]),
        ("call snake_case or __init__", ["call", "snake_case", "or", "init"]),
        ("a __very__ b", ["a", "very", "b"]),
        ("_don't_", ["don't"]),
        ("a\n____\nb", ["a", "b"]),
    ],
)
def test_underscores_of_emphasis_are_no_part_of_a_word(words_of, text, words):
    assert words_of(f"{text}\n") == words
    if "'" not in text:
        assert of_user("brown", text) == words


def test_nothing_of_it_touches_the_tagged_corpus(brown):
    assert not any(chr(code) in word for word in brown.vocabulary for code in GONE)
