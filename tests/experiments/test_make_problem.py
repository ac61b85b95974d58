"""Problems: the authors' splits and masks where there are any, reproducible ones for all else."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from experiments import make_problem as module
from experiments.make_problem import authors_mask, make_problem, split_rows, unit_scaled
from experiments.problem import Setting

HEART = Setting("heart", "mcar", 0.4, 0)
SETS = ("train", "holdout", "test")


def gaps(rows):
    return np.isnan(rows.X)


@pytest.mark.parametrize("n_rows", [10, 276, 4898])
def test_a_split_is_a_partition_by_floor_cuts(n_rows):
    split = split_rows("heart", n_rows, 0, "authors", None)
    assert sorted(np.concatenate(split)) == list(range(n_rows))
    assert [len(part) for part in split[:2]] == [n_rows * 4 // 10, n_rows * 3 // 10]


@pytest.mark.parametrize("repetition", [0, 9])
@pytest.mark.parametrize("rate", [0.1, 0.8])
def test_australian_is_as_the_authors_have_it(rate, repetition, data_dir):
    problem = make_problem(Setting("australian", "mcar", rate, repetition), data_dir)
    table = pd.read_csv(data_dir / "australian.csv")
    y = table.pop("target").to_numpy()
    X = table.to_numpy(float)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    with np.load(data_dir / "australian_splits.npz") as authors:
        missing = authors["missing"][round(10 * rate) - 1, repetition]
        places = [authors[name][repetition] for name in SETS]
        assert sorted(np.concatenate(places)) == list(range(690))
        for name, place in zip(SETS, places, strict=True):
            np.testing.assert_allclose(getattr(problem, name).truth, X[place], atol=1e-15)
            np.testing.assert_array_equal(getattr(problem, name).y, y[place])
    np.testing.assert_array_equal(gaps(problem.train), missing)
    assert missing.sum() == round(276 * 14 * rate)
    assert not gaps(problem.holdout).any() and not gaps(problem.test).any()


def test_other_rates_and_mechanisms_take_the_authors_rows_with_our_masks(data_dir):
    assert authors_mask(2, 0.25, data_dir) is None
    setting = Setting("australian", "mcar", 0.25, 0)
    theirs = make_problem(replace(setting, missing_rate=0.2), data_dir)
    for other in (setting, replace(setting, mechanism="mnar", missing_rate=0.2)):
        problem = make_problem(other, data_dir)
        np.testing.assert_array_equal(problem.train.truth, theirs.train.truth)
        assert gaps(problem.train).sum() == round(276 * 14 * other.missing_rate)
        assert not np.array_equal(gaps(problem.train), gaps(theirs.train))


@pytest.mark.parametrize("mechanism", ["mcar", "mar", "mnar"])
def test_masks_leave_the_truth_and_depend_on_mechanism_rate_and_repetition_alone(
    mechanism, data_dir
):
    base = replace(HEART, mechanism=mechanism, held_out="amputed")
    problem = make_problem(base, data_dir)
    for rows in (problem.train, problem.holdout, problem.test):
        observed = ~gaps(rows)
        np.testing.assert_array_equal(rows.X[observed], rows.truth[observed])
        assert (~observed).sum() == round(rows.X.size * 0.4)
    if mechanism == "mar":
        kept = [tuple(~gaps(getattr(problem, name)).any(axis=0)) for name in SETS]
        assert kept[0] == kept[1] == kept[2] and sum(kept[0]) == 13 // 3
    for other in (replace(base, scaling="train"), replace(base, held_out="complete")):
        np.testing.assert_array_equal(
            gaps(make_problem(other, data_dir).train), gaps(problem.train)
        )
    for other in (replace(base, repetition=1), replace(base, missing_rate=0.41)):
        assert not np.array_equal(gaps(make_problem(other, data_dir).train), gaps(problem.train))


def test_the_tables_own_gaps_count_and_stay(data_dir):
    horse = make_problem(Setting("horse", "inherent", 0.0, 0), data_dir)
    assert sum(gaps(getattr(horse, name)).sum() for name in SETS) == 2719
    problem = make_problem(Setting("cylinder", "mcar", 0.3, 0), data_dir)
    assert gaps(problem.train).sum() == round(problem.train.X.size * 0.3)
    np.testing.assert_array_equal(gaps(problem.test), np.isnan(problem.test.truth))
    assert gaps(problem.test).any()


def test_columns_are_scaled_by_all_rows_or_by_the_observed_training_cells(data_dir):
    problem = make_problem(HEART, data_dir)
    everything = np.vstack([getattr(problem, name).truth for name in SETS])
    assert (everything.min(axis=0) == 0.0).all() and (everything.max(axis=0) == 1.0).all()
    problem = make_problem(replace(HEART, scaling="train"), data_dir)
    assert (np.nanmin(problem.train.X, axis=0) == 0.0).all()
    assert (np.nanmax(problem.train.X, axis=0) == 1.0).all()
    assert problem.train.truth.max() > 1.0
    nan = np.nan
    reference = np.array([[7.0, nan, 1.0], [7.0, nan, 3.0]])
    X = np.array([[7.0, 2.0, nan], [9.0, nan, 5.0]])
    np.testing.assert_array_equal(unit_scaled(X, reference), [[0.5, 0.5, nan], [0.5, nan, 2.0]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"missing_rate": 1.0}, r"must be in \[0, 1\); got 1.0"),
        ({"mechanism": "inherent"}, "under 'inherent' must be 0; got 0.4"),
        ({"repetition": -1}, "repetition must be at least 0; got -1"),
        ({"mechanism": "mar", "missing_rate": 0.8}, "0.692, with all that the mechanism can"),
    ],
)
def test_settings_of_no_problem_are_refused(change, message, data_dir):
    with pytest.raises(ValueError, match=message):
        make_problem(replace(HEART, **change), data_dir)


def test_training_rows_without_a_class_are_refused(monkeypatch):
    class_0_first = [np.arange(40), np.arange(40, 70), np.arange(70, 100)]
    monkeypatch.setattr(module, "split_rows", lambda *_: module.Split(*class_0_first))
    with pytest.raises(ValueError, match="must be of all classes; got none of class 1"):
        make_problem(Setting("synthetic[n=100]", "mcar", 0.2, 0), None)
