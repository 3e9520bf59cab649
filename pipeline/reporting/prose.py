"""Pages that people write, such as the README.

Between the marks <!-- table: FILE --> and <!-- end of FILE --> they hold a Markdown file of reports/. Text between two
other marks, <!-- NAME --> and <!-- end of NAME -->, can be shown by reports/index.html too.
"""

import re
from pathlib import Path

from pipeline.core.common.errors import InputError
from pipeline.data.files import replacing

TABLE = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end of \2 -->)", re.DOTALL)


def put_tables(page: Path, reports: Path) -> None:
    """Puts the tables of reports/ between their marks in a page. A table that is not there leaves the page's text.

    Raises InputError for a mark without its pair.
    """
    text = page.read_text(encoding="utf-8")
    if unpaired := set(re.findall(r"<!-- (?:table:|end of) (\S+\.md) -->", TABLE.sub("", text))):
        raise InputError(f"{page}: <!-- table: FILE --> and <!-- end of FILE --> stand in pairs: {', '.join(unpaired)}")

    def with_table(match: re.Match) -> str:
        file = reports / match[2]
        return f"{match[1]}\n{file.read_text(encoding='utf-8')}\n{match[3]}" if file.is_file() else match[0]

    with replacing(page) as temporary:
        temporary.write_text(TABLE.sub(with_table, text), encoding="utf-8")


def between(page: Path, name: str) -> str:
    """The text between <!-- NAME --> and <!-- end of NAME --> in a page, without comments. Raises InputError where a
    mark is missing."""
    match = re.search(rf"<!-- {name} -->\n(.*?)<!-- end of {name} -->", page.read_text(encoding="utf-8"), re.DOTALL)
    if not match:
        raise InputError(f"{page}: the marks <!-- {name} --> and <!-- end of {name} --> are not there")
    return re.sub(r"<!--.*?-->", "", match[1])
