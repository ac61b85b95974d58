from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score

from experiments.metrics import filling_scores, prediction_scores, separation_scores
from experiments.problem import Rows

Y = np.array([0, 1, 1, 0, 1, 1])
ROWS = Rows(np.linspace(0, 1, 6)[:, None], np.linspace(0, 1, 6)[:, None], Y)
SCORES = np.array([-1.0, 0.5, -0.2, -0.4, 2.0, 1.0])
PROBABILITIES = np.array([[0.8, 0.2], [0.4, 0.6], [0.7, 0.3], [0.6, 0.4], [0.1, 0.9], [0.5, 0.5]])


class Model:
    classes_ = np.array([0, 1])

    def predict(self, X):
        return (SCORES > 0).astype(int)


class Deciding(Model):
    def decision_function(self, X):
        return SCORES


class Probable(Model):
    def predict_proba(self, X):
        return PROBABILITIES


class Both(Deciding, Probable):
    pass


def test_accuracies_are_scikit_learn_s():
    scores = prediction_scores(Model(), ROWS)
    assert scores["accuracy"] == 5 / 6
    expected = balanced_accuracy_score(Y, Model().predict(ROWS.X))
    assert scores["balanced_accuracy"] == pytest.approx(expected)
    assert math.isnan(scores["auc"]) and math.isnan(scores["log_loss"])


def test_the_area_under_the_curve_takes_decision_values_before_probabilities():
    assert prediction_scores(Deciding(), ROWS)["auc"] == roc_auc_score(Y, SCORES)
    assert prediction_scores(Both(), ROWS)["auc"] == roc_auc_score(Y, SCORES)
    by_probability = roc_auc_score(Y, PROBABILITIES[:, 1])
    assert prediction_scores(Probable(), ROWS)["auc"] == by_probability


def test_the_log_loss_needs_probabilities():
    assert math.isnan(prediction_scores(Deciding(), ROWS)["log_loss"])
    assert prediction_scores(Both(), ROWS)["log_loss"] == log_loss(Y, PROBABILITIES)


def test_rows_of_one_class_have_no_curve_but_a_log_loss():
    ones = Rows(ROWS.X, ROWS.truth, np.ones(6, dtype=int))
    scores = prediction_scores(Both(), ones)
    assert math.isnan(scores["auc"])
    assert scores["log_loss"] == pytest.approx(-np.log(PROBABILITIES[:, 1]).mean())
    assert scores["balanced_accuracy"] == scores["accuracy"]


def test_a_class_that_training_lacked_has_probability_zero():
    y = Y.copy()
    y[0] = 2
    scores = prediction_scores(Both(), Rows(ROWS.X, ROWS.truth, y))
    assert scores["log_loss"] > 5.0
    assert math.isnan(scores["auc"])


def test_three_classes_are_each_held_against_the_rest():
    y = np.array([0, 1, 2, 0, 1, 2])
    probabilities = np.random.default_rng(0).dirichlet(np.ones(3), size=6)

    class Three:
        classes_ = np.array([0, 1, 2])

        def predict(self, X):
            return probabilities.argmax(axis=1)

        def predict_proba(self, X):
            return probabilities

    scores = prediction_scores(Three(), Rows(ROWS.X, ROWS.truth, y))
    assert scores["auc"] == roc_auc_score(y, probabilities, multi_class="ovr")


def test_filled_cells_are_held_against_the_removed_truth_alone():
    truth = np.array([[0.0, 0.5], [1.0, np.nan], [0.5, 0.5]])
    X = np.array([[np.nan, 0.5], [np.nan, np.nan], [0.5, np.nan]])
    filled = np.array([[0.5, 0.5], [0.5, 0.9], [0.5, 0.3]])
    scores = filling_scores(filled, Rows(X, truth, np.array([0, 1, 0])))
    assert scores["mae"] == pytest.approx((0.5 + 0.5 + 0.2) / 3)
    assert scores["rmse"] == pytest.approx(np.sqrt((0.25 + 0.25 + 0.04) / 3))
    assert scores["wasserstein"] == pytest.approx((0.5 + 0.2) / 2)


def test_nothing_filled_or_nothing_known_has_no_error():
    X = np.array([[0.0, 0.5], [1.0, np.nan]])
    rows = Rows(X, X, np.array([0, 1]))
    for scores in (filling_scores(None, rows), filling_scores(np.zeros((2, 2)), rows)):
        assert all(map(math.isnan, scores.values()))


def test_separation_is_that_of_the_filled_table():
    X = np.array([[0.0, 0.0], [0.0, 2.0], [3.0, 4.0], [5.0, 4.0]])
    y = np.array([0, 0, 1, 1])
    scores = separation_scores(X, y)
    assert scores["icd"] == pytest.approx(5.0)
    # Within each class a variance of 1 along one column.
    assert scores["fdr"] == pytest.approx(25.0 / 2.0)
    assert scores["scatter_ratio"] == pytest.approx(25.0 / 4.0)
    assert scores["chi"] == pytest.approx(scores["scatter_ratio"] * (4 - 2) / (2 - 1))
    assert scores["dbi"] == pytest.approx(2.0 / 5.0)
    assert all(map(math.isnan, separation_scores(None, y).values()))
