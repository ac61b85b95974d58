"""KARMA: its kernel against the paper's feature map written out, and its machine's optimality."""

import itertools

import numpy as np
import pytest
from sklearn.svm import SVC

from experiments.baselines.karma import fit_karma, karma_kernel

BETAS = [1, 2, 3, 4]


def gappy(seed, n_rows=30, n_features=5, share=0.4):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, n_features))
    X[generator.random(X.shape) < share] = np.nan
    return X


def mapped(row, beta):
    """Return the paper's features: the last value of each path of observed columns."""
    return np.array(
        [
            row[path[-1]] if not np.isnan(row[list(path)]).any() else 0.0
            for length in range(1, beta + 1)
            for path in itertools.product(range(row.size), repeat=length)
        ]
    )


@pytest.mark.parametrize("beta", BETAS)
def test_the_kernel_is_the_inner_product_of_the_features_of_paths(beta):
    X, Z = gappy(0, 7, 4), gappy(1, 5, 4)
    of_X, of_Z = (np.array([mapped(row, beta) for row in T]) for T in (X, Z))
    assert np.allclose(karma_kernel(X, Z, beta), of_X @ of_Z.T, rtol=1e-12)
    values = np.linalg.eigvalsh(karma_kernel(X, X, beta))
    assert values[0] >= -1e-12 * values[-1]


@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("beta", [1, 3])
def test_the_machine_agrees_with_libsvm(C, beta):
    X, new = gappy(4, 60), gappy(5)
    y = (np.nansum(X, axis=1) > 0.0).astype(int)
    machine = SVC(C=C, kernel="precomputed", tol=1e-6).fit(karma_kernel(X, X, beta), y)
    values = machine.decision_function(karma_kernel(new, X, beta))
    assert np.allclose(fit_karma(X, y, C, beta).decision_function(new), values, atol=1e-3)
