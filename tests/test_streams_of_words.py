"""The stage streams: each choice of an interpretation does what it says, and counts are those of preprocess."""

import pandas as pd
import pytest
from conftest import run, settings

from pipeline import streams
from pipeline.config.streams import Interpretation
from pipeline.core.common.errors import Watcher
from pipeline.core.text.build import build
from pipeline.core.text.pieces import paragraphs
from pipeline.data.interpretations import words_of
from pipeline.reporting import streams_text

CUT = "Mr. Dean's boys' car isn't over-all $1,000 ; ;"
CHOICES = [
    ({}, CUT),
    ({"case": "lower"}, "mr. dean's boys' car isn't over-all $1,000 ; ;"),
    ({"case": "lower at sentence starts"}, "mr. Dean's boys' car isn't over-all $1,000 ; ;"),
    ({"numbers": "merged"}, "Mr. Dean's boys' car isn't over-all <number> ; ;"),
    ({"number_signs": "split"}, "Mr. Dean's boys' car isn't over-all $ 1 , 000 ; ;"),
    ({"points": "split"}, "Mr . Dean's boys' car isn't over-all $1,000 ; ;"),
    ({"contractions": "split"}, "Mr. Dean's boys' car is n't over-all $1,000 ; ;"),
    ({"possessives": "'s split"}, "Mr. Dean 's boys' car isn't over-all $1,000 ; ;"),
    ({"possessives": "'s and ' split"}, "Mr. Dean 's boys ' car isn't over-all $1,000 ; ;"),
    ({"hyphens": "split"}, "Mr. Dean's boys' car isn't over - all $1,000 ; ;"),
    ({"hyphens": "dropped"}, "Mr. Dean's boys' car isn't over all $1,000 ; ;"),
    ({"doubled_signs": "single"}, "Mr. Dean's boys' car isn't over-all $1,000 ;"),
]
DIGITS = [
    ("merged", "kept", "<number> 20th 1920's B-52 <number>"),
    ("words with a digit merged", "kept", "<number> <number> <number> <number> <number>"),
    ("kept", "split", "1960-61 20th 1920 's B-52 $ 5"),
    ("kept", "split, hyphens too", "1960 - 61 20th 1920 's B- 52 $ 5"),
    ("words with a digit merged", "split", "<number> <number> <number> 's <number> $ <number>"),
]


def read(text: str, **choices) -> str:
    """The stream of one text, a sentence a line, blank lines between paragraphs."""
    pieces = paragraphs(text.splitlines(), str.split)
    return " ".join(word for words in words_of([pieces], Interpretation(name="x", **choices)) for word in words)


@pytest.mark.parametrize(("choice", "words"), CHOICES)
def test_a_choice_changes_what_it_says_and_no_more(choice, words):
    assert read(CUT, **choice, marks=[]) == words


@pytest.mark.parametrize(("numbers", "number_signs", "words"), DIGITS)
def test_numbers(numbers, number_signs, words):
    assert read("1960-61 20th 1920's B-52 $5", numbers=numbers, number_signs=number_signs, marks=[]) == words


def test_a_sign_or_an_ending_alone_stays_one_word():
    choices = {"contractions": "split", "possessives": "'s and ' split", "points": "split", "number_signs": "split"}
    assert read("'s n't ' . , --", **choices, marks=[]) == "'s n't ' . , --"
    assert read("? ? ? ? , ,", doubled_signs="single", marks=[]) == "? ? , ,"


def test_a_sentence_starts_with_its_first_letters():
    words = read("`` The Dean\nTexas\n\n15 Men", case="lower at sentence starts", numbers="merged")
    assert words == "`` the Dean texas <p> <number> men <p> <text>"


def test_marks():
    assert read("a\nb\n\nc") == "a b <p> c <p> <text>"
    assert read("a\nb\n\nc", marks=["sentence", "text"]) == "a <s> b <s> c <s> <text>"
    assert read("a\nb\n\nc", marks=[]) == "a b c"


@pytest.fixture
def raw(tmp_path):
    """Two tiny texts in Form C."""
    folder = tmp_path / "raw"
    folder.mkdir()
    (folder / "ca01").write_text("\n\n\tThe/at 20th/od man/nn 's/x ran/vbd ./.\n\tHe/pps ran/vbd 1/2/cd ./.\n\n" * 20)
    (folder / "cb01").write_text("the/at Man/nn isn't/bez* THE/at man/nn ?/. ?/.\n" * 20)
    return folder


@pytest.mark.parametrize("fold", [False, True])
def test_an_interpretation_has_the_counts_and_ids_of_preprocess(raw, fold):
    overrides = [f"corpus.raw={raw}", f"corpus.fold={fold}", "corpus.expected=null", "corpus.train=0.6"]
    corpus = settings("preprocess", *overrides, "corpus.valid=0.2").corpus
    made = build(corpus, Watcher())
    choices = {"case": "lower", "numbers": "words with a digit merged"} if fold else {}
    texts = [list(pieces) for _, pieces in streams.reader("brown").texts(corpus, Watcher())]
    words, ids, types = streams.encode(texts, Interpretation(name="x", **choices), corpus.rare)
    assert (words, types, len(ids)) == (made.vocabulary, made.counts["types"], made.counts["tokens"])
    assert ids.tolist() == [number for split in made.splits.values() for number in split.tolist()]


def test_the_stage_writes_tables_sorted_by_the_largest_deviation(brown_raw, tmp_path):
    """On a few texts; the last interpretation is checked, as `also` says."""
    listed = "interpretations=[{name: a}, {name: b, case: lower}, {name: c, marks: []}]"
    chosen = [listed, "checked=0", "also=[c]", "ngrams=[interpolated3]", f"corpus.raw={raw_of(brown_raw, tmp_path)}"]
    sizes, places = ["corpus.train=20000", "corpus.valid=3000"], [f"out={tmp_path}/out", f"timing={tmp_path}/t.json"]
    run("streams", *chosen, *sizes, *places)
    counted = pd.read_csv(tmp_path / "out" / "streams.csv", keep_default_na=False)
    assert counted["name"].iloc[0] == streams.PAPER and sorted(counted["name"].iloc[1:]) == ["a", "b", "c"]
    assert counted["largest_off"].is_monotonic_increasing
    deviations = counted[["tokens_off", "types_off", "vocabulary_off"]].abs().max(axis=1)
    assert counted["largest_off"].tolist() == pytest.approx(deviations.tolist())
    checked = pd.read_csv(tmp_path / "out" / "streams-perplexity.csv")
    assert checked["name"].tolist() == [streams.PAPER, "c"] and checked["interpolated3_valid_raw"].iloc[1] > 1
    page = (tmp_path / "out" / "streams.md").read_text(encoding="utf-8")
    assert page.startswith(streams_text.COUNTS.partition("\n")[0]) and page.count("\n| ") == 5


def raw_of(brown_raw, folder):
    """Twelve texts of Brown."""
    some = folder / "some"
    some.mkdir()
    for file in sorted(brown_raw.glob("ca*"))[:12]:
        (some / file.name).write_bytes(file.read_bytes())
    return some
