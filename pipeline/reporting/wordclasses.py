"""Some word classes to look at: what exchange clustering puts together."""

from pathlib import Path

import pandas as pd

CLASSES = 16  # shown, spread evenly from the most to the least frequent class
WORDS = 12  # of each, the most frequent first


def markdown(path: Path) -> str:
    """A Markdown table of some classes of a classes.csv: how often the class occurs in training, and its words."""
    table = pd.read_csv(path, keep_default_na=False)
    grouped = table.groupby("class")
    sizes = grouped["frequency"].sum().sort_values(ascending=False, kind="stable")
    chosen = sizes[grouped.size().loc[sizes.index] > 3].iloc[:: max(len(sizes) // CLASSES // 2, 1)].head(CLASSES)
    rows = [
        {
            "class": number,
            "tokens": tokens,
            "words": " ".join(grouped.get_group(number)["word"][:WORDS]),
        }
        for number, tokens in chosen.items()
    ]
    return f"# Word classes\n\nSome of {len(sizes)}.\n\n{pd.DataFrame(rows).to_markdown(index=False)}\n"
