"""Incomplete rows with their labels, checked: what every variant starts from; and the defaults."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from kernimpute.core import checks
from kernimpute.core.arrays import BoolArray, FloatArray
from kernimpute.core.dual import Dual, make_dual
from kernimpute.core.kernels import KERNELS, Gaussian, Kernel, Laplacian, make_kernel

MAX_KERNEL = 1e100
"""Largest kernel value: sums of products with coefficients do not overflow."""
N_QUANTILES = 101
"""`scaled_kernel` replaces a longer column by this many quantiles."""
SMOOTH, SMOOTH_OF_MANY = 0.25, 0.5
"""Part of the scaled gamma that gamma="auto" takes; the latter for more than two classes."""
CLASSIFIER_C, CLASSIFIER_ETA = 4.0, 32.0
"""C and anchor weight (in C / observed share, a machine) of a classifier; others have C = 1."""
BLOCK_ROWS = 2**16
"""Rows that are counted at a time: X may be larger than the memory."""


@dataclass(frozen=True)
class LabelledRows:
    """Incomplete rows and the dual problem of their labels."""

    X: FloatArray  # (n_samples, n_features), NaN at the gaps
    observed: BoolArray  # (n_samples, n_features), True where a cell is observed
    kernel: Kernel  # with its categorical columns marked
    dual: Dual  # with the weights in its bounds
    sample_weight: FloatArray  # (n_samples,): a weight w counts as w copies of the row


def check_labelled_rows(
    X: ArrayLike,
    y: ArrayLike,
    kernel: Kernel | str,
    C: float,
    task: str,
    epsilon: float,
    categorical: ArrayLike | None,
    sample_weight: ArrayLike | None = None,
    *,
    owner: str,
) -> LabelledRows:
    """Return rows, kernel (`scaled_kernel` of a name) and dual, or refuse what `owner` got."""
    if isinstance(kernel, str):
        checks.check_choice(owner, "kernel", kernel, KERNELS)
    elif not isinstance(kernel, Kernel):
        raise TypeError(checks.refusal(owner, "kernel", "a Kernel or the name of one", kernel))
    matrix = checks.check_matrix(X, owner)
    n_features = matrix.shape[1]
    marked: Kernel = Gaussian() if isinstance(kernel, str) else kernel
    marked = marked.with_categorical(categorical, n_features)
    table = checks.check_incomplete(matrix, owner, marked.numeric(n_features))
    weights = checks.check_sample_weight(owner, sample_weight, table.shape[0])
    if isinstance(kernel, str):
        marked = scaled_kernel(kernel, table, marked.categorical, weights)
    _check_values(marked, n_features, owner)
    dual = make_dual(y, len(table), C, task, epsilon, weights, owner)
    return LabelledRows(table, checks.observed_cells(table), marked, dual, weights)


def _check_values(kernel: Kernel, n_features: int, owner: str) -> None:
    """Refuse a kernel whose values on rows of this length are too large to be summed."""
    sums = np.array([0.0, n_features])
    try:
        with np.errstate(over="raise"):
            largest = float(np.abs(kernel.link(sums)).max())
            kernel.link_gradient(sums)
    except FloatingPointError:
        largest = np.inf
    if not largest <= MAX_KERNEL:
        limit = f"one that does not overflow, nor exceed {MAX_KERNEL:g}, for {n_features} features"
        raise ValueError(checks.refusal(owner, "kernel", limit, kernel))


def scaled_kernel(
    name: str,
    X: FloatArray,
    categorical: tuple[int, ...] = (),
    sample_weight: ArrayLike | None = None,
) -> Kernel:
    """Return a kernel by its name, its gamma fitted to the spread of the observed cells.

    A gaussian or laplacian kernel gets gamma = 2 / (expected distance of two rows whose columns
    are independent); others keep their defaults. Quantiles keep the time linear in the rows.
    """
    kernel = make_kernel(name, categorical=categorical)
    if not kernel.is_exponential:
        return kernel
    numeric = kernel.numeric(X.shape[1])
    weights = checks.check_sample_weight("scaled_kernel", sample_weight, X.shape[0])
    distance = 0.0
    for column, cells in enumerate(X.T):
        known = ~np.isnan(cells) & (weights > 0.0)
        values, copies = cells[known], weights[known]
        if not values.size:
            continue
        if not numeric[column]:
            values, copies = checks.codes_and_weights(values, copies)
        elif values.size > N_QUANTILES:
            values, copies = _quantiles(values, copies), np.ones(N_QUANTILES)
        # Relative to the largest, so that no sum of weights overflows.
        shares = copies / copies.max()
        shares /= shares.sum()
        if numeric[column]:
            terms = kernel.feature_term(values[:, None], values[None, :])
            distance += float(shares @ terms @ shares)
        else:
            distance += 1.0 - float(shares @ shares)
    # A table of constants has no distances, so any gamma will do.
    gamma = 2.0 / distance if distance > 0.0 else 1.0
    return make_kernel(name, gamma if math.isfinite(gamma) else 1.0, categorical)


def _quantiles(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return Hazen's quantiles, in which a cell of weight w has the positions of w copies."""
    midpoints = (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]
    ends = np.cumsum(weights)
    # The first and the last copy of a value stand half a copy, or fraction, inside its share.
    inside = 0.5 * np.minimum(weights, 1.0)
    positions = np.stack([ends - weights + inside, ends - inside], axis=1).ravel()
    return np.asarray(np.interp(ends[-1] * midpoints, positions, np.repeat(values, 2)))


def default_kernel(
    name: str,
    X: FloatArray,
    categorical: tuple[int, ...],
    weights: FloatArray | None = None,
    *,
    part: float = 1.0,
) -> Kernel:
    """Return `scaled_kernel` with a part of its gamma, for the kernels that fit theirs."""
    kernel = scaled_kernel(name, X, categorical, sample_weight=weights)
    if not isinstance(kernel, Gaussian | Laplacian):
        return kernel
    return replace(kernel, gamma=part * kernel.gamma)


def imputer_eta(task: checks.Task) -> float:
    """Return the weight of an imputer's anchor, in units of C / (observed share), a machine."""
    return 16.0 if task == "classification" else 256.0


def number_of_machines(n_classes: int | None) -> int:
    """Return how many machines share a filling: one for a target or two classes, else one each."""
    return n_classes if n_classes is not None and n_classes > 2 else 1


def anchor_weight(C: float, X: FloatArray, factor: float, weights: FloatArray) -> float:
    """Return `direct`'s default eta, factor C / (weighted observed share); inf if that is 0."""
    blocks = (X[first : first + BLOCK_ROWS] for first in range(0, X.shape[0], BLOCK_ROWS))
    shares = np.concatenate([checks.observed_cells(block).mean(axis=1) for block in blocks])
    observed = float(weights @ shares) / float(weights.sum())
    return factor * C / observed if observed > 0.0 else math.inf
