"""Errors as people read them: what is wrong, where, and what to do next, in a line for each fault."""

import re
from typing import Any

from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException

from pipeline.config.check import in_quotes
from pipeline.core.common.errors import UnusableError
from pipeline.data.errors import InputError

# Of the core, by the key of an UnusableError or of what is noted to a Watcher.
MESSAGES = {
    "perplexity": "{nats:.3g} nats a word: no model of words gives them so little probability",
    "no file": "{count} files match corpus.{key}={pattern}; there: {names}",
    "NUL": "{file}, line {line}: NUL characters, as in UTF-16 without its mark: convert it, or set corpus.encoding",
    "encoding": "{file}, line {line}: not {encoding}; convert it, for example with iconv, or give corpus.encoding",
    "own symbol": (
        "{file}, line {line}: {symbol} is a symbol of this project: take it out, or give another word in its place; "
        "rare words in tokenised text may be <unk> (corpus.format=tokens)"
    ),
    "release": "{file}, {text}: neither UTF-8 nor {encoding}; corpus.encoding=latin-1 can read every text",
    "no words": "{text}: no words in it, or not in the format {format!r}",
    "no texts": "corpus.raw: no usable texts there",
    "other texts": (
        "{measured:,} {key} where this corpus has {expected:,}; download it again, or, if other texts are "
        "meant, set corpus.expected=null"
    ),
    "nothing stays": "corpus.drop_repeats={drop_repeats}: nothing stays of one of the three files",
    "splits": (
        "corpus.train={train:g}, corpus.valid={valid:g} and corpus.test={test:g} leave a split empty or ask "
        "for too much: the stream has {tokens:,} tokens"
    ),
    "vocabulary": "corpus.size={size}: a vocabulary of so few words has no room for more than its symbols",
    "discounts": (
        "Kneser-Ney of order {order}: counts of counts {counts} leave the discounts undefined; the text is "
        "too small or too regular: set ngram.undefined=fixed for fixed discounts"
    ),
    "samples": "recipe.samples={samples}: a softmax needs at least one sampled word",
    "batch of streams": "recipe.batch={batch}: a step reads model.n-1 = {length} words of each stream: give a multiple",
    "too many streams": (
        "recipe.batch={batch}: {streams} streams of {words} words of training: lower it, to {words} times model.n-1 "
        "at most"
    ),
    "features": "features of shape {shape} for a network whose C is {C}: give those of the same vocabulary and model.m",
    "diverged": (
        "the loss is {loss:g} a word by step {step} (epoch {epoch}) at rate {rate:.3g}: lower recipe.rate, "
        "now {first_rate:g}"
    ),
    "other state": "the state to go on from is of another training, or damaged ({said}): remove it",
    "features are units": "model.h={h}: a word of this family has as many features as it has units; set m to it",
    "tied layer": "model.h={h}: one layer whose outputs meet the features has m = {m} units; set h to it",
    "one layer": "model.deep.layer_dropout={layer_dropout}: there is nothing between one layer; set it to 0",
    "heads": "model.m={m}: not a multiple of model.deep.heads={heads}",
    "two words at a time": "model.n={n}: this family reads at least two words at a time, so n >= 3",
    "rates": "adapt.rates={rates}: each is worse than not to know anything; give lower ones",
    "rule tried": "rate {rate:g}, decay {decay:g}: {nats:.4f} nats a word on {words} words",
    "nothing held out": "no word of the vocabulary is missing in training and in this split, so none can be held out",
    "new candidates": "a new word as candidate needs a network that scores pairs, with one v for all words",
}

# The user's mistakes, and what the machine refuses, such as a full disk; all else keeps its traceback.
KNOWN = (InputError, UnusableError, HydraException, OmegaConfBaseException, OSError)
# What torch and safetensors, which write by themselves, say of a disk that takes no more.
WRITERS = re.compile(r"inline_container\.cc|os error \d+")
NO_RESULT = "UncompletedJobError"  # of submitit, which is imported where a grid runs through it


def is_known(error: Exception) -> bool:
    """Whether an error is the user's or the machine's, and not a fault of ours."""
    return isinstance(error, KNOWN) or type(error).__name__ == NO_RESULT or bool(WRITERS.search(str(error)))


def lines(error: Exception) -> str:
    """A known error as people read it: a line for each fault."""
    if isinstance(error, UnusableError):
        return worded(error)
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, HydraException | OmegaConfBaseException):
        causes = dict.fromkeys([str(error), str(error.__cause__ or "")])  # Hydra's, with OmegaConf's below
        said = " ".join(" ".join(causes).split("Config search path:")[0].split())
        if given := re.search(r"Ambiguous value for argument '\+*([^=]+)=(.*?)' 1\.", said):
            quoted = f"{given[1]}={in_quotes(given[2])}"
            return f'{given[1]}={given[2]}: if the comma is part of the value, give "{quoted}"; for a grid add -m'
        return said
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror or error}"
    if type(error).__name__ == NO_RESULT:
        said = " ".join(str(error).split("\n")[:2])
        return f"{said}: it was killed, or cancelled before it began; repeat the grid when its other jobs have ended"
    said = str(error).split("\n")[0][:200]
    return f"{said}: is there room on the disks of out, timing and checkpoints, and may they be written?"


def worded(error: UnusableError) -> str:
    """The message of an error of the core."""
    return note(error.what, **error.values)


def note(what: str, **values: Any) -> str:
    """A message with its values; where it has no words yet, as with a family of the user's own, key and values."""
    values = {key: _short(value) for key, value in values.items()}
    given = ", ".join(f"{key}={value}" for key, value in values.items())
    return MESSAGES[what].format(**values) if what in MESSAGES else f"{what}: {given}"


def _short(value: Any) -> Any:
    """Of many names the first."""
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        return value
    return ", ".join(value[:5]) + ", ..." * (len(value) > 5) or "nothing"
