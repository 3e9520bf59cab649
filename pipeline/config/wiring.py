"""The dvc.yaml of each table, from conf/table/<name>.yaml: `nplm wiring` writes them, and a test holds them to it.

A stage makes the models of one key of the table's `models`, or its mixtures. Its program and what its command is given
beside a model's name stand in `wiring` of the table. The rest follows: what it depends on are the files of the core that
its program imports, the values that its configuration is composed of, and the data and models that it reads.
"""

import textwrap
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from pipeline.config.base import ROOT
from pipeline.running.code import CORE, files_of

CONF = ROOT / "conf"
HYDRA = "hydra.run.dir=. hydra.output_subdir=null hydra/job_logging=stdout"  # no files of Hydra's own
BY_FILE = {"families", "readers", "streams", "beyond"}  # folders of the core whose files are apart; others are one piece
# What each program calls in the core, the group of its choice, and the keys of its configuration that decide numbers.
PROGRAMS = {
    "train": ("training/train.py", "model", ["model", "device", "parallel", "features", "score_train"]),
    "ngram": ("ngrams/build.py", "ngram", ["ngram"]),
    "mix": ("ngrams/mixtures.py", "mix", ["mix", "seed"]),
    "adapt": ("streams/adapt.py", "adapt", []),
    "shortlist": ("beyond/shortlist.py", "ngram", ["size", "ngram"]),
}
HEAD = "# {title}: made by `nplm wiring` from conf/table/{name}.yaml, which lists what is made.\n"


@cache
def tables() -> dict[str, dict[str, Any]]:
    """The tables that DVC makes, by name: conf/table/<name>.yaml over the one that it builds on."""
    read = {file.stem: _table(file.stem) for file in sorted((CONF / "table").glob("*.yaml"))}
    return {name: table for name, table in read.items() if table["dvc"].endswith("dvc.yaml")}


def _table(name: str) -> dict[str, Any]:
    own = OmegaConf.load(CONF / "table" / f"{name}.yaml")
    bases = [each for each in own.pop("defaults", []) if each != "_self_"]
    return OmegaConf.to_container(OmegaConf.merge(*[OmegaConf.create(_table(base)) for base in bases], own), resolve=True)


def dvc_files() -> dict[Path, str]:
    """The text of each table's dvc.yaml."""
    return {ROOT / table["dvc"]: _text(name, table) for name, table in tables().items()}


def _text(name: str, table: dict[str, Any]) -> str:
    stages = {}
    if table.get("corpus"):
        stages |= _corpus(name, table)
    for stage, models in table["models"].items():
        if models:
            stages[stage] = _named(name, table, stage, models)
        if stage == "ngram" and table["clusterings"]:
            stages["cluster"] = _cluster(name, table)
    if table["mix"]["networks"]:
        stages[table["mix"].get("stage", "mix")] = _mixed(name, table)
    stages |= table.get("stages") or {}
    stages |= _reported(name, table)
    deep = len(Path(table["dvc"]).parts) - 1
    lines = [HEAD.format(title=table.get("title", name), name=name), f"vars: [hydra: {HYDRA}]\n", "\nstages:"]
    for stage, keys in stages.items():
        lines += [f"\n  {stage}:\n", f"    wdir: {'/'.join(['..'] * deep)}\n" if deep else ""]
        lines += [_key(key, value) for key, value in keys.items()]
    for key in ("metrics", "plots"):
        lines += [f"\n{OmegaConf.to_yaml({key: table[key]}).strip()}\n"] if key in table else []
    return "".join(lines)


def _key(key: str, value: Any) -> str:
    """A key of a stage: commands folded at spaces, lists in brackets, all within 120 columns."""
    if key == "cmd":
        one = f"    cmd: {value}\n"
        folded = textwrap.wrap(value, 112, break_long_words=False, break_on_hyphens=False)
        return one if len(one) <= 121 else "    cmd: >-\n" + "".join(f"      {line}\n" for line in folded)
    one = f"    {key}: {_flow(value)}\n"
    if len(one) <= 121 or not isinstance(value, list):
        return one
    body = textwrap.wrap(", ".join(map(_flow, value)), 111, break_long_words=False, break_on_hyphens=False)
    return f"    {key}:\n      [" + "\n       ".join(body) + "]\n"


def _flow(value: Any) -> str:
    """A value as YAML on one line."""
    if isinstance(value, list):
        return f"[{', '.join(map(_flow, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_flow(key)}: {_flow(item)}" for key, item in value.items()) + "}"
    if value is None:
        return ""
    return f'"{value}"' if isinstance(value, str) and "{" in value else str(value).lower() if value in (True, False) else str(value)


def _corpus(name: str, table: dict[str, Any]) -> dict[str, dict]:
    """Download and preprocess; what another table downloads is not downloaded again."""
    corpus, given = table["corpus"], table.get("text", "")
    settings = OmegaConf.load(CONF / "corpus" / f"{corpus}.yaml")
    first = next(each for each, other in tables().items() if other.get("corpus") == corpus)
    raw, values = f"data/raw/{corpus}", f"conf/corpus/{corpus}.yaml"
    stages = {}
    if first == name and settings.get("sha256"):
        stages["download"] = {
            "cmd": f"python -m pipeline.download ${{hydra}} corpus={corpus} out={raw} timing=timings/{name}/download.json",
            "params": [{values: ["name", "sources", "local", "files", "sha256", "packed"]}],
            "outs": [{raw: {"persist": True}}],  # what is right already is kept
        }
    bases = [f"conf/corpus/{each}.yaml" for each in settings.get("defaults", []) if each != "_self_"]
    reader = _composed("corpus", corpus)["format"]
    stages["preprocess"] = {
        "cmd": f"python -m pipeline.preprocess ${{hydra}} corpus={corpus} {given} out={table['data']} "
        f"timing=timings/{name}/preprocess.json",
        "params": [dict.fromkeys([*bases, values])],
        "deps": [*_code("text/build.py", f"readers/{reader}.py"), str(settings.get("raw", raw))],
        "outs": [table["data"]],
    }
    return stages


def _named(name: str, table: dict[str, Any], stage: str, models: list[str]) -> dict[str, Any]:
    """The models of a stage, each by its name; networks with each seed."""
    program, given = _given(table, stage)
    entry, group, keys = PROGRAMS[program]
    seeded, key = program == "train", "model" if program == "train" else "name"
    item = f"${{item.{key}}}"
    out = f"{table['predictions'][0]}/{item}/{'${item.seed}' if seeded else 0}"
    own = given.get(group, item)
    words = [f"{group}={item}"] * (group not in given and program != "shortlist")
    words += [f"name={item}"] * (own != item or program in ("mix", "shortlist"))
    words += ["seed=${item.seed}"] * seeded + [f"{each}={value}" for each, value in given.items()]
    words += [f"clusters=clusters/{Path(table['data']).name}"] * ("class" in stage)
    params, deps = _values(program, group, own if program != "shortlist" else "interpolated3", keys, given), []
    if program == "train":
        chosen = [own] if own != item else models
        recipe = given.get("recipe", "modern")
        recipes = {each: None for model in chosen for each in _chain("recipe", recipe.replace("${item.model}", model))}
        if "${item.model}" in recipe:
            recipes = {"conf/recipe/${item.model}.yaml": None} | {
                file: None for file in recipes if Path(file).stem not in models
            }
        params.insert(1, recipes)
        families = {_composed("model", each).get("family", "feedforward") for each in chosen}
        code = _code(entry, *(f"families/{family}.py" for family in sorted(families)))
        deps = [str(Path(given["features"]).parent)] * ("features" in given) + [given[key] for key in ["resume"] if key in given]
    elif program == "mix":
        code = _code(entry)
        network = given.get("network", "")
        used = [part for each in ([own] if own != item else models) for part in _composed("mix", each)["components"]]
        deps = _folders(table, [part.replace("${network}", network).replace("${seed}", "0") for part in used], models)
        words.append(f"predictions=[{','.join(table['predictions'])}]")
    elif program == "shortlist":
        code = _code(entry, "ngrams/build.py", f"families/{_composed('model', given['network'].split('/')[0])['family']}.py")
        deps = _folders(table, [given["network"]], models)
        words.append(f"predictions=[{','.join(table['predictions'])}]")
    else:
        code = _code(entry)
        deps = [f"clusters/{Path(table['data']).name}"] * ("class" in stage)
    return {
        "matrix": {key: models} | ({"seed": table["seeds"]} if seeded else {}),
        "cmd": _command(program, table, words, out),
        "params": params,
        "deps": [*code, table["data"], *deps],
        "outs": [out],
    }


def _mixed(name: str, table: dict[str, Any]) -> dict[str, Any]:
    """Each network of `mix` in each way, with each seed: mixtures, or what adapts to the text that it reads."""
    stage = table["mix"].get("stage", "mix")
    program, given = _given(table, stage)
    entry, group, keys = PROGRAMS[program]
    place, model = table["predictions"][0], "${item.network}-${item.way}"
    out = f"{place}/{model}/${{item.seed}}"
    networks, ways = table["mix"]["networks"], table["mix"]["ways"]
    words = [f"{group}=${{item.way}} network=${{item.network}} seed=${{item.seed}} name={model}"]
    words += [f"predictions=[{','.join(table['predictions'])}]"]
    parts = [f"{_place(table, networks[0])}/${{item.network}}/${{item.seed}}"]
    code = _code(entry)
    if program == "mix":
        others = [part for way in ways for part in _composed("mix", way)["components"] if "${network}" not in part]
        parts += _folders(table, others)
        keys = [key for key in keys if key != "seed"]
    else:
        code = _code(entry, *{f"families/{_composed('model', each)['family']}.py" for each in networks})
    return {
        "matrix": {"network": networks, "way": ways, "seed": table["seeds"]},
        "cmd": _command(program, table, words, out),
        "params": _values(program, group, "${item.way}", keys, given),
        "deps": [*code, table["data"], *parts],
        "outs": [out],
    }


def _cluster(name: str, table: dict[str, Any]) -> dict[str, Any]:
    of = Path(table["data"]).name
    out = f"clusters/{of}/${{item.classes}}"
    words = ["classes=${item.classes}", f"timing=timings/{name}/cluster-${{key}}.json"]
    keys = ["tolerance", "passes", "thorough", "annealing", "temperature", "seed"]
    return {
        "matrix": {"classes": table["clusterings"]},
        "cmd": _command("cluster", table, words, out),
        "params": [{"conf/cluster.yaml": keys}],
        "deps": [*_code("clustering/exchange.py"), table["data"]],
        "outs": [out],
    }


def _reported(name: str, table: dict[str, Any]) -> dict[str, dict]:
    """The table and the claims on it, from what all models have left."""
    files = {f"conf/table/{name}.yaml": None} | dict.fromkeys(_chain("table", name))
    out, claims = str(Path("reports", table["csv"]).parent), table.get("claims", name)
    deps = ["pipeline/core/common", "pipeline/reporting", table["data"], *table["predictions"]]
    shown = table.get("classes_of")
    clusters = f"clusters/{Path(table['data']).name}/{shown}"
    report = [f"table={name}", f"clusters={clusters}/classes.csv" if shown else "clusters=", f"timing=timings/{name}/report.json"]
    judge = [f"table={name}", f"claims={claims}", f"timing=timings/{name}/claims.json"]
    outs = [{out: {"cache": False}}]
    if table.get("report_files"):  # where other stages write into the same folder
        outs = [{f"{out}/{file}": {"cache": False}} for file in table["report_files"]]
    return {
        "report": {
            "cmd": _command("report", table, report, out),
            "params": [files],
            "deps": deps + [clusters] * bool(shown),
            "outs": outs,
        },
        "claims": {
            "cmd": _command("claims", table, judge, f"reports/claims/{name}"),
            "params": [dict.fromkeys(_chain("claims", claims)) | files],
            "deps": deps,
            "outs": [{f"reports/claims/{name}": {"cache": False}}],
        },
    }


def _given(table: dict[str, Any], stage: str) -> tuple[str, dict[str, str]]:
    """The program of a stage, and what its command is given, by key."""
    named = (table.get("wiring") or {}).get(stage, "")
    program, *words = named.split() if named else [stage.split("_")[-1] if stage.endswith(("_ngram", "_mix")) else stage]
    return program.split("_")[0], dict(word.split("=", 1) for word in words)


def _command(program: str, table: dict[str, Any], words: Iterable[str], out: str) -> str:
    data = [f"data={table['data']}"] * (table["data"] != "data/brown")
    return " ".join([f"python -m pipeline.{program} ${{hydra}}", *data, *words, f"out={out}"])


def _values(program: str, group: str, chosen: str, keys: list[str], given: dict[str, str]) -> list[dict]:
    """The values that a stage's configuration is composed of: files as a whole, and keys of conf/<program>.yaml."""
    own = [key for key in keys if key not in given]
    return [{f"conf/{group}/{chosen}.yaml": None} | ({f"conf/{program}.yaml": own} if own else {})]


def _code(*entries: str) -> list[str]:
    """What a program imports of the core: folders that are one piece, and the single files of others."""
    files = sorted(file.relative_to(CORE) for file in files_of(*(CORE / entry for entry in entries)))
    pieces = [file.as_posix() if file.parts[0] in BY_FILE else file.parts[0] for file in files]
    return [f"pipeline/core/{piece}" for piece in dict.fromkeys(["common", *pieces])]


def _folders(table: dict[str, Any], parts: list[str], own: Iterable[str] = ()) -> list[str]:
    """Where the models <name>/<seed> lie; of several seeds the folder of all."""
    names = [part.split("/")[0] for part in parts]
    places = [f"{_place(table, part.split('/')[0])}/{part}" for part in dict.fromkeys(parts) if part.split("/")[0] not in own]
    return list(dict.fromkeys(str(Path(each).parent) if names.count(Path(each).parent.name) > 1 else each for each in places))


def _place(table: dict[str, Any], model: str) -> str:
    """The first of a table's places in which some table makes a model."""
    for place in table["predictions"]:
        for other in tables().values():
            if other["predictions"][0] == place and model in _made(other):
                return place
    raise ValueError(f"no table makes {model}")


def _made(table: dict[str, Any]) -> Iterator[str]:
    yield from (model for models in table["models"].values() for model in models)
    yield from (f"{network}-{way}" for network in table["mix"]["networks"] for way in table["mix"]["ways"])


def _composed(group: str, name: str) -> dict[str, Any]:
    """A file of a group over those that it builds on."""
    files = [OmegaConf.load(ROOT / file) for file in reversed(_chain(group, name))]
    for file in files:
        file.pop("defaults", None)
    return OmegaConf.to_container(OmegaConf.merge(*files))


def _chain(group: str, name: str) -> list[str]:
    """A file of a group, and those that it builds on."""
    bases = OmegaConf.load(CONF / group / f"{name}.yaml").get("defaults", [])
    own = f"conf/{group}/{name}.yaml"
    return [own, *(file for base in bases if base != "_self_" for file in _chain(group, base))]
