"""Stage shortlist: an energy network that scores only the likeliest words of the trigram (NIPS 2000)."""

from pathlib import Path

from pipeline.config.shortlist import Shortlist
from pipeline.core.beyond import shortlist
from pipeline.core.common.errors import InputError
from pipeline.core.ngrams.model import Source, make
from pipeline.data.corpus import read_corpus
from pipeline.data.predictions import folder_of, write_predictions
from pipeline.data.weights import read_network
from pipeline.running import app
from pipeline.running.progress import Bar
from pipeline.running.stage import recorded


def main(config: Shortlist) -> None:
    """Writes the arrays of valid and test, and metrics.json, into config.out."""
    if config.ngram.kind != "interpolated":
        raise InputError(f"ngram.kind={config.ngram.kind}: short lists are the interpolated trigram's")
    corpus = read_corpus(config.data)
    words = len(corpus.vocabulary)
    if config.size > words:
        raise InputError(f"size={config.size}: from 1 to the {words:,} words of the vocabulary")
    network = read_network(folder_of(config.network, config.predictions), words)
    if not network.in_pairs:
        raise InputError(f"network={config.network}: short lists are for the families that score pairs, as energy does")
    with recorded("shortlist", config, corpus) as run, Bar(config.name) as bar:
        trigram = make(config.ngram, Source(corpus.train, corpus.valid, corpus.vocabulary))
        raw = {}
        for split in ("valid", "test"):
            bar.begin(len(corpus.ids(split)), split)
            raw[split], seconds = shortlist.score(
                network,
                trigram,
                ids=corpus.ids(split),
                before=corpus.before(split),
                mark=corpus.mark,
                size=config.size,
                watch=bar,
            )
            run.costs |= {key: run.costs.get(key, 0.0) + value for key, value in seconds.items()}
        write_predictions(Path(config.out), corpus, raw)


if __name__ == "__main__":
    app.run("shortlist", main)
