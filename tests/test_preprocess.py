"""The stage preprocess on texts of a user's own: files, lines, encodings, and what it says of those it can't read."""

import io
import os
import random
import zipfile
from itertools import chain

import pytest
from conftest import composed

from pipeline import preprocess
from pipeline.core.text import pieces as readers
from pipeline.data.corpus import SPLITS, read_corpus
from pipeline.data.errors import InputError
from pipeline.models import user_text


def preprocessed(tmp_path, *overrides):
    """The corpus of a user's own text, in tmp_path/text, as ids."""
    out = tmp_path / "out"
    given = ["corpus=text", f"corpus.raw={tmp_path / 'text'}", *overrides, f"out={out}"]
    preprocess.main(composed("preprocess", preprocess.Config, *given))
    return read_corpus(out)


def three_files(tmp_path, **texts):
    """Files train.txt, valid.txt and test.txt in tmp_path/text, and the key that says which is which."""
    (tmp_path / "text").mkdir()
    for split, text in texts.items():
        (tmp_path / "text" / f"{split}.txt").write_text(text, encoding="utf-8")
    return r"corpus.splits={train: train\.txt, valid: valid\.txt, test: test\.txt}"


def words_by_split(found):
    return {split: " ".join(found.vocabulary[word] for word in found.ids(split)) for split in SPLITS}


def test_raw_text_in_three_files(tmp_path):
    """Paragraphs, marks and signs as in one file, each split its own text."""
    splits = three_files(tmp_path, train="Well, it\nrained.\n\nIt did.", valid="It rained.\n", test="Well.")
    found = preprocessed(tmp_path, splits, "corpus.rare=0")
    assert words_by_split(found) == {
        "train": "Well , it rained . <p> It did . <p> <text>",
        "valid": "It rained . <p> <text>",
        "test": "Well . <p> <text>",
    }
    assert found.texts[["name", "split"]].values.tolist() == [[f"{split}.txt", split] for split in SPLITS]


def test_a_line_a_paragraph(tmp_path):
    (tmp_path / "text").write_text("One, two.\n\nThree\n" * 20)
    found = preprocessed(tmp_path, "corpus.format=lines", "corpus.marks=[paragraph]", "corpus.rare=0")
    assert found.counts["paragraphs"] == 60
    assert words_by_split(found)["train"].startswith("One , two . <p> <p> Three <p> One")


def test_a_vocabulary_of_the_training_file_alone(tmp_path):
    splits = three_files(tmp_path, train="a b b", valid="c c c b", test="c a")
    found = preprocessed(tmp_path, splits, "corpus.marks=[]", "corpus.rare=0", "corpus.vocabulary_from=train")
    assert found.vocabulary == ["<unk>", "b", "a", "<text>"]
    assert words_by_split(found) == {"train": "a b b", "valid": "<unk> <unk> <unk> b", "test": "<unk> a"}


def test_articles_in_files_of_their_own_are_texts_of_each_split(tmp_path):
    """What intervals over texts need of AP: in one file a split they have a single text to resample."""
    (tmp_path / "text").mkdir()
    for article in range(20):
        (tmp_path / "text" / f"1995-{article:02}.txt").write_text(f"Ann saw {article} foxes\n" * 3)
    sizes = ["corpus.train=120", "corpus.valid=60", "corpus.test=60"]
    found = preprocessed(tmp_path, "corpus=ap", *sizes)
    assert found.texts.groupby("split").size().to_dict() == {"train": 10, "valid": 5, "test": 5}
    assert found.vocabulary == ["<unk>", "<proper>", "<number>", "ann", "foxes", "saw", "<text>"]


def lines_of(path, encoding="utf-8"):
    return preprocess._lines(path, encoding, lambda read: None)


def streamed(pieces):
    return list(chain.from_iterable(readers.stream(pieces)))


@pytest.mark.parametrize("reader", [readers.read_plain, readers.read_lines, readers.read_tokens])
def test_a_line_in_parts_is_the_same_line(reader, tmp_path, monkeypatch):
    """A long line is read in parts: no word is cut, none lost, and no part looks like a blank line."""
    text = tmp_path / "text"
    monkeypatch.setattr(preprocess, "LONGEST", 8)
    for seed in range(300):
        draw = random.Random(seed)
        text.write_text("".join(draw.choices(["a ", "bb\t", " ccc", "ddd.\n", "\n", " " * 9], k=40)))
        whole = io.StringIO(text.read_text())
        assert streamed(reader(lines_of(text))) == streamed(reader(whole)), seed


def test_a_word_that_never_ends_is_cut(tmp_path, monkeypatch):
    """Text without white space, as of a writing that has none: nothing is lost, and no more than two parts are held."""
    monkeypatch.setattr(preprocess, "LONGEST", 10)
    (tmp_path / "text").write_text(word := "日本語" * 100, encoding="utf-8")
    lines = list(lines_of(tmp_path / "text"))
    assert "".join(lines).replace(" ", "") == word
    assert max(map(len, lines)) <= 20
    assert streamed(readers.read_plain(lines)).count("<p>") == 1


@pytest.mark.parametrize("encoding", ["utf-8", "UTF-8", "utf8", "utf-16", "utf-16-le", "utf-32", "gb18030"])
def test_an_encoding_and_its_mark(tmp_path, encoding):
    """By whatever name; the mark that some programs put before the text is no word of it."""
    text = "\u0a0at\xe9\nNuit\n"  # the first letter holds bytes that are a new line's elsewhere
    mark = "" if encoding in ("utf-16", "utf-32") else "\ufeff"  # which these two write themselves
    (tmp_path / "text").write_bytes((mark + text).encode(encoding))
    assert "".join(lines_of(tmp_path / "text", encoding)) == text


def test_utf16_that_does_not_say_which_is_refused(tmp_path):
    (tmp_path / "text").write_bytes("Nuit".encode("utf-16-le"))
    with pytest.raises(InputError, match="text, line 1: not UTF-16; convert it"):
        preprocessed(tmp_path, "corpus.encoding=utf-16")


def test_the_bar_counts_the_bytes_of_all_files(tmp_path, monkeypatch):
    bars = []

    class Shown(preprocess.tqdm):
        def __init__(self, **options):
            super().__init__(**options | {"disable": False, "file": io.StringIO()})
            bars.append(self)

    monkeypatch.setattr(preprocess, "tqdm", Shown)
    splits = three_files(tmp_path, train="été " * 5000, valid="b", test="c")
    preprocessed(tmp_path, splits)
    assert [(bar.n, bar.total) for bar in bars] == [(30_002, 30_002)]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["corpus=text"], r"corpus\.raw: give the file or folder to read"),
        (
            ["corpus=text", "corpus.raw=HERE/nowhere"],
            r"/nowhere: no such file or folder; give .*conf/corpus/text\.yaml",
        ),
        (["corpus=text", "corpus.raw=HERE/pipe"], r"/pipe: is neither file nor folder; give the right place"),
        (["corpus=text", "corpus.raw=HERE"], r"no file there matches corpus\.files=.*found: a\.md, b\.md; give"),
        (["corpus=ap", "corpus.raw=HERE/nowhere"], r"no such file or folder; give .*conf/corpus/ap\.yaml"),
        (
            ["corpus=wikitext2", "corpus.raw=HERE"],
            r"0 files match corpus\.splits\.train=.*found: a\.md, b\.md; run `python -m pipeline\.download",
        ),
        (["corpus.raw=HERE"], r"found: a\.md, b\.md; run `python -m pipeline\.download corpus=brown out="),
        (["corpus=senate", "corpus.raw=HERE"], r"no texts\.zip there; run `python -m pipeline\.download corpus=senate"),
        (["corpus.files='('"], r"corpus\.files=\(: not a regular expression"),
        (["corpus.splits={train: '*', valid: a, test: b}"], r"corpus\.splits\.train=\*: not a regular expression"),
        (["corpus.train=1", "corpus.valid=0.1"], r"corpus\.train=1: .* number of tokens"),
        (["corpus.valid=0"], r"corpus\.valid=0"),
        (["corpus.test=-1"], r"corpus\.test=-1\.0: can't be negative"),
        (["corpus.rare=-1"], r"corpus\.rare=-1: can't be negative"),
        (["corpus.size=-1"], r"corpus\.size=-1: can't be negative"),
        (["corpus.format=xml"], r"corpus\.format='xml': choose one of brown, plain, lines, tokens, senate"),
        (["corpus.vocabulary_from=test"], r"corpus\.vocabulary_from='test': choose one of stream, train"),
        (["corpus.marks=[sentence]"], r"corpus\.marks=\['sentence'\]: choose from paragraph, text"),
        (["corpus.encoding=utf-9"], r"corpus\.encoding='utf-9': Python knows no such encoding"),
        (["corpus.splits={train: a, valid: '', test: b}"], r"a file for each of train, valid and test, or for none"),
        (["corpus=wikitext2", "corpus.texts=2"], r"corpus\.texts=2: only for a corpus that is one stream"),
        (["+corpus.expected.types=5"], r"corpus\.expected=.*: choose from texts, paragraphs, words"),
    ],
)
def test_what_cannot_be_read_says_which_key_and_what_to_do(tmp_path, options, says):
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text("text")
    os.mkfifo(tmp_path / "pipe")  # to read it would wait for ever
    options = [option.replace("HERE", str(tmp_path)) for option in options]
    with pytest.raises(InputError, match=says) as caught:
        preprocess.main(composed("preprocess", preprocess.Config, *options, f"out={tmp_path}/out"))
    assert ("pipeline.download" in str(caught.value)) == ("run" in says)  # only of what can be fetched


@pytest.mark.parametrize("form", ["tokens", "lines", "plain"])
def test_a_users_text_is_read_as_the_corpus_was(tmp_path, form):
    """Its own test file, given to a model, is its test split: empty lines and rare line breaks too."""
    text = "It rained , a\x85lot .\n\n\nIt did\u2028not . \nRain"
    splits = three_files(tmp_path, train="It rained .\n" * 30, valid="It did .\n", test=text)
    found = preprocessed(tmp_path, splits, f"corpus.format={form}", "corpus.rare=0")
    words = user_text.words_of(text, found, tokens=form == "tokens")
    assert user_text.ids_of(words, found).tolist() == found.test.tolist()


def release(text):
    """A corpus of one press release as its download packs it."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("raw/Reed/01Jan2005Reed1.txt", text)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("packed", "options", "says"),
    [
        (release("text")[:-9], [], r"texts\.zip is damaged: .*run `python -m pipeline\.download corpus=senate"),
        (release("text").replace(b"text", b"tent"), [], r"texts\.zip is damaged: Bad CRC"),
        (release(b"caf\xe9"), ["corpus.encoding=ascii"], r"01Jan2005Reed1\.txt: neither UTF-8 nor ASCII; give"),
    ],
)
def test_damaged_releases_are_fetched_again(tmp_path, packed, options, says):
    (tmp_path / "texts.zip").write_bytes(packed)
    given = ["corpus=senate", f"corpus.raw={tmp_path}", *options, f"out={tmp_path}/out"]
    with pytest.raises(InputError, match=says):
        preprocess.main(composed("preprocess", preprocess.Config, *given))
