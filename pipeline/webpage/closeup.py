"""The crowded middle of a drawing of words, drawn again: words move apart, letters and dots keep their size."""

import re

import numpy as np

WORD = re.compile(r'font-size: ([\d.]+)px[^>]* x="([\d.]+)" y="([\d.]+)"')


def closeup(svg: str) -> str:
    """An inline SVG cut to the box around the middle half of its words, which are its smallest text."""
    found = np.array(WORD.findall(svg), dtype=float)
    size = found[:, 0].min()
    words = found[found[:, 0] == size, 1:]
    low, high = np.quantile(words, [0.25, 0.75], axis=0)
    whole = np.array(re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg).groups(), dtype=float)
    times = (whole / (high - low)).min()
    corner = (low + high - whole / times) / 2
    box = " ".join(f"{number:.2f}" for number in (*corner, *(whole / times)))
    svg = re.sub(r'viewBox="[^"]*"', f'viewBox="{box}"', svg, count=1)
    svg = svg.replace("<path id=", f'<path transform="scale({1 / times:.3f})" id=')  # what dots are drawn from
    return svg.replace(f"font-size: {size:g}px", f"font-size: {size / times:.3f}px")
