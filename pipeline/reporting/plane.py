"""Words at their two features."""

import numpy as np

from pipeline.reporting import style


def draw(features: np.ndarray, words: list[str], middle: bool = False) -> str:
    """features: (R, 2), one row a word; middle: only the box around the middle half of them; an SVG."""
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
