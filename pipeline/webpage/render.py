"""A table of text as HTML, by great_tables, in the look of page.css."""

import re

import pandas as pd
from great_tables import GT, html, loc, style
from markupsafe import Markup, escape

SHOWN = 10  # rows of a longer table that are shown until a reader unfolds it, by page.css
WORDS = r"[^\W\d]|[^(]{20}"  # begins a cell of words, not of figures
LINK = '<a href="{0}">{0}</a>'
UNBROKEN = r" ± |\([^()]{,24}\)"  # parts of a cell that stay on one line
VERDICTS = {"yes": "var(--good)", "no": "var(--bad)"}


def render(
    view: pd.DataFrame,
    title: str,
    file: str = "",
    note: str = "",
    all_rows: bool = False,
    off: pd.DataFrame | None = None,
) -> Markup:
    """The table, or "" if it has no lines. The first column (with one called `group`, the next) names the rows. Heads
    `A|B` and `A|C` stand below a common head A.

    file: the CSV file of which it is a view, for a link; all_rows: a long one is not folded; off: how far figures are
    from the paper's, by row and column: these cells are shaded, blue (below) or orange (above).
    """
    if view.empty:
        return Markup()
    name = re.sub(r"\W+", "-", title).strip("-").lower()
    sources = [text for text in (note, f"CSV: {LINK.format(escape(file))}" if file else "") if text]
    text = _html(view, name=name, title=title, sources=sources, off=off)
    if len(view) > SHOWN and not all_rows:
        summary = f"All {len(view)} rows: {escape(title)}"
        text = Markup(f'<div class="long">{text}</div><details><summary>{summary}</summary></details>')
    return Markup(f"\n\n{text}\n\n")  # blank lines around HTML, none in it, so that it can stand in Markdown


def _html(view: pd.DataFrame, name: str, title: str, sources: list[str], off: pd.DataFrame | None) -> Markup:
    view = view.reset_index(drop=True).map(
        lambda cell: re.sub(UNBROKEN, lambda part: part[0].replace(" ", "\u00a0"), cell)
    )
    stub, *columns = [column for column in view if column != "group"]
    table = GT(view, rowname_col=stub, groupname_col="group" if "group" in view else None, id=name)
    table = table.tab_header(html(f"<span>{escape(title)}</span>")).tab_stubhead(stub).tab_spanner_delim("|")
    words = [column for column in columns if view[column][view[column] != ""].str.match(WORDS).mean() > 0.5]
    table = table.cols_align("left", words).cols_align("right", [column for column in columns if column not in words])
    for column in columns:
        for verdict, colour in VERDICTS.items():
            rows = view.index[view[column].str.endswith(f", {verdict}")].tolist()
            table = table.tab_style(style.css(f"color: {colour}"), loc.body(column, rows)) if rows else table
    for column in off if off is not None else ():
        for row, value in off[column].dropna().items():
            colour = f"--off: {abs(value):.3f}; --tone: var(--{'above' if value > 0 else 'below'})"
            table = table.tab_style(style.css(colour), loc.body(column, [row]))
    for source in sources:
        table = table.tab_source_note(html(source))
    text = re.sub(r"<style>.*?</style>", "", table.as_raw_html(), flags=re.DOTALL)
    text = re.sub(r' headers="[^"]*"| id="[^"]*-stub-\d+"', "", text)  # long; the `scope` of a head says the same
    box = f'<div class="wide" role="region" tabindex="0" aria-labelledby="{name}-title">'
    return Markup(re.sub(r"\s*\n\s*", " ", re.sub(r"^\s*<div[^>]*>", box, text)))
