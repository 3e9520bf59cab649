"""Words at their two features, as one SVG."""

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("svg")
from matplotlib import pyplot as plt


def draw(features: np.ndarray, words: list[str], path: Path) -> None:
    """features: (R, 2), one row a word; the same features give the same file."""
    plt.rcParams |= {"svg.hashsalt": "nplm", "svg.fonttype": "none", "font.size": 9}
    figure, axes = plt.subplots(figsize=(10, 8), layout="constrained")
    axes.scatter(*features.T, s=2, color="0.7")
    for place, word in zip(features, words, strict=True):
        axes.annotate(word.replace("$", r"\$"), place, fontsize=7, ha="center", va="center")
    axes.set_xlabel("first feature")
    axes.set_ylabel("second feature")
    axes.set_title(f"The {len(words)} most frequent words by the two features of a network with m = 2")
    figure.savefig(path, format="svg", metadata={"Date": None})
    plt.close(figure)
