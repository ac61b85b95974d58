"""The kinds of experiments: what a unit of work is, and the rows that it leaves."""

import math
from itertools import product

import numpy as np
import pytest
from sklearn.decomposition import PCA

from experiments.config import MODELS, load_config
from experiments.kinds import classification, convergence, moons, pca, recovery
from experiments.make_problem import make_problem
from experiments.methods.candidates import choose
from experiments.methods.named import method
from experiments.metrics import prediction_scores
from experiments.problem import Setting
from kernimpute import impute
from kernimpute.kernels import Gaussian

KINDS = {
    "classification": {"datasets": ("australian", "heart"), "missing_rates": (0.2, 0.6)},
    "convergence": {"dataset": "heart", "missing_rate": 0.4, "C": 2.0, "gamma": 0.25},
    "pca": {"dataset": "heart", "missing_rate": 0.5},
    "recovery": {"dataset": "heart", "gammas": (1.0, 32.0), "missing_rates": (0.1, 0.9)},
}


def config_of(kind, *methods, repetitions=1):
    given = {"name": "trial", "kind": kind, "description": "A trial.", "repetitions": repetitions}
    if methods:
        given["methods"] = [{"name": name} for name in methods]
    return MODELS[kind].model_validate(given | KINDS[kind])


def test_rows_are_the_scores_of_what_the_rules_select(data_dir):
    config = config_of("classification", "mean+svc")
    unit = Setting("australian", "mcar", 0.6, 0).axes
    plain, released = classification.rows(config, unit, "mean+svc", data_dir)
    assert (plain["rule"], released["rule"]) == ("plain", "released")
    assert set(plain) == set(classification.columns)
    assert math.isnan(plain["log_loss"])
    problem = make_problem(Setting(**unit), data_dir)
    compared = method("mean+svc")
    chosen = choose(compared.candidates(problem), problem, compared.rules)
    for row in (plain, released):
        selected = chosen[row["rule"]]
        scores = prediction_scores(selected.candidate.model, problem.test)
        assert row["accuracy"] == scores["accuracy"]
        assert row["holdout_accuracy"] == selected.holdout_accuracy
        assert row["train_accuracy"] == selected.candidate.train_accuracy


def test_a_rule_that_no_setting_meets_is_a_failed_row(monkeypatch):
    monkeypatch.setattr(classification, "choose", lambda candidates, problem, rules: {})
    unit = Setting("synthetic[n=40]", "mcar", 0.2, 0).axes
    rows = classification.rows(config_of("classification", "mean+svc"), unit, "mean+svc", None)
    assert [row["status"] for row in rows] == ["failed"] * 2
    assert [row["rule"] for row in rows] == ["plain", "released"]


def test_rows_are_the_rounds_of_the_variant(data_dir):
    config = config_of("convergence", "direct")
    rows = convergence.rows(config, convergence.units(config)[0], "direct", data_dir)
    assert {name for row in rows for name in row} == set(convergence.columns)
    train = make_problem(Setting("heart", "mcar", 0.4, 0), data_dir).train
    result = impute(train.X, train.y, variant="direct", kernel=Gaussian(0.25), C=2.0)
    objectives = np.array([row["objective"] for row in rows])
    np.testing.assert_array_equal(objectives, result.trace.column("objective"))
    differences = [row["difference"] for row in rows]
    assert np.isnan(differences[0]) and len(rows) > 2
    np.testing.assert_array_equal(differences[1:], np.diff(objectives))


@pytest.mark.parametrize("method", ["mean", "direct", "anchored"])
def test_only_the_missing_cells_of_the_moons_differ_from_the_truth(method):
    config = load_config("moons")
    rows = moons.rows(config, moons.units(config)[0], method, None)
    points, grid = ([row for row in rows if row["what"] == what] for what in ("point", "grid"))
    assert (len(points), len(grid)) == (config.n_samples, config.grid**2)
    holed = [row for row in points if row["missing_column"] is not None]
    assert len(holed) == config.n_missing
    means = [
        np.mean([row[f"true_{c}"] for row in points if row["missing_column"] != c - 1])
        for c in (1, 2)
    ]
    for row, c in product(points, (1, 2)):
        if row["missing_column"] != c - 1:
            assert row[f"x_{c}"] == row[f"true_{c}"]
        elif method == "mean":
            assert row[f"x_{c}"] == pytest.approx(means[c - 1])
    right = [(row["decision"] > 0) == (row["label"] == 1) for row in points]
    assert np.mean(right) > 0.8
    assert min(row["decision"] for row in grid) < 0.0 < max(row["decision"] for row in grid)


@pytest.mark.parametrize("method", ["complete", "mean+logistic"])
def test_rows_are_seen_in_the_plane_of_the_complete_ones(method, data_dir):
    config = config_of("pca", method)
    rows = pca.rows(config, pca.units(config)[0], method, data_dir)
    assert all(set(row) == set(pca.columns) for row in rows)
    seen = np.array([[row["component_1"], row["component_2"]] for row in rows])
    train = make_problem(Setting("heart", "mcar", 0.5, 0), data_dir).train
    filled = np.where(np.isnan(train.X), np.nanmean(train.X, axis=0), train.X)
    plane = PCA(n_components=2, svd_solver="full").fit(train.truth)
    expected = plane.transform(train.truth if method == "complete" else filled)
    np.testing.assert_allclose(np.abs(seen), np.abs(expected), atol=1e-10)


def test_features_come_back_from_the_exact_kernel(data_dir):
    config = config_of("recovery")
    units = recovery.units(config)
    assert len({tuple(unit.values()) for unit in units}) == 4
    for unit in units:
        (row,) = recovery.rows(config, unit, "recover_features", data_dir)
        assert set(row) - set(recovery.columns) == {"seconds", "seed"}
        assert 0.0 < row["feature_error_mean"] <= row["feature_error_max"] <= 1e-8
        assert 0.0 < row["gram_error_mean"] <= row["gram_error_max"] <= 1e-8


@pytest.mark.parametrize(
    ("module", "kind", "method", "message"),
    [
        (convergence, "convergence", "mean", "must be one of: direct, .*; got 'mean'"),
        (pca, "pca", "hgb+indicators", "A method of pca must fill .*; got 'hgb\\+indicators'"),
        (pca, "pca", "median+svc", "'median'"),
        (recovery, "recovery", "x", "must be one of: recover_features; got 'x'"),
    ],
)
def test_a_method_of_another_kind_is_refused(module, kind, method, message):
    with pytest.raises(ValueError, match=message):
        module.units(config_of(kind, method))
