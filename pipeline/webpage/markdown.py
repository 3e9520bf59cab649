"""Markdown of the reports in pieces: prose as HTML, tables as cells that the page lays out like its own."""

import re

from markdown_it import MarkdownIt
from markupsafe import Markup

READER = MarkdownIt("commonmark")
TABLE = re.compile(r"((?:^\|.*\n)+)", re.MULTILINE)


def sections(text: str) -> list[dict]:
    """What stands before the first heading of the second level, without the title, and then each heading's: title and
    pieces."""
    parts = re.split(r"^## (.*)\n", re.sub(r"\A# .*\n", "", text), flags=re.MULTILINE)
    return [
        {"title": title, "pieces": pieces(body)} for title, body in zip(["", *parts[1::2]], parts[::2], strict=True)
    ]


def pieces(text: str) -> list[dict]:
    """In their order: prose with its `html`; a table with its `columns`, its `rows`, a list of cells each, as text, and
    `wordy`, which of its columns hold words."""
    found = []
    for block in TABLE.split(text + "\n"):
        if block.startswith("|"):
            columns, _, *rows = ([cell.strip() for cell in line[1:-1].split("|")] for line in block.splitlines())
            wordy = [any(cell[:1].isalpha() or len(cell) > 20 for cell in cells) for cells in zip(*rows, strict=True)]
            found.append({"columns": columns, "rows": rows, "wordy": wordy})
        elif block.strip():
            found.append({"html": Markup(READER.render(block))})
    return found


def renamed(text: str, called: dict[str, str]) -> str:
    """The text with models called as the page calls them; not in code, which a reader may want to type."""
    names = "|".join(map(re.escape, sorted(called, key=len, reverse=True)))
    return re.sub(rf"`[^`]*`|(?<![\w/.-])(?:{names})(?![\w/-])", lambda name: called.get(name[0], name[0]), text)
