"""Each run that a stream says again is known, and what is left out is whole sentences."""

import json
from itertools import chain

import numpy as np
import pandas as pd
import pytest
from conftest import run

from pipeline.core.text import repeats
from pipeline.data.corpus import read_corpus


def naive(codes, length):
    """As the definition says, run by run."""
    mask, seen = np.zeros(len(codes), dtype=bool), set()
    for start in range(len(codes) - length + 1):
        run = tuple(codes[start : start + length])
        if run in seen:
            mask[start : start + length] = True
        seen.add(run)
    return mask


@pytest.mark.parametrize("length", [1, 2, 3, 5, 8, 13])
def test_runs_that_stood_earlier(length):
    """As by comparing every run with every earlier one; a stream shorter than a run has none."""
    draw = np.random.default_rng(length)
    for types in (1, 2, 3):
        codes = draw.integers(types, size=300).astype(np.int32)
        assert (repeats.in_earlier_runs(codes, length) == naive(codes, length)).all()
    assert not repeats.in_earlier_runs(codes[: length - 1], length).any()


def streamed(*texts):
    """A stream of texts of a/0, a/1, ..., each with its mark."""
    words = [f"{text} <text>".split() for text in texts]
    codes, types = pd.factorize(np.array(list(chain(*words)), dtype=object))
    names = [f"a/{number}" for number in range(len(texts))]
    return repeats.Stream(list(types), codes.astype(np.int32), names, np.cumsum([len(each) for each in words]))


def spoken(stream):
    return [" ".join(stream.types[code] for code in part) for part in np.split(stream.codes, stream.ends[:-1].tolist())]


def test_sentences_half_of_which_stood_earlier_are_left_out():
    """The first time stays, and less than half does; a text of which nothing stays is gone with its mark."""
    whole = streamed(
        "we met today . i agree !",
        "they said : we met . we met today . i agree !",
        "we met today .",
        "no no no we met today . why",
        "he said to them that we met today .",
        "so then they met today .",
    )
    left = repeats.without(whole, repeats.keep_mask(whole, 3))
    assert dict(zip(left.names, spoken(left), strict=True)) == {
        "a/0": "we met today . i agree ! <text>",
        "a/1": "they said : we met . <text>",
        "a/3": "why <text>",
        "a/4": "he said to them that we met today . <text>",
    }


def test_a_paragraph_keeps_its_mark_where_a_word_of_it_stays():
    whole = streamed("i say a b c . <p> a b c . <p> d <p>")
    assert spoken(repeats.without(whole, repeats.keep_mask(whole, 4))) == ["i say a b c . <p> d <p> <text>"]


def test_shares_are_of_the_stretch_that_a_split_comes_from():
    """Ten words of which the fourth to sixth and the last go; two train, two validate, one tests."""
    stays = np.array([1, 1, 1, 0, 0, 0, 1, 1, 1, 0], dtype=bool)
    shares = repeats.shares(stays, [0, 2, 4, 5])
    assert shares == pytest.approx({"stream": 0.4, "train": 0, "valid": 3 / 5, "test": 0})


def test_the_stage_leaves_them_out_and_says_so(tmp_path):
    """Counts before and after, the share removed, and what was removed most often; switched off, not a word of it."""
    said = "we thank you very much ."
    texts = [f"{a}v {a}w {a}x {a}y {a}z . {said} {said} {a}p {a}q {a}r {a}s ." for a in "abcdefgh"]
    (tmp_path / "text").mkdir()
    for number, text in enumerate(texts):
        (tmp_path / "text" / f"{number}.txt").write_text(text)
    keys = [
        f"corpus.raw={tmp_path}/text",
        "corpus.shuffle=0",
        "corpus.rare=0",
        "corpus.train=.5",
        "corpus.valid=.25",
        "corpus.marks=[text]",
    ]
    for length in (0, 5):
        out = tmp_path / str(length)
        given = ["corpus=text", *keys, f"corpus.drop_repeats={length}", f"out={out}"]
        run("preprocess", *given)
    off, on = read_corpus(tmp_path / "0"), read_corpus(tmp_path / "5")
    assert off.counts["tokens"] == 8 * 24 and on.counts["tokens"] == 8 * 24 - 15 * 6
    assert on.counts["words"] == off.counts["words"]
    assert on.counts["removed"]["shares"]["stream"] == pytest.approx(90 / 192)
    assert "removed" not in off.counts and "drop_repeats" not in (tmp_path / "0" / "run.json").read_text()
    assert json.loads((tmp_path / "5" / "run.json").read_text())["config"]["corpus"]["drop_repeats"] == 5
    (removed,) = on.counts["removed"]["sentences"]
    assert list(removed.values()) == [6, 15, 8, "0.txt", 1 / 8, said]
