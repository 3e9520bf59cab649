"""From text to words, marks, vocabulary and contexts; and the counts of the real Brown corpus."""

from collections import Counter

import numpy as np
import pytest
from conftest import FEW, composed

from pipeline import preprocess, store
from pipeline.core import corpus, vocabulary
from pipeline.core.contexts import contexts
from pipeline.core.errors import InputError


def test_the_tag_stands_behind_the_last_slash():
    assert corpus.brown_paragraphs("\n\n\tThe/at 1/2/cd ,/,\nand/or/cc ./.\n\n\nNew/jj\n") == [
        ["The", "1/2", ",", "and/or", "."],
        ["New"],
    ]


def test_plain_text_keeps_inner_apostrophes_and_sets_signs_apart():
    assert corpus.plain_paragraphs('Don\'t, he said: "3.14!"\n \nÉté.') == [
        ["Don't", ",", "he", "said", ":", '"', "3.14", "!", '"'],
        ["Été", "."],
    ]


def test_marks_follow_each_paragraph_and_each_text():
    words, ends = corpus.stream([[["a"], ["b", "c"]], [["d"]]])
    assert words == ["a", "<p>", "b", "c", "<p>", "<text>", "d", "<p>", "<text>"]
    assert ends == [6, 9]


def test_fold_merges_case_and_words_with_digits():
    assert corpus.fold(["The", "1960s", "A-1", "fox"]) == ["the", "<number>", "<number>", "fox"]


def test_vocabulary_by_falling_frequency_then_code_point():
    words = ["b", "b", "a", "a", "Z", "c", "<p>", "<text>"]
    kept, ids, types = vocabulary.build(words, rare=1, counted=len(words))
    assert kept == ["<unk>", "a", "b", "<p>", "<text>"]  # the marks stay however rare
    assert ids.tolist() == [2, 2, 1, 1, 0, 0, 3, 4]
    assert types == 6


def test_vocabulary_of_the_training_part_alone():
    kept, ids, types = vocabulary.build(["a", "b", "<p>", "c", "c", "<text>"], rare=0, counted=3)
    assert kept == ["<unk>", "<p>", "a", "b", "<text>"]
    assert ids.tolist() == [2, 3, 1, 0, 0, 4]
    assert types == 5


def test_contexts_look_back_into_the_split_before_and_then_at_text_marks():
    ids = np.array([5, 6, 7])
    assert contexts(ids, np.array([], dtype=int), 3, mark=9).tolist() == [[9, 9], [9, 5], [5, 6]]
    assert contexts(ids, np.array([1]), 3, mark=9).tolist() == [[9, 1], [1, 5], [5, 6]]
    assert contexts(ids, np.array([1, 2, 3]), 3, mark=9).tolist() == [[2, 3], [3, 5], [5, 6]]
    assert contexts(ids, np.array([1, 2, 3]), 2, mark=9).tolist() == [[3], [5], [6]]


def test_brown_counts(brown):
    counts = brown.counts
    measured = [counts[key] for key in ("texts", "paragraphs", "words", "tokens", "types", "vocabulary")]
    assert measured == [500, 15_667, 1_161_192, 1_177_359, 56_059, 17_907]
    assert [len(brown.ids(split)) for split in store.SPLITS] == [800_000, 200_000, 177_359]
    assert (counts["unseen_words"], counts["unseen_tokens"]) == (794, {"train": 0, "valid": 3_210, "test": 2_645})
    assert brown.vocabulary[:3] == ["<unk>", "the", ","]
    frequency = np.bincount(np.concatenate([brown.ids(split) for split in store.SPLITS]))
    assert (np.diff(frequency[1:]) <= 0).all()


def test_brown_texts_cover_every_token_once(brown):
    texts = brown.texts
    assert texts["first"].tolist() == [0, *texts["end"][:-1]]
    assert texts["end"].iloc[-1] == 1_177_359
    assert texts["name"].nunique() == 500
    assert texts["genre"].nunique() == 15
    assert texts.groupby("split").agg({"first": "min", "end": "max"}).loc["valid"].tolist() == [800_000, 1_000_000]
    last = [brown.ids(row.split)[row.end - 1 - {"train": 0, "valid": 800_000, "test": 1_000_000}[row.split]]
            for row in texts[texts["end"].isin(texts.groupby("name")["end"].max())].itertuples()]  # fmt: skip
    assert set(last) == {brown.mark}


@pytest.mark.parametrize(
    ("option", "types", "words"),
    [
        ("corpus.fold=true", 47_525, 16_351),
        ("corpus.rare=0", 56_059, 56_060),
    ],
)
def test_brown_options(brown_raw, tmp_path, option, types, words):
    config = composed("preprocess", preprocess.Config, f"corpus.raw={brown_raw}", f"out={tmp_path}", option)
    preprocess.main(config)
    counts = store.read_corpus(tmp_path).counts
    assert (counts["types"], counts["vocabulary"]) == (types, words)


def test_brown_vocabulary_of_the_training_part(brown_raw, tmp_path):
    option = "corpus.vocabulary_from=train"
    preprocess.main(composed("preprocess", preprocess.Config, f"corpus.raw={brown_raw}", f"out={tmp_path}", option))
    texts = [corpus.brown_paragraphs(path.read_text()) for path in sorted(brown_raw.iterdir())]
    frequency = Counter(corpus.stream(texts)[0][:800_000])
    trained = store.read_corpus(tmp_path)
    assert set(trained.vocabulary) == {"<unk>"} | {word for word, count in frequency.items() if count > 3}
    assert trained.counts["unseen_words"] == 0


def test_texts_that_are_not_brown_are_refused(brown_raw, tmp_path):
    for number, path in enumerate(sorted(brown_raw.iterdir())):
        if number != 7:
            (tmp_path / path.name).symlink_to(path)
    config = composed("preprocess", preprocess.Config, f"corpus.raw={tmp_path}", f"out={tmp_path}/out")
    with pytest.raises(InputError, match="499 texts where the brown corpus has 500"):
        preprocess.main(config)


def test_a_text_of_the_users_own(tmp_path):
    novel = tmp_path / "novel.txt"
    novel.write_text("It was night. It was cold.\n\nNobody came.\n" * 50, encoding="utf-8")
    out = tmp_path / "out"
    preprocess.main(composed("preprocess", preprocess.Config, "corpus=text", f"corpus.raw={novel}", f"out={out}"))
    corpus_ = store.read_corpus(out)
    assert corpus_.counts["words"] == 50 * 11
    assert corpus_.counts["paragraphs"] == 51  # each piece's last paragraph runs on into the next one's first
    assert len(corpus_.train) == int(0.8 * corpus_.counts["tokens"])


def test_text_that_is_not_utf8_names_the_line(tmp_path):
    latin = tmp_path / "latin.txt"
    latin.write_bytes("ok\nstill ok\ncaf\xe9\n".encode("latin-1"))
    config = composed("preprocess", preprocess.Config, "corpus=text", f"corpus.raw={latin}", f"out={tmp_path}/out")
    with pytest.raises(InputError, match=r"latin\.txt, line 3: not UTF-8"):
        preprocess.main(config)


@pytest.mark.parametrize("option", ["corpus.train=2000000", "corpus.train=0.9 corpus.valid=0.2", "corpus.raw=/nowhere"])
def test_splits_and_places_that_cannot_be(brown_raw, tmp_path, option):
    overrides = [f"corpus.raw={brown_raw}", *FEW, f"out={tmp_path}", *option.split()]
    with pytest.raises(InputError, match=r"corpus\.(train|raw)="):
        preprocess.main(composed("preprocess", preprocess.Config, *overrides))
