"""Tables: ratios to the yardstick, and rows that come from another table."""

import pandas as pd
import pytest

from pipeline.core.errors import InputError
from pipeline.reporting import table


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
    return pd.DataFrame(both, columns=table.COLUMNS, index=["mlp1", "mlp2", "kn5"]).astype(
        dict.fromkeys(table.WHOLE, "Int64")
    )


def test_ratios_are_to_the_same_tokens_of_the_yardstick(built):
    ratios = table.ratios(built, "kn5")
    assert ratios["row"].tolist() == ["MLP1", "MLP2"]
    assert ratios.loc["mlp1", ["valid", "valid_seen", "paper_valid"]].tolist() == pytest.approx([0.8, 0.79, 0.85])
    assert ratios.loc["mlp1", ["test", "test_seen", "paper_test"]].tolist() == pytest.approx([0.7, 0.69, 0.75])
    assert ratios["reached"].tolist() == [True, False]
    assert table.ratios(built, "").empty
    assert "0.850" in table.ratio_markdown(ratios)


def test_rows_of_another_table_join_and_keep_their_figures(built, tmp_path):
    built.iloc[:2].to_csv(tmp_path / "other.csv", index=False)
    joined = table.join(built.iloc[2:], [tmp_path / "other.csv"])
    assert joined["row"].tolist() == ["Kneser-Ney", "MLP1", "MLP2"]
    assert joined["test"].tolist() == [100, 70, 70]
    assert table.markdown(joined).count("\n") == 5
    with pytest.raises(InputError, match=r"no file .*nothing.csv"):
        table.join(built, [tmp_path / "nothing.csv"])
