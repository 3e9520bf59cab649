"""Tables: ratios to the yardstick, and rows that come from another table."""

import numpy as np
import pandas as pd
import pytest

from pipeline.data.corpus import SPLITS, Corpus
from pipeline.data.errors import InputError
from pipeline.data.predictions import write_base_predictions
from pipeline.reporting import markup, table


@pytest.fixture
def built():
    """A network that beats the paper's ratio everywhere, one that misses it on seen words, and the yardstick."""
    lines = [
        {"row": "MLP1", "model": "network", "valid": 80, "valid_seen": 79, "test": 70, "test_seen": 69},
        {"row": "MLP2", "model": "network", "valid": 80, "valid_seen": 90, "test": 70, "test_seen": 69},
        {"row": "Kneser-Ney", "model": "ngram", "valid": 100, "valid_seen": 100, "test": 100, "test_seen": 100},
    ]
    papers = [{"paper_valid": 170, "paper_test": 150}] * 2 + [{"paper_valid": 200, "paper_test": 200}]
    both = [ours | paper for ours, paper in zip(lines, papers, strict=True)]
    return pd.DataFrame(both, columns=table.COLUMNS, index=["mlp1", "mlp2", "kn5"]).astype(table.TYPES)


def test_ratios_are_to_the_same_tokens_of_the_yardstick(built):
    ratios = table.ratios(built, ["kn5"])
    assert ratios["row"].tolist() == ["MLP1", "MLP2"]
    assert ratios.loc["mlp1", ["valid", "valid_seen", "paper_valid"]].tolist() == pytest.approx([0.8, 0.79, 0.85])
    assert ratios.loc["mlp1", ["test", "test_seen", "paper_test"]].tolist() == pytest.approx([0.7, 0.69, 0.75])
    assert ratios["reached"].tolist() == [True, False]
    assert table.ratios(built, []).empty and table.ratios(built, ["kn3"]).empty
    assert "0.850" in markup.markdown(markup.ratios(ratios))


def test_what_the_paper_does_not_print_is_not_reached_or_missed(built):
    """NIPS 2000 prints test figures alone, some rows have none at all."""
    ratios = table.ratios(built.assign(paper_valid=np.nan), ["kn5"])
    assert ratios["reached"].tolist() == [True, True]  # MLP2 misses the ratio on validation alone
    unprinted = table.ratios(built.assign(paper_valid=np.nan, paper_test=np.nan), ["kn5"])
    assert unprinted["reached"].isna().all() and "| yes" not in markup.markdown(markup.ratios(unprinted))


def test_ratios_to_two_yardsticks_have_the_intervals_of_each(built):
    ends = {f"valid_to_{other}_{end}": 0.5 for other in ("kn5", "mlp2") for end in ("low", "high")}
    ends |= {"to_kn5_low": 0.68, "to_kn5_high": 0.72, "to_mlp2_low": 0.9, "to_mlp2_high": 1.1}
    intervals = pd.DataFrame(ends, index=["mlp1", "mlp2"])
    ratios = table.ratios(built, ["kn5", "mlp2"], intervals)
    assert ratios["over"].tolist() == ["kn5", "kn5", "mlp2", "mlp2"]
    assert ratios["test_low"].tolist() == [0.68, 0.68, 0.9, 0.9]
    part = ratios[ratios["over"] == "mlp2"]
    assert all(ends in markup.markdown(markup.ratios(part)) for ends in ("0.500 to 0.500", "0.900 to 1.100"))
    assert r"95 \%" in markup.latex(markup.ratios(part))


def test_perplexities_of_another_corpus_are_not_compared(built):
    same, other = markup.figures(built), markup.figures(built, same_corpus=False)
    assert "-53.3%" in markup.markdown(same) and "against paper" in markup.latex(same)
    assert "%" not in markup.markdown(other) and "against paper" not in markup.latex(other)


def test_a_figure_that_the_paper_prints_with_a_decimal_keeps_it(built, tmp_path):
    built.assign(paper_test=345.8).round(4).to_csv(tmp_path / "table.csv", index_label="name")
    assert markup.figures(table.read(tmp_path / "table.csv"))["test, paper"].tolist() == ["345.8"] * 3
    assert markup.figures(built)["test, paper"].tolist() == ["150", "150", "200"]


def test_a_network_is_the_mean_of_its_seeds(tmp_path):
    ids = np.array([1, 2, 1, 3], dtype=np.int32)
    counts = {"digest": "x"}
    corpus = Corpus(["<unk>", "<text>", "a", "b"], ids, ids, ids, pd.DataFrame(), counts)
    for seed, p in enumerate((0.1, 0.3)):
        raw = {split: np.full(4, np.log(p), dtype=np.float32) for split in SPLITS}
        write_base_predictions(tmp_path / "mlp1" / str(seed), corpus, raw)
    row = table.Row("MLP1", "mlp1", "network", 3)
    line = table.build([row], tmp_path, corpus, [0, 1]).loc["mlp1"]
    assert line["seeds"] == 2 and line["train"] == pytest.approx(10)
    # `<unk>` is the one unseen word, and validation has none of it: its share is nothing.
    assert line["test_raw"] == pytest.approx((10 + 10 / 3) / 2)
    assert line["test_sd"] == pytest.approx(np.std([line["test"] * 1.5, line["test"] * 0.5], ddof=1))
    assert " ± " in markup.markdown(markup.figures(table.build([row], tmp_path, corpus, [0, 1])))
    for seeds in ([0, 1, 2], [7]):
        with pytest.raises(InputError, match="though other seeds of mlp1 are there"):
            table.build([row], tmp_path, corpus, seeds)


def test_rows_of_another_table_join_and_keep_their_figures(built, tmp_path):
    built.iloc[:2].to_csv(tmp_path / "other.csv", index_label="name")
    joined = table.join(built.iloc[2:], [tmp_path / "other.csv"])
    assert joined["row"].tolist() == ["Kneser-Ney", "MLP1", "MLP2"]
    assert joined["test"].tolist() == [100, 70, 70]
    assert markup.markdown(markup.figures(joined)).count("\n") == 5
    for shown, above in ((built, ()), (built.iloc[2:], ["mlp2"])):
        with pytest.raises(InputError, match=r"other.csv has rows that this table has too: .*mlp2"):
            table.join(shown, [tmp_path / "other.csv"], above)
    with pytest.raises(InputError, match=r"no file .*nothing.csv"):
        table.join(built, [tmp_path / "nothing.csv"])
