"""The default machine: calibrated, silent about noise, told of gaps, the same for any unit."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.metrics import r2_score, roc_auc_score

from kernimpute import KernelImputationClassifier, KernelImputationRegressor
from kernimpute.estimators import _predictor
from tests.estimators.problems import amputed


def logistic_rows(n_rows, seed):
    """Return rows with gaps and labels drawn by a logistic law with an interaction."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, 6))
    X[:, 1] += 0.8 * X[:, 0]
    X[:, 3] += 0.8 * X[:, 2]
    logit = 1.2 * X[:, 0] - X[:, 2] + 0.8 * X[:, 4] * X[:, 5]
    y = generator.random(n_rows) < 1.0 / (1.0 + np.exp(-logit))
    return amputed(X, 0.25, generator), y.astype(int)


def curved_rows(n_rows=120, seed=0):
    """Return rows with gaps and a quantity that is no linear function of them."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, 4))
    y = X[:, 0] ** 2 + X[:, 1] + 0.2 * generator.normal(size=n_rows)
    return amputed(X, 0.1, generator), y


@pytest.fixture(scope="module")
def classifier():
    return KernelImputationClassifier().fit(*logistic_rows(1_000, 0))


@pytest.fixture(scope="module")
def regressor():
    return KernelImputationRegressor().fit(*curved_rows())


@pytest.fixture
def quick(monkeypatch):
    """Grow few trees and compare few penalties in few folds, where quality does not matter."""
    for name, few in (("N_TREES", 5), ("FOLDS", 2), ("LOGISTIC_C", (0.1, 1.0))):
        monkeypatch.setattr(_predictor, name, few)


def test_probabilities_are_calibrated(classifier):
    X, y = logistic_rows(5_000, 100)
    shares = classifier.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_array_equal(classifier.predict(X), shares.argmax(axis=1))
    bins = np.minimum((10 * shares[:, 1]).astype(int), 9)
    for one in range(10):
        mean, observed = shares[bins == one, 1].mean(), y[bins == one].mean()
        error = np.sqrt(mean * (1.0 - mean) / (bins == one).sum())
        assert abs(observed - mean) < 3.0 * error


def test_noise_is_not_turned_into_a_prediction(quick):
    n_new = 400
    for seed in range(25):
        generator = np.random.default_rng(seed)
        X = amputed(generator.normal(size=(60 + n_new, 5)), 0.3, generator)
        y = generator.integers(0, 2, 60 + n_new)
        model = KernelImputationClassifier().fit(X[:60], y[:60])
        auc, n_ones = roc_auc_score(y[60:], model.predict_proba(X[60:])[:, 1]), int(y[60:].sum())
        error = np.sqrt((n_new + 1) / (12.0 * n_ones * (n_new - n_ones)))
        assert abs(auc - 0.5) < 3.0 * error


def test_gaps_that_tell_of_the_label_are_used():
    generator = np.random.default_rng(0)
    y = generator.integers(0, 2, 300)
    X = generator.normal(size=(300, 4))
    X[generator.random(300) < np.where(y == 1, 0.7, 0.1), 0] = np.nan
    model = KernelImputationClassifier().fit(X[:200], y[:200])
    found = roc_auc_score(y[200:], model.predict_proba(X[200:])[:, 1])
    alone = roc_auc_score(y[200:], np.isnan(X[200:, 0]))
    assert found > alone - 0.03


def test_each_kind_does_what_the_others_cannot(classifier):
    """On the rows of the fixture the blend is no worse than the best of its kinds."""
    X, y = logistic_rows(2_000, 7)
    predictor = classifier._predictors[0]
    rows = classifier._encode(classifier._read(X, reset=False)[1])
    filled = classifier._new_rows.fill(classifier._matrix(rows.matrix))
    ridge_rows, columns = predictor.inputs(filled, ~np.isnan(rows.matrix))
    kinds = [
        predictor.map_of_ridge([predictor.ridge.scores(ridge_rows)]),
        predictor.linear.predict_proba(columns),
        predictor.trees.predict(columns),
    ]
    losses = [-np.log(np.maximum(kind[np.arange(2_000), y], 1e-3)).mean() for kind in kinds]
    blended = -np.log(classifier.predict_proba(X)[np.arange(2_000), y]).mean()
    assert blended < min(losses) + 0.003
    # The interaction is nothing to the logistic regression.
    assert predictor.blend.slopes.argmax() == 0


def test_a_quantity_that_is_no_linear_function_is_predicted(regressor):
    new, truth = curved_rows(400, seed=1)
    assert r2_score(truth, regressor.predict(new)) > 0.6


def test_a_class_of_weight_zero_has_no_probability(quick):
    X, y = logistic_rows(80, 0)
    y[:20] = 2
    shares = KernelImputationClassifier(class_weight={2: 0.0}).fit(X, y).predict_proba(X)
    assert shares.shape == (80, 3)
    np.testing.assert_array_equal(shares[:, 2], 0.0)


def test_weights_of_classes_move_the_probabilities():
    X, y = logistic_rows(150, 0)
    new, _ = logistic_rows(300, 1)
    plain = KernelImputationClassifier().fit(X, y).predict_proba(new)[:, 1].mean()
    heavy = KernelImputationClassifier(class_weight={1: 5.0}).fit(X, y)
    assert heavy.predict_proba(new)[:, 1].mean() > plain + 0.15


def test_draws_are_averaged_and_the_same_again(quick):
    X, y = logistic_rows(60, 0)
    new, _ = logistic_rows(30, 1)
    model = KernelImputationClassifier(n_draws=2).fit(X, y)
    shares = model.predict_proba(new)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    again = KernelImputationClassifier(n_draws=2).fit(X, y).predict_proba(new)
    np.testing.assert_array_equal(shares, again)
    # A row's draws do not depend on the rows beside it.
    np.testing.assert_allclose(model.predict_proba(new[::-1])[::-1], shares, rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(new[:1]), shares[:1], rtol=1e-12)
    expected = KernelImputationClassifier().fit(X, y).predict_proba(new)
    assert 0.0 < np.abs(expected - shares).max() < 0.3


def test_another_seed_is_another_fit(quick):
    X, y = curved_rows(60)
    first, same, other = (
        KernelImputationRegressor(random_state=seed).fit(X, y).predict(X) for seed in (None, 0, 1)
    )
    assert (first == same).all() and (first != other).any()


def test_methods_are_those_of_the_machine_that_is_fitted():
    X, y = logistic_rows(20, 0)
    assert not hasattr(KernelImputationClassifier(), "decision_function")
    assert not hasattr(KernelImputationClassifier(machine="svm"), "predict_proba")
    changed = KernelImputationClassifier(machine="svm").fit(X, y).set_params(machine="average")
    assert hasattr(changed, "decision_function") and not hasattr(changed, "predict_proba")


@pytest.mark.parametrize("is_class", [True, False])
def test_the_stored_trees_predict_as_scikit_learns(is_class):
    X, y = curved_rows(80)
    X = np.nan_to_num(X)
    y = (y > 1.0).astype(int) if is_class else y
    grown = (ExtraTreesClassifier if is_class else ExtraTreesRegressor)(7, random_state=0)
    expected = grown.fit(X, y).predict_proba(X) if is_class else grown.fit(X, y).predict(X)
    found = _predictor._forest(grown).predict(X)
    np.testing.assert_allclose(found, expected.reshape(found.shape), atol=1e-12)


def test_rows_of_hardly_any_weight_change_nothing():
    X, y = curved_rows(60)
    weights = np.ones(60)
    weights[[3, int(np.nanargmax(X[:, 1]))]] = 1e-20
    kept = weights == 1.0
    found = KernelImputationRegressor().fit(X, y, sample_weight=weights).predict(X)
    expected = KernelImputationRegressor().fit(X[kept], y[kept]).predict(X)
    assert np.abs(found - expected).max() < 0.3 * y.std() and np.isfinite(found).all()


def test_every_class_is_in_the_sample_that_settings_are_chosen_on():
    y = np.r_[np.zeros(5_000, int), np.ones(7, int), 2]
    order = _predictor._with_every_class(np.random.default_rng(0).permutation(y.size), y)
    np.testing.assert_array_equal(np.sort(order), np.arange(y.size))
    assert np.bincount(y[order[:11]]).tolist() == [5, 5, 1]


def test_metadata_routing_is_no_obstacle(quick):
    X, y = curved_rows(40)
    with config_context(enable_metadata_routing=True):
        assert np.isfinite(KernelImputationRegressor().fit(X, y).predict(X)).all()
