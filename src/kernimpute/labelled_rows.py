"""Incomplete rows with their labels, checked: what both kinds of variant start from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernimpute.dual import Dual, make_dual
from kernimpute.kernels import KERNELS, Gaussian, Kernel, make_kernel
from kernimpute.missing import check_incomplete, check_matrix, observed_cells
from kernimpute.parameters import check_choice, check_real, refusal

__all__ = ["LabelledRows", "check_labelled_rows", "check_weights", "scaled_kernel"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

N_QUANTILES = 101


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
        The support vector machine's dual.
    """

    X: FloatArray
    observed: BoolArray
    kernel: Kernel
    dual: Dual


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
    if isinstance(kernel, str):
        marked = scaled_kernel(kernel, table, marked.categorical)
    dual = make_dual(y, table.shape[0], C=C, task=task, epsilon=epsilon, owner=owner)
    return LabelledRows(table, observed, marked, dual)


def scaled_kernel(name: str, X: FloatArray, categorical: tuple[int, ...] = ()) -> Kernel:
    """Return a kernel by its name, its gamma fitted to the spread of the observed cells.

    Parameters
    ----------
    name : str
        A name of `kernimpute.kernels.KERNELS`.
    X : ndarray of shape (n_samples, n_features)
        Rows with NaN at the gaps.
    categorical : tuple of int, default=()
        Columns that hold category codes.

    Returns
    -------
    Kernel
        A gaussian or laplacian kernel with gamma = 2 / (expected distance of two rows whose
        columns are independent): for the gaussian on numeric columns this is 1 over the sum of
        their variances, scikit-learn's "scale" where their means agree (that one counts the
        spread of the means too). Other kernels with their defaults.
    """
    kernel = make_kernel(name, categorical=categorical)
    if not kernel.is_decreasing:
        return kernel
    numeric = kernel.numeric(X.shape[1])
    distance = 0.0
    for column in range(X.shape[1]):
        values = X[~np.isnan(X[:, column]), column]
        if numeric[column] and values.size:
            if values.size > N_QUANTILES:
                # Quantiles keep this linear in the number of rows. Hazen's at the midpoints are
                # the values themselves where there are just as many.
                midpoints = (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES
                values = np.quantile(values, midpoints, method="hazen")
            distance += float(kernel.feature_term(values[:, None], values[None, :]).mean())
        elif values.size:
            shares = np.unique(values, return_counts=True)[1] / values.size
            distance += 1.0 - float(shares @ shares)
    # A table of constants has no distances: any gamma will do.
    gamma = 2.0 / distance if distance > 0.0 else 1.0
    return make_kernel(name, gamma, categorical)


def check_weights(
    owner: str, eta: float | None, rho: float | None, radius: float | None
) -> tuple[float | None, float | None, float | None]:
    """Return the weights of the anchor and of the perturbation, or refuse them.

    Parameters
    ----------
    owner : str
        The function whose parameters these are, for the messages.
    eta, rho : float or None
        In (0, inf].
    radius : float or None
        In [0, inf).

    Returns
    -------
    tuple of (float or None)
        The three as floats; None stays None.

    Raises
    ------
    TypeError, ValueError
        If one is not a number in its range.
    """
    return (
        None if eta is None else check_real(owner, "eta", eta, 0.0, high_included=True),
        None if rho is None else check_real(owner, "rho", rho, 0.0, high_included=True),
        None if radius is None else check_real(owner, "radius", radius, 0.0, low_included=True),
    )
