"""The splits: disjoint, complete, of the right sizes, and the authors' own."""

import shutil

import numpy as np
import pytest

from experiments.make_problem import authors_mask, split_rows


@pytest.mark.parametrize("n_rows", [10, 276, 690, 4898])
def test_a_split_is_a_partition_by_floor_cuts(n_rows):
    split = split_rows("heart", n_rows, 0, "hashed", None)
    assert sorted(np.concatenate(split)) == list(range(n_rows))
    assert [len(part) for part in split[:2]] == [n_rows * 4 // 10, n_rows * 3 // 10]


def test_splits_follow_table_and_repetition_not_the_options():
    def train(name, repetition):
        return split_rows(name, 100, repetition, "hashed", None).train.tolist()

    assert train("pima", 0) == train("pima[zeros=missing]", 0)
    assert train("pima", 0) != train("pima", 1)
    assert train("pima", 0) != train("heart", 0)


def test_the_authors_splits_are_partitions_too(data_dir):
    """Theirs has 206 holdout rows, not 207: .7 times 690 is below 483 in floating point."""
    for repetition in range(10):
        split = split_rows("australian", 690, repetition, "authors", data_dir)
        assert sorted(np.concatenate(split)) == list(range(690))
        assert [len(part) for part in split] == [276, int(0.7 * 690) - 276, 208]


def test_other_tables_are_hashed_where_the_authors_are_asked_for():
    split = split_rows("heart", 270, 3, "authors", None)
    np.testing.assert_array_equal(split.train, split_rows("heart", 270, 3, "hashed", None).train)


def test_the_authors_masks_remove_exactly_the_share(data_dir):
    for rate in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        observed = authors_mask(2, rate, data_dir)
        assert (~observed).sum() == round(276 * 14 * rate)
    assert authors_mask(2, 0.25, data_dir) is None


def test_what_the_authors_lack_is_refused(data_dir, tmp_path):
    with pytest.raises(ValueError, match=r"must be in 0 \.\.\. 9; got 10\.$"):
        split_rows("australian", 690, 10, "authors", data_dir)
    shutil.copy(data_dir / "australian_splits.npz", tmp_path)
    for folder in (None, tmp_path):
        with pytest.raises(FileNotFoundError, match="beside australian.csv.*or be replaced by"):
            split_rows("australian", 690, 0, "authors", folder)
