"""The keys of a stage: their names, types, values and comments, read as text from pipeline/<stage>.py and conf/.

Nothing of the project is imported for it: torch alone takes two seconds. What a key means is written once, as the
comment beside it: in its dataclass what it is, in conf/ also where its value comes from.
"""

import ast
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pipeline.data.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
LINE = re.compile(r"(?P<indent>\s*)(?P<key>[\w-]+:)?(?P<value>.*?)(?:(?:^|(?<=\s))# ?(?P<comment>.*))?$")


@dataclass
class Key:
    """A key as the user writes it, and what there is to say of it."""

    name: str  # dotted
    type: str
    value: str  # as it stands in conf/, or the dataclass's default
    comment: str


@dataclass
class Field:
    """A field of a dataclass, by its source."""

    type: str
    default: str
    comment: str
    fields: "dict[str, Field]"  # of the dataclass that it holds, or that its items are of
    listed: bool  # whether it holds a list or a dictionary of them
    of_optional: bool = False  # whether it is a part of what need not be there


@dataclass
class Setting:
    """A top-level key of a file in conf/."""

    value: str
    comment: str


@dataclass
class File:
    """A file in conf/, by its text."""

    head: list[str]  # the comment lines that it begins with
    defaults: list[str]  # the entries of its defaults list: 'name' or 'group: name'
    settings: dict[str, Setting]


def stages() -> list[str]:
    """The stages that there are: each has a file in conf/ and one in pipeline/ with its name."""
    files = (ROOT / "conf").glob("*.yaml")
    return sorted(file.stem for file in files if (ROOT / "pipeline" / f"{file.stem}.py").is_file())


def schema(stage: str) -> Iterator[tuple[str, Field]]:
    """The keys of a stage by its dataclasses alone, dotted; of a list's items after the list, as `claims[].says`."""
    return _flat(fields(ROOT / "pipeline" / f"{stage}.py", "Config"))


def usual_groups(stage: str) -> dict[str, str]:
    """The groups of a stage, and the file that conf/<stage>.yaml chooses in each."""
    return dict(entry.split(": ", 1) for entry in read(f"{stage}.yaml").defaults if ": " in entry)


def groups(stage: str, arguments: Sequence[str] = ()) -> dict[str, str]:
    """The groups of a stage, and the file chosen in each: by the arguments, or the stage's own default."""
    found, given = usual_groups(stage), {}
    for group, _, name in (argument.partition("=") for argument in arguments):
        if group in found:
            check_file(group, name)
            given[group] = name
    found |= given
    for group, name in list(found.items()):  # a file may choose those of other groups, which the user's own words undo
        overrides = (entry.partition("override /")[2] for entry in read(f"{group}/{name}.yaml").defaults)
        found |= dict(entry.split(": ", 1) for entry in overrides if entry)
    return found | given


def optional_groups(stage: str) -> list[str]:
    """The groups of which a stage takes a file only where the user adds one, as its examples do: `+search=recipe`."""
    return list(dict.fromkeys(re.findall(r"\+(\w+)=", " ".join(read(f"{stage}.yaml").head))))


def names(group: str) -> list[str]:
    """The files of a group."""
    return sorted(file.stem for file in (ROOT / "conf" / group).glob("*.yaml"))


def check_file(group: str, name: str) -> None:
    """Raises InputError where a group has no file of this name."""
    if name not in names(group):
        raise InputError(f"{group}={name}: choose one of {', '.join(names(group))}")


def settable(stage: str) -> Iterator[str]:
    """The groups and keys of a stage that a command line may name, as `model` and `model.h`."""
    yield from usual_groups(stage)
    yield from (name for name, _ in schema(stage) if "[]" not in name)


def missing_whole(stage: str, arguments: Sequence[str], key: str) -> str:
    """The optional whole of which a key is a part, such as model.deep, where the files chosen have none; else ''."""
    whole = key.rpartition(".")[0]
    parts = dict(schema(stage))
    if key not in parts or not parts[key].of_optional or any(part.startswith(f"{whole}=") for part in arguments):
        return ""
    group, _, name = whole.partition(".")
    chosen = groups(stage, [argument for argument in arguments if "," not in argument]).get(group, "")
    many = any(argument.startswith(f"{group}=") and "," in argument for argument in arguments)
    return "" if many or not chosen or name in inherited(group, chosen) else whole


def keys(stage: str, arguments: Sequence[str] = ()) -> Iterator[Key]:
    """The keys of a stage in the order of its dataclasses."""
    file, chosen, usual = read(f"{stage}.yaml"), groups(stage, arguments), groups(stage)
    settings, comments = {}, {}  # by dotted key
    for entry in file.defaults:
        if (ROOT / "conf" / f"{entry}.yaml").is_file():
            settings |= read(f"{entry}.yaml").settings
    for group in chosen:
        for name, into in ((usual[group], comments), (chosen[group], settings)):
            everywhere = "@package _global_" in read(f"{group}/{name}.yaml").head
            prefix = "" if everywhere else f"{group}."
            into |= {prefix + key: setting for key, setting in inherited(group, name).items()}
    settings |= file.settings
    nothing = Setting("", "")
    for name, field in schema(stage):
        own = settings.get(name, nothing)
        of_whole = name.rpartition(".")[0] in settings  # which has a value of its own then
        comment = _joined(field.comment, own.comment)
        value = own.value or ("" if of_whole else field.default)
        yield Key(name, field.type, value, comment or comments.get(name, nothing).comment)


def _joined(what: str, whence: str) -> str:
    """What a key is, and of the comment beside its value the parts that say more than that."""
    known = _words(what)
    parts = [part for part in whence.split("; ") if not _words(part) <= known]
    return "; ".join(filter(None, [what, *parts]))


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def inherited(group: str, name: str) -> dict[str, Setting]:
    """The settings of a group's file, over those of the file that it builds on."""
    file, found = read(f"{group}/{name}.yaml"), {}
    for entry in file.defaults:
        if entry != "_self_" and ": " not in entry:
            found |= inherited(group, entry)
    for key, setting in file.settings.items():
        found[key] = Setting(setting.value, setting.comment or found.get(key, setting).comment)
    return found


def read(path: str) -> File:
    """A file of conf/: its keys of the first level, each with what stands beside it.

    A comment goes on in the lines below that hold nothing else and are indented.
    """
    file, key, goes_on = File([], [], {}), None, False
    for line in (ROOT / "conf" / path).read_text(encoding="utf-8").splitlines():
        found = LINE.fullmatch(line)
        value, comment = found["value"].strip(), (found["comment"] or "").strip()
        if found["key"] and not found["indent"]:
            key, goes_on = found["key"][:-1], bool(comment)
            file.settings[key] = Setting(value, comment)
        elif key is None:
            file.head += [comment] if comment else []
        elif key == "defaults":
            file.defaults += [value.removeprefix("- ")] if value else []
        elif goes_on and comment and found["indent"] and not value and not found["key"]:
            file.settings[key].comment += f" {comment}"
        elif line.strip() and line[0] in " -":
            goes_on = False
            if file.settings[key].value in ("", ">-"):
                file.settings[key].value = "..."
    file.settings.pop("defaults", None)
    return file


def fields(file: Path, name: str) -> dict[str, Field]:
    """The fields of a dataclass and of those inside it, by the source of the file that defines it."""
    source = file.read_text(encoding="utf-8")
    tree, lines = ast.parse(source), source.splitlines()
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    found = {}
    for node in body:
        if isinstance(node, ast.AnnAssign):
            _, _, comment = lines[node.end_lineno - 1][node.end_col_offset :].partition("# ")
            outer = node.annotation
            optional = isinstance(outer, ast.BinOp) and ast.unparse(outer.right) == "None"
            if optional:  # Deep | None
                outer = outer.left
            listed = isinstance(outer, ast.Subscript) and ast.unparse(outer.value) in ("list", "dict")
            items = (
                outer.slice.elts[-1] if listed and isinstance(outer.slice, ast.Tuple) else getattr(outer, "slice", None)
            )
            inner = _dataclass(tree, file, items if listed else outer)
            found[node.target.id] = Field(
                type=_choices(tree, node.value)
                or (ast.unparse(outer.value) if listed and inner else ast.unparse(node.annotation)),
                default=_default(node.value),
                comment=comment,
                # What need not be there has no values by itself.
                fields={
                    k: replace(f, default="", of_optional=True) if optional else f for k, f in fields(*inner).items()
                }
                if inner
                else {},
                listed=listed,
            )
    return found


def _dataclass(tree: ast.Module, file: Path, annotation: ast.expr) -> tuple[Path, str] | None:
    """Where the class that an annotation names is defined, if it is one of the project's."""
    name = ast.unparse(annotation)
    if any(isinstance(node, ast.ClassDef) and node.name == name for node in tree.body):
        return file, name
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module.startswith("pipeline"):
            folder = ROOT / node.module.replace(".", "/")
            for alias in node.names:
                if alias.name == name:  # from pipeline.training.recipe import Recipe
                    return folder.with_suffix(".py"), name
                if name.startswith(f"{alias.name}."):  # from pipeline.ngrams import build: build.Ngram
                    return folder / f"{alias.name}.py", name.partition(".")[2]
    return None


def _choices(tree: ast.Module, value: ast.expr | None) -> str:
    """The names that a field declared by one_of() allows: 'a|b'."""
    if not (isinstance(value, ast.Call) and ast.unparse(value.func) == "one_of"):
        return ""
    constants = {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    names = []
    for each in value.args:
        names += ast.literal_eval(constants[each.value.id]) if isinstance(each, ast.Starred) else [each.value]
    return "|".join(names)


def _default(value: ast.expr | None) -> str:
    """A field's default as the user would write it; '' for none."""
    if isinstance(value, ast.Call):
        given = {word.arg: word.value for word in value.keywords}
        if "default_factory" in given:
            return {"list": "[]", "dict": "{}"}[ast.unparse(given["default_factory"])]
        return _default(given["default"]) if "default" in given else ""
    if isinstance(value, ast.Constant):
        return json.dumps(value.value)
    return "" if value is None else ast.unparse(value).removeprefix("math.")


def _flat(found: dict[str, Field], prefix: str = "") -> Iterator[tuple[str, Field]]:
    """Fields by their dotted names; those of a list's items after the list, as `claims[].says`."""
    for name, field in found.items():
        if field.listed or not field.fields:
            yield prefix + name, field
        yield from _flat(field.fields, f"{prefix}{name}{'[]' if field.listed else ''}.")
