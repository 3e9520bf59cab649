"""Our training against the plain loop: time of the whole machine to the same validation perplexity.

The plain loop uses all cores at once; ours trains a network on each core, so one network's time is the wall time over
the number of cores. Runs of the two take turns. Time for evaluation is left out of both. Each side may choose: the
plain loop its rate, of four that all train to their own best, the lowest of which is the goal; ours the epochs over
which its rate falls.
"""

import math
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from benchmarks import plain, setting
from pipeline.running import app, tracking
from pipeline.training.processes import cores

MODELS = ["mlp1", "mlp9"]
RATES = [5e-4, 1e-3, 2e-3, 4e-3]  # of the plain loop; 8e-3 is far behind (reports/LOG.md)
EPOCHS = [1, 2, 3, 4]  # of ours
LOOKS = 4  # evaluations an epoch
PATIENCE = 2  # of them without anything better, and the plain loop stops
CORES = cores()
DONE = Path("timings/race")  # the curves of a race under way
DIRTY = "-dirty"


def version() -> str:
    """The commit that is measured; ends with DIRTY where the code is not the commit's."""
    state = tracking.code_state("benchmarks", "conf", "pipeline")
    return state["commit"] + DIRTY * (state["dirty"] == "true")


def run_plain(model: str, rate: float) -> pd.DataFrame:
    """The plain loop's curve at one rate, until it gets no better."""
    corpus = setting.brown()
    ours = setting.trainer(setting.architecture(model), setting.recipe(), corpus)
    torch.set_num_threads(CORES)
    torch.manual_seed(0)
    network = plain.Plain(ours.network.architecture, corpus.words, ours.network.b.detach())
    windows = ours.windows.long()
    context, target = windows[:, :-1], windows[:, -1]
    curve = []
    for seconds, words in plain.train(network, context, target, rate, LOOKS):
        curve.append((seconds, words, setting.validation(ours, network.as_network())))
        print(f"{model}, plain, rate {rate:g}: {words:,} words, {seconds:.0f} s, {curve[-1][2]:.1f}", flush=True)
        best = int(np.argmin([perplexity for _, _, perplexity in curve]))
        if len(curve) - best > PATIENCE:
            break
    return _frame(curve, model, "plain", f"rate {rate:g}")


def run_ours(model: str, epochs: int, seed: int) -> pd.DataFrame:
    """Our curve with one core."""
    ours = setting.trainer(setting.architecture(model), setting.recipe(epochs=epochs), setting.brown(), seed)
    curve = []
    setting.clocked(
        ours, LOOKS, lambda seconds, words: curve.append((seconds, words, setting.validation(ours, ours.network)))
    )
    return _frame(curve, model, "ours", f"{epochs} epochs" if epochs > 1 else "1 epoch", seed)


def _frame(curve: list[tuple], model: str, who: str, choice: str, seed: int = 0) -> pd.DataFrame:
    frame = pd.DataFrame(curve, columns=["seconds", "words", "perplexity"])
    return frame.assign(model=model, who=who, choice=choice, seed=seed, peak_memory_mb=app.peak_memory_mb())


def run() -> pd.DataFrame:
    """All curves, a line an evaluation. Those of a call that was stopped are taken up, of the same code."""
    curves, done = [], DONE / version()
    if done.name.endswith(DIRTY):  # nothing says which changes an earlier call had
        shutil.rmtree(done, ignore_errors=True)
    for model in MODELS:
        for rate, epochs in zip(RATES, EPOCHS, strict=True):
            curves.append(_once(done / f"{model}-plain-{rate:g}.csv", run_plain, [(model, rate)]))
            seeds = [(model, epochs, seed) for seed in range(CORES)]
            curves.append(_once(done / f"{model}-ours-{epochs}.csv", run_ours, seeds))
        print(summary(pd.concat(curves)).to_string(), flush=True)
    shutil.rmtree(DONE)
    return pd.concat(curves, ignore_index=True)


def _once(file: Path, function, arguments: list[tuple]) -> pd.DataFrame:
    """The curves of calls side by side, measured now or before the race was stopped."""
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        pd.concat(setting.in_processes(function, arguments)).to_csv(file, index=False)
    return pd.read_csv(file)


def summary(curves: pd.DataFrame) -> pd.DataFrame:
    """For each model and side: its fastest way to the plain loop's best perplexity, in seconds of the whole machine."""
    lines = []
    for model, both in curves.groupby("model"):
        goal = both.loc[both["who"] == "plain", "perplexity"].min()
        for who, runs in both.groupby("who"):
            share = 1 if who == "plain" else CORES
            for choice, run in runs.groupby("choice"):
                reached = run[run["perplexity"] <= goal].groupby("seed")["seconds"].min()
                complete = len(reached) == run["seed"].nunique()
                last = run.groupby("seed").last()
                lines.append(
                    {
                        "model": model,
                        "who": who,
                        "choice": choice,
                        "words/s": share * (last["words"] / last["seconds"]).mean(),
                        "best perplexity": run.groupby("seed")["perplexity"].min().mean(),
                        "goal": goal,
                        "seconds to goal": reached.mean() / share if complete else math.inf,
                        "peak memory, MB": run["peak_memory_mb"].max(),
                    }
                )
    return pd.DataFrame(lines).set_index(["model", "who", "choice"])
