"""Stage page: the whole report as one HTML file that needs nothing but itself."""

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from pipeline.data.errors import InputError
from pipeline.data.files import replacing
from pipeline.reporting import costs, figures, style, table
from pipeline.running import app

YARDSTICK, TRIGRAM = "kn5", "interpolated3"  # whose ratios compare with the paper's
BEST_NGRAM = "best-ngram"
TITLES = {"procedure": "the paper's procedure", "recipe": "today's recipe"}
CLAIMS = {  # Table 2's stand beside it
    "Table 1, today's recipe": "claims/table1/claims.md",
    "Table 1, the paper's procedure": "claims/faithful/claims.md",
    "Table 1, the paper's procedure, 20 epochs for all": "claims/faithful20/claims.md",
    "NIPS 2000": "claims/beyond/claims.md",
}

log = logging.getLogger(__name__)


@dataclass
class Config:
    """conf/page.yaml."""

    best_ngram: str
    genres: list[str]
    imaginative: list[str]
    grids: dict[str, str]
    reports: str
    out: str
    timing: str


def main(config: Config) -> None:
    """Writes index.html and ratios.svg into config.out, from the tables and figures in config.reports.

    Those of `make beyond`, `make faithful`, `make table2`, `make bench` and the grids are shown where they are there.
    """
    reports, out = Path(config.reports), Path(config.out)
    for file in ("table1.csv", "table1.svg", "intervals.csv", "genres.csv"):
        if not (reports / file).is_file():
            raise InputError(f"no {reports / file}: run `dvc repro`, which makes it")
    everything = _rows(reports, "table1", "extra")
    rows, genres = everything[everything["table"] == "table1"], pd.read_csv(reports / "genres.csv")
    _check_names(config, rows, genres)
    compared = {name: f"{rows.loc[name, 'row']}, {rows.loc[name, 'shape']}" for name in config.genres}
    networks = rows[rows["model"] == "network"]
    best = networks["valid_raw"].idxmin()
    replicated = reports / "replication.csv"
    spent = costs.read(reports / "costs.csv")
    of_table2 = spent["table"] == "table2"
    drawn = dict(_figures(config, reports, rows, genres, compared))
    template = _environment().get_template("page.html.j2")
    page = template.render(
        leading=leading(pd.read_csv(replicated, index_col="name")) if replicated.is_file() else [],
        rows=_lines(rows),
        stream=_records(reports / "stream.csv"),
        best=networks.loc[best].to_dict(),
        ngram=rows.loc[config.best_ngram].to_dict(),
        config=config,
        yardstick=YARDSTICK,
        trigram=TRIGRAM,
        genres=_lines(genres),
        splits=splits(genres, config.imaginative, best),
        compared=compared,
        extra=_lines(everything[everything["table"] == "extra"]),
        beyond=_lines(_rows(reports / "beyond", "beyond", "extra")),
        out_of_vocabulary=[
            {"network": file.stem.removeprefix("out-of-vocabulary-")} | line
            for file in sorted(reports.glob("beyond/out-of-vocabulary-*.csv"))
            for line in _records(file)
        ],
        replication=rendered(reports / "replication.md"),
        claims={title: rendered(reports / file) for title, file in CLAIMS.items() if (reports / file).is_file()},
        time_claims=time_claims(reports / "benchmark"),
        benchmark=rendered(reports / "benchmark.md"),
        classes=_records(reports / "classes.csv"),
        neighbours=_records(reports / "beyond" / "neighbours.csv"),
        table2=_lines(_rows(reports / "table2", "table2", "extra")),
        table2_costs=_lines(spent[of_table2].sort_values("seconds", ascending=False)),
        table2_claims=rendered(reports / "claims" / "table2" / "claims.md"),
        costs=_lines(spent[~of_table2].sort_values("seconds", ascending=False)),
        stages=_lines(costs.by_stage(spent[~of_table2])),
        figures={name: Markup(style.inline(svg, name)) for name, svg in drawn.items()},
    )
    out.mkdir(parents=True, exist_ok=True)
    with replacing(out / "index.html") as temporary:
        temporary.write_text(page, encoding="utf-8")
    (out / "ratios.svg").write_text(style.alone(drawn["ratios"]), encoding="utf-8")
    log.info("%s", (out / "index.html").resolve())


def leading(replicated: pd.DataFrame) -> list[dict]:
    """Raw perplexities of Kneser-Ney 5, of the best mixture of n-grams, and of each training's best row by validation,
    from the table of the stage replication."""
    networks = replicated[replicated["row"].str.startswith("MLP")]
    found = {"Kneser-Ney 5, interpolated": (YARDSTICK, "recipe"), "the best mixture of n-grams": (BEST_NGRAM, "recipe")}
    for whose, title in TITLES.items():
        if f"{whose}_valid" not in replicated:
            continue
        name = networks[f"{whose}_valid"].idxmin()
        found[f"the best of the networks and their mixtures by {title}, {networks.loc[name, 'row']}"] = (name, whose)
    splits = ("valid", "test")
    return [
        {"what": what} | {split: replicated.loc[name, f"{whose}_{split}"] for split in splits}
        for what, (name, whose) in found.items()
    ]


def _check_names(config: Config, rows: pd.DataFrame, genres: pd.DataFrame) -> None:
    """Raises InputError for a model that the tables don't have."""
    against = [name for name in rows.index if f"to_{name}" in rows]
    by_genre = [name for name in rows.index if name in genres]
    if YARDSTICK not in against:
        raise InputError(f"intervals.csv has no ratios to {YARDSTICK}: make it one of `yardsticks` of the table")
    for key, names, choices in (
        ("best_ngram", [config.best_ngram], against),
        ("genres", config.genres, by_genre),
    ):
        for name in set(names) - set(choices):
            raise InputError(f"{key}={name}: choose from {', '.join(choices)}")


def _figures(
    config: Config, reports: Path, rows: pd.DataFrame, genres: pd.DataFrame, compared: dict[str, str]
) -> Iterator[tuple[str, str]]:
    """Name and SVG of each figure whose data is there."""
    yield "ratios", figures.ratios(rows.assign(label=rows["row"] + "  " + rows["shape"]), YARDSTICK)
    yield "genres", figures.genres(genres[genres["split"] == "test"].set_index("genre"), compared)
    grids = {title: reports / file for title, file in config.grids.items() if (reports / file).is_file()}
    if grids:
        axes = {"model.n": "order n", "model.h": "hidden units h"}
        tables = {title: pd.read_csv(file).rename(columns=axes) for title, file in grids.items()}
        yield "grid", figures.maps(tables, *axes.values())
    files = {
        "curves": "table1.svg",
        "faithful": "faithful/faithful.svg",
        "plane": "beyond/plane.svg",
        "table2": "table2/table2.svg",
        "sizes": "benchmark/scaling.svg",
    }
    for name, file in files.items():
        if (reports / file).is_file():
            yield name, (reports / file).read_text(encoding="utf-8")


def _rows(folder: Path, *tables: str) -> pd.DataFrame:
    """The rows of a folder's tables, with the table, the shape, the intervals, and the ratios of the paper's test
    perplexities to those of the yardsticks, paper_to_NAME. Empty where there are no tables or no intervals."""
    rows = {name: table.read(file) for name in tables if (file := folder / f"{name}.csv").is_file()}
    if not rows or not (folder / "intervals.csv").is_file():
        return pd.DataFrame(columns=[*table.COLUMNS, "table"])
    sure = pd.read_csv(folder / "intervals.csv", index_col="name").drop(columns=["valid", "seeds"])
    found = pd.concat(each.assign(table=name) for name, each in rows.items()).join(sure)
    for name in found.index:
        if f"to_{name}" in found:
            found[f"paper_to_{name}"] = found["paper_test"] / found.loc[name, "paper_test"]
    found["shape"] = [_shape(row) for row in found.to_dict("records")]
    return found


def _shape(row: dict) -> str:
    """A row's order, classes and sizes in words."""
    said = [f"{key} {row[key]}" for key in ("n", "c", "h", "m") if pd.notna(row[key])]
    said += [word for key, word in (("direct", "direct"), ("mix", "mixed")) if row[key] is True]
    return ", ".join(said)


def _records(file: Path) -> list[dict]:
    """The lines of a CSV file, of none where there is none."""
    return _lines(pd.read_csv(file)) if file.is_file() else []


def _lines(frame: pd.DataFrame) -> list[dict]:
    """A frame's lines with its index among their values; what is missing is None."""
    frame = frame.reset_index(names=frame.index.name or "place").astype(object)
    return frame.where(frame.notna(), None).to_dict("records")


def splits(genres: pd.DataFrame, imaginative: list[str], model: str) -> dict[str, dict]:
    """Of each split its genres, the share of its tokens that is imaginative prose, and a model's perplexity on that and
    on the rest, None where there is none of it."""

    def perplexity(lines: pd.DataFrame) -> float | None:
        return np.exp(np.average(np.log(lines[model]), weights=lines["tokens"])) if len(lines) else None

    found = {}
    for split, lines in genres.groupby("split", sort=False):
        told = lines["genre"].isin(imaginative)
        found[split] = {"genres": lines["genre"].tolist(), "stories": perplexity(lines[told])}
        found[split] |= {"share": lines["tokens"][told].sum() / lines["tokens"].sum(), "rest": perplexity(lines[~told])}
    return found


def time_claims(benchmark: Path) -> list[dict]:
    """What the paper, and Bengio and Senecal (2003), say of time, with our figures where `make bench` left them."""
    found = []
    if (benchmark / "parallel.csv").is_file():
        runs = pd.read_csv(benchmark / "parallel.csv")
        runs = runs.query("softmax == 'full' and way == 'ParameterParallel' and processes > 1")
        for processes, share in zip(runs["processes"], runs["share of time"], strict=True):
            says = "parameter-parallel training spends 1/15 of its time in communication"
            says += f" ({processes} processes, full softmax)"
            found.append({"claim": says, "paper": 1 / 15, "ours": share, "holds": "yes" if share <= 1 / 15 else "no"})
    if (benchmark / "sampling.csv").is_file():
        runs = pd.read_csv(benchmark / "sampling.csv", index_col="softmax")
        times = runs.loc["importance, 1,024 draws", "times faster than full"]
        says = "importance sampling trains a hundred times faster than the full softmax (2003; ours in batches)"
        found.append({"claim": says, "paper": 100, "ours": times, "holds": "yes" if times >= 100 else "no"})
    return found


def rendered(file: Path) -> Markup:
    """A Markdown file of the reports without its title, as HTML; nothing where it is not there."""
    if not file.is_file():
        return Markup("")
    text = re.sub(r"\A# .*\n", "", file.read_text(encoding="utf-8"))
    html = MarkdownIt("commonmark").enable("table").render(text.replace("\n## ", "\n### "))
    return Markup(html.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>"))


def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


if __name__ == "__main__":
    app.run("page", Config, main, timed=True)
