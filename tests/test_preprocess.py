"""The stage preprocess on texts of a user's own: files, lines, encodings, and what it says of those it can't read."""

import io
import os
import random
import shutil
from itertools import chain

import pytest
from conftest import settings

from pipeline import preprocess
from pipeline.config import groups
from pipeline.core.common.errors import InputError, Watcher
from pipeline.core.common.stream import SPLITS
from pipeline.core.text import files
from pipeline.core.text.build import reader
from pipeline.core.text.pieces import stream
from pipeline.data.corpus import read_corpus
from pipeline.models.tokeniser import Tokeniser


def preprocessed(tmp_path, *overrides):
    """The corpus of a user's own text, in tmp_path/text, as ids."""
    out = tmp_path / "out"
    given = ["corpus=text", f"corpus.raw={tmp_path / 'text'}", *overrides, f"out={out}"]
    preprocess.main(settings("preprocess", *given))
    return read_corpus(out)


def three_files(tmp_path, **texts):
    """Files train.txt, valid.txt and test.txt in tmp_path/text, and the key that says which is which."""
    (tmp_path / "text").mkdir()
    for split, text in texts.items():
        (tmp_path / "text" / f"{split}.txt").write_text(text, encoding="utf-8")
    return r"corpus.splits={train: train\.txt, valid: valid\.txt, test: test\.txt}"


def words_by_split(built):
    return {split: " ".join(built.vocabulary[word] for word in built.ids(split)) for split in SPLITS}


def test_raw_text_in_three_files(tmp_path):
    """Paragraphs, marks and signs as in one file, each split its own text."""
    splits = three_files(tmp_path, train="Well, it\nrained.\n\nIt did.", valid="It rained.\n", test="Well.")
    built = preprocessed(tmp_path, splits, "corpus.rare=0")
    assert words_by_split(built) == {
        "train": "Well , it rained . <p> It did . <p> <text>",
        "valid": "It rained . <p> <text>",
        "test": "Well . <p> <text>",
    }
    assert built.texts[["name", "split"]].values.tolist() == [[f"{split}.txt", split] for split in SPLITS]


def test_a_vocabulary_of_the_training_file_alone(tmp_path):
    """Which words are rare, and which are the most frequent, are counted there too."""
    splits = three_files(tmp_path, train="a b b", valid="c c c b", test="c a a a")
    given = [splits, "corpus.marks=[]", "corpus.rare=0", "corpus.vocabulary_from=train"]
    built = preprocessed(tmp_path, *given)
    assert built.vocabulary == ["<unk>", "b", "a", "<text>"]
    assert words_by_split(built) == {"train": "a b b", "valid": "<unk> <unk> <unk> b", "test": "<unk> a a a"}
    for fewer in ("corpus.rare=1", "corpus.size=3"):
        assert preprocessed(tmp_path, *given, fewer).vocabulary == ["<unk>", "b", "<text>"]


def test_tokenised_text_a_vocabulary_of_a_size_and_a_stream_without_marks(tmp_path):
    splits = three_files(tmp_path, train="a b <unk>\n\nb c\n", valid="a d\n", test="b\n")
    given = [splits, "corpus.format=tokens", "corpus.rare=0"]
    built = preprocessed(tmp_path, *given, "corpus.marks=[]", "corpus.size=4")
    assert built.vocabulary == ["<unk>", "b", "a", "<text>"]
    assert words_by_split(built) == {"train": "a b <unk> b <unk>", "valid": "a <unk>", "test": "b"}
    built = preprocessed(tmp_path, *given, "corpus.marks=[paragraph]")
    assert [len(built.ids(split)) for split in SPLITS] == [8, 3, 2]
    (tmp_path / "text" / "another test.txt").write_text("c\n")
    with pytest.raises(InputError, match=r"2 files match corpus\.splits\.test="):
        preprocessed(tmp_path, splits.replace("test: ", "test: .*"))


def lines_of(path, encoding="utf-8"):
    return files.lines(path, encoding, Watcher())


def streamed(form, lines):
    return list(chain.from_iterable(stream(reader(form).pieces(lines))))


@pytest.mark.parametrize("form", ["plain", "lines", "tokens"])
def test_a_line_in_parts_is_the_same_line(form, tmp_path, monkeypatch):
    """A long line is read in parts: no word is cut, none lost, and no part looks like a blank line."""
    text = tmp_path / "text"
    monkeypatch.setattr(files, "LONGEST", 8)
    for seed in range(300):
        draw = random.Random(seed)
        text.write_text("".join(draw.choices(["a ", "bb\t", " ccc", "ddd.\n", "\n", " " * 9], k=40)))
        whole = io.StringIO(text.read_text())
        assert streamed(form, lines_of(text)) == streamed(form, whole), seed


def test_a_word_that_never_ends_is_cut(tmp_path, monkeypatch):
    """Text without white space, as of a writing that has none: nothing is lost, and no more than two parts are held."""
    monkeypatch.setattr(files, "LONGEST", 10)
    (tmp_path / "text").write_text(word := "日本語" * 100, encoding="utf-8")
    lines = list(lines_of(tmp_path / "text"))
    assert "".join(lines).replace(" ", "") == word
    assert max(map(len, lines)) <= 20
    assert streamed("plain", lines).count("<p>") == 1


@pytest.mark.parametrize("encoding", ["utf-8", "UTF-8", "utf8", "utf-16", "utf-16-le", "utf-32", "gb18030"])
def test_an_encoding_and_its_mark(tmp_path, encoding):
    """By whatever name; the mark that some programs put before the text is no word of it."""
    text = "\u0a0at\xe9\nNuit\n"  # the first letter holds bytes that are a new line's elsewhere
    mark = "" if encoding in ("utf-16", "utf-32") else "\ufeff"  # which these two write themselves
    (tmp_path / "text").write_bytes((mark + text).encode(encoding))
    assert "".join(lines_of(tmp_path / "text", encoding)) == text


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["corpus=text", "corpus.raw=HERE/rare.text"], "100% of training's words are unknown.*give more text"),
        (["corpus=text", "corpus.raw=HERE/few", "corpus.files=rare"], "unknown.*give more text"),
        (["corpus=text", "corpus.raw=HERE/nowhere"], "/nowhere: no such file or folder"),
        (["corpus=text", "corpus.raw=HERE/pipe"], "/pipe: no such file or folder"),
        (["corpus=text", "corpus.raw=HERE"], r"there: a\.md, b\.md"),
        (["corpus=text", "corpus.raw=HERE/latin.text"], r"latin\.text, line 3: not utf-8"),
        (["corpus=text", "corpus.raw=HERE/nothing.text"], r"nothing\.text: no words in it"),
        (["corpus=wikitext2", "corpus.raw=HERE"], r"run `python -m pipeline\.download corpus=wikitext2"),
        (["corpus=senate", "corpus.raw=HERE"], r"run `python -m pipeline\.download corpus=senate"),
        (["corpus=senate", "corpus.raw=HERE/cut"], "can't be read, or is damaged"),
    ],
)
def test_what_cannot_be_read_says_which_and_what_to_do(tmp_path, options, says):
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text("text")
    (tmp_path / "latin.text").write_bytes("ok\nstill ok\ncaf\xe9\n".encode("latin-1"))
    (tmp_path / "nothing.text").write_text("\n")
    (tmp_path / "rare.text").write_text("one two three\n\nfour five six\n\nseven eight nine\n\nten eleven\n")
    (tmp_path / "few").mkdir()
    shutil.copy(tmp_path / "rare.text", tmp_path / "few" / "rare")
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "texts.zip").write_bytes(b"PK")
    os.mkfifo(tmp_path / "pipe")  # to read it would wait for ever
    options = [option.replace("HERE", str(tmp_path)) for option in options]
    with pytest.raises(InputError, match=says):
        preprocess.main(settings("preprocess", *options, f"out={tmp_path}/out"))


@pytest.mark.parametrize("form", ["tokens", "lines", "plain"])
def test_a_users_text_is_read_as_the_corpus_was(tmp_path, form):
    """Its own test file, given to a model, is its test split: empty lines and rare line breaks too."""
    text = "It rained , a\x85lot .\n\n\nIt did\u2028not . \nRain"
    splits = three_files(tmp_path, train="It rained .\n" * 30, valid="It did .\n", test=text)
    built = preprocessed(tmp_path, splits, f"corpus.format={form}", "corpus.rare=0")
    tokeniser = Tokeniser(built)
    assert tokeniser.ids(tokeniser.words(text, tokens=form == "tokens")).tolist() == built.test.tolist()


@pytest.mark.parametrize(
    "words",
    [
        ["हिन्दी", "भाषा", "।"],
        ["d'e\u0301te\u0301", ",", "Cafe\u0301"],  # accents typed apart
        ["مُحَمَّد", "می\u200cخواهم"],  # vowels; a joiner within a word
        ["ภาษาไทย", "👨\u200d👩\u200d👧", "👍🏽", "🇩🇪"],
        ["don't", "3.14", "½", "x²", "(", "-", "-", ")"],
    ],
)
def test_a_word_keeps_what_is_combined_with_it(words):
    """As a reader sees it; print has no space before a sign."""
    assert streamed("lines", [" ".join(words)])[:-2] == words


def test_accents_typed_apart_are_the_same_word(tmp_path):
    """In the corpus and in what is scored with it; not where the key says so."""
    text = "Le café. Le cafe\u0301. " * 60
    (tmp_path / "text").write_text(text, encoding="utf-8")
    built = preprocessed(tmp_path)
    assert set(built.vocabulary) == {"<unk>", "<text>", "Le", "café", "."}
    for spelled in ("café", "cafe\u0301", "\ufeffcafé"):
        assert Tokeniser(built).words(spelled)[0] == "café"
    assert "cafe\u0301" in preprocessed(tmp_path, "corpus.normalise=false").vocabulary


@pytest.mark.parametrize(("text", "marks"), [("It rained. " * 60, []), ("It rained.\n\n" * 60, ["<p>"])])
def test_a_mark_stands_at_the_end_only_where_training_shows_it(tmp_path, text, marks):
    """The mark after a single text would be a word of test that no n-gram gives a probability."""
    (tmp_path / "text").write_text(text)
    built = preprocessed(tmp_path)
    assert [built.vocabulary[word] for word in built.test[-1:]] == (marks or ["."])
    assert "<text>" in built.vocabulary and built.counts["unseen_tokens"]["test"] == 0


@pytest.mark.parametrize(
    ("form", "symbol"), [("plain", "<unk>"), ("lines", "<unk>"), ("tokens", "<p>"), ("tokens", "<text>")]
)
def test_a_symbol_of_ours_in_a_text_is_refused_with_its_line(tmp_path, form, symbol):
    (tmp_path / "text").write_text(f"It rained.\n\nIt {symbol} rained.\n")
    with pytest.raises(InputError, match=f"text, line 3: {symbol} is a symbol of this project"):
        preprocessed(tmp_path, f"corpus.format={form}")


@pytest.mark.parametrize("ends", ["\r", "\r\n", "\n\ufeff"])
def test_lines_end_and_files_are_put_together_in_several_ways(tmp_path, ends):
    """And a user's text is read in the same way."""
    text = ends.join(["It rained.", "", "It did."] * 50)
    (tmp_path / "text").write_bytes(text.encode())
    built = preprocessed(tmp_path, "corpus.rare=0")
    assert set(built.vocabulary) == {"<unk>", "<p>", "<text>", "It", "rained", "did", "."}
    assert built.counts["paragraphs"] == 51
    assert Tokeniser(built).words(f"It{ends}{ends}did") == ["It", "<p>", "did", "<p>"]


def test_names_of_files_need_not_be_utf8(tmp_path):
    (tmp_path / "text").mkdir()
    for k in range(3):
        (tmp_path / "text" / os.fsdecode(b"caf\xe9_%d.txt" % k)).write_text("It rained. " * 50)
    assert preprocessed(tmp_path, "corpus.rare=0", "corpus.shuffle=0").texts["name"].iloc[0] == r"caf\udce9_0.txt"


def test_files_stand_in_a_random_order_of_a_seed_unless_that_of_names_is_asked_for(tmp_path):
    (tmp_path / "text").mkdir()
    for name in (names := [f"{k}.txt" for k in range(9)]):
        (tmp_path / "text" / name).write_text("It rained. " * 50)
    orders = [
        preprocessed(tmp_path, "corpus.rare=0", *given).texts["name"].drop_duplicates().tolist()
        for given in ([], [], ["corpus.shuffle=2"], ["corpus.shuffle=0"])
    ]
    assert orders[0] == orders[1] != orders[2] and sorted(orders[0]) == sorted(orders[2]) == orders[3] == names


PROTOCOLS = {  # how each corpus that is shipped becomes a stream, as the paper has it or as it is documented
    "brown": ("stream", 800_000, 200_000, 0, 3, 0, True, False, 0),
    "brown-cased": ("stream", 800_000, 200_000, 0, 3, 0, False, False, 0),
    "senate": ("train", 13_994_528, 963_138, 963_071, 0, 17_964, True, True, 13),
    "ap": ("train", 13_994_528, 963_138, 963_071, 0, 17_964, True, True, 0),
    "wikitext2": ("stream", 0, 0, 0, 0, 0, False, False, 0),
    "text": ("stream", 0.8, 0.1, 0, 3, 0, False, False, 0),
}


@pytest.mark.parametrize("name", groups.choices("corpus"))
def test_a_shipped_corpus_keeps_its_protocol(name):
    keys = ("vocabulary_from", "train", "valid", "test", "rare", "size", "fold", "proper", "drop_repeats")
    corpus = settings("preprocess", f"corpus={name}", "corpus.raw=a-text").corpus
    assert tuple(getattr(corpus, key) for key in keys) == PROTOCOLS[name]
