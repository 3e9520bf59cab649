"""Models go to ARPA files and come back; KenLM reads ours and gives the same probabilities."""

import gzip
import math

import numpy as np
import pytest
from conftest import run

from pipeline.core.common.errors import InputError
from pipeline.core.ngrams import arpa, counts, kneser_ney
from pipeline.data.corpus import read_corpus
from pipeline.data.predictions import read_predictions

WORDS = ["<unk>", "a", "b", "c", "d"]
TRAIN = np.random.default_rng(0).integers(0, 4, 300)  # d never occurs
TOKENS = np.random.default_rng(1).integers(0, 5, 100)
TOY = """\\data\\
ngram 1=4
ngram 2=2

\\1-grams:
-0.7\t<unk>
0\t<s>\t0.0816
-0.3\ta\t-0.2784
-0.5237\tb

\\2-grams:
-0.2\ta b
-0.4\t<s> a

\\end\\
"""


def same(one, other):
    log_p = [each.log_probabilities(TOKENS[:0], TOKENS) for each in (one, other)]
    assert log_p[0] == pytest.approx(log_p[1], abs=1e-5)


@pytest.mark.parametrize("form", [{}, {"backoff": True}, {"backoff": True, "drop": True}], ids=str)
@pytest.mark.parametrize(
    "words",
    [WORDS, ["<unk>", "<s>", "</s>", "c", "d"], *([*WORDS[:4], f"d{space}e"] for space in "\u00a0\u2009\u3000")],
    ids=["plain", "marks of sentences", *(f"a space within a word, {k}" for k in range(3))],
)
def test_there_and_back(form, words):
    """Marks that a tokenised corpus has itself are written once."""
    model = kneser_ney.fit(counts.count(TRAIN, 4, 5), undefined="fixed", **form)
    lines = list(model.arpa(words))
    again = arpa.read(lines, words)
    assert sum("\t<s>\t" in line for line in lines) == 1 and again.order == model.order == 4
    same(model, again)
    assert list(again.arpa(words)) == lines


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    "change",
    [
        lambda text: text,
        lambda text: text.replace("<unk>", "<UNK>"),
        lambda text: text.replace("ngram 1=4", "ngram 1=4 ").replace("\\2-grams:", "\\2-grams: "),
        lambda text: "\ufeff" + text,
        lambda text: text.replace("-0.2\ta b", "-0.2  a b "),
        lambda text: text.replace("2=2\n", "2=2\nngram 3=0\n").replace("\\end", "\\3-grams:\n\n\\end"),
    ],
    ids=["plain", "<UNK>", "space at the end", "mark of an encoding", "spaces between", "an order without n-grams"],
)
def test_a_file_of_another_tool_by_hand(tmp_path, change, packed):
    """log10: P(b | a) is there; P(a | b) backs off; c has no line, so it is <unk>; <s> is no word of ours, and its
    probability of 1, as KenLM's lmplz writes it, counts for nothing. Packed or not, whatever the file is called."""
    text = change(TOY).encode()
    (tmp_path / "toy.arpa").write_bytes(gzip.compress(text) if packed else text)
    model = arpa.read_file(tmp_path / "toy.arpa", WORDS)
    log10 = model.log_probabilities(np.array([1]), np.array([2, 1, 3])) / math.log(10)
    assert model.order == 2 and log10 == pytest.approx([-0.2, -0.3, -0.2784 - 0.7])
    assert "ngram 2=1" in model.arpa(WORDS)  # a b alone


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("-0.2\ta b", "-0.2\ta"), r"line 12: not 'log10 P, 2 words"),
        (("-0.2\ta b", "x\ta b"), r"line 12: not 'log10 P"),
        (("-0.2\ta b\n", ""), r"line 14: not 'log10 P, 2 words, log10 back-off': '\\\\end"),
        (("ngram 2=2", "ngram 2=1"), r"line 13: '-0.4.* where \\end\\ is due"),
        (("\\end\\", ""), r"the end of the file' where \\end\\ is due"),
        (("\\data\\", "data"), r"no \\data\\ in it"),
        (("ngram 2=2\n", ""), r"line 10: '\\\\2-grams:' where \\end\\ is due"),
        (("-0.4\t<s> a", "-0.2\ta b"), r"line 13: this n-gram has a line already"),
        (("<unk>", "x"), r"no <unk> among its 1-grams"),
        (("-0.5237\tb", "-1.5\tb"), r"its 1-grams' probabilities sum to 0\.732"),
        (("a\t-0.2784", "a"), r"line 8: the probabilities of the words after it sum to 1\.33"),
        (("-0.2\ta b", "-0.6\ta b"), r"line 8: the probabilities of the words after it sum to 0\.62"),
    ],
    ids=str,
)
def test_what_is_no_whole_model_names_the_line(change, says):
    with pytest.raises(InputError, match=says):
        arpa.read(TOY.replace(*change).splitlines(keepends=True), WORDS)


def test_a_longer_ngram_whose_beginning_has_no_line_is_an_error():
    text = TOY.replace("ngram 2=2", "ngram 2=2\nngram 3=1").replace("\\end\\", "\\3-grams:\n-0.1\tb a b\n\n\\end\\")
    with pytest.raises(InputError, match="line 17: its first 2 words have no line"):
        arpa.read(text.splitlines(), WORDS)


def test_the_stage_exports_and_reads_and_gives_the_same_arrays(few, tmp_path):
    """Through a compressed file, as a model of Table 1 would be handed on."""
    own = [f"data={few}", "ngram=kn3", "ngram.undefined=fixed", f"export={tmp_path}/kn3.arpa.gz", f"out={tmp_path}/own"]
    run("ngram", *own)
    back = [f"data={few}", "ngram=arpa", f"ngram.path={tmp_path}/kn3.arpa.gz", f"out={tmp_path}/back"]
    run("ngram", *back)
    corpus = read_corpus(few)
    for split in ("valid", "test"):
        one, other = (read_predictions(tmp_path / name, split, len(corpus.ids(split))) for name in ("own", "back"))
        assert other == pytest.approx(one, abs=1e-5)


@pytest.mark.thorough
@pytest.mark.parametrize("form", [{}, {"backoff": True, "drop": True}], ids=str)
def test_kenlm_gives_the_same_probabilities(brown, tmp_path, form):
    """log10 of each of 20,000 words, to 1e-4."""
    kenlm = pytest.importorskip("kenlm")
    model = kneser_ney.fit(counts.count(brown.train, 5, len(brown.vocabulary)), **form)
    path = tmp_path / "model.arpa"
    path.write_text("".join(f"{line}\n" for line in model.arpa(brown.vocabulary)), encoding="utf-8")
    theirs, state, following = kenlm.Model(str(path)), kenlm.State(), kenlm.State()
    theirs.NullContextWrite(state)
    tokens, log10 = brown.valid[:20_000], []
    for token in tokens:
        log10.append(theirs.BaseScore(state, brown.vocabulary[token], following))
        state, following = following, state
    ours = model.log_probabilities(tokens[:0], tokens) / math.log(10)
    assert np.abs(ours - np.array(log10)).max() < 1e-4
