"""Candidates: that each runs on a table with gaps, and that what is printed makes it again."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import FunctionTransformer

from kernimpute.comparison.candidates import FILLINGS, LEARNERS, candidates_of, python_of

TASKS = ("classification", "regression")


def all_of(task, methods=None, own=None, n_rows=100):
    return candidates_of(task, methods, own or {}, n_rows, 2, 1, seed=0)


def mixed_table(task, n_rows=60):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 2))
    X[rng.random(X.shape) < 0.3] = np.nan
    table = pd.DataFrame(X, columns=["a", "b"])
    table["c"] = pd.Categorical(
        np.where(rng.random(n_rows) < 0.2, None, rng.choice([*"uvw"], n_rows))
    )
    return table, np.arange(60) % 2 if task == "classification" else np.linspace(0.0, 1.0, 60)


def made_again(estimator):
    names = {}
    exec(python_of(estimator), names)
    return names["model"]


@pytest.mark.parametrize("task", TASKS)
def test_what_is_printed_makes_the_candidate_again(task):
    for candidate in all_of(task)[0]:
        assert python_of(made_again(candidate.estimator)) == python_of(candidate.estimator)
    table, y = mixed_table(task)
    for candidate in all_of(task, ["means+indicators", *LEARNERS, "unfilled"])[0]:
        own, again = candidate.estimator.fit(table, y), made_again(candidate.estimator)
        assert np.array_equal(own.predict(table), again.fit(table, y).predict(table))


@pytest.mark.parametrize("task", TASKS)
def test_every_filling_gives_a_matrix_without_gaps(task):
    table, y = mixed_table(task)
    shapes = {}
    for candidate in all_of(task, [*FILLINGS])[0]:
        filling = clone(candidate.estimator[:-1])
        matrix = filling.fit_transform(table[:50], y[:50])
        assert np.isfinite(matrix).all()
        assert np.isfinite(filling.transform(table[50:])).all()
        shapes[candidate.filling] = matrix.shape[1]
    assert {shapes[name] for name in FILLINGS if "indicators" not in name} == {5}
    assert shapes["means+indicators"] == 2 + 2 + 4
    assert shapes["joint+indicators"] > 5


def test_the_simplest_candidate_is_first_and_names_choose():
    for methods, names in (
        (["joint"], "means, linear|joint, linear"),
        (["knn", "boosting"], "means, linear|knn, linear|means, boosting|knn, boosting"),
    ):
        assert "|".join(one.name for one in all_of("classification", methods)[0]) == names
    own = {"mine": LogisticRegression()}
    assert all_of("classification", ["means"], own)[0][-1].is_own


def test_what_grows_with_the_square_of_the_rows_is_left_out_by_name():
    candidates, cautions = all_of("classification", n_rows=2001)
    assert not {"guided", "svm"} & {part for one in candidates for part in one.name.split(", ")}
    assert cautions == [
        "svm and guided left out, because the table has more than 2000 rows and their time grows "
        "with the square of the rows"
    ]


@pytest.mark.parametrize(
    ("methods", "own", "message"),
    [
        (["mean"], {}, "The 'methods' parameter of compare must be made of 'means', .*Got 'mean'"),
        (None, {"x": FunctionTransformer()}, "of estimators with fit and predict_proba"),
        (None, {"svm": LogisticRegression()}, "must be named otherwise. Got 'svm'"),
        (None, {"means, linear": LogisticRegression()}, "named otherwise. Got 'means, linear'"),
    ],
)
def test_unknown_candidates_are_refused(methods, own, message):
    with pytest.raises(ValueError, match=message):
        all_of("classification", methods, own)
