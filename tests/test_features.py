"""Features from co-occurrences."""

import numpy as np
import pytest
from conftest import noised, settings

from pipeline import features as stage
from pipeline.core.beyond import cooccurrence
from pipeline.core.beyond.nearest import nearest


def test_they_are_the_svd_of_the_counts_of_words_at_places():
    stream = np.array([1, 2, 1, 3, 0, 2, 3, 3, 1, 0, 2, 2], dtype=np.int32)
    places = (-1, 1, -2, 2)
    counts = np.zeros((4, 16))
    for t, word in enumerate(stream):
        for k, place in enumerate(places):
            if 0 <= t + place < len(stream):
                counts[word, 4 * k + stream[t + place]] += 1
    left, values, _ = np.linalg.svd(np.log1p(counts))
    expected = left[:, :2] * np.sqrt(values[:2])
    features = cooccurrence.features(stream, 4, 2, 16, 2)
    assert features.dtype == np.float32
    assert abs(features) == pytest.approx(abs(expected), abs=1e-4)  # the sign of a vector is free
    assert np.array_equal(features, cooccurrence.features(stream, 4, 2, 16, 2))


def test_the_stage_counts_training_alone(few, tmp_path):
    files = []
    for data in (few, noised(few, tmp_path / "noised", "valid", "test")):
        places = [f"data={data}", f"out={tmp_path}/out", f"timing={tmp_path}/timing.json"]
        stage.main(settings("features", "m=2", "contexts=50", *places))
        files.append((tmp_path / "out" / "features.npy").read_bytes())
    assert files[0] == files[1]


def test_nearest_are_those_of_the_largest_cosine():
    features = np.array([[1, 0], [2, 0.1], [0, 1], [-1, 0], [0, 0]])
    ids, cosines = nearest(features, 0, 3, np.array([True, True, True, True, False]))
    assert ids.tolist() == [1, 2, 3]
    assert cosines == pytest.approx([2 / np.hypot(2, 0.1), 0, -1])
    assert nearest(features, 0, 9, np.array([True, True, False, False, False]))[0].tolist() == [1]
