"""Stage streams: which stream of words did the authors use? The free corpus can become a stream in many ways, called
interpretations. Their counts stand beside those that the paper prints. As a check, n-grams are trained on the
interpretations with the nearest counts."""

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.config import groups
from pipeline.config.corpus import Corpus
from pipeline.config.ngram import NgramModel
from pipeline.config.streams import Interpretation, Streams
from pipeline.config.tables import Table, read_tables
from pipeline.core.common.evaluation import perplexity
from pipeline.core.common.stream import SPLITS, before
from pipeline.core.ngrams.model import Source, make
from pipeline.core.text import vocabulary
from pipeline.core.text.build import reader
from pipeline.core.text.pieces import Piece
from pipeline.data.interpretations import words_of
from pipeline.reporting import streams_text
from pipeline.running import app
from pipeline.running.progress import Bar

COUNTS = ["tokens", "types", "vocabulary"]
PAPER = "the paper"  # the name of the row with the paper's figures

log = logging.getLogger(__name__)


def main(config: Streams) -> None:
    """Writes streams.csv and .md, streams-perplexity.csv and .md into config.out."""
    corpus = config.corpus
    out = Path(config.out)
    with Bar(corpus.name, "B") as bar:
        texts = [list(pieces) for _, pieces in reader(corpus.format).texts(corpus, bar)]
    counts = table(texts, config.interpretations, corpus)
    nearest = counts["name"].iloc[1 : 1 + config.checked].tolist()
    by_name = {choice.name: choice for choice in config.interpretations if choice.name in {*nearest, *config.also}}
    check = perplexities(
        texts,
        [by_name[name] for name in counts["name"] if name in by_name],
        corpus,
        ngrams={name: _settings(name) for name in config.ngrams},
        paper=read_tables(Path(config.tables))[config.printed],
    )
    out.mkdir(parents=True, exist_ok=True)
    counts.round(6).to_csv(out / "streams.csv", index=False)
    check.round(4).to_csv(out / "streams-perplexity.csv", index=False)
    (out / "streams.md").write_text(streams_text.counts(counts), encoding="utf-8")
    (out / "streams-perplexity.md").write_text(streams_text.perplexities(check), encoding="utf-8")
    log.info("%d interpretations in %s", len(config.interpretations), out / "streams.md")


def table(texts: list[list[Piece]], interpretations: Sequence[Interpretation], corpus: Corpus) -> pd.DataFrame:
    """The paper's row, then one row per interpretation: name, the choices, tokens, types, vocabulary; `tokens_off` and
    so on, the relative deviations from the paper's counts; and `largest_off`, the largest absolute deviation, by which
    rows are sorted."""
    rows = [{"name": PAPER} | {key: corpus.paper[key] for key in COUNTS}]
    for choice in interpretations:
        words, ids, types = encode(texts, choice, corpus.rare)
        counts = {"tokens": len(ids), "types": types, "vocabulary": len(words)}
        rows.append(choice.model_dump() | {"marks": " and ".join(choice.marks) or "none"} | counts)
    frame = pd.DataFrame(rows)[[*Interpretation.model_fields, *COUNTS]].fillna("")
    for key in COUNTS:
        frame[f"{key}_off"] = frame[key] / corpus.paper[key] - 1
    frame["largest_off"] = frame[[f"{key}_off" for key in COUNTS]].abs().max(axis=1)
    return frame.sort_values("largest_off", kind="stable", ignore_index=True)


def encode(texts: list[list[Piece]], choice: Interpretation, rare: int) -> tuple[list[str], np.ndarray, int]:
    """The vocabulary of an interpretation, its stream of word ids (T,), and its number of types, as the stage
    preprocess would make them."""
    types = vocabulary.Types()
    for words in words_of(texts, choice):
        types.add(words)
    names, codes = types.coded()
    return vocabulary.build(names, codes, len(codes), rare=rare)


def perplexities(
    texts: list[list[Piece]],
    interpretations: Sequence[Interpretation],
    corpus: Corpus,
    ngrams: dict[str, NgramModel],
    paper: Table,
) -> pd.DataFrame:
    """The paper's row, then one row per interpretation: name, and for each n-gram, such as kn3-srilm,

    - `kn3-srilm_valid_raw` and so on: its perplexity on each split for which the paper prints one;
    - `kn3-srilm_ratio`: its perplexity on validation over that on test;
    - `kn3-srilm_off`: its largest absolute deviation from the paper's figures, of validation and test.
    """
    figures = {f"{name}_{split}_raw": getattr(paper.rows[name], split) for name in ngrams for split in SPLITS}
    rows = [{"name": PAPER} | {key: value for key, value in figures.items() if value is not None}]
    for choice in interpretations:
        words, ids, _ = encode(texts, choice, corpus.rare)
        ends = [int(corpus.train), int(corpus.train + corpus.valid)]
        splits = dict(zip(SPLITS, np.split(ids, ends), strict=True))
        row = {"name": choice.name}
        for name, ngram in ngrams.items():
            model = make(ngram, Source(splits["train"], splits["valid"], words))
            for split in (split for split in SPLITS if f"{name}_{split}_raw" in rows[0]):
                row[f"{name}_{split}_raw"] = perplexity(model.log_probabilities(before(splits, split), splits[split]))
        rows.append(row)
        log.info("%s: %s", choice.name, ", ".join(f"{key} {value:.1f}" for key, value in row.items() if key != "name"))
    return _with_comparisons(pd.DataFrame(rows), [*ngrams])


def _with_comparisons(frame: pd.DataFrame, ngrams: Sequence[str]) -> pd.DataFrame:
    """The frame with the columns `_ratio` and `_off` of each n-gram; the paper's row is the first."""
    for name in ngrams:
        figures = frame[[f"{name}_valid_raw", f"{name}_test_raw"]]
        frame[f"{name}_ratio"] = frame[f"{name}_valid_raw"] / frame[f"{name}_test_raw"]
        frame[f"{name}_off"] = (figures / figures.iloc[0] - 1).abs().max(axis=1)
    return frame


def _settings(name: str) -> NgramModel:
    """An entry of conf/ngrams.yaml, with the defaults of conf/ngram.yaml for the keys that it lacks."""
    base = groups.loaded(groups.CONF / "ngram.yaml")["ngram"]
    return NgramModel.model_validate({**base, **groups.composed("ngram", name)})


if __name__ == "__main__":
    app.run("streams", main, timed=True)
