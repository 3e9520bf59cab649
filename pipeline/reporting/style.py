"""The look of all figures: SVG in the text colour of the page around it, dark or light. The same data give the same
bytes."""

import io
import re
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib
from matplotlib.figure import Figure
from matplotlib.rcsetup import cycler

INK = "#010203"  # a placeholder; `svg` replaces it by the colour of the text around the figure
OURS, PAPER = "#3f83d6", "#d07a2d"  # legible on white and on black, as all colours here
TRAININGS = ["#2f9e6e", OURS]  # of Table 1: published settings, modern training
COLOURS = [OURS, PAPER, "#2f9e6e", "#c65a9a", "#8a73d1", "#a8893a", "#5aa2ad", "#c25b56"]
STYLE = {
    "svg.hashsalt": "nplm",  # no random ids
    "svg.fonttype": "none",  # text stays text
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": cycler(color=COLOURS),
    "legend.frameon": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
} | dict.fromkeys(["text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"], INK)
LEGIBLE = 9  # pixels of the smallest text in a figure on a page; where a screen is too narrow for that, it scrolls

ALONE = "<style>svg{color:#24292f}@media(prefers-color-scheme:dark){svg{color:#d7dde4}}</style>"


@contextmanager
def figure(width: float, height: float) -> Iterator[Figure]:
    """An empty figure; width and height in inches. Draw and write it inside the block."""
    with matplotlib.rc_context(STYLE):
        yield Figure(figsize=(width, height), layout="constrained")


def put_title(figure: Figure, title: str) -> None:
    """Puts a title over the figure, from its left edge on and in short lines, so that a narrow screen shows it all."""
    figure.suptitle(textwrap.fill(title, 60), x=0.01, horizontalalignment="left", fontsize=11)


def svg(figure: Figure) -> str:
    """The figure as an SVG element, without date and XML prologue."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    element = buffer.getvalue()
    return element[element.index("<svg") :].replace(INK, "currentColor")


def alone(svg: str) -> str:
    """An SVG element as a file of its own: dark ink, or light ink where the reader prefers a dark page."""
    head, body = svg.split(">", 1)
    return f"{head}>{ALONE}{body}"


def inline(svg: str, name: str) -> str:
    """An SVG element, or a file by `alone`, for a page with several figures.

    Its ids begin with NAME, its ink is the colour of the text around it, and the element NAME-caption describes it. The
    page sets its size; `--least` is the smallest width at which its text is legible.
    """
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg.replace(ALONE, ""))
    svg = re.sub(r' (width|height)="[\d.]+pt"', "", svg, count=2)
    width = float(re.search(r'viewBox="\S+ \S+ ([\d.]+)', svg).group(1))
    smallest = min(map(float, re.findall(r"font[^;]*?([\d.]+)px", svg)))
    attributes = f'role="img" aria-labelledby="{name}-caption" style="--least: {width * LEGIBLE / smallest:.0f}px"'
    return svg.replace("<svg", f"<svg {attributes}", 1)
