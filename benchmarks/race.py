"""The race: who trains to a perplexity in the fewest machine-seconds, forms of stock PyTorch or ours.

Each contestant (benchmarks/contestants) has 300 core-seconds of trials, half of them with dropout and half without,
where both are offered. In each half all rates and weight decays are tried on few words, the better half of them again
on twice as many, until one choice is left; trials are compared by early stopping's tokens, and what a contestant
compiles counts. Both choices are then trained over several numbers of epochs, two networks at a time, a core each. A
contestant whose epochs take long has one choice, of all trials, and one number of epochs, or none: then its speed alone
is shown (epochs: 0). row_adam has read our code.

Perplexities are as each model gives them and corrected for unseen words, means of two seeds. A machine-second is a
second of all cores, each of which trains a network. `s of the machine` is training alone at the contestant's pace: the
median of three rounds in which all train for some seconds in turn, since a machine with other guests is not as fast in
one hour as in the next. `as trained` is what the training took in its own hour. `times ours` is a line's machine-
seconds over those that ours takes to its perplexity or a lower one; 0: ours does not come there.
"""

import shutil
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import torch

from benchmarks import setting
from benchmarks.contestants import Task
from pipeline.core.common import evaluation
from pipeline.core.networks.base import contexts
from pipeline.core.training.train import cores
from pipeline.core.training.trainer import stopping_places
from pipeline.running import tracking
from pipeline.running.place import peak_memory_mb

CONTESTANTS = ["ours", "row_adam", "sparse_bfloat16", "full"]  # the slowest last
TRIALS = 300.0  # core-seconds for each contestant and shape
WARM = 10_000  # words by which a contestant's speed is measured before its trials
ROUNDS = 3  # in which the contestants' speeds are measured in turn
PACE = 5.0  # seconds that each trains in a round, or more: at least so many steps
STEPS = 20
CORES = cores()
DONE = Path("timings/race")  # the results of a race under way
DIRTY = "-dirty"
SCORED = 256  # contexts at a time


@dataclass(frozen=True)
class Shape:
    """A network that is raced, on what, and what all may choose among."""

    data: str = "data/brown"
    recipe: str = "modern"
    rates: tuple[float, ...] = (3.5e-3, 7e-3, 1.4e-2, 2.8e-2)
    decays: tuple[float, ...] = (0.0, 1e-4)
    dropouts: tuple[float, ...] = (0.0, 0.2)
    epochs: tuple[int, ...] = (2, 3, 4, 6)
    slow: int = 4  # the one number of epochs, where an epoch takes over
    slow_above: float = 37.5  # seconds, or
    untrained_above: float = 120.0
    tokens: int | None = None  # of validation, spread evenly, on which a training is judged; None: all

    def choices(self, dropouts: tuple[float, ...]) -> list[dict]:
        """With one of these dropouts."""
        values = product(self.rates, dropouts, self.decays)
        return [dict(zip(["rate", "dropout", "weight_decay"], each, strict=True)) for each in values]

    def __str__(self) -> str:
        offered = {"rates": self.rates, "weight decays": self.decays, "dropout": self.dropouts, "epochs": self.epochs}
        said = "; ".join(f"{name} {', '.join(f'{value:g}' for value in values)}" for name, values in offered.items())
        return (
            f"On {self.data}, all else by recipe {self.recipe}: {said}. Where an epoch takes over "
            f"{self.slow_above:g} s: {self.slow}; over {self.untrained_above:g} s: none. Perplexities are of "
            f"{f'{self.tokens:,} tokens' if self.tokens else 'all'} of validation."
        )


SHAPES = {
    "mlp1": Shape(),
    "mlp9": Shape(),
    "large": Shape(
        "data/senate",
        "large",
        rates=(4e-3, 8e-3, 1.6e-2, 3.2e-2),
        decays=(0.0, 8.5e-6),
        dropouts=(0.0,),
        epochs=(1,),
        slow=1,
        untrained_above=600.0,
        tokens=200_000,
    ),
}


def version() -> str:
    """The commit that is measured; ends with DIRTY where the code is not the commit's."""
    state = tracking.code_state("benchmarks", "conf", "pipeline")
    return state["commit"] + DIRTY * (state["dirty"] == "true")


@dataclass(frozen=True)
class Run:
    """One training: who, what shape, which choice, and on how many words."""

    who: str
    model: str
    choice: dict
    epochs: int = 1
    words: int | None = None  # a random part of training; None: all of it
    seed: int = 0
    threads: int = 1


def perform(run: Run, scored: str = "") -> dict:
    """Seconds and words of a training, seconds a word of its steps, peak memory; perplexity on the shape's tokens of
    validation (`end`), on those of early stopping (`stopping`), or none."""
    torch.set_num_threads(run.threads)
    torch.manual_seed(run.seed)
    corpus, shape = setting.ids(SHAPES[run.model].data), setting.architecture(run.model)
    recipe = setting.recipe(SHAPES[run.model].recipe, epochs=run.epochs, patience=run.epochs, **run.choice)
    context = torch.from_numpy(contexts(corpus.train, corpus.train[:0], shape.n, corpus.mark).astype(np.int64))
    target = torch.from_numpy(corpus.train.astype(np.int64))
    places = torch.randperm(len(target))[: run.words]
    counts = torch.from_numpy(np.bincount(corpus.train, minlength=corpus.words)).float()
    task = Task(shape, recipe, corpus, counts, context[places], target[places])
    network, seconds = import_module(f"benchmarks.contestants.{run.who}").train(task)
    found = {"seconds": seconds, "words": len(places) * run.epochs, "each": _each(task), "MB": peak_memory_mb()}
    if not scored:
        return found | {"raw": np.nan, "corrected": np.nan}
    tokens = SHAPES[run.model].tokens if scored == "end" else recipe.stopping_tokens
    return found | perplexities(network.eval(), corpus, shape.n, tokens)


def _each(task: Task) -> float:
    """Seconds a word of an epoch's steps, but for the first quarter, in which some compile, and the last one, which may
    have fewer words."""
    first, last = len(task.steps) // 4, len(task.steps) - 2
    return (task.steps[last] - task.steps[first]) / (last - first) / task.recipe.batch if last > first else np.nan


@torch.no_grad()
def perplexities(network, corpus: setting.Ids, n: int, tokens: int | None) -> dict[str, float]:
    """On all of validation, or on so many tokens as early stopping takes them: raw, and corrected for unseen words."""
    place = stopping_places(len(corpus.valid), tokens)
    context, target = contexts(corpus.valid, corpus.train, n, corpus.mark)[place], corpus.valid[place]
    context, target = torch.from_numpy(context.astype(np.int64)), torch.from_numpy(target.astype(np.int64))
    scored = torch.empty(len(target))  # parts that stay would lie between blocks of scores, and glibc give none back
    for place in torch.arange(len(target)).split(SCORED):
        scored[place] = network.log_probabilities(context[place], target[place])
    raw, target = scored.numpy(), target.numpy()
    unseen = evaluation.unseen_words(corpus.train, corpus.words)
    correction = evaluation.fit_correction(raw, target, unseen)
    corrected = evaluation.apply_correction(raw, target, unseen, correction)
    return {"raw": evaluation.perplexity(raw), "corrected": evaluation.perplexity(corrected)}


def choose(who: str, model: str, choices: list[dict], seconds: float, speed: float) -> dict:
    """The best of these choices that so many core-seconds of trials find, at so many seconds a word to begin with."""
    rounds = int(np.log2(len(choices)))
    whole = len(setting.ids(SHAPES[model].data).train)
    while len(choices) > 1:
        words = int(seconds / rounds / len(choices) / speed)
        epochs = max(1, round(words / whole))
        part = min(words // epochs, whole)
        runs = [(Run(who, model, choice, epochs, part), "stopping") for choice in choices]
        found = setting.in_processes(perform, runs, at_once=CORES)
        speed = np.mean([each["seconds"] / each["words"] for each in found])
        best = np.argsort([each["corrected"] for each in found])[: len(choices) // 2]
        choices = [choices[each] for each in best]
        print(
            f"{model}, {who}: {part:,} words by {epochs}, best {found[best[0]]['corrected']:.1f} {choices[0]}",
            flush=True,
        )
    return choices[0]


def measure(who: str, model: str) -> pd.DataFrame:
    """A line for each number of epochs, of a contestant's best choice with dropout and without; or its speed alone."""
    entry = SHAPES[model]
    whole, choices = len(setting.ids(entry.data).train), entry.choices(entry.dropouts)
    warm = pd.DataFrame(setting.in_processes(perform, [(Run(who, model, choices[-1], words=WARM),)] * CORES))
    speed = warm["seconds"].mean() / WARM  # with what happens once, such as compiling
    if warm["each"].mean() * whole > entry.untrained_above:
        return _line(0, warm).assign(**choices[-1])
    if speed * whole < entry.slow_above:
        offered, numbers = [entry.choices((dropout,)) for dropout in entry.dropouts], entry.epochs
    else:
        offered, numbers = [choices], [entry.slow]
    tables = []
    for choices in offered:
        choice, lines = choose(who, model, choices, TRIALS / len(offered), speed), []
        for epochs in numbers:
            runs = [(Run(who, model, choice, epochs, seed=seed), "end") for seed in range(CORES)]
            lines.append(_line(epochs, pd.DataFrame(setting.in_processes(perform, runs))))
            print(f"{model}, {who}: {lines[-1].iloc[0].to_dict()}", flush=True)
        tables.append(pd.concat(lines).assign(**choice))
    return pd.concat(tables, ignore_index=True)


def _line(epochs: int, found: pd.DataFrame) -> pd.DataFrame:
    mean = found[["raw", "corrected", "seconds", "words"]].mean(skipna=False)
    return pd.DataFrame([{"epochs": epochs, **mean, "MB": found["MB"].max()}])


def paces(runs: pd.DataFrame) -> pd.DataFrame:
    """What each choice takes, all in turn: `pace` (s a word) with a network on each core, `once` (s), and `alone` (s a
    word) with one on all. runs: lines as `measure` gives them, with model and who."""
    found, by = [], ["who", "dropout"]
    for _ in range(ROUNDS):
        for line in runs.drop_duplicates(by).to_dict("records"):
            choice = {key: line[key] for key in ("rate", "dropout", "weight_decay")}
            words = max(int(PACE * line["words"] / line["seconds"]), STEPS * setting.recipe().batch)
            one = Run(line["who"], line["model"], choice, words=words)
            on_each = pd.DataFrame(setting.in_processes(perform, [(one,)] * CORES)).mean()
            (on_all,) = setting.in_processes(perform, [(replace(one, threads=CORES),)])
            once = on_each["seconds"] - on_each["words"] * on_each["each"]
            found.append([line["who"], line["dropout"], on_each["each"], once, on_all["each"]])
    return pd.DataFrame(found, columns=[*by, "pace", "once", "alone"]).groupby(by, as_index=False).median()


def run(model: str) -> pd.DataFrame:
    """A line for each contestant and number of epochs. What a stopped call of the same code did is taken up."""
    done = DONE / model / version()
    if done.name.endswith(DIRTY):  # nothing says which changes an earlier call had
        shutil.rmtree(done, ignore_errors=True)
    done.mkdir(parents=True, exist_ok=True)
    tables = []
    for who in CONTESTANTS:
        file = done / f"{who}.csv"
        if not file.is_file():
            measure(who, model).to_csv(file, index=False)
        tables.append(pd.read_csv(file).assign(model=model, who=who))
    runs = pd.concat(tables, ignore_index=True)
    file = done / "paces.csv"
    if not file.is_file():
        paces(runs).to_csv(file, index=False)
    shown = table(runs.merge(pd.read_csv(file), on=["who", "dropout"]))
    shutil.rmtree(DONE / model)
    return shown


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """What is shown of the runs, and of each its machine-seconds over ours to a perplexity not above its own."""
    trained = runs["epochs"] > 0
    shown = pd.DataFrame(
        {
            "model": runs["model"],
            "who": runs["who"],
            "epochs": runs["epochs"],
            "rate": runs["rate"].where(trained),
            "dropout": runs["dropout"].where(trained),
            "weight decay": runs["weight_decay"].where(trained),
            "valid_raw": runs["raw"],
            "valid_corrected": runs["corrected"],
            "s of the machine": (runs["once"] + runs["words"] * runs["pace"]).where(trained) / CORES,
            "as trained": runs["seconds"].where(trained) / CORES,
            "words/s of the machine": CORES / runs["pace"],
            "words/s on all cores": 1 / runs["alone"],
            "memory, MB": runs["MB"],
        }
    )
    ours = shown[shown["who"] == "ours"]

    def ahead(line: pd.Series) -> float:
        if pd.isna(line["valid_corrected"]):
            return np.nan
        reach = ours[(ours["model"] == line["model"]) & (ours["valid_corrected"] <= line["valid_corrected"])]
        return line["s of the machine"] / reach["s of the machine"].min() if len(reach) else 0.0

    return shown.assign(**{"times ours": shown.apply(ahead, axis=1)}).set_index(["model", "who", "epochs"])


def speeds(runs: pd.DataFrame) -> pd.DataFrame:
    """Words a second of each contestant's faster choice: a network on each core, and one on all. runs: as `table` has
    them."""
    return runs.groupby("who")[["words/s of the machine", "words/s on all cores"]].max()


def _part(model: str) -> SimpleNamespace:
    """A shape's race is a part of the benchmark by itself: its ratios are within one run."""
    title = f"{model.upper()}, {__doc__[0].lower()}{__doc__[1:]}"
    return SimpleNamespace(__doc__=f"{title.rstrip()}\n\n{SHAPES[model]}", run=partial(run, model))


PARTS = {f"race_{model}": _part(model) for model in SHAPES}
