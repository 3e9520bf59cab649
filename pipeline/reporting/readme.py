"""Tables that a stage puts between marks in a page that people write, such as the README."""

import re
from pathlib import Path

from pipeline.data.errors import InputError
from pipeline.data.files import replacing


def put(file: Path, name: str, markdown: str) -> None:
    """Puts a table between the marks <!-- NAME --> and <!-- end of NAME --> of a file that exists.

    Raises InputError where the marks are not there.
    """
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    text = file.read_text(encoding="utf-8")
    between = f"(?<={re.escape(begin)}\n).*?(?={re.escape(end)})"
    new, count = re.subn(between, lambda _: f"\n{markdown}\n", text, flags=re.DOTALL)
    if not count:
        raise InputError(f"{file}: the marks {begin} and {end} are not there, each on a line of its own")
    with replacing(file) as temporary:
        temporary.write_text(new, encoding="utf-8")
