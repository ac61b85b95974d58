"""NewImp: the flow against loops, finite differences and Gaussians; what the imputer promises."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

torch = pytest.importorskip("torch", reason="NewImp needs torch: install kernimpute[torch]")

from experiments.baselines._newimp_flow import (  # noqa: E402
    NOISE,
    EnergyNetwork,
    flow_velocity,
    move_cells,
    train_score,
    velocity_of_new_rows,
)
from experiments.baselines.newimp import NewImpImputer  # noqa: E402

SMALL = {"hidden_units": 16, "n_epochs": 20, "n_steps": 20}


def tensor(values):
    return torch.tensor(np.asarray(values, dtype=float))


def rms(values):
    return math.sqrt(np.mean(np.square(values)))


def correlated_table(n_rows=120, n_features=8):
    """Return rows near a plane, the same with 30 % gaps, and the mask of the gaps."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(n_rows, 2)) @ rng.normal(size=(2, n_features))
    truth += 0.1 * rng.normal(size=truth.shape)
    missing = rng.random(truth.shape) < 0.3
    return truth, np.where(missing, np.nan, truth), missing


def gaussian_kernel(x, z, bandwidth):
    return math.exp(-sum((x - z) ** 2) / (2.0 * bandwidth**2))


# ------------------------------------------------------------------ the flow


@pytest.mark.parametrize("same", [True, False], ids=["rows on rows", "other points"])
def test_velocity_is_the_mean_over_rows_written_as_two_loops(same):
    rng = np.random.default_rng(1)
    rows, scores = rng.normal(size=(2, 7, 3))
    points = rows if same else rng.normal(size=(4, 3))
    bandwidth, weight = 0.8, 2.5
    expected = np.zeros_like(points)
    for i, x in enumerate(points):
        for z, score in zip(rows, scores, strict=True):
            K = gaussian_kernel(x, z, bandwidth)
            expected[i] += (K * score - weight * K * (x - z) / bandwidth**2) / len(rows)
    found = flow_velocity(tensor(points), tensor(rows), tensor(scores), bandwidth, weight)
    np.testing.assert_allclose(found.numpy(), expected, rtol=0.0, atol=1e-14)


def test_a_new_row_moves_as_if_it_were_one_of_the_rows():
    rng = np.random.default_rng(6)
    rows, points = rng.normal(size=(6, 3)), rng.normal(size=(2, 3))
    scores, own_scores = rng.normal(size=(6, 3)), rng.normal(size=(2, 3))
    found = velocity_of_new_rows(
        tensor(points), tensor(own_scores), tensor(rows), tensor(scores), 0.9, 1.5
    )
    for i, (point, score) in enumerate(zip(points, own_scores, strict=True)):
        joined = tensor([*rows, point])
        expected = flow_velocity(joined, joined, tensor([*scores, score]), 0.9, 1.5)
        np.testing.assert_allclose(found[i], expected[-1], rtol=0.0, atol=1e-14)


def test_the_entropy_term_is_minus_the_kernels_gradient_at_the_rows():
    rng = np.random.default_rng(2)
    x, rows = rng.normal(size=3), rng.normal(size=(5, 3))
    bandwidth, delta = 1.1, 1e-5
    gradient = np.zeros(3)
    for z in rows:
        for p, unit in enumerate(delta * np.eye(3)):
            rise = gaussian_kernel(x, z + unit, bandwidth) - gaussian_kernel(x, z - unit, bandwidth)
            gradient[p] += rise / (2.0 * delta) / len(rows)
    found = flow_velocity(tensor([x]), tensor(rows), tensor(np.zeros((5, 3))), bandwidth, 1.0)
    np.testing.assert_allclose(found.numpy()[0], -gradient, rtol=0.0, atol=1e-10)


def test_the_entropy_term_draws_rows_together():
    rows = tensor(np.random.default_rng(3).normal(size=(20, 2)))
    velocity = flow_velocity(rows, rows, torch.zeros_like(rows), 1.0, 1.0)
    assert ((rows - rows.mean(0)) * velocity).sum() < 0.0


@pytest.mark.parametrize(("weight", "tolerance"), [(0.0, 0.02), (1.0, 0.3)])
def test_under_a_gaussians_exact_score_cells_go_to_the_conditional_mean(weight, tolerance):
    # Without the entropy term the conditional mean is a fixed point; with it neighbours attract
    # each other, so cells end near it: the tolerance is half a conditional standard deviation.
    correlation = 0.8
    precision = tensor(np.linalg.inv([[1.0, correlation], [correlation, 1.0]]))
    known = np.linspace(-2.0, 2.0, 30)
    rows = tensor(np.column_stack([known, np.random.default_rng(4).normal(size=30)]))
    rows.requires_grad_()
    missing = torch.tensor([[False, True]]).expand(30, 2)

    def velocity(current):
        return flow_velocity(current, current, -current @ precision, 0.2, weight)

    move_cells(rows, missing, velocity, torch.optim.Adam([rows], lr=0.02), 1500)
    moved = rows.detach().numpy()
    np.testing.assert_array_equal(moved[:, 0], known)
    np.testing.assert_allclose(moved[:, 1], correlation * known, rtol=0.0, atol=tolerance)


# ------------------------------------------------------------------ the network


def test_a_networks_score_is_minus_the_gradient_of_its_energy():
    generator = torch.Generator().manual_seed(0)
    network = EnergyNetwork.drawn(3, 5, generator)
    first, first_bias, second, second_bias, output = (
        part.detach().numpy() for part in network.parameters
    )

    def swish(values):
        return values / (1.0 + np.exp(-values))

    def energy(x):
        return output[0] @ swish(second @ swish(first @ x + first_bias) + second_bias)

    x, delta = np.array([0.3, -1.0, 2.0]), 1e-5
    differences = [
        (energy(x + unit) - energy(x - unit)) / (2.0 * delta) for unit in delta * np.eye(3)
    ]
    found = network.score(tensor([x])).numpy()[0]
    np.testing.assert_allclose(found, -np.array(differences), rtol=0.0, atol=1e-9)


def test_a_trained_score_is_near_that_of_the_blurred_gaussian():
    # 400 rows and 600 steps leave an error of about a fifth, of the rows more than of the steps.
    covariance = np.array([[1.0, 0.6], [0.6, 1.0]])
    rng = np.random.default_rng(5)
    rows, points = rng.multivariate_normal(np.zeros(2), covariance, size=(2, 400))
    generator = torch.Generator().manual_seed(0)
    network = EnergyNetwork.drawn(2, 64, generator)
    train_score(network, tensor(rows), n_epochs=600, generator=generator)
    exact = -points @ np.linalg.inv(covariance + NOISE**2 * np.eye(2))
    assert rms(network.score(tensor(points)).numpy() - exact) < 0.3 * rms(exact)


# ------------------------------------------------------------------ the imputer


def test_a_correlated_table_is_filled_at_half_the_error_of_column_means():
    truth, X, missing = correlated_table()
    imputer = NewImpImputer(random_state=0)
    filled, again = imputer.fit_transform(X[:80]), imputer.transform(X[80:])
    for part, found in ((slice(80), filled), (slice(80, None), again)):
        gaps = missing[part]
        means = np.where(gaps, np.nanmean(X[:80], axis=0), truth[part])
        assert rms((found - truth[part])[gaps]) < 0.5 * rms((means - truth[part])[gaps])


def test_observed_cells_keep_every_bit_and_filled_ones_lie_in_the_observed_range():
    _, X, missing = correlated_table()
    new = 3.0 * X[80:]
    imputer = NewImpImputer(random_state=0, **SMALL)
    low, high = np.nanmin(X[:80], axis=0), np.nanmax(X[:80], axis=0)
    for rows, gaps, found in (
        (X[:80], missing[:80], imputer.fit_transform(X[:80])),
        (new, missing[80:], imputer.transform(new)),
    ):
        np.testing.assert_array_equal(found[~gaps], rows[~gaps])
        assert ((found >= low) & (found <= high))[gaps].all()


def test_the_same_random_state_repeats_and_torchs_own_state_is_left_alone():
    _, X, _ = correlated_table()
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    first, second = (NewImpImputer(random_state=7, **SMALL).fit(X) for _ in range(2))
    other = NewImpImputer(random_state=8, **SMALL).fit(X)
    np.testing.assert_array_equal(first.X_filled_, second.X_filled_)
    np.testing.assert_array_equal(first.transform(X), second.transform(X))
    assert not np.array_equal(first.X_filled_, other.X_filled_)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads


def test_a_new_row_depends_on_no_other_new_row():
    _, X, _ = correlated_table()
    imputer = NewImpImputer(random_state=0, **SMALL).fit(X[:80])
    together = imputer.transform(X[80:])
    np.testing.assert_allclose(imputer.transform(X[85:86]), together[5:6], rtol=1e-9)


def test_empty_columns_are_filled_with_0_and_empty_rows_are_filled():
    _, X, _ = correlated_table()
    X[:, 2] = np.nan
    X[5] = np.nan
    imputer = NewImpImputer(random_state=0, **SMALL)
    filled = imputer.fit_transform(X)
    assert not np.isnan(filled).any()
    np.testing.assert_array_equal(filled[:, 2], 0.0)
    new = np.full((2, 8), np.nan)
    new[0, 2] = 4.0
    found = imputer.transform(new)
    assert not np.isnan(found).any()
    np.testing.assert_array_equal(found[:, 2], [4.0, 0.0])


def test_a_table_without_gaps_comes_back():
    truth, _, _ = correlated_table()
    np.testing.assert_array_equal(NewImpImputer(**SMALL).fit_transform(truth), truth)


def test_a_fitted_imputer_can_be_pickled():
    _, X, _ = correlated_table()
    imputer = NewImpImputer(random_state=0, **SMALL).fit(X)
    stored = pickle.loads(pickle.dumps(imputer))
    np.testing.assert_array_equal(stored.transform(X), imputer.transform(X))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"bandwidth": 0.0}, r"'bandwidth' parameter of NewImpImputer must be a float in \(0"),
        ({"entropy_weight": -1.0}, r"'entropy_weight' parameter .* a float in \[0"),
        ({"step_size": 0.0}, r"'step_size' parameter .* a float in \(0"),
        ({"hidden_units": 0}, r"'hidden_units' parameter .* an int in \[1"),
        ({"n_rounds": 0}, r"'n_rounds' parameter .* an int in \[1"),
        ({"n_epochs": 0}, r"'n_epochs' parameter .* an int in \[1"),
        ({"n_steps": 0}, r"'n_steps' parameter .* an int in \[1"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        NewImpImputer(**parameters).fit([[0.0, 1.0], [np.nan, 0.0]])


@parametrize_with_checks([NewImpImputer(random_state=0, n_rounds=1, **SMALL)])
def test_it_is_an_ordinary_estimator(estimator, check):
    check(estimator)
