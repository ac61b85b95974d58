from __future__ import annotations

import numpy as np
import pytest
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

from experiments.methods import fillers
from experiments.methods.candidates import kept
from experiments.methods.fillers import IMPUTERS, LabelAppended, imputer_filling
from experiments.methods.filling import filling_by, with_indicators
from experiments.methods.named import method
from experiments.naming import positive_number
from tests.experiments.small_problem import small_problem

QUICK = [name for name in IMPUTERS if name != "newimp"]


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.parametrize("held_out", ["complete", "amputed"])
@pytest.mark.parametrize("empty_column", [False, True])
def test_all_gaps_are_filled_and_observed_cells_stay(name, held_out, empty_column):
    problem = small_problem(held_out=held_out, empty_column=empty_column)
    filling = imputer_filling(problem, name)
    for before, after in (
        (problem.train.X, filling.train),
        (problem.holdout.X, filling.new_rows(problem.holdout.X)),
        (problem.test.X, filling.new_rows(problem.test.X)),
    ):
        observed = ~np.isnan(before)
        assert after.shape == before.shape
        np.testing.assert_array_equal(after[observed], before[observed])
        assert np.isfinite(after).all()
        assert (after >= 0).all() and (after <= 1).all()
        if empty_column:
            assert (after[~observed[:, 2], 2] == 0.5).all()
    assert filling.filled is filling.train


def test_a_problem_s_filling_is_made_once():
    problem = small_problem()
    assert imputer_filling(problem, "knn") is imputer_filling(problem, "knn")
    assert imputer_filling(problem, "knn") is not imputer_filling(small_problem(), "knn")


def test_fillings_are_those_of_the_imputers():
    problem = small_problem(held_out="amputed")
    for name, imputer in (("mean", SimpleImputer()), ("knn[k=3]", KNNImputer(n_neighbors=3))):
        filling = imputer_filling(problem, name)
        np.testing.assert_array_equal(filling.train, imputer.fit_transform(problem.train.X))
        expected = imputer.transform(problem.test.X)
        np.testing.assert_allclose(filling.new_rows(problem.test.X), expected, atol=1e-12)


def test_a_filling_that_iterates_says_how_it_ended():
    problem = small_problem()
    assert imputer_filling(problem, "iterative").status in ("CONVERGED", "MAX_ITER")
    assert imputer_filling(problem, "kernel_imputer").status == "CONVERGED"
    assert imputer_filling(problem, "mean").status == ""


def test_the_appended_label_guides_training_rows_and_is_unknown_for_new_ones():
    problem = small_problem(held_out="amputed", n_classes=3)
    X, y = problem.train.X, problem.train.y
    appended = LabelAppended(IterativeImputer(random_state=0, max_iter=3, tol=1e9))
    filled = appended.fit_transform(X, y)
    columns = np.column_stack([y == 1, y == 2]).astype(float)
    alone = IterativeImputer(random_state=0, max_iter=3, tol=1e9)
    np.testing.assert_array_equal(filled, alone.fit_transform(np.hstack([X, columns]))[:, :4])
    unknown = np.full((problem.test.y.size, 2), np.nan)
    expected = alone.transform(np.hstack([problem.test.X, unknown]))[:, :4]
    np.testing.assert_array_equal(appended.transform(problem.test.X), expected)


def test_indicators_are_those_of_training_columns_with_gaps():
    problem = small_problem(held_out="amputed")
    X = problem.train.X.copy()
    X[:, 1] = 0.5
    filling = imputer_filling(problem, "mean")
    both = with_indicators(filling, X)
    np.testing.assert_array_equal(both.train[:, :4], filling.train)
    np.testing.assert_array_equal(both.train[:, 4:], np.isnan(X[:, [0, 2, 3]]))
    new = both.new_rows(problem.test.X)
    np.testing.assert_array_equal(new[:, 4:], np.isnan(problem.test.X[:, [0, 2, 3]]))
    assert both.filled is filling.filled


def test_complete_rows_are_not_given_to_an_imputer():
    class Refusing(SimpleImputer):
        def transform(self, X):
            assert np.isnan(X).any(axis=1).all()
            return super().transform(X)

    problem = small_problem()

    class Filled(Refusing):
        def fit_transform(self, X, y=None):
            return SimpleImputer.transform(self.fit(X), X)

    filling = filling_by(Filled(), problem)
    assert filling.new_rows(problem.test.X) is problem.test.X
    mixed = problem.test.X.copy()
    mixed[3, 1] = np.nan
    assert np.isfinite(filling.new_rows(mixed)).all()


def test_the_last_results_are_kept_by_identity():
    seen = []

    def double(X):
        seen.append(X)
        return 2 * X

    remembered = kept(double)
    one, other, third = (np.ones(2) for _ in range(3))
    first = remembered(one)
    assert remembered(one) is first
    remembered(other)
    assert remembered(one) is first and len(seen) == 2
    remembered(third)
    remembered(one)
    assert len(seen) == 4


def test_an_option_is_selected_unless_the_name_gives_it(monkeypatch):
    made = []

    def imputer(problem, options):
        made.append(options["bandwidth"])
        return SimpleImputer()

    monkeypatch.setitem(fillers.IMPUTERS, "newimp", (imputer, {"bandwidth": positive_number(0.5)}))
    names = ("newimp+svc_near", "newimp[bandwidth=2.0]+svc_near")
    tried = [list(method(name).candidates(small_problem())) for name in names]
    assert made == [0.5, 1.0, 2.0, 2.0]
    assert [candidate.parameters.get("bandwidth") for candidate in tried[0]] == [0.5, 1.0, 2.0] * 9
    assert "bandwidth" not in tried[1][0].parameters
