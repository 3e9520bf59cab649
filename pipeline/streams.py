"""Stage streams: which stream of words did the authors use? The counts of the free corpus by many interpretations,
beside the counts that the paper prints; and, as a check, n-gram perplexities of the nearest."""

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
from pipeline.core.ngrams.model import make
from pipeline.core.text import vocabulary
from pipeline.core.text.build import reader
from pipeline.core.text.pieces import Piece
from pipeline.data.interpretations import words_of
from pipeline.reporting import streams_text
from pipeline.running import app
from pipeline.running.progress import Bar

COUNTS = ["tokens", "types", "vocabulary"]
PAPER = "the paper"  # the row of what it prints

log = logging.getLogger(__name__)


def main(config: Streams) -> None:
    """Writes streams.csv and .md, streams-perplexity.csv and .md into config.out."""
    corpus, out = config.corpus, Path(config.out)
    with Bar(corpus.name, "B") as bar:
        texts = [list(pieces) for _, pieces in reader(corpus.format).texts(corpus, bar)]
    counted = table(texts, config.interpretations, corpus)
    nearest = counted["name"].iloc[1 : 1 + config.checked].tolist()
    chosen = {each.name: each for each in config.interpretations if each.name in {*nearest, *config.also}}
    ordered = [chosen[name] for name in counted["name"] if name in chosen]
    printed = read_tables(Path(config.tables))[config.printed]
    checked = perplexities(texts, ordered, corpus, {name: _settings(name) for name in config.ngrams}, printed)
    out.mkdir(parents=True, exist_ok=True)
    counted.round(6).to_csv(out / "streams.csv", index=False)
    checked.round(4).to_csv(out / "streams-perplexity.csv", index=False)
    (out / "streams.md").write_text(streams_text.counts(counted), encoding="utf-8")
    (out / "streams-perplexity.md").write_text(streams_text.perplexities(checked), encoding="utf-8")
    log.info("%d interpretations in %s", len(config.interpretations), out / "streams.md")


def table(texts: list[list[Piece]], interpretations: Sequence[Interpretation], corpus: Corpus) -> pd.DataFrame:
    """A row an interpretation after that of the paper: name, the choices, tokens, types, vocabulary, the relative
    deviation of each from the paper's (`tokens_off`) and the largest absolute one (`largest_off`), by which rows are
    sorted."""
    rows = [{"name": PAPER} | {key: corpus.paper[key] for key in COUNTS}]
    for chosen in interpretations:
        words, ids, types = coded(texts, chosen, corpus.rare)
        counts = {"tokens": len(ids), "types": types, "vocabulary": len(words)}
        rows.append(chosen.model_dump() | {"marks": " and ".join(chosen.marks) or "none"} | counts)
    counted = pd.DataFrame(rows)[[*Interpretation.model_fields, *COUNTS]].fillna("")
    for key in COUNTS:
        counted[f"{key}_off"] = counted[key] / corpus.paper[key] - 1
    counted["largest_off"] = counted[[f"{key}_off" for key in COUNTS]].abs().max(axis=1)
    return counted.sort_values("largest_off", kind="stable", ignore_index=True)


def coded(texts: list[list[Piece]], chosen: Interpretation, rare: int) -> tuple[list[str], np.ndarray, int]:
    """An interpretation's vocabulary, its stream (T,) in ids and its number of types, as preprocess has them."""
    types = vocabulary.Types()
    for words in words_of(texts, chosen):
        types.add(words)
    names, codes = types.coded()
    return vocabulary.build(names, codes, len(codes), rare)


def perplexities(
    texts: list[list[Piece]],
    interpretations: Sequence[Interpretation],
    corpus: Corpus,
    ngrams: dict[str, NgramModel],
    printed: Table,
) -> pd.DataFrame:
    """A row an interpretation after that of the paper: name, the perplexity of each n-gram on each split
    (`kn3-srilm_valid`) where the paper prints one, as the model gives it; its perplexity on validation over that
    on test (`kn3-srilm_ratio`); and its largest absolute deviation from the paper's on both (`kn3-srilm_off`)."""
    paper = {f"{name}_{split}": getattr(printed.rows[name], split) for name in ngrams for split in SPLITS}
    rows = [{"name": PAPER} | {key: value for key, value in paper.items() if value is not None}]
    for chosen in interpretations:
        words, ids, _ = coded(texts, chosen, corpus.rare)
        ends = [int(corpus.train), int(corpus.train + corpus.valid)]
        splits = dict(zip(SPLITS, np.split(ids, ends), strict=True))
        row = {"name": chosen.name}
        for name, ngram in ngrams.items():
            model = make(ngram, splits["train"], splits["valid"], words)
            for split in (split for split in SPLITS if f"{name}_{split}" in rows[0]):
                row[f"{name}_{split}"] = perplexity(model.log_probabilities(before(splits, split), splits[split]))
        rows.append(row)
        log.info("%s: %s", chosen.name, ", ".join(f"{key} {value:.1f}" for key, value in row.items() if key != "name"))
    return _compared(pd.DataFrame(rows), [*ngrams])


def _compared(checked: pd.DataFrame, ngrams: Sequence[str]) -> pd.DataFrame:
    """With each n-gram's largest absolute deviation from the first row, on validation and test, and its perplexity on
    validation over that on test."""
    for name in ngrams:
        scored = checked[[f"{name}_valid", f"{name}_test"]]
        checked[f"{name}_ratio"] = checked[f"{name}_valid"] / checked[f"{name}_test"]
        checked[f"{name}_off"] = (scored / scored.iloc[0] - 1).abs().max(axis=1)
    return checked


def _settings(name: str) -> NgramModel:
    """An entry of conf/ngrams.yaml over the values that conf/ngram.yaml has for what it leaves out."""
    base = groups.loaded(groups.CONF / "ngram.yaml")["ngram"]
    return NgramModel.model_validate({**base, **groups.composed("ngram", name)})


if __name__ == "__main__":
    app.run("streams", main, timed=True)
