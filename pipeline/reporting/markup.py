"""Tables as people read them: text in place of numbers, in Markdown and LaTeX."""

import pandas as pd

from pipeline.data.corpus import SPLITS

YES_NO = {True: "yes", False: "no"}


def figures(table: pd.DataFrame, same_corpus: bool = True) -> pd.DataFrame:
    """A comparison table as text: one decimal, yes and no, blanks; ours beside the paper's, and, where both are of the
    same corpus, how far below it we are."""
    read = pd.DataFrame({"row": table["row"]})
    for column in ("n", "c", "h", "m"):
        read[column] = _text(table[column], "{:d}")
    for column in ("direct", "mix"):
        read[column] = [YES_NO.get(value, "") for value in table[column]]
    for split in SPLITS:
        read[split] = _spread(table, split)
        read[f"{split}, paper"] = _text(table[f"paper_{split}"], "{:g}")
    if same_corpus:
        read["test against paper"] = _text(table["test"] / table["paper_test"] - 1, "{:+.1%}")
    return read


def ratios(ratios: pd.DataFrame) -> pd.DataFrame:
    """The ratios to one yardstick as text, with three digits, an interval in one column."""
    read = pd.DataFrame({"row": ratios["row"]})
    for split in ("valid", "test"):
        shown = {split: split, f"{split}, seen": f"{split}_seen", f"the paper's {split}": f"paper_{split}"}
        for title, column in shown.items():
            read[title] = _text(ratios[column], "{:.3f}")
        if f"{split}_low" in ratios:
            low, high = (_text(ratios[f"{split}_{end}"], "{:.3f}") for end in ("low", "high"))
            read[f"{split}, 95 % over texts"] = (low + " to " + high).where(low != "", "")
    read["reached"] = [YES_NO.get(value, "") for value in ratios["reached"]]
    return read


def short(table: pd.DataFrame, yardstick: str) -> pd.DataFrame:
    """Test perplexities of the networks and the yardstick and, where that is there, ratios to it, ours beside the
    paper's, as text."""
    table = table[(table["model"] == "network") | (table.index == yardstick)]
    read = pd.DataFrame({"row": table["row"]})
    for column in ("n", "h", "m"):
        read[column] = _text(table[column], "{:d}")
    read["test"] = _spread(table, "test")
    read["the paper's"] = _text(table["paper_test"], "{:g}")
    if yardstick in table.index:
        label = f"over {table.loc[yardstick, 'row']} {table.loc[yardstick, 'n']}"
        for name, column in ((label, "test"), ("the paper's ratio", "paper_test")):
            read[name] = _text(table[column] / table.loc[yardstick, column], "{:.3f}")
    return read


def markdown(read: pd.DataFrame) -> str:
    """A table of text in Markdown."""
    align = ["left"] + ["right"] * (len(read.columns) - 1)
    return read.to_markdown(index=False, disable_numparse=True, colalign=align) + "\n"


def latex(read: pd.DataFrame) -> str:
    """A table of text as a LaTeX tabular for booktabs."""
    text = read.to_latex(index=False, column_format="l" + "r" * (len(read.columns) - 1), escape=True)
    return text.replace("±", r"$\pm$")


def _text(values: pd.Series, form: str) -> pd.Series:
    """Numbers as text; nothing where there is none."""
    return pd.Series(["" if pd.isna(value) else form.format(value) for value in values], values.index, dtype=str)


def _spread(table: pd.DataFrame, split: str) -> pd.Series:
    """A split's perplexity and, where there are several seeds, their standard deviation; training is of one."""
    value = _text(table[split], "{:.1f}")
    return value + _text(table[f"{split}_sd"], " ± {:.1f}") if f"{split}_sd" in table else value
