"""From text to words, marks, vocabulary and contexts; and the counts of the real Brown corpus."""

import hashlib
import io

import numpy as np
import pytest
from conftest import FEW, settings
from test_download import tarred

from pipeline import download, preprocess
from pipeline.core.common.errors import InputError
from pipeline.core.common.stream import SPLITS
from pipeline.core.networks.base import contexts
from pipeline.core.readers import senate
from pipeline.core.text import pieces, vocabulary
from pipeline.core.text.build import reader
from pipeline.data.corpus import read_corpus


def paragraphs(form, text):
    """The words of each paragraph of a text in one of the formats."""
    split = [[]]
    for words, ends in reader(form).pieces(io.StringIO(text)):
        split[-1] += words
        split += [[]] * ends
    assert split.pop() == []
    return split


def test_the_tag_stands_behind_the_last_slash():
    text = "\n\n\tThe/at 1/2/cd ,/,\nand/or/cc ./.\n\n\nNew/jj\n"
    assert paragraphs("brown", text) == [["The", "1/2", ",", "and/or", "."], ["New"]]


def test_plain_text_keeps_inner_apostrophes_and_sets_signs_apart():
    text = 'Don\'t, he\nsaid: "3.14!"\n \n\nÉté.'
    assert paragraphs("plain", text) == [
        ["Don't", ",", "he", "said", ":", '"', "3.14", "!", '"'],
        ["Été", "."],
    ]
    assert paragraphs("lines", "One, two.\n\nThree") == [["One", ",", "two", "."], [], ["Three"]]


def test_marks_follow_each_paragraph_and_each_text():
    read = [(["a"], True), (["b"], False), (["c"], True)]
    assert list(pieces.stream(read)) == [["a", "<p>"], ["b"], ["c", "<p>"], ["<text>"]]
    assert list(pieces.stream(read, ["<text>"])) == [["a"], ["b"], ["c"], ["<text>"]]
    assert list(pieces.stream(read, [])) == [["a"], ["b"], ["c"]]


def test_fold_merges_case_and_words_with_digits():
    assert pieces.fold(["The", "1960s", "A-1", "fox"]) == ["the", "<number>", "<number>", "fox"]


def built(words, counted=None, **options):
    """Vocabulary and ids as a list, and the number of types, of a stream."""
    types = vocabulary.Types()
    types.add(words)
    kept, ids, count = vocabulary.build(*types.coded(), counted or len(words), **options)
    return kept, ids.tolist(), count


def test_vocabulary_by_falling_frequency_then_code_point():
    kept, ids, types = built(["b", "b", "a", "a", "Z", "c", "<p>", "<text>"], rare=1)
    assert kept == ["<unk>", "a", "b", "<p>", "<text>"]  # the marks stay however rare
    assert ids == [2, 2, 1, 1, 0, 0, 3, 4]
    assert types == 6


def test_a_vocabulary_of_so_many_words_and_two_symbols():
    """Frequencies are those of the folded words; what is left out keeps its capital letter in mind."""
    words = ["The", "fox", "the", "Fox", "saw", "Ann", "1960", "A1", "ox", "<unk>"]
    kept, ids, types = built(words, size=6, fold=pieces.fold, proper=True)
    assert kept == ["<unk>", "<proper>", "<number>", "fox", "the", "<text>"]  # the mark stands before every stream
    assert ids == [4, 3, 4, 3, 0, 1, 2, 2, 0, 0]
    assert types == 7
    with pytest.raises(InputError, match=r"^corpus\.size=2: "):
        built(words, size=2)


def test_a_stream_is_coded_in_pieces_as_in_one(monkeypatch):
    words = [f"w{k % 7}" for k in range(1000)]
    whole = built(words)
    monkeypatch.setattr(vocabulary, "CHUNK", 10)
    types = vocabulary.Types()
    for start in range(0, 1000, 13):
        types.add(words[start : start + 13])
    kept, ids, _ = vocabulary.build(*types.coded(), 1000)
    assert types.words == 1000 and (kept, ids.tolist()) == whole[:2]


def test_contexts_look_back_into_the_split_before_and_then_at_text_marks():
    ids = np.array([5, 6, 7])
    assert contexts(ids, np.array([], dtype=int), 3, mark=9).tolist() == [[9, 9], [9, 5], [5, 6]]
    assert contexts(ids, np.array([1]), 3, mark=9).tolist() == [[9, 1], [1, 5], [5, 6]]
    assert contexts(ids, np.array([1, 2, 3]), 3, mark=9).tolist() == [[2, 3], [3, 5], [5, 6]]
    assert contexts(ids, np.array([1, 2, 3]), 2, mark=9).tolist() == [[3], [5], [6]]


def test_brown_counts(brown):
    """In lower case, with one symbol for words with a digit."""
    counts = brown.counts
    measured = [counts[key] for key in ("texts", "paragraphs", "words", "tokens", "types", "vocabulary")]
    assert measured == [500, 15_667, 1_161_192, 1_177_359, 47_525, 16_351]
    assert [len(brown.ids(split)) for split in SPLITS] == [800_000, 200_000, 177_359]
    assert (counts["unseen_words"], counts["unseen_tokens"]) == (727, {"train": 0, "valid": 2_970, "test": 2_462})
    assert brown.unseen.sum() == 727  # those that all models are corrected for
    assert brown.vocabulary[:3] == ["<unk>", "the", ","]
    frequency = np.bincount(np.concatenate([brown.ids(split) for split in SPLITS]))
    assert (np.diff(frequency[1:]) <= 0).all()


def test_brown_counts_with_case_kept(brown_raw, tmp_path):
    """The stream beside it, brown-cased: the same tokens, more words."""
    preprocess.main(settings("preprocess", "corpus=brown-cased", f"corpus.raw={brown_raw}", f"out={tmp_path}"))
    corpus = read_corpus(tmp_path)
    counts = corpus.counts
    assert [counts[key] for key in ("tokens", "types", "vocabulary")] == [1_177_359, 56_059, 17_907]
    assert (counts["unseen_words"], counts["unseen_tokens"]) == (794, {"train": 0, "valid": 3_210, "test": 2_645})
    assert {"the", "The", "1960"} < set(corpus.vocabulary)


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


def test_press_releases_are_sorted_by_day_and_the_broken_ones_left_out(tmp_path):
    """Through download and preprocess, from an archive like upstream's."""
    sentence = "The Senator, who isn't here, said that 3,000 people came to Boise. "
    texts = {
        "raw/Craig/10Apr2007craig1.txt": sentence * 6,
        "raw/Akaka/11Apr2007akaka2.txt": sentence * 5 + "Aloha, all of you. ",
        "raw/Akaka/9Apr2007akaka1.txt": sentence * 7,
        "raw/Akaka/12Apr2007akaka3.txt": sentence * 7,  # word for word an earlier one
        "raw/Akaka/13Apr2007akaka4.txt": sentence.replace(",", "").replace(".", "") * 9,  # without signs
        "raw/Akaka/14Apr2007akaka5.txt": sentence,  # too short
        "raw/Senate Floor/10Apr2007x.txt": sentence * 8,  # nobody's
        "raw/Akaka/notes.txt": sentence * 8,
    }
    (tmp_path / "upstream").mkdir()
    contents = {f"prefix/{name}": text.encode("latin-1") for name, text in texts.items()}
    archive = tarred(tmp_path / "upstream" / "GrimmerSenatePressReleases-x.tar.gz", contents)
    digest = hashlib.sha256(b"".join(texts[name].encode() for name in sorted(texts))).hexdigest()
    raw = tmp_path / "senate"
    given = ["corpus=senate", f"corpus.path={archive}", f"corpus.sha256={digest}", f"out={raw}"]
    download.main(settings("download", *given))
    download.main(settings("download", *given, f"corpus.path={tmp_path}/nowhere"))  # it is there
    sizes = ["corpus.train=100", "corpus.valid=60", "corpus.test=60", "corpus.size=15"]
    read = ["corpus=senate", "corpus.drop_repeats=0", f"corpus.raw={raw}", *sizes, f"out={tmp_path}/out"]
    preprocess.main(settings("preprocess", *read, "corpus.expected=null"))
    corpus = read_corpus(tmp_path / "out")
    names = corpus.texts["name"].drop_duplicates().tolist()
    assert names == ["Akaka/9Apr2007akaka1", "Craig/10Apr2007craig1", "Akaka/11Apr2007akaka2"]
    words = [corpus.vocabulary[i] for i in corpus.train[:15]]
    assert words[:5] == ["the", "senator", ",", "who", "isn't"] and "<number>" in words
    assert corpus.vocabulary[:2] == ["<unk>", "<proper>"] and len(corpus.vocabulary) == 15
    assert [len(corpus.ids(split)) for split in SPLITS] == [100, 60, 60]
    assert corpus.counts["texts"] == 3
    with pytest.raises(InputError, match="3 texts where this corpus has 39,648; download it again"):
        preprocess.main(settings("preprocess", *read))
    shares = ["corpus.train=0.5", "corpus.valid=0.25", "corpus.test=0"]
    preprocess.main(settings("preprocess", *read, *shares, "corpus.texts=2"))
    assert read_corpus(tmp_path / "out").counts["texts"] == 2  # of the usable ones


@pytest.mark.parametrize(
    ("words", "commas", "ends", "kept"),
    [
        (50, 1, 2, True),
        (49, 2, 3, False),  # too short
        (200, 4, 6, False),  # together no more than .05 a word
        (200, 4, 7, True),
        (200, 8, 4, False),  # ends no more than .02
        (200, 8, 5, True),
        (200, 3, 9, False),  # commas no more than .015
        (200, 4, 9, True),
    ],
)
def test_which_press_releases_are_usable(words, commas, ends, kept):
    """Each bound by itself: length, both signs together, ends of sentences, commas."""
    signs = [","] * commas + list(".!?" * ends)[:ends]
    text = " ".join(f"word{sign}" for sign in signs + [""] * (words - len(signs)))
    assert len(text.split()) == words
    assert senate.usable(text) is kept


@pytest.mark.parametrize("option", ["corpus.train=2000000", "corpus.train=0.9 corpus.valid=0.2", "corpus.raw=/nowhere"])
def test_splits_and_places_that_cannot_be(brown_raw, tmp_path, option):
    given = option.replace("/nowhere", f"{tmp_path}/nowhere").split()
    overrides = [f"corpus.raw={brown_raw}", *FEW, f"out={tmp_path}", *given]
    with pytest.raises(InputError, match=r"corpus\.(train|raw)="):
        preprocess.main(settings("preprocess", *overrides))
