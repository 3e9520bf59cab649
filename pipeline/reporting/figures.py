"""The page's own figures, from the tables of the report: each returns an SVG."""

import matplotlib
import numpy as np
import pandas as pd

from pipeline.reporting import style


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
        axes.set_xlabel("test perplexity over that of Kneser-Ney 5 on the same stream")
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
