"""Views of the tables that more than one reader has: Markdown in reports/, the README, the page."""

from pipeline.reporting import table
from pipeline.reporting.cells import Column

SPLITS = ("valid", "test")

REPORT = table.columns(
    "row n c h m direct mix train paper_train valid_raw paper_valid valid test_raw paper_test test against"
)

TIMELINE = [
    *(
        Column("row", "model"),
        Column("year", "year", "{:d}"),
        Column("source", "from"),
        Column("seeds", "seeds", "{:d}"),
    ),
    *(Column(split, f"{split}, with share") for split in SPLITS),
    *(Column(f"{split}_raw", f"{split}, raw") for split in SPLITS),
    Column("test_ratio", "test, raw, over Kneser-Ney 5 (95 % over texts)", "{:.3f}"),
]
STEPS = [
    *(Column(name, name) for name in ("what", "from", "to")),
    *(Column("valid", "valid, with share"), Column("valid_share", "valid, share of the way", "{:.0%}")),
    *(Column("test", "test, with share"), Column("test_share", "test, share of the way", "{:.0%}")),
]

SUMMARY = [
    Column("model", "raw perplexity"),
    *(Column(name, head, "{:.1f}") for name, head in (("valid", "validation"), ("test", "test"))),
    Column("valid_ratio / test_ratio", "over Kneser-Ney 5, validation / test", "{:.3f}"),
]
YARDSTICKS = [
    *(Column("training", "training"), Column("label", "over"), Column("reading", "reading")),
    *(Column(name, head, "{:d}") for name, head in (("valid", "validation"), ("test", "test"), ("both", "both"))),
    Column("of", "of", "{:d}"),
]
DISTANCE = [
    *(Column("training", "training"), Column("row", "row"), Column("epoch", "epoch", "{:.0f}")),
    *(Column("train", "training, over the trigram", "{:.3f}"), Column("paper_train", "the paper's", "{:.3f}")),
    Column("train_log", "ln of ours over the paper's", "{:+.3f}"),
    *(Column("valid", "validation, over the trigram", "{:.3f}"), Column("paper_valid", "the paper's ", "{:.3f}")),
    Column("valid_log", "ln of ours over the paper's ", "{:+.3f}"),
    Column("distance", "root mean square", "{:.3f}"),
]


def _ratio(split: str) -> list[Column]:
    raw = f"{split}_raw"
    return [
        Column(raw, split, "{:.3f}", part="text"),
        Column(raw, f"{split}, 95 % over texts", "{:.3f}", part="ends"),
        Column(f"paper_{split}", f"the paper's {split}", "{:.3f}"),
        Column(split, f"{split}, with share", "{:.3f}"),
        Column(f"{split}_seen", f"{split}, with share, seen", "{:.3f}"),
    ]


RATIOS = [Column("row", "row"), *_ratio("valid"), *_ratio("test"), Column("reached", "reached")]


def replication(shorts: dict[str, str]) -> list[Column]:
    """Validation / test in each cell; shorts: what each training is called, by its columns' first word."""

    def both(whose: str, head: str, ending: str = "", form: str = "{:.1f}") -> Column:
        return Column(f"{whose}_valid{ending} / {whose}_test{ending}", head, form)

    return [
        *table.columns("row n c h m"),
        both("paper", "the paper", form="{:g}"),
        *(both(whose, short) for whose, short in shorts.items()),
        *(both(w, f"{short}, ratio", "_ratio", "{:.3f}") for w, short in ({"paper": "the paper"} | shorts).items()),
        *(Column(f"{whose}_minutes", f"{short}, core-minutes", "{:.0f}") for whose, short in shorts.items()),
    ]
