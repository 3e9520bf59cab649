"""The race: who trains to a perplexity in the fewest machine-seconds, forms of stock PyTorch or ours.

Each contestant (benchmarks/contestants) may choose among the same rates and weight decays, with dropout and without,
half of the same core-seconds of trials for each: all choices on a random part of the training words, then the better
half on twice as many words, until one is left. The two that are left are trained over several numbers of epochs, two
networks at a time, a core each. Where four epochs take over 150 s, no other number is tried, and of one choice alone:
all trials are then among all choices. Perplexities are of all of validation, as each model gives it and with the share
for unseen words, means of two seeds; seconds are of training alone, without evaluation. `of the machine` is a network's
share of the machine that trains one on each core. Trials use early stopping's tokens. One contestant, row_adam, has
read our code.
"""

import shutil
from dataclasses import dataclass
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

MODELS = ["mlp1", "mlp9"]
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
DROPOUT = [0.0, 0.2]
CHOICES = [
    {"rate": rate, "dropout": dropout, "weight_decay": decay}
    for rate, dropout, decay in product([3.5e-3, 7e-3, 1.4e-2, 2.8e-2], DROPOUT, [0.0, 1e-4])
]
TRIALS = 300.0  # core-seconds for each contestant and shape
WARM = 10_000  # words by which a contestant's speed is measured before its trials
EPOCHS = [2, 3, 4, 6]
LONGEST = 150.0  # seconds of four epochs beyond which no other number is tried
CORES = cores()
DONE = Path("timings/race")  # the results of a race under way
DIRTY = "-dirty"
SCORED = 256  # contexts at a time


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


def perform(run: Run, everything: bool) -> dict:
    """Seconds and words of a training, peak memory, perplexity on all of validation or on early stopping's tokens."""
    torch.set_num_threads(run.threads)
    torch.manual_seed(run.seed)
    corpus, shape = setting.brown(), setting.architecture(run.model)
    recipe = setting.recipe(epochs=run.epochs, patience=run.epochs, **run.choice)
    context = torch.from_numpy(contexts(corpus.train, corpus.train[:0], shape.n, corpus.mark).astype(np.int64))
    target = torch.from_numpy(corpus.train.astype(np.int64))
    places = torch.randperm(len(target))[: run.words]
    counts = torch.from_numpy(np.bincount(corpus.train, minlength=corpus.words)).float()
    task = Task(shape, recipe, corpus, counts, context[places], target[places])
    network, seconds = import_module(f"benchmarks.contestants.{run.who}").train(task)
    peak = peak_memory_mb()
    raw, share = perplexities(network.eval(), corpus, shape.n, recipe if not everything else None)
    return {"seconds": seconds, "words": len(places) * run.epochs, "raw": raw, "share": share, "memory": peak}


@torch.no_grad()
def perplexities(network, corpus: setting.Ids, n: int, stopping) -> tuple[float, float]:
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
    return evaluation.perplexity(raw), evaluation.perplexity(evaluation.apply_share(raw, target, unseen, share))


def choose(who: str, model: str, choices: list[dict], seconds: float, speed: float) -> dict:
    """The best of these choices that so many core-seconds of trials find, at so many seconds a word to begin with."""
    rounds = int(np.log2(len(choices)))
    whole = len(setting.brown().train)
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
    """A line for each number of epochs, of a contestant's best choice with dropout and without."""
    whole = len(setting.brown().train)
    (warm,) = setting.in_processes(perform, [(Run(who, model, CHOICES[0], words=WARM), False)])
    speed = warm["seconds"] / warm["words"]
    offered, numbers = [CHOICES], [4]
    if 4 * whole * speed < LONGEST:
        offered = [[each for each in CHOICES if each["dropout"] == rate] for rate in DROPOUT]
        numbers = EPOCHS
    tables = []
    for choices in offered:
        choice, lines = choose(who, model, choices, TRIALS / len(offered), speed), []
        for epochs in numbers:
            runs = [(Run(who, model, choice, epochs, seed=seed), True) for seed in range(CORES)]
            found = pd.DataFrame(setting.in_processes(perform, runs))
            lines.append(
                {"epochs": epochs, **found[["raw", "share", "seconds", "words"]].mean(), "MB": found["memory"].max()}
            )
            print(f"{model}, {who}: {lines[-1]}", flush=True)
        (alone,) = setting.in_processes(perform, [(Run(who, model, choice, words=whole // 8, threads=CORES), False)])
        tables.append(pd.DataFrame(lines).assign(alone=alone["seconds"] / alone["words"], **choice))
    return pd.concat(tables, ignore_index=True)


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
    shutil.rmtree(DONE)
    return table(pd.concat(tables, ignore_index=True))


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """What is shown of the runs, and ours over each: its machine-seconds to a perplexity not above that line's."""
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
            "s of the machine": runs["seconds"] / CORES,
            "s on all cores": runs["words"] * runs["alone"],
            "words/s of the machine": CORES * runs["words"] / runs["seconds"],
            "memory, MB": runs["MB"],
        }
    )
    ours = shown[shown["who"] == "ours"]

    def ahead(line: pd.Series) -> float:
        reach = ours[(ours["model"] == line["model"]) & (ours["with share"] <= line["with share"])]
        return line["s of the machine"] / reach["s of the machine"].min() if len(reach) else 0.0

    return shown.assign(**{"times ours": shown.apply(ahead, axis=1)}).set_index(["model", "who", "epochs"])


def speeds(runs: pd.DataFrame) -> pd.DataFrame:
    """Words a second of each contestant at its fastest: a network on each core, and one on all. runs: as `table` has
    them."""
    all_cores = runs["words/s of the machine"] * runs["s of the machine"] / runs["s on all cores"]
    return runs.assign(alone=all_cores).groupby("who")[["words/s of the machine", "alone"]].max()


def _part(model: str) -> SimpleNamespace:
    """A shape's race is a part of the benchmark by itself: its ratios are within one run."""
    title = f"{model.upper()}, {__doc__[0].lower()}{__doc__[1:]}"
    return SimpleNamespace(__doc__=title, run=partial(run, model))


PARTS = {f"race_{model}": _part(model) for model in MODELS}
