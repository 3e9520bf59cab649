"""The race: who trains to a perplexity in the fewest machine-seconds, forms of stock PyTorch or ours.

Each contestant (benchmarks/contestants) may choose among the same rates and weight decays, with dropout and without,
half of the same core-seconds of trials for each: all choices on a random part of the training words, then the better
half on twice as many words, until one is left. The two that are left are trained over several numbers of epochs, two
networks at a time, a core each. Where four epochs take over 150 s, no other number is tried, and of one choice alone:
all trials are then among all choices. Who would take over 300 s for an epoch stands with a speed alone (epochs: 0).
Perplexities are of all of validation, as each model gives it and with the share for unseen words, means of two seeds.
Trials use early stopping's tokens. One contestant, row_adam, has read our code.

A machine-second is a second of all cores, each of which trains a network. `s of the machine` is of training alone, at
the contestant's pace: the median of five rounds in which all train for some seconds in turn, since a machine with other
guests is not as fast in one hour as in the next. `as trained` is what the training took in its own hour.

Table 2's network is trained on its own corpus, 14 million words, without dropout and for one epoch, by whoever takes
1,200 s at most.
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
from pipeline.running.stage import peak_memory_mb

CONTESTANTS = [  # the slowest last
    "ours",
    "row_adam",
    "sparse_bfloat16",
    "sparse",
    "sampled",
    "compiled",
    "adaptive",
    "full",
]
TRIALS = 300.0  # core-seconds for each contestant and shape
WARM = 10_000  # words by which a contestant's speed is measured before its trials
ROUNDS = 5  # in which the contestants' speeds are measured in turn
PACE = 4.0  # seconds that each trains in a round
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
    long: float = 150 / 4  # seconds of an epoch beyond which one number of epochs is tried, of one choice
    slow: tuple[int, ...] = (4,)
    longest: float = 300  # seconds of an epoch beyond which none is trained

    def choices(self, dropouts: tuple[float, ...]) -> list[dict]:
        """With one of these dropouts."""
        values = product(self.rates, dropouts, self.decays)
        return [dict(zip(["rate", "dropout", "weight_decay"], each, strict=True)) for each in values]


SHAPES = {
    "mlp1": Shape(),
    "mlp9": Shape(),
    "large": Shape(
        "data/senate", "large", (4e-3, 8e-3, 1.6e-2, 3.2e-2), (0.0, 8.5e-6), (0.0,), (1,), slow=(1,), longest=1200
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


def perform(run: Run, everything: bool | None) -> dict:
    """Seconds and words of a training, seconds a word of its steps, peak memory, perplexity on all of validation or on
    early stopping's tokens.

    everything: None for no perplexity.
    """
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
    first, last = len(task.steps) // 4, len(task.steps) - 2  # before: compiling; after: a batch of another size
    found = {
        "seconds": seconds,
        "words": len(places) * run.epochs,
        "each": (task.steps[last] - task.steps[first]) / (last - first) / recipe.batch,
        "memory": peak_memory_mb(),
    }
    if everything is not None:
        found |= perplexities(network.eval(), corpus, shape.n, recipe if not everything else None)
    return found


@torch.no_grad()
def perplexities(network, corpus: setting.Ids, n: int, stopping) -> dict[str, float]:
    """On validation, or on the tokens that a recipe's early stopping reads: raw, and with the share of unseen words."""
    context, target = contexts(corpus.valid, corpus.train, n, corpus.mark), corpus.valid
    if stopping is not None:
        place = stopping_places(len(target), stopping.stopping_tokens)
        context, target = context[place], target[place]
    context, target = torch.from_numpy(context.astype(np.int64)), torch.from_numpy(target.astype(np.int64))
    scored = torch.empty(len(target))  # parts that stay would lie between blocks of scores, and glibc give none back
    for place in torch.arange(len(target)).split(SCORED):
        scored[place] = network.log_probabilities(context[place], target[place])
    raw, target = scored.numpy(), target.numpy()
    unseen = evaluation.unseen_words(corpus.train, corpus.words)
    share = evaluation.fit_share(raw, target, unseen)
    shared = evaluation.apply_share(raw, target, unseen, share)
    return {"raw": evaluation.perplexity(raw), "share": evaluation.perplexity(shared)}


def choose(who: str, model: str, choices: list[dict], seconds: float, speed: float) -> dict:
    """The best of these choices that so many core-seconds of trials find, at so many seconds a word to begin with."""
    rounds = int(np.log2(len(choices)))
    whole = len(setting.ids(SHAPES[model].data).train)
    while len(choices) > 1:
        words = int(seconds / rounds / len(choices) / speed)
        epochs = max(1, round(words / whole))
        part = min(words // epochs, whole)
        runs = [(Run(who, model, choice, epochs, part), False) for choice in choices]
        found = setting.in_processes(perform, runs, at_once=CORES)
        speed = np.mean([each["seconds"] / each["words"] for each in found])
        best = np.argsort([each["share"] for each in found])[: len(choices) // 2]
        choices = [choices[each] for each in best]
        print(
            f"{model}, {who}: {part:,} words by {epochs}, best {found[best[0]]['share']:.1f} {choices[0]}", flush=True
        )
    return choices[0]


def measure(who: str, model: str) -> pd.DataFrame:
    """A line for each number of epochs, of a contestant's best choice with dropout and without; or its speed alone."""
    shape = SHAPES[model]
    whole = len(setting.ids(shape.data).train)
    choice = shape.choices(shape.dropouts)[0]
    (warm,) = setting.in_processes(perform, [(Run(who, model, choice, words=WARM), None)])
    if warm["each"] * whole > shape.longest:
        return _line(0, pd.DataFrame([warm]).assign(raw=np.nan, share=np.nan)).assign(**choice)
    speed = warm["seconds"] / warm["words"]  # with what happens once, such as compiling
    if speed * whole < shape.long:
        offered, numbers = [shape.choices((dropout,)) for dropout in shape.dropouts], shape.epochs
    else:
        offered, numbers = [shape.choices(shape.dropouts)], shape.slow
    tables = []
    for choices in offered:
        choice, lines = choose(who, model, choices, TRIALS / len(offered), speed), []
        for epochs in numbers:
            runs = [(Run(who, model, choice, epochs, seed=seed), True) for seed in range(CORES)]
            lines.append(_line(epochs, pd.DataFrame(setting.in_processes(perform, runs))))
            print(f"{model}, {who}: {lines[-1].iloc[0].to_dict()}", flush=True)
        tables.append(pd.concat(lines).assign(**choice))
    return pd.concat(tables, ignore_index=True)


def _line(epochs: int, found: pd.DataFrame) -> pd.DataFrame:
    mean = found[["raw", "share", "seconds", "words"]].mean()
    return pd.DataFrame([{"epochs": epochs, **mean, "MB": found["memory"].max()}])


def paces(runs: pd.DataFrame) -> pd.DataFrame:
    """What each contestant takes, all in turn: `each` (s a word) of networks on each core, `once` (s), `alone` on all.

    Medians of some rounds: the machine is not as fast in one hour as in the next, so seconds of whole trainings, one
    contestant after the other, don't compare. runs: lines as `measure` gives them, with model and who.
    """
    best, found = runs.loc[runs.fillna({"share": 0}).groupby("who", sort=False)["share"].idxmin()], []
    for _ in range(ROUNDS):
        for line in best.to_dict("records"):
            choice = {key: line[key] for key in ("rate", "dropout", "weight_decay")}
            one = Run(line["who"], line["model"], choice, words=int(PACE * line["words"] / line["seconds"]))
            on_each = pd.DataFrame(setting.in_processes(perform, [(one, None)] * CORES)).mean()
            (on_all,) = setting.in_processes(perform, [(replace(one, threads=CORES), None)])
            once = on_each["seconds"] - on_each["words"] * on_each["each"]
            found.append({"who": one.who, "each": on_each["each"], "once": once, "alone": on_all["each"]})
    return pd.DataFrame(found).groupby("who", as_index=False).median()


def run(model: str) -> pd.DataFrame:
    """A line for each contestant and number of epochs. What a stopped call of the same code did is taken up."""
    done = DONE / version()
    if done.name.endswith(DIRTY):  # nothing says which changes an earlier call had
        shutil.rmtree(done, ignore_errors=True)
    done.mkdir(parents=True, exist_ok=True)
    tables = []
    for who in CONTESTANTS:
        file = done / f"{model}-{who}.csv"
        if not file.is_file():
            measure(who, model).to_csv(file, index=False)
        tables.append(pd.read_csv(file).assign(model=model, who=who))
    runs = pd.concat(tables, ignore_index=True)
    file = done / f"{model}.csv"
    if not file.is_file():
        paces(runs).to_csv(file, index=False)
    shutil.rmtree(DONE)
    return table(runs.merge(pd.read_csv(file), on="who"))


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """What is shown of the runs, and ours over each: its machine-seconds to a perplexity not above that line's."""
    seconds = runs["once"] + runs["words"] * runs["each"]
    shown = pd.DataFrame(
        {
            "model": runs["model"],
            "who": runs["who"],
            "epochs": runs["epochs"],
            "rate": runs["rate"],
            "dropout": runs["dropout"],
            "weight decay": runs["weight_decay"],
            "raw": runs["raw"],
            "with share": runs["share"],
            "s of the machine": seconds / CORES,
            "as trained": runs["seconds"] / CORES,
            "words/s of the machine": CORES / runs["each"],
            "words/s on all cores": 1 / runs["alone"],
            "memory, MB": runs["MB"],
        }
    )
    ours = shown[shown["who"] == "ours"]

    def ahead(line: pd.Series) -> float:
        if pd.isna(line["with share"]):
            return np.nan
        reach = ours[(ours["model"] == line["model"]) & (ours["with share"] <= line["with share"])]
        return line["s of the machine"] / reach["s of the machine"].min() if len(reach) else 0.0

    return shown.assign(**{"times ours": shown.apply(ahead, axis=1)}).set_index(["model", "who", "epochs"])


def speeds(runs: pd.DataFrame) -> pd.DataFrame:
    """Words a second of each contestant: a network on each core, and one on all. runs: as `table` has them."""
    return runs.groupby("who")[["words/s of the machine", "words/s on all cores"]].max()


def _part(model: str) -> SimpleNamespace:
    """A shape's race is a part of the benchmark by itself: its ratios are within one run."""
    title = f"{model.upper()}, {__doc__[0].lower()}{__doc__[1:]}"
    return SimpleNamespace(__doc__=title, run=partial(run, model))


PARTS = {f"race_{model}": _part(model) for model in SHAPES}
