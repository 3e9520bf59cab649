"""Stage preprocess: from the texts of a corpus to ids, splits, vocabulary and counts (paper, section 4)."""

import logging
import zipfile
import zlib
from pathlib import Path

import numpy as np

from pipeline.config.preprocess import Preprocess
from pipeline.core.common.errors import InputError, MissingTextError
from pipeline.core.text.build import build
from pipeline.core.text.files import PACKED, files
from pipeline.data.corpus import Corpus, write_corpus
from pipeline.data.looks import remarks
from pipeline.data.record import Record
from pipeline.running import app
from pipeline.running.progress import Bar

LITTLE = 5000  # bytes of a text that teaches nothing
MUCH = 0.2  # with this share of unknown words or more, perplexities are low for any model

log = logging.getLogger(__name__)


def main(config: Preprocess) -> None:
    """Writes vocabulary.txt, train/valid/test.npy, texts.csv and counts.json into config.out."""
    corpus = config.corpus
    place = Path(corpus.raw, PACKED if corpus.packed else "")
    remedy = "; give the right place"
    if corpus.sha256:
        fetch = f"python -m pipeline.download corpus={corpus.name} out={corpus.raw}"
        remedy = f"; run `{fetch}`, or give the right place, as conf/corpus/{corpus.name}.yaml says"
    try:
        if not (place.is_file() or place.is_dir()):  # such as a pipe, on which reading would wait
            raise FileNotFoundError(f"{place}: no such file or folder")
        with Bar(corpus.name, "B") as bar:
            result = build(corpus, bar)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        raise InputError(f"corpus.raw={corpus.raw}: can't be read, or is damaged: {error}{remedy}") from error
    except InputError as error:
        missing = isinstance(error, MissingTextError)
        raise InputError(f"corpus.raw={corpus.raw}: {error}{remedy if missing else _wish(place)}") from error
    for remark in remarks([] if corpus.packed else files(corpus), corpus.encoding, corpus.format):
        log.warning("%s: %s", corpus.raw, remark)
    train = result.splits["train"]
    words = train[~np.isin(train, [*result.counts["marks"].values()])]
    unknown = float(np.mean(words < 1 + corpus.proper)) if len(words) else 0.0
    if unknown >= MUCH:
        message = f"{unknown:.0%} of training's words are unknown, which are all one symbol: perplexities say little"
        remedy = "lower corpus.rare; a text without spaces between its words has to be cut into words first"
        if unknown > config.most_unknown:
            advice = f"{remedy}, or take it as it is with most_unknown=1{_wish(place)}"
            raise InputError(f"corpus.raw={corpus.raw}: {message}; {advice}")
        log.warning("%s; %s", message, remedy)
    out = Path(config.out)
    unused = {key for key in ("drop_repeats", "normalise", "shuffle") if not getattr(corpus, key)}
    settings = corpus.model_dump(exclude=unused)  # so that records are equal to those from before these keys existed
    texts = result.texts.to_csv(index=False)
    write_corpus(out, Corpus(result.vocabulary, **result.splits, texts_csv=texts, counts=result.counts))
    record = Record(
        stage="preprocess",
        name=corpus.name,
        seed=0,
        config={"corpus": settings},
        data=result.counts["digest"],
    )
    record.write(out)
    sizes = ", ".join(f"{value:,} {key}" for key, value in result.measured.items())
    if result.texts["name"].nunique() > 1 and not any(corpus.splits.values()):
        order = (
            f"in a random order (corpus.shuffle={corpus.shuffle})"
            if corpus.shuffle
            else "in their order of name or date"
        )
        log.info("%s: texts %s, then cut into training, validation and test", corpus.name, order)
    rates = ", ".join(f"{rate:.1%} of {split}" for split, rate in result.counts["unknown_rate"].items())
    log.info("%s: %s; unknown: %s", corpus.name, sizes, rates)


def _wish(place: Path) -> str:
    """The wish for more text where there is little. place: a file or a folder."""
    files = [place, *place.rglob("*")]
    little = sum(file.stat().st_size for file in files if file.is_file()) < LITTLE
    return "; give more text: some thousand words at least" if little else ""


if __name__ == "__main__":
    app.run("preprocess", main, timed=True)
