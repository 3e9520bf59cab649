"""Some word classes to look at: what exchange clustering puts together."""

from pathlib import Path

import numpy as np
import pandas as pd

CLASSES = 16  # shown, spread evenly from the most to the least frequent class
SMALLEST = 4  # words: smaller classes show nothing
WORDS = 12  # of each, the most frequent first


def shown(path: Path) -> pd.DataFrame:
    """Some classes of a classes.csv: number, how often the class occurs in training, and its words."""
    table = pd.read_csv(path, keep_default_na=False)
    grouped = table.groupby("class")
    sizes = grouped["frequency"].sum().sort_values(ascending=False, kind="stable")
    kept = sizes[grouped.size()[sizes.index] >= SMALLEST]
    chosen = kept.iloc[np.linspace(0, len(kept) - 1, min(CLASSES, len(kept))).round().astype(int)]
    rows = [
        {"class": number, "tokens": tokens, "words": " ".join(grouped.get_group(number)["word"][:WORDS])}
        for number, tokens in chosen.items()
    ]
    return pd.DataFrame(rows, columns=["class", "tokens", "words"])


def markdown(classes: pd.DataFrame) -> str:
    """What `shown` chose, as a Markdown table."""
    return f"# Word classes\n\nSome of them.\n\n{classes.to_markdown(index=False)}\n"
