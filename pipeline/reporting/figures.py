"""The figures, drawn from the tables of the report. Each function returns an SVG."""

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.ticker import MaxNLocator

from pipeline.config.tables import KINDS
from pipeline.reporting import style

PANELS = {
    "train_perplexity": "training perplexity, summed up while it trains",
    "valid_perplexity": "validation perplexity",
}


def ratios(trainings: dict[str, pd.DataFrame], baseline: str) -> str:
    """Test perplexity over the baseline's, one row for each row of the paper: the paper's ratio, and ours by each
    training with its interval, joined by a line. The title counts the rows within 5 % of the paper's ratio.

    trainings: by label, one line per row, with row, n, c, model, paper_test, test_raw_to_<baseline> and its _low and
    _high; n-grams are drawn once, as they are the same in all trainings.
    """
    first = next(iter(trainings.values()))
    places = np.arange(len(first))[::-1]
    paper = first["paper_test"] / first.loc[baseline, "paper_test"]
    joined = [*(rows[f"test_raw_to_{baseline}"].reindex(first.index) for rows in trainings.values()), paper]
    counts = []
    with style.figure(9, 0.3 * len(first) + 1.4) as figure:
        axes = figure.add_subplot()
        axes.hlines(places, np.fmin.reduce(joined), np.fmax.reduce(joined), color=style.INK, alpha=0.25, linewidth=2)
        for number, ((label, rows), colour) in enumerate(zip(trainings.items(), style.TRAININGS, strict=False)):
            rows = rows.reindex(first.index)
            shown = (rows["model"] == "network") | (number == 0)
            ours, low, high = (rows[f"test_raw_to_{baseline}{end}"][shown] for end in ("", "_low", "_high"))
            errors = [ours - low, high - ours]
            axes.errorbar(ours, places[shown], xerr=errors, fmt="o", markersize=5, color=colour, label=label)
            networks = rows["model"] == "network"
            deviation = np.log(rows.loc[networks, f"test_raw_to_{baseline}"] / paper[networks]).abs()
            counts.append(f"{(deviation <= np.log(1.05)).sum()} of {networks.sum()} rows ({label})")
        axes.plot(paper, places, "D", markersize=5, color=style.PAPER, label="the paper")
        axes.axvline(1, color=style.INK, linewidth=0.7, linestyle=":")
        axes.set_yticks(places, [_short_label(name, first) for name in first.index])
        axes.set_xlabel("test perplexity, raw, over Kneser-Ney 5 in SRILM's default form")
        title = f"Test, raw, over Kneser-Ney 5: within 5 % of the paper's ratio in {', '.join(counts)}"
        style.put_title(figure, title)
        axes.legend(loc="lower left")
        return style.svg(figure)


def _short_label(name: str, rows: pd.DataFrame) -> str:
    """The label of a row with its sizes, or of a mixture with its network's label. rows: indexed by name."""
    row = rows.loc[name]
    network = name.removesuffix("-mixed")
    if network != name and network in rows.index:
        return f"{row['row']}: {rows.loc[network, 'row']} + trigram"
    sizes = [f"{key}={row[key]:.0f}" for key in ("n", "c", "h", "m") if pd.notna(row[key])]
    direct = ["direct"] * (row["model"] == "network" and row["direct"])
    return f"{row['row']}: {' '.join(sizes + direct)}"


def maps(tables: dict[str, pd.DataFrame], x: str, y: str) -> str:
    """Maps of validation perplexity over two settings, side by side, on one scale of colours.

    tables: by title; columns x, y and valid_corrected.
    """
    grids = {title: table.pivot(index=y, columns=x, values="valid_corrected") for title, table in tables.items()}
    values = np.concatenate([grid.to_numpy().ravel() for grid in grids.values()])
    with style.figure(4.2 * len(grids), 3.4) as figure:
        panels = figure.subplots(1, len(grids), squeeze=False)[0]
        for axes, (title, grid) in zip(panels, grids.items(), strict=True):
            axes.imshow(grid, cmap="viridis", vmin=np.nanmin(values), vmax=np.nanmax(values), aspect="auto")
            for (row, column), value in np.ndenumerate(grid.to_numpy()):
                dark = value < (np.nanmin(values) + np.nanmax(values)) / 2
                axes.text(column, row, f"{value:.0f}", ha="center", va="center", color="white" if dark else "black")
            axes.set_xticks(range(len(grid.columns)), grid.columns)
            axes.set_yticks(range(len(grid.index)), grid.index)
            axes.set_xlabel(x)
            axes.set_ylabel(y)
            axes.set_title(f"{title}: lowest {grid.min(axis=None):.0f}", fontsize=11)
            axes.spines[:].set_visible(False)
        return style.svg(figure)


def search(table: pd.DataFrame) -> str:
    """A grid's validation perplexities, means over seeds. Where one setting varies: a point for each job and a line
    through the means. Where two vary: a map of them. Else one line per job, through its value of each setting that
    varies. Empty where none varies.

    table: as sweep.collect returns it. Jobs that failed are left out.
    """
    done = table[table["valid_corrected"].notna()].astype({"valid_corrected": float})
    jobs = over_seeds(done)
    keys = [key for key in setting_columns(jobs) if jobs[key].nunique() > 1]
    choices = {key: sorted(jobs[key].unique(), key=by_number) for key in keys}
    if not keys:
        return ""
    if len(keys) == 1:
        return _search_of_one(done, keys[0], choices[keys[0]])
    if len(keys) == 2 and not jobs.duplicated(keys).any():
        ordered = jobs.assign(**{key: pd.Categorical(jobs[key], choices[key]) for key in keys})
        return maps({"validation perplexity": ordered}, x=keys[0], y=keys[1])
    with style.figure(2 + 1.8 * len(keys), 3.6) as figure:
        axes = figure.add_subplot()
        low, high = jobs["valid_corrected"].min(), jobs["valid_corrected"].max()
        for line in jobs.to_dict("records"):
            last = (line["valid_corrected"] - low) / (high - low or 1)
            heights = [choices[key].index(line[key]) / max(len(choices[key]) - 1, 1) for key in keys]
            axes.plot([*heights, last], color=matplotlib.colormaps["viridis"](last), alpha=0.8)
        for place, key in enumerate(keys):
            for number, value in enumerate(choices[key]):
                axes.text(place, number / max(len(choices[key]) - 1, 1), f" {value}", fontsize=9)
        for value, height in ((low, 0), (high, 1)):
            axes.text(len(keys), height, f" {value:.1f}", fontsize=9)
        axes.set_xticks(range(len(keys) + 1), [*keys, "validation perplexity"])
        axes.set_yticks([])
        axes.spines[:].set_visible(False)
        return style.svg(figure)


def _search_of_one(jobs: pd.DataFrame, key: str, choices: list) -> str:
    """Validation perplexity by the value of one setting: a point for each job, a line through the means over seeds."""
    means = jobs.groupby(key)["valid_corrected"].mean()
    with style.figure(2 + 0.8 * len(choices), 3.6) as figure:
        axes = figure.add_subplot()
        axes.plot(range(len(choices)), [means[value] for value in choices], color=style.INK, alpha=0.4)
        axes.plot([choices.index(value) for value in jobs[key]], jobs["valid_corrected"], "o", alpha=0.8)
        axes.set_xticks(range(len(choices)), choices)
        axes.set_xlabel(key)
        axes.set_ylabel("validation perplexity")
        return style.svg(figure)


def setting_columns(table: pd.DataFrame) -> list[str]:
    """The columns of a grid's table that hold its jobs' settings, without the seed."""
    settings = table.columns[: table.columns.get_loc("valid_corrected")]
    return [name for name in settings if name not in ("job", "seed", "seeds")]


def over_seeds(table: pd.DataFrame) -> pd.DataFrame:
    """A grid's table with one line for all seeds of the same settings: how many seeds, and the means of the figures.
    A table with one seed is returned as it is."""
    if "seed" not in table or table["seed"].nunique() < 2:
        return table
    settings = table.groupby(setting_columns(table) or (lambda _: 0), sort=False, dropna=False)
    means = settings[[*table.columns[table.columns.get_loc("valid_corrected") :]]].mean(numeric_only=True)
    return means.assign(seeds=settings["seed"].count()).set_index("seeds", append=True).reset_index()


def by_number(value: str) -> tuple[float, str]:
    """A key for sorting: numbers first, by size, then other values by their text."""
    try:
        return float(value), ""
    except ValueError:
        return float("inf"), str(value)


def genres(table: pd.DataFrame, models: dict[str, str]) -> str:
    """Test perplexity by genre, a group of bars per genre.

    table: one line per genre, one column per model; models: the columns to draw, and their labels.
    """
    width = 0.8 / len(models)
    with style.figure(8, 3.6) as figure:
        axes = figure.add_subplot()
        for number, (name, label) in enumerate(models.items()):
            axes.bar(np.arange(len(table)) + number * width, table[name], width * 0.9, label=label)
        labels = [f"{genre.replace('_', ' ')}\n{texts} texts" for genre, texts in table["texts"].items()]
        axes.set_xticks(np.arange(len(table)) + 0.4 - width / 2, labels)
        axes.set_ylabel("test perplexity, raw (lower is better)")
        lowest = table[[*models]].idxmin(axis=1).map(models).value_counts()
        best = f"{lowest.index[0]} is lowest in {lowest.iloc[0]} of {len(table)} genres"
        style.put_title(figure, f"Of these {len(models)} models, {best}")
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=9)
        return style.svg(figure)


def curves(curves: pd.DataFrame, rows: pd.DataFrame, training: str, same_corpus: bool, valid_tokens: int) -> str:
    """Training and validation perplexity by epoch, one line per seed of each network. Where the corpus is the paper's,
    diamonds over the last epoch show the paper's figures; on validation only if the curves are of all its tokens. The
    title counts the networks whose training ends above the paper's figure.

    curves: indexed by name and seed, with epoch, valid_tokens and the columns of PANELS; rows: as table.build returns
    them; training: its name, for the title; valid_tokens: of all of validation.
    """
    all_tokens = {"train_perplexity": True, "valid_perplexity": (curves["valid_tokens"] == valid_tokens).all()}
    ends = curves["train_perplexity"].groupby(["name", "seed"], sort=False).last().groupby("name", sort=False).mean()
    with style.figure(11, 4.5) as figure:
        for axes, (column, label) in zip(figure.subplots(1, 2), PANELS.items(), strict=True):
            for name, network in curves.groupby("name", sort=False):
                row = rows.loc[name]
                shape = _short_label(name, rows)
                colour = None  # of the first seed: matplotlib's next one; then the same for all seeds
                for _, curve in network.groupby("seed"):
                    legend = None if colour else shape
                    (line,) = axes.plot(
                        curve["epoch"], curve[column], color=colour, marker="o", markersize=3, label=legend
                    )
                    colour = line.get_color()
                paper_figure = row[f"paper_{column.removesuffix('_perplexity')}"]
                if same_corpus and all_tokens[column] and pd.notna(paper_figure):
                    axes.plot(network["epoch"].max(), paper_figure, "D", color=colour, markeredgecolor=style.INK)
            axes.xaxis.get_major_locator().set_params(integer=True)
            axes.set_xlabel("epoch")
            axes.set_ylabel(label if all_tokens[column] else f"{label}, {curves['valid_tokens'].max():,} of its tokens")
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter("{x:.0f}")
            axes.yaxis.set_minor_formatter("{x:.0f}")
        if axes.lines:
            axes.legend(fontsize=9)
            lowest = curves["valid_perplexity"].groupby("name").min()
            best = rows.loc[lowest.idxmin(), "row"]
            printed = rows.loc[ends.index, "paper_train"].dropna()
            title = f"{best} is lowest on validation" if len(lowest) > 1 else best
            if same_corpus and len(printed):
                above = (ends[printed.index] > printed).sum()
                title = f"training ends above the paper's figure for {above} of {len(printed)} networks"
            style.put_title(figure, f"{training.capitalize()}: {title}" if training else title)
        return style.svg(figure)


def plane(features: np.ndarray, words: list[str], middle: bool = False) -> str:
    """Words at their two features (R, 2), one row per word. middle: only the box around the middle half of them."""
    with style.figure(10, 8) as figure:
        axes = figure.add_subplot()
        axes.scatter(*features.T, s=2, color=style.OURS)
        for point, word in zip(features, words, strict=True):
            axes.annotate(word.replace("$", r"\$"), point, fontsize=7, ha="center", va="center")
        # Most words lie close together around the origin, some far out: linear inside, logarithmic outside.
        spread = float(np.median(np.abs(features)))
        axes.set_xscale("asinh", linear_width=spread)
        axes.set_yscale("asinh", linear_width=spread)
        if middle:
            low, high = np.quantile(features, [0.25, 0.75], axis=0)
            axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
            for axis in (axes.xaxis, axes.yaxis):  # powers of ten would lie on one another near 0
                axis.set_major_locator(MaxNLocator(6))
                axis.set_major_formatter("{x:g}")
        axes.set_xlabel("first feature (no unit; linear near 0, logarithmic far from it)")
        axes.set_ylabel("second feature")
        return style.svg(figure)


def timeline(models: pd.DataFrame) -> str:
    """Test perplexity, corrected for unseen words: a list, one line per model in the order of years, with the best so
    far by validation.

    models: as the stage timeline writes them.
    """
    places = np.arange(len(models))
    best = models["test_corrected"].where(models["valid_corrected"] == models["valid_corrected"].cummin()).ffill()
    with style.figure(8, 0.22 * len(models) + 1) as figure:
        axes = figure.add_subplot()
        for (kind, label), marker in zip(KINDS.items(), ("o", "s", "^"), strict=True):
            mask = models["kind"] == kind
            axes.plot(models["test_corrected"][mask], places[mask], marker, label=label)
        axes.stairs(
            best,
            np.arange(len(models) + 1) - 0.5,
            orientation="horizontal",
            baseline=None,
            color=style.INK,
            alpha=0.4,
            label="the best so far, by validation",
        )
        for place, test in zip(places, models["test_corrected"], strict=True):
            axes.annotate(f"{test:.1f}", (test, place), (6, -3), textcoords="offset points", fontsize=8)
        axes.set_yticks(places, models["row"] + ", " + models["year"].astype(str), fontsize=8)
        axes.set_ylim(len(models) - 0.5, -0.5)
        axes.set_xscale("log")
        highest = 1.1 * models["test_corrected"].max()
        ticks = [tick for tick in (100, 125, 150, 200, 250, 300, 350, 400) if tick < highest]
        axes.set_xticks(ticks, map(str, ticks))
        axes.minorticks_off()
        axes.set_xlabel("test perplexity on Brown, corrected for unseen words", loc="right")
        parts = {"The best": models, "The best single model without adaptation": models[models["kind"] == "one"]}
        lowest = [
            f"{best}: {part.loc[part['valid_corrected'].idxmin(), 'test_corrected']:.1f}."
            for best, part in parts.items()
        ]
        style.put_title(figure, f"A list by year. {' '.join(lowest)}")
        figure.legend(fontsize=9, loc="outside lower left", ncols=2)
        return style.svg(figure)
