"""The dvc.yaml of each table, made from conf/table and experiments/*/stages.yaml: for when you have edited those."""

import argparse

from pipeline.config.wiring import dvc_files

EXAMPLE = "nplm wiring"


def run(given: argparse.Namespace) -> None:
    """Writes those that differ, and names them."""
    for file, text in dvc_files().items():
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            print(file)
