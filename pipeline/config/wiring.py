"""The dvc.yaml of each table, from conf/table/<name>.yaml: `nplm wiring` writes them, and a test holds them to it.

A stage makes the models of one key of the table's `models`, or its mixtures. Its program, and what its command is
given beside a model's name, stand in `wiring` of the table. The rest follows: a stage depends on the files of the core
that its program imports, on the values that its configuration is composed of, and on the data and models that it reads.
experiments/<table>/stages.yaml has what does not follow so, as DVC has it; it counts before what follows.
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from omegaconf import OmegaConf

from pipeline.config.base import ROOT
from pipeline.config.code import CORE, files_of
from pipeline.config.groups import CONF, LISTED, composed
from pipeline.config.tables import Table, read_tables
from pipeline.data.errors import InputError

BROWN = "data/brown"  # what a stage reads unless it is told
HYDRA = "hydra.run.dir=. hydra.output_subdir=null hydra/job_logging=stdout"  # no files of Hydra's own
BY_FILE = {"families", "readers", "streams", "beyond"}  # folders of the core whose files are apart, each by itself
# Of each program the file of the core that it calls, the group of which a name is chosen, and the keys of its
# configuration that decide numbers.
PROGRAMS = {
    "train": ("training/train.py", "model", ["model", "device", "parallel", "features", "score_train"]),
    "ngram": ("ngrams/build.py", "ngram", ["ngram"]),
    "mix": ("ngrams/mixtures.py", "mix", ["mix", "seed"]),
    "adapt": ("streams/adapt.py", "adapt", []),
    "shortlist": ("beyond/shortlist.py", "ngram", ["size", "ngram"]),
}
HEAD = """\
# Made by `nplm wiring` from conf/table/{name}.yaml and, where it is there, experiments/{name}/stages.yaml: edit those.
"""

Stage = dict[str, Any]


@cache
def tables() -> dict[str, Table]:
    """The tables that DVC makes."""
    made = {name: table for name, table in read_tables(CONF / "table").items() if table.dvc.endswith("dvc.yaml")}
    owner: dict[str, str] = {}
    for name, table in made.items():
        for key, place in (("dvc", table.dvc), ("predictions", table.predictions[0])):
            if owner.setdefault(place, name) != name:
                raise InputError(f"conf/table/{name}.yaml: {key}: {place} is that of conf/table/{owner[place]}.yaml")
    return made


def dvc_files() -> dict[Path, str]:
    """The text of each table's dvc.yaml."""
    return {ROOT / table.dvc: _text(name, table) for name, table in tables().items()}


def _text(name: str, table: Table) -> str:
    stages: dict[str, Stage] = _corpus(name, table) if table.corpus else {}
    for stage, models in table.models.items():
        if own_models := [model for model in models if model not in table.also]:  # else another table makes them
            stages[stage] = _named(table, stage, own_models)
    if table.clusterings:
        stages["cluster"] = _cluster(name, table)
    if table.mix.networks:
        stages[table.mix.stage] = _mixed(table)
    stages |= _reported(name, table)
    file = ROOT / "experiments" / name / "stages.yaml"
    own = yaml.safe_load(file.read_text(encoding="utf-8")) if file.is_file() else {}
    for stage, keys in own.pop("stages", {}).items():
        stages[stage] = stages.get(stage, {}) | keys
    up = "/".join([".."] * (len(Path(table.dvc).parts) - 1))
    stages = {key: {"wdir": up} | stage if up and "do" not in stage else stage for key, stage in stages.items()}
    return HEAD.format(name=name) + yaml.dump(
        {"vars": [{"hydra": HYDRA}], "stages": stages, **own},
        Dumper=_Dumper,
        default_flow_style=None,  # innermost lists and mappings on one line
        width=118,
        sort_keys=False,
    )


class _Dumper(yaml.SafeDumper):
    """Nothing by reference."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _stage(
    program: str,
    words: Iterable[str],
    out: str,
    data: str,
    values: dict,
    deps: Iterable[str],
    matrix: dict | None = None,
    **settings: bool,
) -> Stage:
    """A stage as DVC has it; settings: of its output."""
    elsewhere = [f"data={data}"] * (data != BROWN)
    return ({"matrix": matrix} if matrix else {}) | {
        "cmd": " ".join([f"python -m pipeline.{program} ${{hydra}}", *elsewhere, *words, f"out={out}"]),
        "params": [values],
        **({"deps": [*deps]} if deps else {}),
        "outs": [{out: settings} if settings else out],
    }


def _corpus(name: str, table: Table) -> dict[str, Stage]:
    """Download, where a corpus can be had and no other table downloads it, and preprocess."""
    corpus, settings = table.corpus, composed("corpus", table.corpus)
    raw, stages = settings["raw"], {}
    texts = {other: composed("corpus", its.corpus)["raw"] for other, its in tables().items() if its.corpus}
    first = next(other for other in texts if texts[other] == raw)
    if settings["sha256"] and first == name:
        words = [f"corpus={corpus}", f"timing=timings/{name}/download.json"]
        values = {f"conf/corpus/{corpus}.yaml": ["name", "sources", "local", "files", "sha256", "packed"]}
        stages["download"] = _stage("download", words, raw, BROWN, values, [], persist=True)  # what is right is kept
    words = [f"corpus={corpus}", *table.text.split(), f"timing=timings/{name}/preprocess.json"]
    code = _code("text/build.py", f"readers/{settings['format']}.py")
    stages["preprocess"] = _stage("preprocess", words, table.data, BROWN, _values("corpus", corpus), [*code, raw])
    return stages


def _named(table: Table, stage: str, models: list[str]) -> Stage:
    """The models of a stage, each by its name; networks with each seed."""
    program, given = _given(table, stage)
    entry, group, keys = PROGRAMS[program]
    key = "model" if program == "train" else "name"
    item, chosen = f"${{item.{key}}}", [given[group]] if group in given else models
    words = [f"{group}={item}"] * (group not in given and program != "shortlist")
    words += [f"name={item}"] * (group in given or program in ("mix", "shortlist"))
    if program == "train":
        values, code, parts = _training(given, chosen, item)
        words, seeds, seed = [*words, "seed=${item.seed}"], {"seed": table.seeds}, "${item.seed}"
    else:
        values, seeds, seed = _values(group, given.get(group, item)), {}, 0
        code, parts = _code(entry), []
    if program == "mix":
        used = [part for each in chosen for part in composed("mix", each)["components"]]
        named = [part.replace("${network}", given.get("network", "")).replace("${seed}", "0") for part in used]
        parts = _folders(table, named, models)
    elif program == "shortlist":
        values, network = _values("ngram", "interpolated3"), given["network"]
        code = _code(entry, "ngrams/build.py", *_families([network.split("/")[0]]))
        parts = _folders(table, [network])
    elif program == "ngram" and any(composed("ngram", each)["kind"] == "class" for each in chosen):
        parts = [_clusters(table)]
        words.append(f"clusters={parts[0]}")
    words += [f"{each}={value}" for each, value in given.items()]
    words += [f"predictions=[{','.join(table.predictions)}]"] * (program in ("mix", "shortlist"))
    out = f"{table.predictions[0]}/{item}/{seed}"
    decide = [each for each in keys if each == group or each not in given]
    values |= {f"conf/{program}.yaml": decide} if decide else {}
    return _stage(program, words, out, table.data, values, [*code, table.data, *parts], {key: models} | seeds)


def _training(given: dict[str, str], models: list[str], item: str) -> tuple[dict, list[str], list[str]]:
    """A training's values, its code, and what it starts from."""
    recipe = given.get("recipe", _default("train", "recipe"))
    bases = [file for model in models for file in _chain("recipe", recipe.replace("${item.model}", model))[1:]]
    values = _values("model", given.get("model", item)) | dict.fromkeys([f"conf/recipe/{recipe}.yaml", *bases])
    parts = [given[key].removesuffix("/features.npy") for key in ("features", "resume") if key in given]
    some = ["training_perplexity.py"] * given.get("score_train", "").isdigit()
    return values, _code(PROGRAMS["train"][0], *_families(models), *some), parts


def _mixed(table: Table) -> Stage:
    """Each network of `mix` in each way, with each seed: mixtures, or what adapts to the text that it reads."""
    program, given = _given(table, table.mix.stage)
    entry, group, keys = PROGRAMS[program]
    networks, ways = table.mix.networks, table.mix.ways
    model = "${item.network}-${item.way}"
    out = f"{table.predictions[0]}/{model}/${{item.seed}}"
    words = [f"{group}=${{item.way}} network=${{item.network}} seed=${{item.seed}} name={model}"]
    words += [f"{key}={value}" for key, value in given.items()]
    words += [f"predictions=[{','.join(table.predictions)}]"]
    first = _place(table, networks[0])
    places = {network: _place(table, network, first) for network in networks}
    if {*places.values()} == {first}:  # else each stands for itself, as a matrix has no place of its own
        places = {"${item.network}": first}
    parts = [f"{place}/{network}/${{item.seed}}" for network, place in places.items()]
    if program == "mix":
        used = [part for way in ways for part in composed("mix", way)["components"] if "${network}" not in part]
        parts += _folders(table, used)
    code = _code(entry, *(_families(networks) if program == "adapt" else []))
    decide = [key for key in keys if key != "seed"]
    values = _values(group, "${item.way}") | ({f"conf/{program}.yaml": decide} if decide else {})
    matrix = {"network": networks, "way": ways, "seed": table.seeds}
    return _stage(program, words, out, table.data, values, [*code, table.data, *parts], matrix)


def _cluster(name: str, table: Table) -> Stage:
    out = f"{_clusters(table)}/${{item.classes}}"
    words = ["classes=${item.classes}", f"timing=timings/{name}/cluster-${{key}}.json"]
    values = {"conf/cluster.yaml": ["tolerance", "passes", "thorough", "annealing", "temperature", "seed"]}
    deps = [*_code("clustering/exchange.py"), table.data]
    return _stage("cluster", words, out, table.data, values, deps, {"classes": table.clusterings})


def _reported(name: str, table: Table) -> dict[str, Stage]:
    """The table and, where there are some, the claims on it, from what all models have left."""
    out, claims = str(Path("reports", table.csv or f"{name}/{name}.csv").parent), table.claims or name
    shown = [f"{_clusters(table)}/{table.classes_of}"] if table.classes_of else []
    deps = ["pipeline/core/common", "pipeline/reporting", table.data, *table.predictions]
    clusters = f"clusters={shown[0]}/classes.csv" if shown else "clusters="
    words, values = [f"table={name}", clusters, f"timing=timings/{name}/report.json"], _values("table", name)
    read = ["pipeline/report.py", *deps, *shown]
    stages = {"report": _stage("report", words, out, table.data, values, read, cache=False)}
    if Path(CONF, "claims", f"{claims}.yaml").is_file():
        out = f"reports/claims/{name}"
        words = [f"table={name}", f"claims={claims}", f"timing=timings/{name}/claims.json"]
        values, read = _values("claims", claims) | values, ["pipeline/claims.py", *deps]
        stages["claims"] = _stage("claims", words, out, table.data, values, read, cache=False)
    return stages


def _given(table: Table, stage: str) -> tuple[str, dict[str, str]]:
    """The program of a stage, and what its command is given, by key."""
    named = [part for part in reversed(stage.split("_")) if part in PROGRAMS]  # train_energy trains, ngram_mix mixes
    program, *words = table.wiring.get(stage, " ".join(named[:1])).split() or [""]
    if program not in PROGRAMS:
        raise InputError(f"{table.dvc}: no program makes {stage}; name one of {', '.join(PROGRAMS)} in table.wiring")
    words = [word.replace("{model}", "${item.model}").replace("{seed}", "${item.seed}") for word in words]
    if wrong := [word for word in words if "=" not in word]:
        raise InputError(f"{table.dvc}: wiring of {stage}: {wrong[0]} is no key=value")
    return program, dict(word.split("=", 1) for word in words)


def _values(group: str, name: str) -> dict[str, list[str] | None]:
    """Where the values of an entry of conf/ stand: by file, the keys that count, or None for all."""
    return {f"conf/{LISTED[group]}": [name]} if group in LISTED else dict.fromkeys(_chain(group, name))


def _code(*entries: str) -> list[str]:
    """What a program imports of the core: folders that are one piece, and single files of the others."""
    files = sorted(file.relative_to(CORE) for file in files_of(*(CORE / entry for entry in entries)))
    pieces = [file.as_posix() if file.parts[0] in BY_FILE else file.parts[0] for file in files]
    return [f"pipeline/core/{piece}" for piece in dict.fromkeys(["common", *pieces])]


def _families(models: Iterable[str]) -> list[str]:
    names = sorted({composed("model", model).get("family", "feedforward") for model in models})
    return [f"families/{name}.py" for name in names]


def _clusters(table: Table) -> str:
    return f"clusters/{Path(table.data).name}"


def _folders(table: Table, parts: Iterable[str], own: Iterable[str] = ()) -> list[str]:
    """Where models <name>/<seed> lie that a stage does not make itself; of several seeds the folder of all."""
    seeds: dict[str, set[str]] = {}
    for name, seed in (part.split("/") for part in parts):
        seeds.setdefault(name, set()).add(seed)
    places = {name: f"{_place(table, name)}/{name}" for name in seeds if name not in own}
    return [place if len(seeds[name]) > 1 else f"{place}/{min(seeds[name])}" for name, place in places.items()]


def _place(table: Table, model: str, default: str = "") -> str:
    """The first of a table's places in which some table makes a model; if none does, `default` where it is given."""
    for place in table.predictions:
        owner = next((other for other in tables().values() if other.predictions[0] == place), table)
        if any(owner.names.get(model, {}).values()):
            return place
    if default:
        return default
    raise InputError(f"{model} is made by no table in {', '.join(table.predictions)}")


def _default(program: str, group: str) -> str:
    """The file of a group that conf/<program>.yaml chooses."""
    chosen = OmegaConf.load(CONF / f"{program}.yaml").defaults
    return next(each[group] for each in chosen if each != "_self_" and group in each)


def _chain(group: str, name: str) -> list[str]:
    """A file of a group, and those that it builds on."""
    own = f"conf/{group}/{name}.yaml"
    bases = OmegaConf.load(ROOT / own).get("defaults", []) if "$" not in name else []
    return [own, *(file for base in bases if base != "_self_" for file in _chain(group, base))]
