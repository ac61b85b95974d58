"""`impute`: one front for five variants."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import KNNImputer
from sklearn.svm import SVC

from kernimpute import VARIANTS, Status, impute
from kernimpute.core.rows import scaled_kernel
from kernimpute.kernels import Chi2, Gaussian, Laplacian, Linear, Polynomial, Sigmoid

QUICK = {
    "direct": {},
    "anchored": {},
    "paper": {"max_iter": 20},
    "appendix": {"max_iter": 20},
    "released": {"max_iter": 200, "kernel": Gaussian(0.25)},
}


def table(n_samples=24, n_classes=2, seed=0, missing_rate=0.4):
    generator = np.random.default_rng(seed)
    y = np.arange(n_samples) % n_classes
    centres = 0.2 + 0.6 * generator.random((n_classes, 5))
    X = np.clip(centres[y] + 0.12 * generator.standard_normal((n_samples, 5)), 0.0, 1.0)
    X[generator.random(X.shape) < missing_rate] = np.nan
    X.setflags(write=False)
    return X, y


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_fills_every_gap_and_touches_nothing_else(variant):
    X, y = table()
    result = impute(X, y, variant=variant, **QUICK[variant])
    observed = ~np.isnan(X)
    assert result.X.tobytes() != X.tobytes()
    np.testing.assert_array_equal(result.X[observed].view(np.int64), X[observed].view(np.int64))
    assert ((result.X >= 0.0) & (result.X <= 1.0)).all()
    assert result.dual_coef.shape == (24,)
    assert math.isfinite(result.intercept)
    assert result.classes.tolist() == [0, 1]
    assert isinstance(result.status, Status)
    assert len(result.trace) > 0
    assert (result.stage_one is None) == (result.stage_two is None) == (variant == "direct")


@pytest.mark.parametrize("variant", VARIANTS)
def test_nothing_missing_returns_the_table_and_a_plain_machine(variant):
    X, y = table(missing_rate=0.0)
    result = impute(X, y, variant=variant, kernel=Gaussian(2.0), C=1.5)
    np.testing.assert_array_equal(result.X, X)
    assert result.status is Status.NOTHING_MISSING
    machine = SVC(C=1.5, gamma=2.0, tol=1e-10).fit(X, y)
    decision = result.kernel(X, result.X) @ result.dual_coef + result.intercept
    np.testing.assert_allclose(decision, machine.decision_function(X), atol=1e-5)


def same(one, other):
    """Whether two results hold the same numbers, however deep."""
    if dataclasses.is_dataclass(one):
        names = [field.name for field in dataclasses.fields(one)]
        return type(one) is type(other) and all(
            same(getattr(one, name), getattr(other, name)) for name in names
        )
    if isinstance(one, dict | tuple):
        ones, others = (list(x.items() if isinstance(x, dict) else x) for x in (one, other))
        return len(ones) == len(others) and all(map(same, ones, others))
    if isinstance(one, np.ndarray | float):
        return np.array_equal(one, other, equal_nan=np.asarray(one).dtype.kind == "f")
    return one is other or one == other


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("copied", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy])
def test_results_can_be_pickled_and_copied(variant, copied):
    X, y = table(n_classes=3)
    labels = np.array(["a", "b", "c"])[y]
    result = impute(X, labels, variant=variant, **QUICK[variant])
    again = copied(result)
    assert again is not result
    assert same(again, result)
    assert again.trace.records[-1].step_norms
    assert not same(dataclasses.replace(result, X=result.X + 1e-9), result)


@pytest.mark.parametrize("variant", ["direct", "anchored"])
@pytest.mark.parametrize(
    "kernel", [Gaussian(1.0), Laplacian(1.0), Linear(), Polynomial(), Sigmoid(), Chi2()], ids=repr
)
def test_every_kernel_goes_through(variant, kernel):
    X, y = table()
    result = impute(X, y, variant=variant, kernel=kernel)
    assert np.isfinite(result.X).all()
    assert result.kernel == kernel


@pytest.mark.parametrize("variant", ["direct", "anchored"])
def test_three_classes_give_one_imputation(variant):
    X, y = table(n_samples=30, n_classes=3)
    result = impute(X, np.array(["a", "b", "c"])[y], variant=variant)
    assert result.X.shape == X.shape
    assert result.dual_coef.shape == (30, 3)
    assert result.classes.tolist() == ["a", "b", "c"]
    decision = result.kernel(result.X, result.X) @ result.dual_coef + result.intercept
    assert (result.classes[decision.argmax(axis=1)] == np.array(["a", "b", "c"])[y]).mean() > 0.9


@pytest.mark.parametrize("variant", ["direct", "anchored"])
def test_regression(variant):
    X, _ = table()
    y = np.nan_to_num(X[:, 0], nan=0.5) * 10.0
    result = impute(X, y, variant=variant, task="regression", C=10.0)
    assert result.classes is None
    assert np.isfinite(result.X).all()


@pytest.mark.parametrize("variant", ["direct", "anchored"])
def test_categorical_cells_get_codes_of_their_column(variant):
    X, y = table()
    codes = np.random.default_rng(1).integers(0, 3, 24) * 10.0
    codes[::4] = np.nan
    result = impute(np.column_stack([X, codes]), y, variant=variant, categorical=[5])
    assert np.isin(result.X[:, 5], [0.0, 10.0, 20.0]).all()
    assert result.kernel.categorical == (5,)


@pytest.mark.parametrize("variant", ["direct", "anchored"])
def test_a_reference_may_be_a_table_or_a_fitted_imputer(variant):
    X, y = table()
    imputer = KNNImputer().fit(X)
    by_imputer = impute(X, y, variant=variant, kernel=Gaussian(1.0), reference=imputer)
    by_table = impute(X, y, variant=variant, kernel=Gaussian(1.0), reference=imputer.transform(X))
    np.testing.assert_array_equal(by_imputer.X, by_table.X)
    held = impute(X, y, variant="direct", kernel=Gaussian(1.0), reference=imputer, eta=math.inf)
    np.testing.assert_array_equal(held.X, imputer.transform(X))


def test_the_default_kernel_is_scaled_to_the_table():
    X, y = table()
    assert impute(X, y).kernel == scaled_kernel("gaussian", X)
    assert impute(X, y, kernel="laplacian").kernel == scaled_kernel("laplacian", X)


def test_rows_with_nothing_observed_are_filled():
    X, y = table()
    X = X.copy()
    X[:3] = np.nan
    for variant in ("direct", "anchored"):
        assert np.isfinite(impute(X, y, variant=variant).X).all()


@pytest.mark.parametrize("variant", ["direct", "anchored"])
def test_the_callback_sees_every_stage(variant):
    X, y = table()
    stages = []
    impute(X, y, variant=variant, callback=lambda record: stages.append(record.stage))
    expected = ["direct"] if variant == "direct" else ["Stage I", "Stage II"]
    assert list(dict.fromkeys(stages)) == expected


@pytest.mark.parametrize("variant", ["direct", "anchored"])
def test_swapping_the_classes_changes_the_sign_of_the_machine_only(variant):
    X, y = table()
    one = impute(X, y, variant=variant, kernel=Gaussian(1.0))
    other = impute(X, 1 - y, variant=variant, kernel=Gaussian(1.0))
    np.testing.assert_allclose(other.X, one.X, atol=1e-4)
    K = one.kernel(one.X, one.X)
    decision = K @ one.dual_coef + one.intercept
    swapped = K @ other.dual_coef + other.intercept
    np.testing.assert_allclose(swapped, -decision, atol=1e-2)


@pytest.mark.parametrize("variant", VARIANTS)
def test_weights_of_one_change_no_bit(variant):
    X, y = table()
    plain = impute(X, y, variant=variant, **QUICK[variant])
    ones = impute(X, y, variant=variant, sample_weight=np.ones(24), **QUICK[variant])
    assert ones.X.tobytes() == plain.X.tobytes()
    assert ones.dual_coef.tobytes() == plain.dual_coef.tobytes()
    assert ones.intercept == plain.intercept


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_takes_weights(variant):
    X, y = table(n_samples=30, n_classes=3)
    weights = np.array([1.0, 2.0, 0.0, 0.5, 3.0] * 6)
    result = impute(X, y, variant=variant, sample_weight=weights, **QUICK[variant])
    assert np.isfinite(result.X).all()
    np.testing.assert_array_equal(result.dual_coef[weights == 0.0], 0.0)
    assert result.X.tobytes() != impute(X, y, variant=variant, **QUICK[variant]).X.tobytes()


@pytest.mark.parametrize("variant", VARIANTS)
def test_weights_without_gaps_are_those_of_scikit_learn(variant):
    X, y = table(missing_rate=0.0)
    weights = np.random.default_rng(2).random(24) * (np.arange(24) % 5 > 0)
    options = {"kernel": Gaussian(2.0), "C": 1.5, "sample_weight": weights}
    result = impute(X, y, variant=variant, **options)
    machine = SVC(C=1.5, gamma=2.0, tol=1e-10).fit(X, y, sample_weight=weights)
    decision = result.kernel(X, result.X) @ result.dual_coef + result.intercept
    np.testing.assert_allclose(decision, machine.decision_function(X), atol=1e-5)


SPREAD = 10.0 ** np.random.default_rng(5).uniform(-12, 12, 24)

EXTREMES = {
    "C=1e300": {"C": 1e300},
    "C=1e20": {"C": 1e20},
    "C=1e-300": {"C": 1e-300},
    "eta=1e-300": {"eta": 1e-300},
    "eta=1e-20": {"eta": 1e-20},
    "eta=1e300": {"eta": 1e300},
    "gamma=1e-300": {"kernel": Gaussian(1e-300)},
    "gamma=1e20": {"kernel": Gaussian(1e20)},
    "gamma=1e300": {"kernel": Gaussian(1e300)},
    "laplacian": {"kernel": Laplacian(1e-300)},
    "all at once": {"C": 1e300, "eta": 1e-300, "kernel": Gaussian(1e300)},
    "rho=1e-300": {"rho": 1e-300},
    "regression": {"task": "regression", "C": 1e300},
    "tube": {"task": "regression", "epsilon": 1e300},
    "weights": {"sample_weight": SPREAD},
    "weights and C": {"sample_weight": SPREAD, "C": 1e-300},
    "nothing": {},
}
TINY = {
    "a common one": table()[0],
    "two rows": np.array([[0.3], [np.nan]]),
    "one column": table()[0][:, :1],
    "nothing observed": np.full((6, 3), np.nan),
    "identical rows": np.where(np.arange(30).reshape(10, 3) % 4 == 1, np.nan, 0.4),
    "ends of the range": np.where(np.isnan(table()[0]), np.nan, np.round(table()[0])),
}


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("extreme", EXTREMES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_extremes_are_filled_or_refused_in_one_sentence(variant, extreme, name):
    # NumPy's own warnings are errors here.
    X, options = TINY[name], dict(EXTREMES[extreme])
    n_samples = X.shape[0]
    if "sample_weight" in options:
        options["sample_weight"] = options["sample_weight"][:n_samples]
    max_iter = None if variant == "direct" else 15
    try:
        result = impute(X, np.arange(n_samples) % 2, variant=variant, max_iter=max_iter, **options)
    except ValueError as refused:
        assert variant != "direct"
        assert re.match(r"The '\w+' parameter of \w+ must be .* Got .* instead\.$", str(refused))
        return
    assert ((result.X >= 0.0) & (result.X <= 1.0)).all()
    np.testing.assert_array_equal(result.X[~np.isnan(X)], X[~np.isnan(X)])
    assert np.isfinite(result.dual_coef).all()
    assert math.isfinite(result.intercept)


def test_a_heavy_anchor_keeps_the_reference():
    X, y = table()
    for eta in (1e300, 1.7e308):
        result = impute(X, y, eta=eta)
        assert result.X.tobytes() == impute(X, y, eta=math.inf).X.tobytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sample_weight": np.arange(24.0) % 2}, "classes among the rows of positive weight"),
        ({"sample_weight": np.zeros(24)}, "'sample_weight' parameter of impute must be positive"),
        ({"variant": "best"}, "'variant' parameter of impute must be one of 'anchored', 'app"),
        ({"kernel": "rbf"}, "'kernel' parameter of impute must be one of 'chi2', 'gaussian'"),
        ({"eta": -1.0}, r"'eta' parameter of impute must be a float in \(0, inf\]"),
        ({"rho": -1.0}, r"'rho' parameter of impute must be a float in \(0, inf\]"),
        ({"radius": -1.0}, r"'radius' parameter of impute must be a float in \[0, inf\)"),
        ({"epsilon": -1.0}, r"'epsilon' parameter of impute must be a float in \[0, inf\)"),
        ({"C": -1.0}, r"'C' parameter of impute must be a float in \(0, inf\)"),
        ({"reference": "expected"}, "where a table is needed"),
        ({"epsilon": -1.0, "task": "regression"}, "'epsilon' parameter of impute"),
    ],
    ids=str,
)
def test_what_is_refused(change, message):
    X, y = table()
    with pytest.raises(ValueError, match=message):
        impute(X, y, **change)


@pytest.mark.parametrize("gap", [None, float("nan"), pd.NA, pd.NaT], ids=str)
def test_a_gap_among_the_labels_is_refused_whatever_it_is(gap):
    X, y = table()
    labels = y.astype(object)
    labels[3] = gap
    with pytest.raises(ValueError, match="complete, without NaN or None"):
        impute(X, labels)


@pytest.mark.parametrize(
    "labels", [np.array([0, 1] * 12, dtype=object), np.array([False, True] * 12, dtype=object)]
)
def test_labels_in_an_object_array_are_labels(labels):
    X, y = table()
    np.testing.assert_array_equal(impute(X, labels).X, impute(X, y).X)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.array([1j] * 24), "numbers, booleans or text"),
        (np.array(["2020-01-01"] * 24, dtype="M8[D]"), "numbers, booleans or text"),
        (np.array([b"a", b"b"] * 12), "numbers, booleans or text"),
        (np.array([1, "a"] * 12, dtype=object), "of one kind"),
    ],
    ids=str,
)
def test_labels_of_no_use_are_refused(labels, message):
    X, _ = table()
    with pytest.raises(TypeError, match=message):
        impute(X, labels)


def test_labels_with_gaps_and_continuous_labels_are_refused():
    X, y = table()
    with pytest.raises(ValueError, match="complete, without NaN"):
        impute(X, np.where(y == 0, np.nan, 1.0))
    with pytest.raises(ValueError, match="class labels"):
        impute(X, np.linspace(0.0, 1.0, 24))
