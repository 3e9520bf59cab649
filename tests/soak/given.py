"""What a user gives: ARPA models, archives, texts. Well is one line that names the file, or what the file says."""

import gzip
import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

from .few import Few
from .trial import Ended, Trial, bits, call, refused

Lines = list[str]


def trials(few: Few) -> Iterator[Trial]:
    """Each way to spoil an ARPA file, in each form; each archive, as a zip and as a tar; each text, by each reader."""
    for way in ARPA:
        for form in ("", ".gz"):
            yield Trial(f"ngram reads an ARPA file{form}, {way}", partial(_arpa, few, way, form))
    for way in TARS:
        yield Trial(f"download reads a tar, {way}", partial(_archive, few, "tar", way))
    for way in ZIPS:
        yield Trial(f"download reads a zip, {way}", partial(_archive, few, "zip", way))
    for text in TEXTS:
        for reader in ("preprocess", "score kn3", "score mlp9", "compare kn3 mlp9"):
            yield Trial(f"{reader} reads a text, {text}", partial(_text, few, reader, text))


def _section(lines: Lines, k: int) -> int:
    return lines.index(f"\\{k}-grams:") + 1


def _edited(lines: Lines, k: int, change: Callable[[list[str]], list[str]], every: bool = False) -> Lines:
    """Fields of the third line, or of all, of a section changed."""
    first = _section(lines, k)
    last = lines.index("", first)
    places = range(first, last) if every else [first + 2]
    lines = list(lines)
    for place in places:
        lines[place] = "\t".join(change(lines[place].split("\t")))
    return lines


def _sized(lines: Lines, k: int, size: str) -> Lines:
    return [f"ngram {k}={size}" if line.startswith(f"ngram {k}=") else line for line in lines]


ARPA: dict[str, Callable[[Lines], Lines]] = {
    "no head": lambda lines: lines[1:],
    "no end": lambda lines: lines[:-1],
    "cut between lines": lambda lines: lines[: len(lines) // 2],
    "cut within a line": lambda lines: [*lines[: len(lines) // 2], lines[len(lines) // 2][:3]],
    "no sizes": lambda lines: [line for line in lines if not line.startswith("ngram ")],
    "a size too large": lambda lines: _sized(lines, 2, "99999999999999999999"),
    "a size too small": lambda lines: _sized(lines, 2, "1"),
    "a size below zero": lambda lines: _sized(lines, 2, "-5"),
    "an order without a section": lambda lines: lines[: _section(lines, 2) - 1] + lines[_section(lines, 3) - 1 :],
    "orders in another order": lambda lines: [
        line.replace("2-grams", "x").replace("3-grams", "2-grams").replace("x", "3-grams") for line in lines
    ],
    "P above 1": lambda lines: _edited(lines, 1, lambda fields: ["0.5", *fields[1:]]),
    "P not a number": lambda lines: _edited(lines, 2, lambda fields: ["nan", *fields[1:]]),
    "P a word": lambda lines: _edited(lines, 2, lambda fields: ["x", *fields[1:]]),
    "P 1 for all": lambda lines: _edited(lines, 1, lambda fields: ["0", *fields[1:]], every=True),
    "P 0 for all": lambda lines: _edited(lines, 1, lambda fields: ["-99", *fields[1:]], every=True),
    "P the same for all": lambda lines: _edited(lines, 3, lambda fields: ["-0.1", *fields[1:]], every=True),
    "a back-off not a number": lambda lines: _edited(lines, 1, lambda fields: [*fields[:2], "nan"]),
    "a back-off without end": lambda lines: _edited(lines, 1, lambda fields: [*fields[:2], "inf"]),
    "a back-off of 400": lambda lines: _edited(lines, 2, lambda fields: [*fields[:2], "400"]),
    "back-offs gone": lambda lines: _edited(
        _edited(lines, 1, lambda fields: fields[:2], every=True), 2, lambda fields: fields[:2], every=True
    ),
    "back-offs below": lambda lines: _edited(lines, 2, lambda fields: [*fields[:2], "-9"], every=True),
    "a 1-gram twice": lambda lines: _edited(lines, 1, lambda fields: [fields[0], "the", *fields[2:]]),
    "a 2-gram twice": lambda lines: [  # in the place of the first
        lines[place + 1] if place == _section(lines, 2) else line for place, line in enumerate(lines)
    ],
    "`<unk>` alone": lambda lines: ["\\data\\", "ngram 1=1", "", "\\1-grams:", "0\t<unk>", "", "\\end\\"],
    "no `<unk>`": lambda lines: [line.replace("\t<unk>\t", "\tunknown\t") for line in lines],
    "other words": lambda lines: _edited(
        lines, 1, lambda fields: [fields[0], fields[1] if fields[1] == "<unk>" else fields[1] + "x", *fields[2:]], True
    ),
    "a word too many": lambda lines: _edited(lines, 2, lambda fields: [fields[0], f"{fields[1]} a b", *fields[2:]]),
    "a word too few": lambda lines: _edited(lines, 2, lambda fields: [fields[0], "a", *fields[3:]]),
    "text": lambda lines: ["The jury said that it was fair."] * 100,
    "nothing": lambda lines: [],
}


def _arpa(few: Few, way: str, form: str, folder: Path) -> str:
    path = folder / f"spoilt.arpa{form}"
    content = "\n".join(ARPA[way](_exported(few.root))) + "\n"
    path.write_bytes(gzip.compress(content.encode()) if form else content.encode())
    words = [word for word in few.words("ngram", folder / "out") if not word.startswith("ngram=")]
    return refused(call("ngram", *words, "ngram=arpa", f"ngram.path={path}"), path.name)


@cache
def _exported(root: Path) -> Lines:
    """The lines of the tiny Kneser-Ney model."""
    path = root / "kn3.arpa"
    if not path.is_file():
        ended = call("ngram", *Few(root).words("ngram", root / "exported"), f"export={path}")
        if ended.code:
            raise SystemExit(ended.said)
    return path.read_text(encoding="utf-8").splitlines()


CONTENTS = {f"t{k}.txt": f"Text number {k}.\n".encode() * 50 for k in range(3)}
DIGEST = hashlib.sha256(b"".join(CONTENTS.values())).hexdigest()
BOMB = 100 << 20  # bytes, once unpacked


def _tar(members: dict[str, bytes | tarfile.TarInfo]) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, content in members.items():
            if isinstance(content, tarfile.TarInfo):
                archive.addfile(content)
                continue
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return file.getvalue()


def _special(kind: bytes, leads: str = "") -> bytes:
    info = tarfile.TarInfo("t2.txt")
    info.type, info.linkname = kind, leads
    return _tar(CONTENTS | {"t2.txt": info})


TARS: dict[str, Callable[[], bytes]] = {
    "whole": lambda: _tar(CONTENTS),
    "a path that leads outside": lambda: _tar(CONTENTS | {"../../evil.txt": b"x"}),
    "an absolute path": lambda: _tar(CONTENTS | {"/tmp/evil.txt": b"x"}),
    "a link to a file of the machine": lambda: _special(tarfile.SYMTYPE, "/etc/hostname"),
    "a hard link": lambda: _special(tarfile.LNKTYPE, "../../etc/hostname"),
    "a device": lambda: _special(tarfile.CHRTYPE),
    "a pipe": lambda: _special(tarfile.FIFOTYPE),
    "a bomb": lambda: _tar(CONTENTS | {"t2.txt": bytes(BOMB)}),
    "wrong content": lambda: _tar(CONTENTS | {"t2.txt": b"x"}),
    "a text too few": lambda: _tar(dict(list(CONTENTS.items())[:2])),
    "a text too many": lambda: _tar(CONTENTS | {"t9.txt": b"x"}),
    "cut": lambda: _tar(CONTENTS)[:-40],
    "cut at its head": lambda: _tar(CONTENTS)[40:],
    "a text that xz did not pack": lambda: _tar(CONTENTS | {"t2.txt.xz": b"no xz"}),
    "nothing": lambda: b"",
    "no member": lambda: _tar({}),
    "noise": lambda: bytes(range(256)) * 40,
}


def _zip(members: dict[str, bytes], kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", kind) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def _patched(content: bytes, places: dict[int, bytes]) -> bytes:
    """Bytes of the head of the first member, and of its line in the directory, changed."""
    changed = bytearray(content)
    for signature, shift in ((b"PK\3\4", 0), (b"PK\1\2", 2)):
        start = content.index(signature)
        for place, new in places.items():
            changed[start + place + shift : start + place + shift + len(new)] = new
    return bytes(changed)


ZIPS: dict[str, Callable[[], bytes]] = {
    "whole": lambda: _zip(CONTENTS),
    "a path that leads outside": lambda: _zip(CONTENTS | {"../../evil.txt": b"x"}),
    "a path that leads outside, with backslashes": lambda: _zip(CONTENTS | {"..\\..\\evil.txt": b"x"}),
    "an absolute path": lambda: _zip(CONTENTS | {"/tmp/evil.txt": b"x"}),
    "a bomb": lambda: _zip(CONTENTS | {"t2.txt": bytes(BOMB)}),
    "wrong content": lambda: _zip(CONTENTS | {"t2.txt": b"x"}),
    "a text too few": lambda: _zip(dict(list(CONTENTS.items())[:2])),
    "cut": lambda: _zip(CONTENTS)[:-40],
    "cut at its head": lambda: _zip(CONTENTS)[40:],
    "a flipped byte": lambda: _zip(CONTENTS, zipfile.ZIP_STORED).replace(b"number 1", b"number 7", 1),
    "a password": lambda: _patched(_zip(CONTENTS), {6: b"\1\0"}),
    "an unknown compression": lambda: _patched(_zip(CONTENTS), {8: b"\x63\0"}),
    "no member": lambda: _zip({}),
}


def _archive(few: Few, kind: str, way: str, folder: Path) -> str:
    path, out = folder / "deep" / "er" / f"spoilt.{kind}", folder / "out"
    path.parent.mkdir(parents=True)
    path.write_bytes({"tar": TARS, "zip": ZIPS}[kind][way]())
    words = [word for word in few.words("download", out) if not word.startswith("corpus.path=")]
    own = ["corpus.sources=[]", "corpus.local=''", r"corpus.files='t[0-9]\.txt'", f"corpus.sha256={DIGEST}"]
    ended = call("download", *words, *own, f"corpus.path={path}", environment={"NPLM_CORPORA": ""})
    if list(folder.rglob("evil*")) or Path("/tmp/evil.txt").exists():
        return "wrote outside"
    if ended.code:
        return refused(ended, path.name) or "the whole archive is refused" * (way == "whole")
    return "" if bits(out) == CONTENTS else f"other texts: {sorted(bits(out))}"


SENTENCES = "The jury said that the election was fair.\nIt was a good day.\n\n" * 300
NO_TEXTS = ("nothing", "blanks", "noise", "UTF-16 without its mark", "NUL", "Latin-1", "half a pair", "a picture")
TEXTS: dict[str, Callable[[], bytes]] = {
    "whole": lambda: SENTENCES.encode(),
    "nothing": lambda: b"",
    "blanks": lambda: b" \n\t\n\n " * 100,
    "noise": lambda: bytes(range(256)) * 100,
    "UTF-16": lambda: SENTENCES.encode("utf-16"),
    "UTF-16 without its mark": lambda: SENTENCES.encode("utf-16-le"),
    "UTF-8 with its mark": lambda: SENTENCES.encode("utf-8-sig"),
    "NUL": lambda: SENTENCES.replace("fair", "fa\0ir").encode(),
    "Latin-1": lambda: SENTENCES.replace("jury", "j\xfcry").encode("latin-1"),
    "half a pair": lambda: SENTENCES.encode() + b"\xed\xa0\x80",
    "a picture": lambda: b"\x89PNG\r\n\x1a\n" + bytes(1000),
    "CRLF": lambda: SENTENCES.replace("\n", "\r\n").encode(),
    "CR alone": lambda: SENTENCES.replace("\n", "\r").encode(),
    "control signs": lambda: SENTENCES.replace(" ", " \x01\x1b[31m\x7f ").encode(),
    "separators of lines": lambda: SENTENCES.replace(". ", ".\u2028\u2029\x0b\x0c\x85 ").encode(),
    "a line of 10 MB": lambda: SENTENCES.replace("\n", " ").encode() * 540,
    "a word of 1 MB": lambda: SENTENCES.encode() + b"x" * (1 << 20),
    "brackets": lambda: SENTENCES.encode() + ("(" * 20000 + "zzz" + ")" * 20000).encode(),
    "marks alone": lambda: b"<p> <text>\n\n" * 2000,
    "`<unk>` alone": lambda: b"<unk> " * 5000,
    "signs alone": lambda: b"... !? -- ;\n" * 2000,
    "emoji": lambda: ("\U0001f600 " * 9 + "\n").encode() * 500,
    "one word": lambda: b"fair",
    "empty lines": lambda: b"fair\n" + b"\n" * 100_000 + SENTENCES.encode(),
}


def _text(few: Few, reader: str, text: str, folder: Path) -> str:
    path = folder / "given.txt"
    path.write_bytes(TEXTS[text]())
    ended = _read(few, reader, path, folder)
    if ended.code:
        return refused(ended, path.name, "corpus.") or f"refused: {ended.errors}" * (text == "whole")
    if text in NO_TEXTS:
        return "read, though it is no text"
    if reader == "preprocess":
        words = [word for word in few.words("ngram", folder / "kn3") if not word.startswith("data=")]
        counted = call("ngram", *words, f"data={folder}/out", "ngram.fallback=true")
        return refused(counted, "ngram.", "training") if counted.code else ""
    rows = json.loads(ended.said[: ended.said.rindex("}") + 1])["rows"]
    return "" if all(None not in row.values() for row in rows) else "no probability"


def _read(few: Few, reader: str, path: Path, folder: Path) -> Ended:
    verb, *models = reader.split()
    if verb == "preprocess":
        own = ["corpus=text", f"corpus.raw={path}", "corpus.rare=0", f"out={folder}/out"]
        return call(verb, *own, f"timing={folder}/timing.json", f"hydra.run.dir={folder}/run")
    places = ["--data", few.data, "--predictions", few.predictions, "--clusters", few.root / "clusters"]
    return call("commands", verb, *models, str(path), *map(str, places), "--format", "json")
