"""What came out, for the page's first screen: on validation and test, as the models give it and with the share."""

from pathlib import Path

import pandas as pd

from pipeline.reporting import table
from pipeline.webpage import rows

YARDSTICK, TRIGRAM, BEST_NGRAM = "kn5", "interpolated3", "best-ngram"
TRAININGS = ("table1", "faithful", "faithful20")  # of Table 1's networks
SHORT = {"procedure": "the paper's procedure", "recipe": "today's recipe"}


def leading(replicated: pd.DataFrame) -> list[dict]:
    """Perplexities of Kneser-Ney 5, of the best mixture of n-grams, and of each training's best row by raw validation,
    from the table of the stage replication: valid and test, raw and with the share."""
    networks = replicated[replicated["row"].str.startswith("MLP")]
    found = {"Kneser-Ney 5, interpolated": (YARDSTICK, "recipe"), "best mixture of n-grams": (BEST_NGRAM, "recipe")}
    for whose, title in SHORT.items():
        if f"{whose}_valid" in replicated:
            name = networks[f"{whose}_valid"].idxmin()
            found[f"best MLP row by {title}: {networks.loc[name, 'row']}"] = (name, whose)
    cells = [f"{split}{reading}" for split in ("valid", "test") for reading in ("", "_share")]
    return [
        {"what": what, "cells": [replicated.loc[name, f"{whose}_{each}"] for each in cells]}
        for what, (name, whose) in found.items()
    ]


def reached(reports: Path, overs: list[str]) -> list[dict]:
    """By each training that is there: `of`, the rows for which the paper prints perplexities, and in `cells`, for each
    split and reading, how many of them have a ratio at or below the paper's to each of the models `overs`."""
    found = []
    for name in TRAININGS:
        place = rows.folder(reports, name)
        file = place / f"{name}-ratios.csv"
        if not file.is_file():
            continue
        ratios = pd.read_csv(file).query("paper_test.notna()").groupby("over")
        cells = [
            [int((each[column] <= each[f"paper_{split}"]).sum()) for each in map(ratios.get_group, overs)]
            for split in ("valid", "test")
            for column in (f"{split}_raw", split)
        ]
        line = {"name": name, "title": rows.TITLES[name], "seeds": table.read(place / f"{name}.csv")["seeds"].max()}
        line |= {"of": ratios.size().min(), "file": str(file.relative_to(reports))}
        found.append(line | {"cells": cells})
    return found


def beside(trained: dict[str, pd.DataFrame], also: pd.DataFrame) -> pd.DataFrame:
    """The networks and mixtures of Table 1, row by row by each training, labelled so, and then the rows of `also`.

    trained: rows by the training's title.
    """
    labelled = pd.concat(each.assign(label=each["row"] + "  " + title) for title, each in trained.items() if len(each))
    both = labelled[(labelled["model"] == "network") & labelled["paper_test"].notna()]
    return pd.concat([both.loc[both.index.unique()], also.assign(label=also["row"] + "  " + also["shape"])])
