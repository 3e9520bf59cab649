"""How all figures look: SVG whose ink is the text colour of the page around it, dark or light, and whose bytes are the
same for the same data."""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib
from matplotlib.figure import Figure
from matplotlib.rcsetup import cycler

INK = "#010203"  # stands for the surrounding text's colour until the figure is written
OURS, PAPER = "#3f83d6", "#d07a2d"  # legible on white and on black, as all of these
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
LEGIBLE = 9  # pixels of the smallest text in a figure on a page: a narrower screen scrolls

ALONE = "<style>svg{color:#24292f}@media(prefers-color-scheme:dark){svg{color:#d7dde4}}</style>"


@contextmanager
def figure(width: float, height: float) -> Iterator[Figure]:
    """An empty figure of so many inches, to be filled and written inside the block."""
    with matplotlib.rc_context(STYLE):
        yield Figure(figsize=(width, height), layout="constrained")


def svg(figure: Figure) -> str:
    """The figure as an SVG element, without date and XML prologue."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    element = text.getvalue()
    return element[element.index("<svg") :].replace(INK, "currentColor")


def alone(svg: str) -> str:
    """An SVG element as a file of its own: dark ink, or light where the reader prefers dark."""
    head, rest = svg.split(">", 1)
    return f"{head}>{ALONE}{rest}"


def inline(svg: str, name: str) -> str:
    """An SVG element, or what `alone` made of it, to stand in a page beside others: ids of its own, the ink of the
    text around it, the element NAME-caption for its description, and its size the page's to choose, from the width
    `--least` on, with which its text is legible."""
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg.replace(ALONE, ""))
    svg = re.sub(r' (width|height)="[\d.]+pt"', "", svg, count=2)
    width = float(re.search(r'viewBox="\S+ \S+ ([\d.]+)', svg).group(1))
    smallest = min(map(float, re.findall(r"font[^;]*?([\d.]+)px", svg)))
    shown = f'role="img" aria-labelledby="{name}-caption" style="--least: {width * LEGIBLE / smallest:.0f}px"'
    return svg.replace("<svg", f"<svg {shown}", 1)
