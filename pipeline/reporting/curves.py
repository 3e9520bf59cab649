"""Learning curves: by epoch the running training perplexity, and validation perplexity where early stopping reads."""

import pandas as pd

from pipeline.config.tables import Table
from pipeline.reporting import style

PANELS = {
    "train_perplexity": "training perplexity, summed up while it trains",
    "valid_perplexity": "validation perplexity",
}


def read(table: Table) -> pd.DataFrame:
    """A line an epoch of each seed of each network: name, seed, and the columns of its curve.csv."""
    files = [
        (name, seed, folder / "curve.csv")
        for name, seeds in table.names.items()
        for seed, folder in zip(seeds, table.folders(name), strict=True)
    ]
    parts = [pd.read_csv(file).assign(name=name, seed=seed) for name, seed, file in files if file.is_file()]
    curves = pd.concat(parts) if parts else pd.DataFrame(columns=["epoch", *PANELS, "name", "seed"])
    return curves.set_index(["name", "seed"])


def draw(curves: pd.DataFrame, built: pd.DataFrame, table: Table) -> str:
    """A line for each seed of each network of a table's rows; the paper's figures as diamonds over its last epoch. An
    SVG.

    curves: see read; built: as table.build has them."""
    with style.figure(11, 4.5) as figure:
        for axes, (column, label) in zip(figure.subplots(1, 2), PANELS.items(), strict=True):
            for name, of_name in curves.groupby("name", sort=False):
                row, colour = built.loc[name], None
                for _, curve in of_name.groupby("seed"):
                    shape = f"{row['row'] or name}, n={row['n']} h={row['h']} m={row['m']}" + " direct" * row["direct"]
                    line = {"color": colour, "marker": "o", "markersize": 3, "label": None if colour else shape}
                    (drawn,) = axes.plot(curve["epoch"], curve[column], **line)
                    colour = drawn.get_color()
                if pd.notna(printed := row[f"paper_{column.removesuffix('_perplexity')}"]) and table.same_corpus:
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
