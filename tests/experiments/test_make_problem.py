"""Problems: the authors' inputs where there are any, the same rows and masks for all else."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from experiments import make_problem as module
from experiments.make_problem import make_problem, unit_scaled
from experiments.problem import Setting

HEART = Setting("heart", "mcar", 0.4, 0)
SETS = ("train", "holdout", "test")


def gaps(rows):
    return np.isnan(rows.X)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("repetition", [0, 9])
def test_australian_is_as_the_authors_have_it(rate, repetition, data_dir):
    problem = make_problem(Setting("australian", "mcar", rate, repetition), data_dir)
    table = pd.read_csv(data_dir / "australian.csv")
    y = table.pop("target").to_numpy()
    X = table.to_numpy(float)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    with np.load(data_dir / "australian_splits.npz") as authors:
        missing = authors["missing"][round(10 * rate) - 1, repetition]
        for name in SETS:
            rows = getattr(problem, name)
            np.testing.assert_allclose(rows.truth, X[authors[name][repetition]], atol=1e-15)
            np.testing.assert_array_equal(rows.y, y[authors[name][repetition]])
    np.testing.assert_array_equal(gaps(problem.train), missing)
    assert not gaps(problem.holdout).any()
    assert not gaps(problem.test).any()


def test_other_rates_and_mechanisms_take_the_authors_rows_with_our_masks(data_dir):
    setting = Setting("australian", "mcar", 0.25, 0)
    theirs = make_problem(replace(setting, missing_rate=0.2), data_dir)
    for other in (setting, replace(setting, mechanism="mnar", missing_rate=0.2)):
        problem = make_problem(other, data_dir)
        np.testing.assert_array_equal(problem.train.truth, theirs.train.truth)
        assert gaps(problem.train).sum() == round(276 * 14 * other.missing_rate)
    assert not np.array_equal(gaps(problem.train), gaps(theirs.train))


@pytest.mark.parametrize("mechanism", ["mcar", "mar", "mnar"])
def test_known_cells_are_the_truth_and_the_count_is_exact(mechanism, data_dir):
    problem = make_problem(replace(HEART, mechanism=mechanism, held_out="amputed"), data_dir)
    for name in SETS:
        rows = getattr(problem, name)
        observed = ~gaps(rows)
        np.testing.assert_array_equal(rows.X[observed], rows.truth[observed])
        assert not np.isnan(rows.truth).any()
        assert gaps(rows).sum() == round(rows.X.size * 0.4)


def test_amputed_held_out_rows_keep_the_columns_that_decide(data_dir):
    problem = make_problem(replace(HEART, mechanism="mar", held_out="amputed"), data_dir)
    kept = [tuple(~gaps(getattr(problem, name)).any(axis=0)) for name in SETS]
    assert kept[0] == kept[1] == kept[2]
    assert sum(kept[0]) == 13 // 3


@pytest.mark.parametrize("mechanism", ["mcar", "mar", "mnar"])
def test_masks_depend_neither_on_scaling_nor_on_the_held_out_rows(mechanism, data_dir):
    base = replace(HEART, mechanism=mechanism)
    first = gaps(make_problem(base, data_dir).train)
    for other in (replace(base, scaling="train"), replace(base, held_out="amputed")):
        np.testing.assert_array_equal(gaps(make_problem(other, data_dir).train), first)
    for other in (replace(base, repetition=1), replace(base, missing_rate=0.41)):
        assert not np.array_equal(gaps(make_problem(other, data_dir).train), first)


def test_readings_of_a_table_are_compared_on_the_same_rows(data_dir):
    kept, missing = (
        make_problem(Setting(f"pima[zeros={zeros}]", "mcar", 0.4, 0), data_dir)
        for zeros in ("kept", "missing")
    )
    np.testing.assert_array_equal(kept.train.y, missing.train.y)
    # Zeros of the first column, pregnancies, are never gaps.
    np.testing.assert_array_equal(kept.test.truth[:, 0], missing.test.truth[:, 0])


def test_inherent_gaps_stay_everywhere_and_no_truth_is_known(data_dir):
    problem = make_problem(Setting("horse", "inherent", 0.0, 0), data_dir)
    total = 0
    for name in SETS:
        rows = getattr(problem, name)
        np.testing.assert_array_equal(rows.X, rows.truth)
        total += gaps(rows).sum()
    assert total == 2719


def test_the_tables_own_gaps_count_and_stay_in_held_out_rows(data_dir):
    problem = make_problem(Setting("cylinder", "mcar", 0.3, 0), data_dir)
    assert gaps(problem.train).sum() == round(problem.train.X.size * 0.3)
    assert np.isnan(problem.train.truth).any()
    np.testing.assert_array_equal(gaps(problem.test), np.isnan(problem.test.truth))
    assert gaps(problem.test).any()


def test_scaling_by_all_rows_spans_the_unit_interval_over_all_of_them(data_dir):
    problem = make_problem(HEART, data_dir)
    everything = np.vstack([getattr(problem, name).truth for name in SETS])
    np.testing.assert_array_equal(everything.min(axis=0), 0.0)
    np.testing.assert_array_equal(everything.max(axis=0), 1.0)


def test_scaling_by_training_cells_spans_it_over_the_observed_ones(data_dir):
    problem = make_problem(replace(HEART, scaling="train"), data_dir)
    np.testing.assert_array_equal(np.nanmin(problem.train.X, axis=0), 0.0)
    np.testing.assert_array_equal(np.nanmax(problem.train.X, axis=0), 1.0)
    assert problem.train.truth.max() > 1.0


def test_columns_without_a_range_become_one_half():
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


def test_drawn_tables_change_with_the_repetition():
    first, second = (make_problem(Setting("moons", "mcar", 0.2, r), None) for r in (0, 1))
    assert not np.array_equal(np.sort(first.train.truth, axis=0), np.sort(second.train.truth, 0))
