"""Stage I as a whole: what it returns, on what it stops, and what must not matter to it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.svm import SVC

from kernimpute.core.dual import Dual
from kernimpute.core.status import Status
from kernimpute.joint.reference import reference_kernel
from kernimpute.kernels import Gaussian, Laplacian, Linear, Sigmoid
from kernimpute.stage_one import VARIANTS, learn_kernel
from tests.unit.stage_one.conftest import small_rows

QUICK = {
    "anchored": {},
    "paper": {"max_iter": 40},
    "appendix": {"max_iter": 40},
    "released": {"max_iter": 300},
}


def labels_of(rows):
    return rows.dual.targets[:, 0].astype(int)


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_returns_a_finite_symmetric_kernel_and_a_machine(variant):
    rows = small_rows(16, missing_rate=0.5)
    learned = learn_kernel(
        rows.X, labels_of(rows), kernel=Gaussian(0.5), variant=variant, **QUICK[variant]
    )
    assert learned.K.shape == learned.target.shape == (16, 16)
    np.testing.assert_allclose(learned.K, learned.K.T, atol=1e-9)
    assert np.isfinite(learned.K).all()
    assert np.isfinite(learned.target).all()
    assert abs(learned.dual_coef.sum()) < 1e-8
    assert math.isfinite(learned.intercept)
    assert learned.n_iter == len(learned.trace) >= 1
    assert isinstance(learned.status, Status)
    for column in ("objective", "seconds", "kernel", "dual"):
        assert np.isfinite(learned.trace.column(column)[-1:]).all(), column


@pytest.mark.parametrize("variant", ["paper", "appendix"])
def test_the_papers_variants_come_to_rest(variant):
    rows = small_rows(14, missing_rate=0.5)
    learned = learn_kernel(
        rows.X, labels_of(rows), kernel=Gaussian(0.5), variant=variant, tol=5e-3, max_iter=500
    )
    assert learned.status is Status.CONVERGED
    assert math.isnan(learned.gap)


def test_an_infeasible_step_is_told_in_the_trace():
    rows = small_rows(12, n_complete=3)
    learned = learn_kernel(
        rows.X, labels_of(rows), kernel=Gaussian(1.0), variant="paper", max_iter=3
    )
    assert any("infeasible" in note for note in learned.trace.notes)


@pytest.mark.parametrize("variant", VARIANTS)
def test_nothing_missing_is_a_plain_machine(variant):
    X = np.random.default_rng(0).random((30, 3))
    y = (X[:, 0] > 0.5).astype(int)
    learned = learn_kernel(X, y, kernel=Gaussian(1.0), C=2.0, variant=variant)
    machine = SVC(C=2.0, gamma=1.0, tol=1e-10).fit(X, y)
    assert learned.status is Status.NOTHING_MISSING
    decision = learned.K @ learned.dual_coef + learned.intercept
    np.testing.assert_allclose(decision, machine.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("reference", [None, "expected"])
def test_an_infinite_eta_is_the_machine_on_the_reference(reference):
    rows = small_rows(20, missing_rate=0.5)
    learned = learn_kernel(
        rows.X, labels_of(rows), kernel=Gaussian(1.0), eta=math.inf, reference=reference
    )
    K = reference_kernel(rows.X, Gaussian(1.0), reference)
    np.testing.assert_allclose(learned.K, K, atol=1e-12)
    assert learned.gap == 0.0
    large = learn_kernel(
        rows.X, labels_of(rows), kernel=Gaussian(1.0), eta=1e7, reference=reference
    )
    np.testing.assert_allclose(large.K, K, atol=1e-5)


@pytest.mark.parametrize("variant", ["paper", "appendix"])
def test_an_infinite_eta_leaves_the_observed_kernel(variant):
    rows = small_rows(10, missing_rate=0.5)
    learned = learn_kernel(
        rows.X,
        labels_of(rows),
        kernel=Gaussian(1.0),
        eta=math.inf,
        rho=math.inf,
        variant=variant,
        max_iter=5,
    )
    K_observed = Gaussian(1.0).link(Gaussian(1.0).observed_sums(rows.X, rows.observed))
    np.testing.assert_allclose(learned.K, K_observed, atol=1e-6)


def test_a_smaller_eta_gives_a_larger_margin():
    rows = small_rows(24, missing_rate=0.5)
    values = []
    for eta in (math.inf, 10.0, 1.0, 0.1):
        learned = learn_kernel(rows.X, labels_of(rows), kernel=Gaussian(1.0), eta=eta)
        values.append(rows.dual.value(learned.K, learned.dual_coef[:, None]))
    assert np.diff(values).max() < 0.0


def test_the_order_of_rows_and_columns_does_not_matter():
    rows = small_rows(20, missing_rate=0.5)
    order = np.random.default_rng(1).permutation(20)
    kernel = Gaussian(1.0)
    y = labels_of(rows)
    plain = learn_kernel(rows.X, y, kernel=kernel, tol=1e-5, max_iter=5000)
    permuted = learn_kernel(rows.X[order], y[order], kernel=kernel, tol=1e-5, max_iter=5000)
    mirrored = learn_kernel(rows.X[:, ::-1], y, kernel=kernel, tol=1e-5, max_iter=5000)
    np.testing.assert_allclose(permuted.K, plain.K[np.ix_(order, order)], atol=5e-3)
    np.testing.assert_allclose(mirrored.K, plain.K, atol=5e-3)


@pytest.mark.parametrize("variant", VARIANTS)
def test_swapping_the_classes_flips_the_coefficients_only(variant):
    rows = small_rows(16, missing_rate=0.4)
    options = {"kernel": Gaussian(0.5), "variant": variant, **QUICK[variant]}
    one = learn_kernel(rows.X, labels_of(rows), **options)
    other = learn_kernel(rows.X, -labels_of(rows), **options)
    np.testing.assert_allclose(other.K, one.K, atol=1e-6)
    np.testing.assert_allclose(other.dual_coef, -one.dual_coef, atol=1e-5)
    assert other.intercept == pytest.approx(-one.intercept, abs=1e-5)


@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [5, 9], [-1.0, 1.0]])
def test_the_encoding_of_the_labels_does_not_matter(labels):
    rows = small_rows(16)
    index = (labels_of(rows) + 1) // 2
    encoded = np.array(labels)[index]
    learned = learn_kernel(rows.X, encoded, kernel=Gaussian(1.0))
    plain = learn_kernel(rows.X, index, kernel=Gaussian(1.0))
    np.testing.assert_array_equal(learned.K, plain.K)
    assert learned.classes.tolist() == labels


def test_three_classes_share_one_kernel_and_have_a_column_each():
    rows = small_rows(24, missing_rate=0.4)
    y = np.arange(24) % 3
    learned = learn_kernel(rows.X, y, kernel=Gaussian(1.0))
    assert learned.status is Status.CONVERGED
    assert learned.K.shape == (24, 24)
    assert learned.dual_coef.shape == (24, 3)
    assert learned.intercept.shape == (3,)
    np.testing.assert_allclose(learned.dual_coef.sum(axis=0), 0.0, atol=1e-8)


@pytest.mark.parametrize("variant", VARIANTS)
def test_regression_goes_through_the_same_code(variant):
    rows = small_rows(20, missing_rate=0.4)
    y = np.nan_to_num(rows.X[:, 1], nan=0.4) + 0.1
    learned = learn_kernel(
        rows.X,
        y,
        kernel=Gaussian(0.5),
        task="regression",
        epsilon=0.02,
        variant=variant,
        **QUICK[variant],
    )
    assert learned.classes is None
    residual = learned.K @ learned.dual_coef + learned.intercept - y
    assert np.abs(residual).mean() < y.std()


def test_a_regression_inside_its_tube_has_no_pull_and_no_trouble():
    rows = small_rows(12)
    learned = learn_kernel(
        rows.X, np.full(12, 3.0), kernel=Gaussian(1.0), task="regression", epsilon=0.5
    )
    np.testing.assert_allclose(learned.dual_coef, 0.0, atol=1e-9)
    assert learned.status.success


@pytest.mark.parametrize("eta", [100.0, math.inf])
def test_a_kernel_that_is_not_psd_says_so(eta):
    rows = small_rows(16)
    learned = learn_kernel(rows.X, labels_of(rows), kernel=Sigmoid(gamma=2.0), eta=eta)
    assert learned.status is Status.NOT_PSD


def test_rows_that_share_nothing_and_rows_with_nothing_are_accepted():
    X = np.full((14, 4), np.nan)
    generator = np.random.default_rng(0)
    X[:6, ::2] = generator.random((6, 2))
    X[6:12, 1::2] = generator.random((6, 2))
    learned = learn_kernel(X, np.arange(14) % 2, kernel=Gaussian(1.0))
    assert learned.status is Status.CONVERGED
    assert np.isfinite(learned.K).all()


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Laplacian(1.0)], ids=repr)
def test_categorical_columns_enter_the_bounds(kernel):
    rows = small_rows(16, kernel=kernel)
    X = np.column_stack([rows.X, np.arange(16) % 3 * 7.0])
    X[::5, 4] = np.nan
    learned = learn_kernel(X, labels_of(rows), kernel=kernel, categorical=[4])
    marked = kernel.with_categorical([4], 5)
    lower, upper = (marked.link(s) for s in marked.bounds(X, ~np.isnan(X)))
    assert (learned.K <= lower + 1e-12).all()
    assert (learned.K >= upper - 1e-12).all()


def test_the_callback_sees_every_round_and_may_stop():
    rows = small_rows(20, missing_rate=0.6)
    seen = []

    def stop_at_two(record):
        seen.append(record.iteration)
        return record.iteration == 2

    learned = learn_kernel(
        rows.X, labels_of(rows), kernel=Gaussian(1.0), eta=0.01, tol=1e-9, callback=stop_at_two
    )
    whole = []
    plain = learn_kernel(rows.X, labels_of(rows), kernel=Gaussian(1.0), callback=whole.append)
    assert tuple(whole) == plain.trace.records
    assert seen == [1, 2]
    assert learned.status is Status.INTERRUPTED
    assert learned.n_iter == 2
    assert math.isfinite(learned.gap)


def test_the_machine_on_the_reference_is_solved_once(monkeypatch):
    # For the default eta and for the start; the third is on the kernel learned.
    rows = small_rows(20, missing_rate=0.5)
    K = reference_kernel(rows.X, Gaussian(1.0), None)
    on_reference = []
    solve = Dual.solve

    def counted(dual, K_now, *given, **options):
        on_reference.append(np.array_equal(K_now, K))
        return solve(dual, K_now, *given, **options)

    monkeypatch.setattr(Dual, "solve", counted)
    learned = learn_kernel(rows.X, labels_of(rows), kernel=Gaussian(1.0), tol=1e-2)
    assert learned.status is Status.CONVERGED
    assert sum(on_reference) == 1


@pytest.mark.parametrize("variant", VARIANTS)
def test_weights_enter_the_machine_the_reference_and_the_default_gamma(variant):
    rows = small_rows(16, missing_rate=0.4)
    weights = np.array([0.0, 1.0, 2.0, 3.0] * 4)
    options = {"kernel": "gaussian", "variant": variant, "tol": 0.1, "max_iter": 5}
    weighted = learn_kernel(rows.X, labels_of(rows), sample_weight=weights, **options)
    plain = learn_kernel(rows.X, labels_of(rows), **options)
    assert np.abs(weighted.K - plain.K).max() > 1e-6
    np.testing.assert_array_equal(weighted.dual_coef[weights == 0.0], 0.0)
    assert abs(weighted.dual_coef.sum()) <= 1e-12
    assert (np.abs(weighted.dual_coef) <= 1e-9 + weights).all() or variant == "paper"
    held = learn_kernel(
        rows.X,
        labels_of(rows),
        kernel=Gaussian(1.0),
        variant="anchored",
        eta=math.inf,
        sample_weight=weights,
    )
    expected = reference_kernel(rows.X, Gaussian(1.0), None, sample_weight=weights)
    np.testing.assert_allclose(held.K, expected, atol=1e-12)


@pytest.mark.parametrize("max_iter", [0, 1])
def test_too_few_rounds_are_told_and_still_return_a_feasible_kernel(max_iter):
    rows = small_rows(20, missing_rate=0.6)
    learned = learn_kernel(
        rows.X, labels_of(rows), kernel=Gaussian(1.0), eta=0.05, tol=1e-8, max_iter=max_iter
    )
    assert learned.status is Status.MAX_ITER
    assert np.linalg.eigvalsh(learned.K)[0] >= -1e-10
    assert 0.0 < learned.gap < math.inf


def test_runs_are_reproducible_and_leave_the_global_generator_alone():
    rows = small_rows(16)
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    one = learn_kernel(rows.X, labels_of(rows), kernel=Gaussian(1.0))
    two = learn_kernel(rows.X, labels_of(rows), kernel=Gaussian(1.0))
    np.testing.assert_array_equal(one.K, two.K)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"variant": "nonsense"}, "'variant' parameter of learn_kernel must be one of"),
        ({"eta": 0.0}, r"'eta' parameter of learn_kernel must be a float in \(0, inf\]"),
        ({"rho": -1.0}, r"'rho' parameter of learn_kernel must be a float in \(0, inf\]"),
        ({"radius": -1.0}, r"'radius' parameter of learn_kernel must be a float in \[0, inf\)"),
        ({"eta": 1e50}, r"'eta' parameter of learn_kernel must be in \[1e-40, 1e\+40\], or inf"),
        ({"rho": 1e-50}, r"'rho' parameter of learn_kernel must be in \[1e-40, 1e\+40\], or inf"),
        ({"C": 1e50}, r"'C' parameter of learn_kernel must be at most 1e\+40, times the largest"),
        ({"sample_weight": [1e50] + 11 * [1.0]}, r"at most 1e\+40, times the largest .* 1e\+50"),
        ({"C": 0.0}, r"'C' parameter of learn_kernel must be a float in \(0, inf\)"),
        ({"tol": -1.0}, "'tol' parameter of StopRule"),
        ({"task": "ranking"}, "'task' parameter of learn_kernel must be one of"),
        ({"y": [0] * 12}, "at least 2 classes"),
        ({"y": [0, 1]}, r"must be of shape \(12,\)"),
        ({"X": np.full((12, 4), 2.0)}, r"values that are in \[0, 1\] or NaN"),
        ({"X": np.full((12, 4), np.inf)}, "values that are finite or NaN"),
        ({"X": np.zeros(4)}, "a matrix with at least one row"),
        ({"categorical": [9]}, "a mask over, or indices of, the 4 columns"),
        ({"kernel": Linear(), "categorical": [1]}, "no|only the gaussian and laplacian"),
        ({"reference": np.zeros((2, 2))}, r"a completed table of shape \(12, 4\)"),
        ({"reference": "median"}, "None, 'mean', a completed table"),
        ({"reference": "expected", "kernel": Linear()}, "a kernel that is no exponential"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_refused(change, message):
    rows = small_rows(12)
    arguments = {"X": rows.X, "y": labels_of(rows), "kernel": Gaussian(1.0), **change}
    with pytest.raises(ValueError, match=message):
        learn_kernel(arguments.pop("X"), arguments.pop("y"), **arguments)


def test_a_kernel_of_another_kind_is_refused():
    with pytest.raises(TypeError, match="must be a Kernel or the name of one"):
        learn_kernel(np.zeros((2, 2)), [0, 1], kernel=3)
