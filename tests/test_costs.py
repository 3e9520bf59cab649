"""Times of stages, gathered into reports/costs.csv."""

import json

from pipeline.reporting import costs

COSTS = """table,stage,item,seconds,words_per_second,peak_memory_mb
table1,mix,mix-mlp1-mixed-0,6.0,,
table1,train,train-mlp1-0,600.0,9000.0,512.4
table1,train,train-mlp3-0,300.0,,300.0
table2,ngram,ngram-kn5,66.0,,2384.7
"""


def test_costs_are_gathered_from_what_ran_here_and_summed_by_stage(tmp_path):
    """Of what did not run here, the line that was there is kept."""
    (tmp_path / "costs.csv").write_text(COSTS)
    (tmp_path / "timings" / "table1").mkdir(parents=True)
    spent = {"stage": "train", "name": "mlp1", "seed": 0, "seconds": 600.04, "words_per_second": 18000, "cores": 2}
    (tmp_path / "timings" / "table1" / "train-mlp1-0.json").write_text(json.dumps(spent))
    gathered = costs.gather(tmp_path / "timings", tmp_path / "costs.csv")
    assert len(gathered) == 4
    assert gathered.set_index("item").loc["train-mlp1-0", ["seconds", "words_per_second"]].tolist() == [600.0, 18000]
    longest = costs.by_stage(gathered).iloc[0]
    assert longest[["table", "stage", "items", "seconds", "longest"]].tolist() == [
        "table1",
        "train",
        2,
        900,
        "train-mlp1-0",
    ]
