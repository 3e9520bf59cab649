"""Models go to ARPA files and come back; KenLM reads ours and gives the same probabilities."""

import gzip
import math

import numpy as np
import pytest
from conftest import settings

from pipeline import ngram
from pipeline.core.ngrams import counts, kneser_ney
from pipeline.data import arpa
from pipeline.data.corpus import read_corpus
from pipeline.data.errors import InputError
from pipeline.data.predictions import read_predictions

WORDS = ["<unk>", "a", "b", "c", "d"]
TRAIN = np.random.default_rng(0).integers(0, 4, 300)  # d never occurs
TOKENS = np.random.default_rng(1).integers(0, 5, 100)
TOY = """\\data\\
ngram 1=4
ngram 2=2

\\1-grams:
-0.7\t<unk>
-99\t<s>\t-0.1
-0.3\ta\t-0.3
-0.5237\tb\t-0.2

\\2-grams:
-0.2\ta b
-0.4\t<s> a

\\end\\
"""


@pytest.mark.parametrize("form", [{}, {"backoff": True}, {"backoff": True, "drop": True}], ids=str)
def test_there_and_back(form):
    model = kneser_ney.fit(counts.count(TRAIN, 4, 5), fallback=True, **form)
    again = arpa.read(arpa.write(model, WORDS), WORDS)
    assert again.order == model.order == 4
    assert again.log_probabilities(TOKENS[:0], TOKENS) == pytest.approx(
        model.log_probabilities(TOKENS[:0], TOKENS), abs=1e-5
    )


def test_marks_that_the_vocabulary_has_are_written_once():
    """A tokenised corpus may mark its sentences itself."""
    words = ["<unk>", "<s>", "</s>", "c", "d"]
    model = kneser_ney.fit(counts.count(TRAIN, 2, 5), fallback=True)
    lines = list(arpa.write(model, words))
    assert lines[1] == "ngram 1=5" and sum("\t<s>\t" in line for line in lines) == 1
    again = arpa.read(lines, words)
    log_p = [each.log_probabilities(TOKENS[:0], TOKENS) for each in (model, again)]
    assert log_p[0] == pytest.approx(log_p[1], abs=1e-5)


def test_a_file_of_another_tool_by_hand():
    """log10: P(b | a) is there; P(a | b) backs off; c has no line, so it is <unk>; <s> is no word of ours."""
    model = arpa.read(TOY.splitlines(), WORDS)
    log10 = model.log_probabilities(np.array([1]), np.array([2, 1, 3])) / math.log(10)
    assert log10 == pytest.approx([-0.2, -0.2 - 0.3, -0.3 - 0.7])


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("<unk>", "<UNK>"),
        lambda text: text.replace("ngram 1=4", "ngram 1=4 ").replace("\\2-grams:", "\\2-grams: "),
        lambda text: "\ufeff" + text,
        lambda text: text.replace("-0.2\ta b", "-0.2  a b "),
    ],
    ids=["<UNK>", "space at the end", "mark of an encoding", "spaces between"],
)
@pytest.mark.parametrize("packed", [False, True])
def test_other_forms_that_tools_read(tmp_path, change, packed):
    """Packed or not, whatever the file is called."""
    text = change(TOY).encode()
    (tmp_path / "toy.arpa").write_bytes(gzip.compress(text) if packed else text)
    model = arpa.read_file(tmp_path / "toy.arpa", WORDS)
    assert model.log_probabilities(TOKENS[:0], TOKENS).tolist() == (
        arpa.read(TOY.splitlines(), WORDS).log_probabilities(TOKENS[:0], TOKENS).tolist()
    )


@pytest.mark.parametrize("space", ["\u00a0", "\u2009", "\u3000"])
def test_a_word_may_hold_a_space_of_another_kind(space):
    words = [*WORDS[:4], f"d{space}e"]
    model = kneser_ney.fit(counts.count(TRAIN, 3, 5), fallback=True)
    again = arpa.read(arpa.write(model, words), words)
    log_p = [each.log_probabilities(TOKENS[:0], TOKENS) for each in (model, again)]
    assert log_p[0] == pytest.approx(log_p[1], abs=1e-5)


def test_an_order_without_words_of_ours_is_no_order():
    """Whether the file has none of that order, or none that we know."""
    for sizes, section in (("ngram 2=1", "-0.4\t<s> a"), ("ngram 2=0", "")):
        toy = TOY.replace("ngram 2=2", sizes).replace("-0.2\ta b\n-0.4\t<s> a", section)
        model = arpa.read(toy.splitlines(), WORDS)
        log10 = model.log_probabilities(np.array([1]), np.array([2, 1])) / math.log(10)
        assert model.order == 1 and log10 == pytest.approx([-0.5237, -0.3])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("-0.2\ta b", "-0.2\ta"), r"line 12: not 'log10 P, 2 words"),
        (("-0.2\ta b", "x\ta b"), r"line 12: not a number"),
        (("-0.2\ta b\n", ""), r"line 14: 1 2-grams end here where the head says 2"),
        (("\\end\\", ""), r"line 15: the file ends without"),
        (("\\data\\", "data"), r"no \\data\\ in it"),
        (("-0.4\t<s> a", "-0.4\ta b"), r"line 13: this n-gram has a line already"),
        (("<unk>", "x"), r"no <unk> among its 1-grams"),
        (("-0.5237\tb", "-1.5\tb"), r"its 1-grams' probabilities sum to 0\.732"),
        (("a\t-0.3", "a"), r"after 'a' the probabilities sum to 1\.33"),
    ],
    ids=str,
)
def test_malformed_files_name_the_line(change, says):
    text = TOY.replace(*change)
    with pytest.raises(InputError, match=says):
        arpa.read(text.splitlines(keepends=True), WORDS)


def test_what_is_no_distribution_is_refused():
    """A file of ours whose back-offs are gone, or one of whose n-grams is likelier."""
    lines = list(arpa.write(kneser_ney.fit(counts.count(TRAIN, 3, 5), fallback=True), WORDS))
    without = ["\t".join(line.split("\t")[:2]) for line in lines]
    place = lines.index("\\3-grams:") + 1
    likelier = [*lines[:place], "\t".join(["-0.01", *lines[place].split("\t")[1:]]), *lines[place + 1 :]]
    for wrong in (without, likelier):
        with pytest.raises(InputError, match="the probabilities sum to"):
            arpa.read(wrong, WORDS)


def test_a_longer_ngram_whose_beginning_has_no_line_is_an_error():
    text = TOY.replace("ngram 2=2", "ngram 2=2\nngram 3=1").replace("\\end\\", "\\3-grams:\n-0.1\tb a b\n\n\\end\\")
    with pytest.raises(InputError, match="line 17: its first 2 words have no line"):
        arpa.read(text.splitlines(), WORDS)


def test_the_stage_exports_and_reads_and_gives_the_same_arrays(few, tmp_path):
    """Through a compressed file, as a model of Table 1 would be handed on."""
    own = [f"data={few}", "ngram=kn3", "ngram.fallback=true", f"export={tmp_path}/kn3.arpa.gz", f"out={tmp_path}/own"]
    ngram.main(settings("ngram", *own))
    back = [f"data={few}", "ngram=arpa", f"ngram.path={tmp_path}/kn3.arpa.gz", f"out={tmp_path}/back"]
    ngram.main(settings("ngram", *back))
    corpus = read_corpus(few)
    for split in ("valid", "test"):
        one, other = (read_predictions(tmp_path / name, split, len(corpus.ids(split))) for name in ("own", "back"))
        assert other == pytest.approx(one, abs=1e-5)


@pytest.mark.peers
@pytest.mark.parametrize("form", [{}, {"backoff": True, "drop": True}], ids=str)
def test_kenlm_gives_the_same_probabilities(brown, tmp_path, form):
    """log10 of each of 20,000 words, to 1e-4."""
    kenlm = pytest.importorskip("kenlm")
    model = kneser_ney.fit(counts.count(brown.train, 5, len(brown.vocabulary)), **form)
    path = tmp_path / "model.arpa"
    path.write_text("".join(f"{line}\n" for line in arpa.write(model, brown.vocabulary)), encoding="utf-8")
    theirs, state, following = kenlm.Model(str(path)), kenlm.State(), kenlm.State()
    theirs.NullContextWrite(state)
    tokens, found = brown.valid[:20_000], []
    for token in tokens:
        found.append(theirs.BaseScore(state, brown.vocabulary[token], following))
        state, following = following, state
    ours = model.log_probabilities(tokens[:0], tokens) / math.log(10)
    assert np.abs(ours - np.array(found)).max() < 1e-4
