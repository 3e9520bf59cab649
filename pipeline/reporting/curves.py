"""Learning curves: validation perplexity on the stopping tokens by epoch, a line for each seed of each network, the
paper's figure dotted."""

from pathlib import Path

import pandas as pd

from pipeline.reporting import style
from pipeline.reporting.table import Row, folders_of


def draw(rows: list[Row], predictions: Path, seeds: list[int]) -> str:
    """Reads curve.csv of each row's seeds; an SVG."""
    with style.figure(8, 4.5) as figure:
        axes = figure.add_subplot()
        axes.set_ylabel("validation perplexity")
        for row in rows:
            curves = [folder / "curve.csv" for folder in folders_of(row, predictions, seeds)]
            colour = None
            for file in filter(Path.is_file, curves):
                curve = pd.read_csv(file)
                label = f"{row.row}, n={row.n} h={row.h} m={row.m}{' direct' if row.direct else ''}"
                (line,) = axes.plot(
                    curve["epoch"],
                    curve["valid_perplexity"],
                    color=colour,
                    marker="o",
                    markersize=3,
                    label=None if colour else label,
                )
                colour = line.get_color()
            if colour and "valid" in row.paper:
                axes.axhline(row.paper["valid"], color=colour, linestyle=":", linewidth=1)
                axes.set_ylabel("validation perplexity; dotted: the paper's")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set_xlabel("epoch")
        if axes.lines:
            axes.legend(fontsize=9)
        return style.svg(figure)
