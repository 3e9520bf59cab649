"""The figures, from the tables of the report: each returns an SVG."""

import matplotlib
import numpy as np
import pandas as pd

from pipeline.config.tables import KINDS
from pipeline.reporting import style

PANELS = {
    "train_perplexity": "training perplexity, summed up while it trains",
    "valid_perplexity": "validation perplexity",
}


def ratios(table: pd.DataFrame, yardstick: str) -> str:
    """Each row's test perplexity over the yardstick's: ours with its interval, and the paper's.

    table: a line a row, with label, to_<yardstick> and its _low and _high, and paper_to_<yardstick>, the paper's own.
    """
    place = np.arange(len(table))[::-1]
    ours, low, high = (table[f"to_{yardstick}{end}"] for end in ("", "_low", "_high"))
    with style.figure(8, 0.28 * len(table) + 1) as figure:
        axes = figure.add_subplot()
        axes.errorbar(ours, place, xerr=[ours - low, high - ours], fmt="o", markersize=5, label="ours, 95 % over texts")
        axes.plot(table[f"paper_to_{yardstick}"], place, "D", markersize=4.5, color=style.PAPER, label="the paper")
        axes.axvline(1, color=style.INK, linewidth=0.7, linestyle=":")
        axes.set_yticks(place, table["label"])
        axes.set_xlabel("test perplexity over that of Kneser-Ney 5 (SRILM's default form)")
        axes.legend(loc="lower left")
        return style.svg(figure)


def maps(tables: dict[str, pd.DataFrame], x: str, y: str) -> str:
    """Maps of validation perplexity by two values, one beside the other, in the same colours.

    tables: by title; columns x, y and valid.
    """
    pivoted = {title: table.pivot(index=y, columns=x, values="valid") for title, table in tables.items()}
    values = np.concatenate([each.to_numpy().ravel() for each in pivoted.values()])
    with style.figure(4.2 * len(pivoted), 3.4) as figure:
        for axes, (title, each) in zip(
            figure.subplots(1, len(pivoted), squeeze=False)[0], pivoted.items(), strict=True
        ):
            axes.imshow(each, cmap="viridis", vmin=np.nanmin(values), vmax=np.nanmax(values), aspect="auto")
            for (row, column), value in np.ndenumerate(each.to_numpy()):
                dark = value < np.nanmean(values)
                axes.text(column, row, f"{value:.0f}", ha="center", va="center", color="white" if dark else "black")
            axes.set_xticks(range(len(each.columns)), each.columns)
            axes.set_yticks(range(len(each.index)), each.index)
            axes.set_xlabel(x)
            axes.set_ylabel(y)
            axes.set_title(title, fontsize=10)
            axes.spines[:].set_visible(False)
        return style.svg(figure)


def search(table: pd.DataFrame) -> str:
    """A grid's validation perplexities, means over seeds: a map where two values vary, else a line a job through all
    that do.

    table: as sweep.collect gives it. Jobs that failed are left out.
    """
    done = over_seeds(table[table["valid"].notna()].astype({"valid": float}))
    varied = [name for name in given(done) if done[name].nunique() > 1]
    choices = {name: sorted(done[name].unique(), key=by_number) for name in varied}
    if len(varied) == 2 and not done.duplicated(varied).any():
        ordered = done.assign(**{name: pd.Categorical(done[name], choices[name]) for name in varied})
        return maps({"validation perplexity": ordered}, *varied)
    with style.figure(2 + 1.8 * len(varied), 3.6) as figure:
        axes = figure.add_subplot()
        low, high = done["valid"].min(), done["valid"].max()
        for line in done.to_dict("records"):
            share = (line["valid"] - low) / (high - low or 1)
            places = [choices[name].index(line[name]) / max(len(choices[name]) - 1, 1) for name in varied]
            axes.plot([*places, share], color=matplotlib.colormaps["viridis"](share), alpha=0.8)
        for place, name in enumerate(varied):
            for number, value in enumerate(choices[name]):
                axes.text(place, number / max(len(choices[name]) - 1, 1), f" {value}", fontsize=9)
        for value, share in ((low, 0), (high, 1)):
            axes.text(len(varied), share, f" {value:.1f}", fontsize=9)
        axes.set_xticks(range(len(varied) + 1), [*varied, "validation perplexity"])
        axes.set_yticks([])
        axes.spines[:].set_visible(False)
        return style.svg(figure)


def given(table: pd.DataFrame) -> list[str]:
    """The columns of a grid's table that its jobs were given, but for the seed."""
    return [name for name in table.columns[: table.columns.get_loc("valid")] if name not in ("job", "seed", "seeds")]


def over_seeds(table: pd.DataFrame) -> pd.DataFrame:
    """A grid's table with a line for all seeds of a setting, if they vary: how many, and the means of the figures."""
    if "seed" not in table or table["seed"].nunique() < 2:
        return table
    settings = table.groupby(given(table) or (lambda _: 0), sort=False, dropna=False)
    means = settings[[*table.columns[table.columns.get_loc("valid") :]]].mean(numeric_only=True)
    return means.assign(seeds=settings["seed"].count()).set_index("seeds", append=True).reset_index()


def by_number(value: str) -> tuple[float, str]:
    """A key to sort by: numbers by size, before all else."""
    try:
        return float(value), ""
    except ValueError:
        return float("inf"), str(value)


def genres(table: pd.DataFrame, models: dict[str, str]) -> str:
    """Test perplexity by genre, a group of bars for each.

    table: a line a genre, a column a model; models: the columns to draw and their labels.
    """
    width = 0.8 / len(models)
    with style.figure(8, 3.6) as figure:
        axes = figure.add_subplot()
        for number, (name, label) in enumerate(models.items()):
            axes.bar(np.arange(len(table)) + number * width, table[name], width * 0.9, label=label)
        labels = [f"{genre.replace('_', ' ')}\n{texts} texts" for genre, texts in table["texts"].items()]
        axes.set_xticks(np.arange(len(table)) + 0.4 - width / 2, labels)
        axes.set_ylabel("test perplexity")
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=9)
        return style.svg(figure)


def curves(curves: pd.DataFrame, rows: pd.DataFrame, same_corpus: bool) -> str:
    """Training and validation perplexity by epoch, a line for each seed of each network; where the corpus is the
    paper's, its figures as diamonds over the last epoch.

    curves: by name and seed, with epoch and the columns of PANELS; rows: as table.build has them.
    """
    with style.figure(11, 4.5) as figure:
        for axes, (column, label) in zip(figure.subplots(1, 2), PANELS.items(), strict=True):
            for name, of_name in curves.groupby("name", sort=False):
                row, colour = rows.loc[name], None
                for _, curve in of_name.groupby("seed"):
                    shape = f"{row['row'] or name}, n={row['n']} h={row['h']} m={row['m']}" + " direct" * row["direct"]
                    line = {"color": colour, "marker": "o", "markersize": 3, "label": None if colour else shape}
                    (drawn,) = axes.plot(curve["epoch"], curve[column], **line)
                    colour = drawn.get_color()
                if pd.notna(printed := row[f"paper_{column.removesuffix('_perplexity')}"]) and same_corpus:
                    axes.plot(of_name["epoch"].max(), printed, "D", color=colour, markeredgecolor=style.INK)
            axes.xaxis.get_major_locator().set_params(integer=True)
            axes.set_xlabel("epoch")
            axes.set_ylabel(label)
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter("{x:.0f}")
            axes.yaxis.set_minor_formatter("{x:.0f}")
        if axes.lines:
            axes.legend(fontsize=8)
        return style.svg(figure)


def plane(features: np.ndarray, words: list[str], middle: bool = False) -> str:
    """Words at their two features (R, 2), one row a word; middle: only the box around the middle half of them."""
    with style.figure(10, 8) as figure:
        axes = figure.add_subplot()
        axes.scatter(*features.T, s=2, color=style.OURS)
        for place, word in zip(features, words, strict=True):
            axes.annotate(word.replace("$", r"\$"), place, fontsize=7, ha="center", va="center")
        # Most words lie close together around nothing, some far out: linear within, logarithmic without.
        spread = float(np.median(np.abs(features)))
        axes.set_xscale("asinh", linear_width=spread)
        axes.set_yscale("asinh", linear_width=spread)
        if middle:
            low, high = np.quantile(features, [0.25, 0.75], axis=0)
            axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        axes.set_xlabel("first feature")
        axes.set_ylabel("second feature")
        return style.svg(figure)


def timeline(built: pd.DataFrame) -> str:
    """Test perplexity, with share, a model a line in the order of years, and the best of what there was."""
    place = np.arange(len(built))
    best = built["test"].where(built["valid"] == built["valid"].cummin()).ffill()
    with style.figure(8, 0.22 * len(built) + 1) as figure:
        axes = figure.add_subplot()
        for (kind, label), mark in zip(KINDS.items(), ("o", "s", "^"), strict=True):
            part = built["kind"] == kind
            axes.plot(built["test"][part], place[part], mark, label=label)
        line = {"color": style.INK, "alpha": 0.4, "label": "the best so far, by validation"}
        axes.stairs(best, np.arange(len(built) + 1) - 0.5, orientation="horizontal", baseline=None, **line)
        for at, test in zip(place, built["test"], strict=True):
            axes.annotate(f"{test:.0f}", (test, at), (6, -3), textcoords="offset points", fontsize=8)
        axes.set_yticks(place, built["row"] + ", " + built["year"].astype(str), fontsize=8)
        axes.set_ylim(len(built) - 0.5, -0.5)
        axes.set_xscale("log")
        ticks = [tick for tick in (100, 125, 150, 175, 200, 250, 300, 350, 400) if tick < 1.1 * built["test"].max()]
        axes.set_xticks(ticks, map(str, ticks))
        axes.minorticks_off()
        axes.set_xlabel("test perplexity on Brown, with share")
        figure.legend(fontsize=9, loc="outside upper left", ncols=2)
        return style.svg(figure)
