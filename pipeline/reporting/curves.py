"""Learning curves as one SVG: validation perplexity by epoch, a line for each network, the paper's figure dotted."""

from pathlib import Path

import matplotlib
import pandas as pd

matplotlib.use("svg")
from matplotlib import pyplot as plt

from pipeline.reporting.table import Row, folders_of


def draw(rows: list[Row], predictions: Path, seeds: list[int], path: Path) -> None:
    """Reads curve.csv of each row's seeds; writes an SVG that is the same for the same curves."""
    # No date and no random ids, so that an unchanged figure is an unchanged file.
    plt.rcParams |= {"svg.hashsalt": "nplm", "svg.fonttype": "none", "font.size": 10}
    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
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
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("epoch")
    axes.set_ylabel("validation perplexity")
    axes.set_title("Learning curves (stopping tokens); dotted: the paper's validation perplexity")
    if axes.lines:
        axes.legend(frameon=False, fontsize=9)
    figure.savefig(path, format="svg", metadata={"Date": None})
    plt.close(figure)
