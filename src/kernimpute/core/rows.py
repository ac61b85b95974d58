"""Incomplete rows with their labels, checked: what both kinds of variant start from."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernimpute.core.checks import (
    Task,
    check_choice,
    check_incomplete,
    check_matrix,
    check_sample_weight,
    codes_and_weights,
    observed_cells,
    refusal,
)
from kernimpute.core.dual import Dual, make_dual
from kernimpute.core.kernels import KERNELS, Gaussian, Kernel, Laplacian, make_kernel

__all__ = [
    "CLASSIFIER_C",
    "CLASSIFIER_ETA",
    "LabelledRows",
    "SMOOTH",
    "SMOOTH_OF_MANY",
    "anchor_weight",
    "check_labelled_rows",
    "default_kernel",
    "imputer_eta",
    "number_of_machines",
    "scaled_kernel",
]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

N_QUANTILES = 101
LARGEST_KERNEL = 1e100
"""Largest kernel value, so that sums of products with coefficients are numbers still."""


@dataclass(frozen=True)
class LabelledRows:
    """Incomplete rows and the dual problem of their labels.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Rows with NaN at the gaps.
    observed : ndarray of bool of shape (n_samples, n_features)
        True where a cell is observed.
    kernel : Kernel
        The kernel, its categorical columns marked.
    dual : Dual
        The support vector machine's dual, the weights in its bounds.
    sample_weight : ndarray of shape (n_samples,)
        Weight of each row: w counts as w copies of it. Ones where none were given.
    """

    X: FloatArray
    observed: BoolArray
    kernel: Kernel
    dual: Dual
    sample_weight: FloatArray


def check_labelled_rows(
    X: ArrayLike,
    y: ArrayLike,
    kernel: Kernel | str,
    *,
    owner: str,
    C: float,
    task: str,
    epsilon: float,
    categorical: ArrayLike | None,
    sample_weight: ArrayLike | None = None,
) -> LabelledRows:
    """Return rows, kernel and dual, or refuse them before any long work.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows with NaN at the gaps; numeric columns in [0, 1], categorical ones hold codes.
    y : array-like of shape (n_samples,)
        Labels or targets, complete.
    kernel : Kernel or str
        The kernel; a name takes `scaled_kernel`.
    owner : str
        The function whose parameters these are, for the messages.
    C, task, epsilon
        As in `make_dual`.
    categorical : array-like or None
        Mask or indices of the categorical columns; None keeps the kernel's own.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights of the rows, finite, nonnegative and not all 0; None weights every row 1.

    Returns
    -------
    LabelledRows
        The checked input.

    Raises
    ------
    TypeError, ValueError
        If any of it is not as described.
    """
    if isinstance(kernel, str):
        check_choice(owner, "kernel", kernel, KERNELS)
    elif not isinstance(kernel, Kernel):
        raise TypeError(refusal(owner, "kernel", "a Kernel or the name of one", kernel))
    matrix = check_matrix(X, owner)
    n_features = matrix.shape[1]
    marked: Kernel = Gaussian() if isinstance(kernel, str) else kernel
    marked = marked.with_categorical(categorical, n_features)
    table = check_incomplete(matrix, owner, marked.numeric(n_features))
    observed = observed_cells(table)
    weights = check_sample_weight(owner, sample_weight, table.shape[0])
    if isinstance(kernel, str):
        marked = scaled_kernel(kernel, table, marked.categorical, weights)
    _check_values(marked, n_features, owner)
    dual = make_dual(
        y, table.shape[0], C=C, task=task, epsilon=epsilon, sample_weight=weights, owner=owner
    )
    return LabelledRows(table, observed, marked, dual, weights)


def _check_values(kernel: Kernel, n_features: int, owner: str) -> None:
    """Refuse a kernel whose values on rows of this length are too large to be summed."""
    sums = np.array([0.0, n_features])
    try:
        with np.errstate(over="raise"):
            largest = float(np.abs(kernel.link(sums)).max())
            kernel.link_gradient(sums)
    except FloatingPointError:
        largest = np.inf
    if not largest <= LARGEST_KERNEL:
        must_be = (
            f"one that does not overflow, nor exceed {LARGEST_KERNEL:g}, for {n_features} features"
        )
        raise ValueError(refusal(owner, "kernel", must_be, kernel))


def scaled_kernel(
    name: str,
    X: FloatArray,
    categorical: tuple[int, ...] = (),
    sample_weight: ArrayLike | None = None,
) -> Kernel:
    """Return a kernel by its name, its gamma fitted to the spread of the observed cells.

    Parameters
    ----------
    name : str
        A name of `kernimpute.kernels.KERNELS`.
    X : ndarray of shape (n_samples, n_features)
        Rows with NaN at the gaps.
    categorical : tuple of int, default=()
        Columns that hold category codes.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights of the rows; None weights every row 1.

    Returns
    -------
    Kernel
        A gaussian or laplacian kernel with gamma = 2 / (expected distance of two rows whose
        columns are independent): for the gaussian on numeric columns this is 1 over the sum of
        their variances, scikit-learn's "scale" where their means agree (that one counts the
        spread of the means too). Other kernels with their defaults.

    Notes
    -----
    Up to `N_QUANTILES` cells of positive weight in a column, the expected distance is that of all
    pairs of them, exactly as for rows repeated as often as they weigh. More cells are first
    replaced by that many quantiles, in the middle of equal shares of the weight: Hazen's, in which
    a cell of weight w has the positions of w copies. (The fraction of a copy has one position, the
    middle of its share; the positions between two cells are interpolated linearly.)
    """
    kernel = make_kernel(name, categorical=categorical)
    if not kernel.is_decreasing:
        return kernel
    numeric = kernel.numeric(X.shape[1])
    weights = check_sample_weight("scaled_kernel", sample_weight, X.shape[0])
    distance = 0.0
    for column in range(X.shape[1]):
        known = ~np.isnan(X[:, column]) & (weights > 0.0)
        values, copies = X[known, column], weights[known]
        if numeric[column] and values.size:
            if values.size > N_QUANTILES:
                # They keep this linear in the number of rows.
                values = _quantiles(values, copies)
                copies = np.ones(values.size)
            terms = kernel.feature_term(values[:, None], values[None, :])
            # Relative to the largest, so that no product of two weights overflows.
            shares = copies / copies.max()
            distance += float(np.average(terms, weights=np.outer(shares, shares)))
        elif values.size:
            shares = codes_and_weights(values, copies)[1]
            shares = shares / shares.sum()
            distance += 1.0 - float(shares @ shares)
    # A table of constants has no distances: any gamma will do.
    gamma = 2.0 / distance if distance > 0.0 else 1.0
    if not math.isfinite(gamma):
        gamma = 1.0
    return make_kernel(name, gamma, categorical)


def _quantiles(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return Hazen's quantiles at the middles of `N_QUANTILES` equal shares of the weight."""
    midpoints = (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES
    if (weights == 1.0).all():
        # The same up to rounding; these are the values themselves where there are just as many.
        return np.asarray(np.quantile(values, midpoints, method="hazen"))
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]
    ends = np.cumsum(weights)
    # The first and the last copy of a value stand half a copy inside its share.
    inside = 0.5 * np.minimum(weights, 1.0)
    starts = ends - weights
    positions = np.stack([starts + inside, ends - inside], axis=1).ravel()
    return np.asarray(np.interp(ends[-1] * midpoints, positions, np.repeat(values, 2)))


SMOOTH = 0.25
"""Part of the scaled gamma that gamma="auto" takes."""

SMOOTH_OF_MANY = 0.5
"""The same in a classifier of more than two classes."""

CLASSIFIER_C = 4.0
"""Penalty of a classifier; imputers and regressors have 1."""

CLASSIFIER_ETA = 32.0
"""Weight of a classifier's anchor, in units of C / (observed share), for each of its machines."""

_BLOCK = 2**16
"""Rows that are counted at once."""


def imputer_eta(task: Task) -> float:
    """Return the weight of an imputer's anchor, in units of C / (observed share), a machine.

    Parameters
    ----------
    task : {"classification", "regression"}
        What the labels are.

    Returns
    -------
    float
        16 or 256.
    """
    return 16.0 if task == "classification" else 256.0


def number_of_machines(n_classes: int | None) -> int:
    """Return how many machines share a filling: one for a target or two classes, else one each.

    Parameters
    ----------
    n_classes : int or None
        Number of classes; None for a regression.

    Returns
    -------
    int
        The number.
    """
    return n_classes if n_classes is not None and n_classes > 2 else 1


def anchor_weight(C: float, X: FloatArray, factor: float, weights: FloatArray) -> float:
    """Return the default eta of `direct`: factor C / (observed share).

    Parameters
    ----------
    C : float
        Penalty of the machine.
    X : ndarray of shape (n_samples, n_columns)
        Rows with NaN at the gaps.
    factor : float
        The factor.
    weights : ndarray of shape (n_samples,)
        Weights of the rows.

    Returns
    -------
    float
        In (0, inf]; inf where nothing is observed.
    """
    # By blocks, for X may be larger than the memory.
    blocks = (X[first : first + _BLOCK] for first in range(0, X.shape[0], _BLOCK))
    shares = np.concatenate([(~np.isnan(block)).mean(axis=1) for block in blocks])
    observed = float(weights @ shares) / float(weights.sum())
    return factor * C / observed if observed > 0.0 else math.inf


def default_kernel(
    name: str,
    X: FloatArray,
    categorical: tuple[int, ...],
    weights: FloatArray | None = None,
    *,
    part: float = 1.0,
) -> Kernel:
    """Return a kernel by its name with a part of the gamma that fits the rows.

    Parameters
    ----------
    name : str
        A name of `kernimpute.kernels.KERNELS`.
    X : ndarray of shape (n_samples, n_columns)
        Rows with NaN at the gaps.
    categorical : tuple of int
        Columns of codes.
    weights : ndarray of shape (n_samples,) or None, default=None
        Weights of the rows.
    part : float, default=1.0
        Factor of the gamma of `scaled_kernel`, for the kernels that fit theirs.

    Returns
    -------
    Kernel
        The kernel.
    """
    kernel = scaled_kernel(name, X, categorical, sample_weight=weights)
    if not kernel.is_decreasing:
        return kernel
    fitted = cast("Gaussian | Laplacian", kernel)
    return replace(fitted, gamma=part * fitted.gamma)
