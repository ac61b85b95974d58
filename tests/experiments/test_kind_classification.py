from __future__ import annotations

import json
import math
from itertools import product

import numpy as np
import pytest
from sklearn.metrics import accuracy_score
from sklearn.svm import SVC

from experiments.config import ClassificationConfig
from experiments.kinds import classification
from experiments.make_problem import make_problem
from experiments.problem import Setting
from tests.experiments.small_problem import small_problem

CONFIG = ClassificationConfig(
    name="made",
    kind="classification",
    description="Two tables.",
    methods=({"name": "mean+svc"}, {"name": "direct+own"}),
    datasets=("australian", "heart"),
    missing_rates=(0.2, 0.6),
    repetitions=2,
)
GRID = 2.0 ** np.arange(-5, 6)


@pytest.fixture
def made(monkeypatch):
    """Give a small problem for any setting, and count how often it is asked for."""
    asked = []

    def make(setting, data_dir):
        asked.append(setting)
        return small_problem()

    monkeypatch.setattr(classification, "make_problem", make)
    classification._problem.cache_clear()
    yield asked
    classification._problem.cache_clear()


def test_units_are_the_settings_repetition_by_repetition():
    units = classification.units(CONFIG)
    assert len(units) == 2 * 2 * 2
    assert units[0] == Setting("australian", "mcar", 0.2, 0).axes
    assert [unit["repetition"] for unit in units] == [0] * 4 + [1] * 4
    assert len({json.dumps(unit) for unit in units}) == 8


def test_a_row_holds_the_columns_for_each_rule(made):
    unit = classification.units(CONFIG)[0]
    plain, released = classification.rows(CONFIG, unit, "mean+svc", None)
    assert (plain["rule"], released["rule"]) == ("plain", "released")
    assert set(plain) == set(classification.columns)
    assert set(json.loads(plain["parameters"])) == {"C", "gamma"}
    assert math.isnan(plain["log_loss"])
    (ours,) = classification.rows(CONFIG, unit, "direct+own", None)
    assert ours["solver_status"] == "CONVERGED"
    assert made == [Setting(**unit)]


def test_a_rule_that_nothing_passes_is_a_failed_row(made, monkeypatch):
    def nothing_released(candidates, problem, rules):
        return {}

    monkeypatch.setattr(classification, "choose", nothing_released)
    rows = classification.rows(CONFIG, classification.units(CONFIG)[0], "mean+svc", None)
    assert [(row["status"], row["rule"]) for row in rows] == [
        ("failed", "plain"),
        ("failed", "released"),
    ]
    assert all("training accuracy" in row["reason"] for row in rows)


def test_mean_imputation_is_an_explicit_grid_search_on_the_authors_split(data_dir):
    unit = Setting("australian", "mcar", 0.6, 0).axes
    plain, released = classification.rows(CONFIG, unit, "mean+svc", data_dir)
    problem = make_problem(Setting(**unit), data_dir)
    train = np.where(
        np.isnan(problem.train.X), np.nanmean(problem.train.X, axis=0), problem.train.X
    )
    results = []
    for C, gamma in product(GRID, GRID):
        machine = SVC(C=C, gamma=gamma).fit(train, problem.train.y)
        results.append(
            [
                accuracy_score(part.y, machine.predict(X))
                for part, X in (
                    (problem.holdout, problem.holdout.X),
                    (problem.train, train),
                    (problem.test, problem.test.X),
                )
            ]
        )
    holdout, training, test = np.array(results).T
    best = holdout.argmax()
    assert (plain["holdout_accuracy"], plain["train_accuracy"]) == (holdout[best], training[best])
    assert plain["accuracy"] == test[best]
    passing = np.where(training > holdout, holdout, -1.0)
    assert released["accuracy"] == test[passing.argmax()]
    assert released["holdout_accuracy"] == passing.max()


def test_mean_imputation_separates_the_classes_as_published(data_dir):
    """The paper's row of mean imputation on australian at 50 %, over the authors' eight."""
    rows = []
    for repetition in range(8):
        unit = Setting("australian", "mcar", 0.5, repetition).axes
        rows.append(classification.rows(CONFIG, unit, "mean+logistic", data_dir)[0])
    means = {key: np.mean([row[key] for row in rows]) for key in ("icd", "fdr", "chi", "dbi")}
    assert round(means["icd"], 4) == 0.4329
    assert round(means["fdr"], 4) == 0.1608
    assert round(means["chi"], 3) == 21.655
    assert round(means["dbi"], 4) == 3.4165
