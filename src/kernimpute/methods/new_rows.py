"""Stage II on new rows, which have no label: each on its own, against rows that stay as they are.

With a target, the sums that a new row should have with the complete rows, the missing cells are
minimised over as on the training rows, one row at a time. Without one, a row is filled with the
mean (categorical cells: the most frequent code) of the complete rows, weighted by their
similarity in the cells it has::

    weight_k = exp(-8 share distance_k / mean distance)

with the share of the features that the row has: the fewer cells there are to compare, the less
is made of how they compare, down to the plain mean for a row of gaps.

That is the table whose sums are the target in which every missing feature contributes
``g(mean, x_jp)``. The expected contribution under the same weights, ``mean of g(x_kp, x_jp)``,
would be the obvious target, and a bad one: for the gaussian kernel it exceeds the former by the
variance of the feature, and a single value can only be that far from all rows by leaving the
middle of them, to a side that nothing decides. Nor are the weights the kernel's own, for its gamma
was not chosen for them. "New rows" in ``benchmarks/README.md`` has the figures of all of these.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernimpute.core.checks import (
    check_incomplete,
    check_integer,
    check_real,
    check_sample_weight,
    observed_cells,
)
from kernimpute.core.kernels import Chi2, Kernel
from kernimpute.core.status import Record, Status, Trace
from kernimpute.methods import sweep as compiled
from kernimpute.methods.recover import RecoveredFeatures
from kernimpute.methods.starts import (
    check_columns,
    check_kernel,
    check_pairs,
    check_weights,
    check_weights_name,
    coded,
    in_rows,
    indexed,
    kind_of,
    observed_codes,
    relative_weights,
)
from kernimpute.methods.sweep import Rows

__all__ = ["recover_new_rows"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

_SHARPNESS = 8.0
"""How fast similarity falls with the distance relative to the mean distance."""

_CHUNK = 256
"""New rows whose weights are held at a time."""


def recover_new_rows(
    X_new: ArrayLike,
    X_train: ArrayLike,
    *,
    kernel: Kernel,
    target: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    categorical: ArrayLike | None = None,
    tol: float = 1e-10,
    max_sweeps: int = 1000,
) -> RecoveredFeatures:
    """Fill the gaps of new rows from complete rows.

    Every row is filled on its own: the result for a row does not depend on the others.

    Parameters
    ----------
    X_new : array-like of shape (n_new, n_features)
        The new rows with NaN at the gaps; there may be none. Observed values may lie outside
        [0, 1] (from 0 on for the chi-squared kernel), observed codes may be new.
    X_train : array-like of shape (n_train, n_features)
        Complete rows; numeric columns in [0, 1].
    kernel : Kernel
        One of the six kernels.
    target : array-like of shape (n_new, n_train) or None, default=None
        Sums in link space that the new rows should have with the complete ones. None fills with
        the mean or most frequent code of similar rows (see `kernimpute.methods.new_rows`).
    weights : array-like of shape (n_new, n_train), "kernel" or None, default=None
        Weight of each pair, as in `recover_features`; of no effect without a target.
    sample_weight : array-like of shape (n_train,) or None, default=None
        Weights of the complete rows, finite, nonnegative and not all 0, in the fill without a
        target, from which one with a target starts too; a weight w counts as w copies of the row.
        None weights every row 1.
    categorical : array-like of bool or int, default=None
        The columns with codes; None keeps what the kernel says.
    tol : float, default=1e-10
        A row is done once no cell moves by more in a sweep.
    max_sweeps : int, default=1000
        Sweeps over a row at the most.

    Returns
    -------
    RecoveredFeatures
        The completed rows, the sum of their objectives and the most sweeps that one took.

    Raises
    ------
    TypeError, ValueError
        If anything is not what it must be.

    Notes
    -----
    A row costs O(n_train n_features) without a target, and that a sweep with one. Beside the
    target, memory does not grow with the number of new rows but by their own table; calls on
    parts of the rows give the same bits as one on all.

    Examples
    --------
    >>> import numpy as np
    >>> from kernimpute.core.kernels import Gaussian
    >>> train = np.array([[0.0, 0.1], [0.1, 0.2], [1.0, 0.9]])
    >>> new = np.array([[0.05, np.nan], [np.nan, np.nan]])
    >>> recover_new_rows(new, train, kernel=Gaussian()).X.round(2)
    array([[0.05, 0.15],
           [0.37, 0.4 ]])
    """
    owner = "recover_new_rows"
    n_features = check_columns(X_train, owner, "X_train")
    kernel = check_kernel(kernel, categorical, n_features, owner)
    complete = _check_complete(X_train, kernel, owner)
    X = _check_new(X_new, n_features, kernel, owner)
    check_real(owner, "tol", tol, 0.0, low_included=True)
    check_integer(owner, "max_sweeps", max_sweeps, 0)
    copies = check_sample_weight(owner, sample_weight, complete.shape[0])
    pairs = (X.shape[0], complete.shape[0])
    sums = None if target is None else check_pairs(target, pairs, owner, "target")
    weigh = _check_new_weights(weights, kernel, pairs, owner)
    observed = observed_cells(X)
    missing = ~observed
    if not missing.any():
        return RecoveredFeatures(X.copy(), 0.0, Status.NOTHING_MISSING, 0, Trace())
    began = time.perf_counter()
    codes = observed_codes(complete, np.ones(complete.shape, dtype=bool), kernel)
    n_codes = np.array([known.size for known in codes], dtype=np.int64)
    rows = in_rows(kind_of(kernel), indexed(complete, codes).T, n_codes)
    table = indexed(X, codes)
    counted, n_copies = _counted(rows, copies)
    compiled.fill_from_similar(counted, n_copies, _SHARPNESS, table, missing)
    objectives = np.zeros(X.shape[0])
    n_sweeps = np.zeros(X.shape[0], dtype=np.int64)
    steps = np.zeros(X.shape[0])
    if sums is not None:
        for first in range(0, X.shape[0], _CHUNK):
            chunk = slice(first, first + _CHUNK)
            # A copy, for compiled code is compiled anew for arrays that must not be written.
            chunk_sums = sums[chunk].copy()
            compiled.recover_rows(
                rows,
                chunk_sums,
                weigh(chunk_sums, chunk),
                missing[chunk],
                max_sweeps,
                float(tol),
                table[chunk],
                objectives[chunk],
                n_sweeps[chunk],
                steps[chunk],
            )
    objective = float(objectives.sum())
    sweeps = int(n_sweeps.max())
    record = Record(
        iteration=sweeps,
        objective=objective,
        step_norms={"features": float(steps.max())},
        inner_iterations=1,
        seconds=time.perf_counter() - began,
        note="new rows",
        stage="Stage II",
    )
    return RecoveredFeatures(
        X=np.where(observed, X, coded(table, codes)),
        objective=objective,
        status=Status.CONVERGED if (steps <= tol).all() else Status.MAX_ITER,
        n_sweeps=sweeps,
        trace=Trace((record,)),
        start="similar rows",
    )


def _counted(rows: Rows, copies: FloatArray) -> tuple[Rows, FloatArray]:
    """Return the rows that count, and how often up to a factor; empty where all count once."""
    if (copies == 1.0).all():
        return rows, np.empty(0)
    # Halved or doubled until the most is about 1: no sum overflows, and codes that are as frequent
    # stay so to the last bit.
    copies = np.ldexp(copies, -int(np.frexp(copies.max())[1]))
    kept = copies > 0.0
    if not kept.all():
        rows = in_rows(rows.kind, rows.columns[:, kept], rows.n_codes)
    return rows, copies[kept]


def _check_complete(X: ArrayLike, kernel: Kernel, owner: str) -> FloatArray:
    """Return the complete rows."""
    matrix = check_incomplete(X, owner, kernel.numeric(np.shape(X)[1]), name="X_train")
    gaps = np.argwhere(np.isnan(matrix))
    if gaps.size:
        got = f"NaN in row {gaps[0, 0]}, column {gaps[0, 1]}"
        raise ValueError(f"The 'X_train' parameter of {owner} must be complete. Got {got} instead.")
    return matrix


def _check_new(X: ArrayLike, n_features: int, kernel: Kernel, owner: str) -> FloatArray:
    """Return the new rows, whose observed values need not lie in the range of the others."""
    try:
        matrix = np.ascontiguousarray(X, dtype=float)
    except (TypeError, ValueError) as error:
        raise TypeError(f"The 'X_new' parameter of {owner} must be numeric: {error}.") from error
    if matrix.ndim != 2 or matrix.shape[1] != n_features:
        must_be = f"a matrix with the {n_features} columns of X_train"
        got = f"an array of shape {matrix.shape}"
        raise ValueError(f"The 'X_new' parameter of {owner} must be {must_be}. Got {got} instead.")
    refused = np.isinf(matrix)
    must_be = "finite or NaN"
    if isinstance(kernel, Chi2):
        refused |= matrix < 0.0
        must_be = "in [0, inf) or NaN"
    if refused.any():
        row, column = (int(index) for index in np.argwhere(refused)[0])
        raise ValueError(
            f"The 'X_new' parameter of {owner} must hold values that are {must_be}. "
            f"Got {float(matrix[row, column])!r} in row {row}, column {column} instead."
        )
    return matrix


def _check_new_weights(
    weights: ArrayLike | None, kernel: Kernel, pairs: tuple[int, int], owner: str
) -> Callable[[FloatArray, slice], FloatArray]:
    """Return the function that gives the weights of a chunk of rows from its target."""
    if weights is None:
        return lambda target, chunk: np.ones((1, pairs[1]))
    if isinstance(weights, str):
        check_weights_name(weights, owner)
        return lambda target, chunk: relative_weights(
            kernel, target, np.ones(target.shape, dtype=bool), axis=1
        )
    matrix = check_weights(weights, pairs, owner)
    return lambda target, chunk: matrix[chunk].copy()
