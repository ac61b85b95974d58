"""Small labelled tables with gaps, which the tests of Stage I and of `direct` share."""

from __future__ import annotations

import numpy as np

from kernimpute.core.rows import LabelledRows, check_labelled_rows
from kernimpute.kernels import Chi2, Gaussian, Laplacian, Linear, Polynomial, Sigmoid

GAUSSIAN = Gaussian(1.0)
SIX_KERNELS = (Gaussian(2.0), Laplacian(1.5), Linear(), Polynomial(), Sigmoid(), Chi2())


def labelled(X, y, kernel=GAUSSIAN, **options) -> LabelledRows:
    """Return checked rows with the usual options but those given."""
    usual = {"C": 1.0, "task": "classification", "epsilon": 0.1, "categorical": None}
    return check_labelled_rows(X, y, kernel, owner="test", **usual | options)


def small_rows(
    n_samples=12,
    missing_rate=0.4,
    seed=0,
    kernel=GAUSSIAN,
    n_complete=0,
    labels=None,
    **options,
) -> LabelledRows:
    """Return read-only rows of two clusters, of which some are complete and the others are not."""
    generator = np.random.default_rng(seed)
    y = np.arange(n_samples) % 2
    X = np.clip(0.3 + 0.4 * y[:, None] + 0.15 * generator.standard_normal((n_samples, 4)), 0, 1)
    gaps = generator.random(X.shape) < missing_rate
    gaps[:n_complete] = False
    gaps[n_complete:, 0] |= ~gaps[n_complete:].any(axis=1)
    X[gaps] = np.nan
    X.setflags(write=False)
    return labelled(X, y if labels is None else labels, kernel, **options)


def labels_of(rows):
    """Return the labels of two classes, as -1 and 1."""
    return rows.dual.targets[:, 0].astype(int)


def completions(rows, n_completions=100, seed=1):
    """Yield completed tables, uniform in the gaps."""
    generator = np.random.default_rng(seed)
    for _ in range(n_completions):
        yield np.where(rows.observed, rows.X, generator.random(rows.X.shape))


def feasible_coefficients(dual, seed=3):
    """Return generic coefficients that are feasible in the dual."""
    noise = np.random.default_rng(seed).random(dual.targets.shape)
    return dual.proximal_point(dual.lower + noise * (dual.upper - dual.lower), 0.0)
