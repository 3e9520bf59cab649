"""The ARPA format, in which n-gram tools exchange back-off models: lines of text out of a model, a model out of lines.

After a head with the sizes there is a section for each order, its lines 'log10 P <tab> words <tab> log10 back-off';
the highest order has no back-off, and a missing one is 0.
"""

import gzip
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NoReturn

import numpy as np

from pipeline.core.common.symbols import UNKNOWN
from pipeline.core.ngrams.backoff import Backoff
from pipeline.core.ngrams.counts import NEVER, Counts, Table
from pipeline.data.errors import InputError
from pipeline.data.files import replacing

MARKS = ("<s>", "</s>")  # of sentences: this project has none, and other tools insist on them
SHOUTED = "<UNK>"  # as some tools write <unk>
IMPOSSIBLE = -99  # how the format writes a probability of zero
GZIP = b"\x1f\x8b"  # the first bytes of what gzip packed
SAMPLE = 20  # contexts of each length after which probabilities are summed
ROUNDED = 0.01  # by which a sum may be off


def write(model: Backoff, vocabulary: list[str]) -> Iterator[str]:
    """The lines of the ARPA file of a model over this vocabulary, which gets `<s>` and `</s>` at -99."""
    marks = [mark for mark in MARKS if mark not in vocabulary]
    tables = model.counts.tables
    kept = [~np.isnan(log_p) for log_p in model.log_p]
    log_p = list(model.log_p)
    for k in range(len(tables), 2, -1):
        # What a longer n-gram begins or ends with stays, with what back-off makes of it: other tools want it there.
        kept[k - 2][tables[k - 1].keys[kept[k - 1]] // len(vocabulary)] = True
        kept[k - 2][tables[k - 1].suffixes[kept[k - 1]]] = True
    for k in range(2, len(tables)):
        passed_on = (
            model.log_backoff[k - 2][tables[k - 1].keys // len(vocabulary)] + log_p[k - 2][tables[k - 1].suffixes]
        )
        log_p[k - 1] = np.where(np.isnan(log_p[k - 1]), passed_on, log_p[k - 1])

    yield "\\data\\"
    for k, chosen in enumerate(kept, start=1):
        yield f"ngram {k}={int(chosen.sum()) + (len(marks) if k == 1 else 0)}"
    words = np.array(vocabulary, dtype=object)
    texts = words
    for k, chosen in enumerate(kept, start=1):
        if k > 1:
            keys = tables[k - 1].keys
            texts = texts[keys // len(vocabulary)] + " " + words[keys % len(vocabulary)]
        yield from ("", f"\\{k}-grams:")
        if k == 1:
            yield from (f"{IMPOSSIBLE}\t{mark}\t0" for mark in marks)
        lines = zip(log_p[k - 1][chosen] / math.log(10), texts[chosen], strict=True)
        if k == len(kept):
            yield from (f"{p:.7g}\t{text}" for p, text in lines)
        else:
            backoff = model.log_backoff[k - 1][chosen] / math.log(10)
            yield from (f"{p:.7g}\t{text}\t{b:.7g}" for (p, text), b in zip(lines, backoff, strict=True))
    yield from ("", "\\end\\")


def read(lines: Iterable[str], vocabulary: list[str]) -> Backoff:
    """A model over this vocabulary from the lines of an ARPA file.

    A word that the file lacks gets what the file gives `<unk>`; n-grams with words that the vocabulary lacks, such as
    `<s>`, are left out. Raises InputError, with the line number, where the lines are no ARPA file, or where
    probabilities don't sum to 1: of the 1-grams, and after a sample of contexts.
    """
    sections = _sections(lines, {word: number for number, word in enumerate(vocabulary)})
    while len(sections) > 1 and not len(sections[-1][0]):  # an order that has no n-gram of these words
        sections.pop()
    words, p, backoff, where, left_out = sections[0]
    unknown = np.flatnonzero(words[:, 0] == vocabulary.index(UNKNOWN))
    if not len(unknown):
        raise InputError(f"ARPA file: no {UNKNOWN} among its 1-grams, so words that it lacks have no probability")
    _check_once(words[:, 0], where)
    if 2 * len(words) < len(vocabulary):
        raise InputError(
            f"ARPA file: it has {len(words):,} of the {len(vocabulary):,} words, so it is of another corpus"
        )
    if abs(np.exp(p).sum() + left_out - 1) > ROUNDED:
        raise InputError(f"ARPA file: its 1-grams' probabilities sum to {np.exp(p).sum() + left_out:.3f}, not to 1")
    dense_p, dense_backoff = np.full(len(vocabulary), p[unknown[0]]), np.zeros(len(vocabulary))
    dense_p[words[:, 0]], dense_backoff[words[:, 0]] = p, backoff
    everything = np.arange(len(vocabulary))
    tables, log_p, log_backoff = [Table(everything, everything * 0, everything * 0)], [dense_p], [dense_backoff]
    for k, (words, p, backoff, where, _) in enumerate(sections[1:], start=2):
        context, suffixes = _places(tables, words[:, :-1]), _places(tables, words[:, 1:])
        if (context == NEVER).any():
            raise InputError(f"ARPA file, line {where[context == NEVER][0]}: its first {k - 1} words have no line")
        keys = context * len(vocabulary) + words[:, -1]
        order = _check_once(keys, where)
        tables.append(Table(keys[order], np.zeros(len(keys), dtype=np.int64), suffixes[order]))
        log_p.append(p[order])
        log_backoff.append(backoff[order])
    model = Backoff(Counts(len(vocabulary), 0, tables, [NEVER] * len(tables)), log_p, log_backoff[:-1])
    _check_sums(model, sections[0][0][:, 0], whole=not any(section[-1] for section in sections), vocabulary=vocabulary)
    return model


def _check_once(keys: np.ndarray, where: np.ndarray) -> np.ndarray:
    """The order (N,) in which keys rise. Raises InputError with the line of the first that was there before."""
    order = np.argsort(keys, kind="stable")
    twice = np.flatnonzero(np.diff(keys[order]) == 0)
    if len(twice):
        raise InputError(f"ARPA file, line {where[order[twice[0] + 1]]}: this n-gram has a line already")
    return order


def _check_sums(model: Backoff, own: np.ndarray, whole: bool, vocabulary: list[str]) -> None:
    """Raises InputError where the probabilities of the file's own words (N,) sum to more than 1 after a context, or to
    less though the file is whole, with no n-gram left out.

    Looked at are, of each length, the contexts with the largest back-offs, and others all over the file.
    """
    tables = model.counts.tables
    for k, backoff in enumerate(model.log_backoff, start=1):
        largest = np.argsort(backoff)[-SAMPLE // 2 :]
        others = np.linspace(0, len(backoff) - 1, SAMPLE // 2).astype(int)
        for place in np.union1d(largest, others):
            context = _words(tables, k, place)
            with np.errstate(over="ignore"):
                total = np.exp(_after(model, context)[own]).sum()
            if not (1 - ROUNDED if whole else 0) <= total <= 1 + ROUNDED:
                said = " ".join(vocabulary[word] for word in context)
                raise InputError(f"ARPA file: after {said!r} the probabilities sum to {total:.3g}, not to 1")


def _words(tables: list[Table], k: int, place: int) -> list[int]:
    """The ids of a k-gram by its place."""
    words: list[int] = []
    for table in tables[k - 1 :: -1]:
        place, word = divmod(int(table.keys[place]), len(tables[0].keys))
        words.insert(0, word)
    return words


def _after(model: Backoff, context: list[int]) -> np.ndarray:
    """Natural-log probability (V,) of each word after a context, shorter than the model's order."""
    tables, result = model.counts.tables, model.log_p[0]
    for k in range(1, len(context) + 1):
        place = _places(tables, np.array([context[-k:]]))[0]
        if place != NEVER:
            first, last = np.searchsorted(tables[k].keys, [place * len(result), (place + 1) * len(result)])
            result = result + model.log_backoff[k - 1][place]
            result[tables[k].keys[first:last] % len(result)] = model.log_p[k][first:last]
    return result


def _places(tables: list[Table], words: np.ndarray) -> np.ndarray:
    """The place of each n-gram (N, k) of ids in the table of its order, or NEVER."""
    place = words[:, 0]
    for k in range(1, words.shape[1]):
        place = np.where(place == NEVER, NEVER, tables[k].find(place * len(tables[0].keys) + words[:, k]))
    return place


def _sections(lines: Iterable[str], ids: dict[str, int]) -> list[tuple[np.ndarray, ...]]:
    """For each order: ids (N, k), log P (N,), log back-off (N,), natural, the number of each line (N,), and the summed
    P of the lines that are left out."""
    sizes: dict[int, int] = {}
    sections: list[tuple[np.ndarray, ...]] = []
    k, seen, rows, left_out, found = 0, 0, [], 0.0, False

    def fail(number: int, what: str) -> NoReturn:
        raise InputError(f"ARPA file, line {number}: {what}")

    def close(number: int) -> None:
        if k and seen != sizes[k]:
            fail(number, f"{seen:,} {k}-grams end here where the head says {sizes[k]:,}")
        if k:
            words, p, backoff, where = zip(*rows, strict=True) if rows else ((), (), (), ())
            scale = math.log(10)
            table = np.array(words, dtype=np.int64).reshape(-1, k)
            sections.append((table, np.array(p) * scale, np.array(backoff) * scale, np.array(where), left_out))

    number = 0
    for number, line in enumerate(lines, start=1):
        line = line.rstrip("\r\n \t")
        if not found:
            found = line == "\\data\\"
        elif not line.strip():
            continue
        elif line == "\\end\\":
            close(number)
            if not sizes or k != max(sizes):
                fail(number, f"the file ends after order {k} where the head promises order {max(sizes, default=0)}")
            return sections
        elif size := re.fullmatch(r"ngram\s+(\d+)\s*=\s*(\d+)", line):
            sizes[int(size[1])] = int(size[2])
        elif head := re.fullmatch(r"\\(\d+)-grams:", line):
            close(number)
            if int(head[1]) != k + 1 or k + 1 not in sizes:
                fail(number, f"a section of {head[1]}-grams where order {k + 1} is due")
            k, seen, rows, left_out = k + 1, 0, [], 0.0
        elif not k:
            fail(number, f"neither a size nor a section: {line[:60]!r}")
        else:
            parts = re.split(r"[ \t]+", line.lstrip(" \t"))  # a word may hold a space of another kind
            if len(parts) not in (k + 1, k + 2):
                fail(number, f"not 'log10 P, {k} words, log10 back-off': {line[:60]!r}")
            try:
                p, backoff = float(parts[0]), float(parts[k + 1]) if len(parts) > k + 1 else 0.0
            except ValueError:
                fail(number, f"not a number: {line[:60]!r}")
            if p > 0 or math.isnan(p) or not math.isfinite(backoff):
                fail(number, f"no log10 of a probability, or no finite back-off: {line[:60]!r}")
            seen += 1
            words = [ids.get(UNKNOWN if word == SHOUTED and word not in ids else word) for word in parts[1 : k + 1]]
            if None not in words:
                rows.append((words, p, backoff, number))
            elif parts[k] != MARKS[0] and p > IMPOSSIBLE:  # nothing predicts a beginning
                left_out += 10**p
    end = "the file ends without \\end\\" if found else "no \\data\\ in it: not an ARPA file"
    raise InputError(f"ARPA file, line {number}: {end}")


def read_file(path: Path, vocabulary: list[str]) -> Backoff:
    """The model of an ARPA file, .gz or not. Raises InputError where it is none."""
    if not path.is_file():
        raise InputError(f"ngram.path={path}: no such file")
    with path.open("rb") as file:
        opened = gzip.open if file.read(2) == GZIP else open
    try:
        with opened(path, "rt", encoding="utf-8-sig") as lines:
            return read(lines, vocabulary)
    except (UnicodeDecodeError, EOFError, gzip.BadGzipFile) as error:
        raise InputError(f"ngram.path={path}: not UTF-8 text, or cut short: {error}") from error
    except InputError as error:
        raise InputError(f"ngram.path={path}: {error}") from error


def write_file(model: Backoff, vocabulary: list[str], path: Path) -> None:
    """Writes an ARPA file, .gz or not."""
    opened = gzip.open if path.suffix == ".gz" else open
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary, opened(temporary, "wt", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in write(model, vocabulary))
