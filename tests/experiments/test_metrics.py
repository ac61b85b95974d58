"""Scores against scikit-learn's, closed forms, and the published row of class separation."""

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


def test_accuracies_are_scikit_learns():
    scores = prediction_scores(Model(), ROWS)
    assert scores["accuracy"] == 5 / 6
    expected = balanced_accuracy_score(Y, Model().predict(ROWS.X))
    assert scores["balanced_accuracy"] == pytest.approx(expected)
    assert math.isnan(scores["auc"]) and math.isnan(scores["log_loss"])


@pytest.mark.parametrize(
    ("model", "auc", "loss"),
    [
        (Deciding(), roc_auc_score(Y, SCORES), math.nan),
        (Both(), roc_auc_score(Y, SCORES), log_loss(Y, PROBABILITIES)),
        (Probable(), roc_auc_score(Y, PROBABILITIES[:, 1]), log_loss(Y, PROBABILITIES)),
    ],
)
def test_curves_take_decision_values_first_and_losses_need_probabilities(model, auc, loss):
    scores = prediction_scores(model, ROWS)
    np.testing.assert_allclose([scores["auc"], scores["log_loss"]], [auc, loss])


def test_rows_of_one_class_and_classes_that_training_lacked_have_a_log_loss_only():
    ones = prediction_scores(Both(), Rows(ROWS.X, ROWS.truth, np.ones(6, dtype=int)))
    assert ones["log_loss"] == pytest.approx(-np.log(PROBABILITIES[:, 1]).mean())
    new = prediction_scores(Both(), Rows(ROWS.X, ROWS.truth, np.r_[2, Y[1:]]))
    assert new["log_loss"] > 5.0 and math.isnan(ones["auc"]) and math.isnan(new["auc"])


def test_filled_cells_are_compared_with_the_removed_truth_alone():
    truth = np.array([[0.0, 0.5], [1.0, np.nan], [0.5, 0.5]])
    X = np.array([[np.nan, 0.5], [np.nan, np.nan], [0.5, np.nan]])
    # The first column's values are swapped: each is off by 1, their distribution is not.
    filled = np.array([[1.0, 0.5], [0.0, 0.9], [0.5, 0.3]])
    scores = filling_scores(filled, Rows(X, truth, np.array([0, 1, 0])))
    assert scores["mae"] == pytest.approx((1.0 + 1.0 + 0.2) / 3)
    assert scores["rmse"] == pytest.approx(np.sqrt((1.0 + 1.0 + 0.04) / 3))
    assert scores["wasserstein"] == pytest.approx((0.0 + 0.2) / 2)
    known = Rows(truth, truth, np.array([0, 1, 0]))
    for nothing in (filling_scores(None, known), filling_scores(filled, known)):
        assert all(map(math.isnan, nothing.values()))


def test_separation_by_hand():
    X = np.array([[0.0, 0.0], [0.0, 2.0], [3.0, 4.0], [5.0, 4.0]])
    scores = separation_scores(X, np.array([0, 0, 1, 1]))
    expected = {"icd": 5.0, "fdr": 25 / 2, "scatter_ratio": 25 / 4, "chi": 25 / 2, "dbi": 2 / 5}
    assert scores == pytest.approx(expected)
    assert all(map(math.isnan, separation_scores(None, np.array([0, 1])).values()))


def test_the_published_row_of_mean_imputation_on_australian(data_dir):
    table = np.loadtxt(data_dir / "australian.csv", delimiter=",", skiprows=1)
    X, y = table[:, :-1], table[:, -1]
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    splits = np.load(data_dir / "australian_splits.npz")
    rate = int(np.flatnonzero(np.isclose(splits["missing_rate"], 0.5))[0])
    found = []
    for repetition in range(8):
        train = splits["train"][repetition]
        rows = np.where(splits["missing"][rate, repetition], np.nan, X[train])
        filled = np.where(np.isnan(rows), np.nanmean(rows, axis=0), rows)
        found.append(list(separation_scores(filled, y[train]).values()))
    icd, fdr, _, chi, dbi = np.mean(found, axis=0)
    assert (f"{icd:.4f}", f"{fdr:.4f}", f"{chi:.3f}", f"{dbi:.4f}") == (
        "0.4329",
        "0.1608",
        "21.655",
        "3.4165",
    )
