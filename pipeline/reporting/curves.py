"""Learning curves: validation perplexity on the stopping tokens by epoch, a line for each seed of each network, the
paper's figure dotted."""

from pathlib import Path

import pandas as pd

from pipeline.config.tables import Table
from pipeline.reporting import style


def draw(built: pd.DataFrame, table: Table) -> str:
    """A table's rows, as table.build has them, from curve.csv of each one's seeds; an SVG."""
    with style.figure(8, 4.5) as figure:
        axes = figure.add_subplot()
        axes.set_ylabel("validation perplexity")
        for name, row in built.iterrows():
            curves = [folder / "curve.csv" for folder in table.folders(name)]
            colour = None
            for file in filter(Path.is_file, curves):
                curve = pd.read_csv(file)
                label = f"{row['row']}, n={row['n']} h={row['h']} m={row['m']}" + " direct" * row["direct"]
                (line,) = axes.plot(
                    curve["epoch"],
                    curve["valid_perplexity"],
                    color=colour,
                    marker="o",
                    markersize=3,
                    label=None if colour else label,
                )
                colour = line.get_color()
            if colour and pd.notna(row["paper_valid"]):
                axes.axhline(row["paper_valid"], color=colour, linestyle=":", linewidth=1)
                axes.set_ylabel("validation perplexity; dotted: the paper's")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set_xlabel("epoch")
        if axes.lines:
            axes.legend(fontsize=9)
        return style.svg(figure)
