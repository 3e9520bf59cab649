"""Stage adapt: a network with test-time adaptation, by a neural cache or by dynamic evaluation.

Do not compare these perplexities with those of other models: each word is scored before the model learns from it, but
on test the model has learned from the preceding words of test."""

import logging
from pathlib import Path

from pipeline.config.adapt import Adapt
from pipeline.core.common.errors import InputError
from pipeline.core.streams import adapt
from pipeline.data.corpus import read_corpus
from pipeline.data.files import write_json
from pipeline.data.predictions import folder_of, read_raw, write_predictions
from pipeline.data.weights import read_network
from pipeline.running import app
from pipeline.running.progress import Bar
from pipeline.running.stage import recorded

log = logging.getLogger(__name__)


def main(config: Adapt) -> None:
    """Writes the arrays, metrics.json and chosen.json into config.out."""
    corpus = read_corpus(config.data)
    folder = folder_of(f"{config.network}/{config.seed}", config.predictions)
    raw = read_raw(folder, corpus)
    network = read_network(folder, len(corpus.vocabulary))
    if config.adapt.kind == "cache" and not network.in_order:
        raise InputError(
            f"network={config.network}: the {network.architecture.family} family reads no stream in order: it has no "
            "state for a neural cache; adapt=dynamic works with every family"
        )
    with recorded("adapt", config, corpus), Bar(config.name) as bar:
        if config.adapt.kind == "cache":
            scored, chosen = adapt.with_cache(
                config.adapt, network=network, ids=corpus.splits, mark=corpus.mark, raw=raw
            )
        else:
            scored, chosen = adapt.learning(
                config.adapt, network=network, ids=corpus.splits, mark=corpus.mark, watch=bar
            )
        write_predictions(Path(config.out), corpus, scored)
        write_json(Path(config.out, "chosen.json"), chosen)
        log.info("%s: chosen on validation: %s", config.name, chosen)


if __name__ == "__main__":
    app.run("adapt", main)
