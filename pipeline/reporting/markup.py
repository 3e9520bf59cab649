"""Tables as people read them: text in place of numbers, in Markdown and LaTeX."""

import pandas as pd

YES_NO = {True: "yes", False: "no"}


def figures(table: pd.DataFrame, same_corpus: bool = True) -> pd.DataFrame:
    """A comparison table as text: one decimal, yes and no, blanks; ours as the models give it beside the paper's, then
    with the share for unseen words; and, where both are of the same corpus, how far below the paper we are."""
    read = pd.DataFrame({"row": table["row"]})
    for column in ("n", "c", "h", "m"):
        read[column] = text(table[column], "{:d}")
    for column in ("direct", "mix"):
        read[column] = [YES_NO.get(value, "") for value in table[column]]
    read["train"], read["train, paper"] = text(table["train"], "{:.1f}"), text(table["paper_train"], "{:g}")
    for split in ("valid", "test"):
        read[split] = spread(table, f"{split}_raw")
        read[f"{split}, paper"] = text(table[f"paper_{split}"], "{:g}")
        read[f"{split}, with share"] = spread(table, split)
    if same_corpus:
        read["test against paper"] = text(table["test_raw"] / table["paper_test"] - 1, "{:+.1%}")
    return read


def ratios(ratios: pd.DataFrame) -> pd.DataFrame:
    """The ratios to one yardstick as text, with three digits, an interval in one column."""
    read = pd.DataFrame({"row": ratios["row"]})
    for split in ("valid", "test"):
        read[split] = text(ratios[f"{split}_raw"], "{:.3f}")
        if f"{split}_low" in ratios:
            low, high = (text(ratios[f"{split}_{end}"], "{:.3f}") for end in ("low", "high"))
            read[f"{split}, 95 % over texts"] = (low + " to " + high).where(low != "", "")
        read[f"the paper's {split}"] = text(ratios[f"paper_{split}"], "{:.3f}")
        read[f"{split}, with share"] = text(ratios[split], "{:.3f}")
        read[f"{split}, with share, seen"] = text(ratios[f"{split}_seen"], "{:.3f}")
    read["reached"] = [YES_NO.get(value, "") for value in ratios["reached"]]
    return read


def markdown(read: pd.DataFrame) -> str:
    """A table of text in Markdown."""
    align = ["left"] + ["right"] * (len(read.columns) - 1)
    return read.to_markdown(index=False, disable_numparse=True, colalign=align) + "\n"


def latex(read: pd.DataFrame) -> str:
    """A table of text as a LaTeX tabular for booktabs."""
    text = read.to_latex(index=False, column_format="l" + "r" * (len(read.columns) - 1), escape=True)
    return text.replace("±", r"$\pm$")


def text(values: pd.Series, form: str) -> pd.Series:
    """Numbers as text; nothing where there is none."""
    return pd.Series(["" if pd.isna(value) else form.format(value) for value in values], values.index, dtype=str)


def spread(table: pd.DataFrame, column: str) -> pd.Series:
    """A column's perplexities and, where there are several seeds, their standard deviations."""
    return text(table[column], "{:.1f}") + text(table[f"{column}_sd"], " ± {:.1f}")
