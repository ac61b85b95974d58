"""The mechanisms: exact counts, and on what a missing cell depends and does not depend."""

import numpy as np
import pytest
from scipy.stats import chi2

from experiments.amputation import draw_amputation

MECHANISMS = ("mcar", "mar", "mnar")


def table(n=60, d=7, own_gaps=0, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(3.0, 2.0, size=(n, d))
    X.flat[generator.permutation(X.size)[:own_gaps]] = np.nan
    return X


def amputed(mechanism, X, rate, seed=0):
    amputation = draw_amputation(mechanism, X, np.random.default_rng([1, seed]))
    return amputation, amputation.mask(X, rate, np.random.default_rng([2, seed]))


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("rate", [0.1, 0.33, 0.5])
@pytest.mark.parametrize("own_gaps", [0, 30])
def test_exactly_the_share_is_missing_and_own_gaps_stay(mechanism, rate, own_gaps):
    X = table(own_gaps=own_gaps)
    _, observed = amputed(mechanism, X, rate)
    assert (~observed).sum() == round(X.size * rate)
    assert not observed[np.isnan(X)].any()


def test_under_mcar_every_cell_is_as_likely():
    X = table(n=6, d=5)
    n_draws, rate = 4000, 0.4
    missing = sum((~amputed("mcar", X, rate, seed)[1]).astype(int) for seed in range(n_draws))
    # Cells of one draw exclude one another: the variance is that without replacement.
    variance = n_draws * rate * (1.0 - rate) * X.size / (X.size - 1)
    statistic = ((missing - n_draws * rate) ** 2).sum() / variance
    assert chi2.sf(statistic, X.size - 1) > 1e-3


def test_under_mar_the_deciding_third_stays_and_the_others_follow_it():
    X = table(n=6000, d=9)
    amputation, observed = amputed("mar", X, 0.3)
    deciding = ~amputation.can_lose
    assert deciding.sum() == 3
    assert observed[:, deciding].all()
    scores = (X - X.mean(axis=0)) / X.std(axis=0) @ amputation.coefficients
    for column in np.flatnonzero(~deciding):
        gone = (~observed[:, column]).astype(float)
        np.testing.assert_allclose(scores[:, column].std(), 1.0)
        # A lost value is independent of the deciding columns here, so it must tell nothing.
        assert abs(np.corrcoef(gone, X[:, column])[0, 1]) < 4.0 / np.sqrt(len(X))
        assert np.corrcoef(gone, scores[:, column])[0, 1] > 0.3


def test_under_mnar_masks_follow_the_cells_own_values_by_the_columns_sign():
    X = table(n=6000, d=6)
    amputation, observed = amputed("mnar", X, 0.3)
    signs = np.diag(amputation.coefficients)
    assert set(signs) == {-1.0, 1.0}
    for column, sign in enumerate(signs):
        gone = (~observed[:, column]).astype(float)
        assert sign * np.corrcoef(gone, X[:, column])[0, 1] > 0.3
        others = np.delete(X, column, axis=1)
        along = [abs(np.corrcoef(gone, other)[0, 1]) for other in others.T]
        assert max(along) < 4.5 / np.sqrt(len(X))


def test_rates_out_of_reach_are_refused():
    X = table(own_gaps=105)
    with pytest.raises(ValueError, match=r"must be between 0\.250.*and 1\.000.*; got 0\.2\.$"):
        amputed("mcar", X, 0.2)
    with pytest.raises(ValueError, match=r"between 0\.000.*and 0\.714.*; got 0\.8\.$"):
        amputed("mar", table(), 0.8)
    with pytest.raises(ValueError, match="under 'mar' must be at least 2; got 1"):
        draw_amputation("mar", table(d=1), np.random.default_rng(0))
