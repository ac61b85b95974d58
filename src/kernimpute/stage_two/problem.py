"""The problem of Stage II: a table with gaps, and the sums of feature terms it should have.

Minimise over the missing cells, numeric ones in [0, 1] and categorical ones among the observed
codes of their column (eq. (Stage2) of the paper, with weights)::

    sum over i, j of weights_ij (sum over p of g(x_ip, x_jp) - target_ij)^2

`target` lives in link space: for an exponential kernel it is ``-log(K) / gamma``, a distance.
The weights decide which pairs matter, three examples:

- uniform: the paper's second form, every pair counts the same;
- ``"kernel"``: the square of the link's slope at the target, so that the objective is the
  paper's first form ``sum (k(x_i, x_j) - K_ij)^2`` to first order, in which far pairs fade;
- any symmetric array, with zeros for pairs that are to be ignored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernimpute.kernels import Chi2, Gaussian, Kernel, Laplacian, Linear, Polynomial, Sigmoid
from kernimpute.missing import check_incomplete, observed_cells
from kernimpute.parameters import refusal
from kernimpute.stage_two.compiled import CHI2, GAUSSIAN, LAPLACIAN, PRODUCT, Rows

__all__ = [
    "RecoveryProblem",
    "check_columns",
    "check_kernel",
    "check_pairs",
    "check_weights",
    "check_weights_name",
    "coded",
    "in_rows",
    "indexed",
    "kind_of",
    "observed_codes",
    "recovery_problem",
    "relative_weights",
]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]

_KINDS: dict[type[Kernel], int] = {
    Gaussian: GAUSSIAN,
    Laplacian: LAPLACIAN,
    Linear: PRODUCT,
    Polynomial: PRODUCT,
    Sigmoid: PRODUCT,
    Chi2: CHI2,
}

_SYMMETRY = 1e-8
"""Relative asymmetry of a target that passes for rounding."""

_LARGEST = 1e150
"""Largest sum, and largest weight, of a pair: their squares are summed."""

_SMALLEST_WEIGHT = 1e-100
"""Relative weight below which far pairs no longer fade: a row far from all keeps its pairs."""


@dataclass(frozen=True)
class RecoveryProblem:
    """A table with gaps and what its sums of feature terms should be.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The table, NaN at the gaps.
    observed : ndarray of bool of shape (n_samples, n_features)
        True where a cell is observed.
    kernel : Kernel
        Its feature term, with the categorical columns.
    target : ndarray of shape (n_samples, n_samples)
        Symmetric sums in link space.
    weights : ndarray of shape (n_samples, n_samples) or (1, n_samples)
        Symmetric weights whose largest is 1; one row of ones where they are uniform.
    weight_scale : float
        What the weights were divided by.
    codes : tuple of ndarray
        The observed codes of each column in ascending order; empty for a numeric column.
    """

    X: FloatArray
    observed: BoolArray
    kernel: Kernel
    target: FloatArray
    weights: FloatArray
    weight_scale: float
    codes: tuple[FloatArray, ...]

    @property
    def kind(self) -> int:
        """The feature term's number in `compiled`."""
        return kind_of(self.kernel)

    @property
    def n_codes(self) -> IntArray:
        """Number of codes of each column, 0 for a numeric one; of shape (n_features,)."""
        return np.array([codes.size for codes in self.codes], dtype=np.int64)

    def rows(self, table: FloatArray) -> Rows:
        """Return a complete table in the layout of compiled code."""
        return in_rows(self.kind, indexed(table, self.codes).T, self.n_codes)

    def table(self, columns: FloatArray) -> FloatArray:
        """Return columns as a table, with the observed cells bit for bit as they were given."""
        return np.where(self.observed, self.X, coded(columns.T, self.codes))

    def objective(self, table: FloatArray) -> float:
        """Return the weighted sum of squared residuals of a complete table."""
        residuals = self.kernel.sums(table, table) - self.target
        return float(self.weight_scale * (self.weights * residuals**2).sum())


def recovery_problem(
    X: ArrayLike,
    target: ArrayLike,
    *,
    kernel: Kernel,
    weights: ArrayLike | None = None,
    categorical: ArrayLike | None = None,
    owner: str = "recovery_problem",
) -> RecoveryProblem:
    """Return the checked problem.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The table with NaN at the gaps; numeric columns in [0, 1], categorical ones with any
        finite codes.
    target : array-like of shape (n_samples, n_samples)
        Symmetric sums in link space; asymmetry of the size of rounding is averaged away.
    kernel : Kernel
        One of the six kernels.
    weights : array-like of shape (n_samples, n_samples), "kernel" or None, default=None
        Weight of each pair; None weights all alike.
    categorical : array-like of bool or int, default=None
        The columns with codes; None keeps what the kernel says.
    owner : str
        The function whose parameters they are, for the messages.

    Returns
    -------
    RecoveryProblem
        The problem.

    Raises
    ------
    TypeError, ValueError
        If anything is not what it must be.
    """
    n_features = check_columns(X, owner, "X")
    kernel = check_kernel(kernel, categorical, n_features, owner)
    # In one layout, for compiled code is compiled anew for every other.
    table = np.ascontiguousarray(check_incomplete(X, owner, kernel.numeric(n_features)))
    n = table.shape[0]
    sums = check_pairs(target, (n, n), owner, "target")
    sums = _check_symmetric(sums, owner, "target")
    scale = 1.0
    if weights is None:
        matrix = np.ones((1, n))
    elif isinstance(weights, str):
        check_weights_name(weights, owner)
        matrix = relative_weights(kernel, sums, ~np.eye(n, dtype=bool))
    else:
        matrix = _check_symmetric(check_weights(weights, (n, n), owner), owner, "weights")
        scale = float(matrix.max())
        matrix /= scale
    observed = observed_cells(table)
    return RecoveryProblem(
        X=table,
        observed=observed,
        kernel=kernel,
        target=sums,
        weights=matrix,
        weight_scale=scale,
        codes=observed_codes(table, observed, kernel),
    )


def check_columns(X: ArrayLike, owner: str, name: str) -> int:
    """Return the number of columns of X, if it is a matrix."""
    try:
        shape = np.shape(X)
    except ValueError:
        # Rows of different lengths; the check words the refusal.
        shape = ()
    if len(shape) != 2:
        check_incomplete(X, owner, name=name)
    return int(shape[1])


def check_kernel(
    kernel: Kernel, categorical: ArrayLike | None, n_features: int, owner: str
) -> Kernel:
    """Return the kernel with its categorical columns, if Stage II knows its feature term."""
    if type(kernel) not in _KINDS:
        known = ", ".join(known.__name__ for known in _KINDS)
        must_be = f"an instance of one of the kernels {known}"
        error = ValueError if isinstance(kernel, Kernel) else TypeError
        raise error(refusal(owner, "kernel", must_be, kernel))
    columns = kernel.categorical if categorical is None else categorical
    return kernel.with_categorical(columns, n_features)


def kind_of(kernel: Kernel) -> int:
    """Return the number in `compiled` of a kernel's feature term."""
    return _KINDS[type(kernel)]


def observed_codes(X: FloatArray, observed: BoolArray, kernel: Kernel) -> tuple[FloatArray, ...]:
    """Return the observed codes of every column, ascending; none for a numeric column."""
    categorical = set(kernel.categorical)
    return tuple(
        np.unique(X[observed[:, column], column]) if column in categorical else np.empty(0)
        for column in range(X.shape[1])
    )


def indexed(table: FloatArray, codes: tuple[FloatArray, ...]) -> FloatArray:
    """Return a table whose categorical columns hold the indices of their codes.

    A code that is none of the column's becomes -1, which differs from all.
    """
    table = table.copy()
    for column, known in enumerate(codes):
        if known.size:
            place = np.minimum(np.searchsorted(known, table[:, column]), known.size - 1)
            table[:, column] = np.where(known[place] == table[:, column], place, -1)
    return table


def coded(table: FloatArray, codes: tuple[FloatArray, ...]) -> FloatArray:
    """Return a table whose categorical columns hold codes in the place of their indices."""
    table = table.copy()
    for column, known in enumerate(codes):
        if known.size:
            table[:, column] = known[table[:, column].astype(np.int64)]
    return table


def in_rows(kind: int, columns: FloatArray, n_codes: IntArray) -> Rows:
    """Return columns of shape (n_features, n_samples) in the layout of compiled code."""
    # Sorting costs as much as the objective, and one kernel alone reads the order.
    order = np.argsort(columns if kind == LAPLACIAN else columns[:0], axis=1, kind="stable")
    squares = np.flatnonzero(n_codes == 0) if kind == GAUSSIAN else np.empty(0, np.int64)
    return Rows(kind, np.ascontiguousarray(columns), n_codes, squares, order)


def relative_weights(
    kernel: Kernel, sums: FloatArray, counted: BoolArray, axis: int | None = None
) -> FloatArray:
    """Return the squared slope of the link at the sums, relative to the largest.

    Taken from the sums, not from kernel values, so that they neither overflow nor all vanish:
    an exponential link is first shifted to the smallest sum.

    Parameters
    ----------
    kernel : Kernel
        Its link.
    sums : ndarray of shape (n_rows, n_other_rows)
        Sums in link space.
    counted : ndarray of bool of shape (n_rows, n_other_rows)
        The pairs among which the largest is sought: the diagonal of a distance matrix is no
        measure for the rest.
    axis : int or None, default=None
        Whether it is sought in each row (1) or in the whole matrix (None).

    Returns
    -------
    ndarray of shape (n_rows, n_other_rows)
        Weights in (0, 1], at least `_SMALLEST_WEIGHT`.
    """
    if kernel.is_distance:
        lowest = np.min(sums, axis=axis, keepdims=True, where=counted, initial=np.inf)
        slopes = kernel.link(np.maximum(sums - lowest, 0.0))
    else:
        slopes = np.abs(kernel.link_gradient(sums))
        largest = np.max(slopes, axis=axis, keepdims=True, where=counted, initial=0.0)
        flat = np.ones(sums.shape)
        slopes = np.minimum(np.divide(slopes, largest, out=flat, where=largest > 0.0), 1.0)
    return np.maximum(slopes**2, _SMALLEST_WEIGHT)


def check_weights_name(weights: str, owner: str) -> None:
    """Refuse a name of weights other than "kernel"."""
    if weights != "kernel":
        raise ValueError(
            refusal(owner, "weights", "'kernel', None or a matrix of weights", weights)
        )


def check_weights(weights: ArrayLike, shape: tuple[int, int], owner: str) -> FloatArray:
    """Return weights as a matrix, if they are nonnegative and one of them is positive."""
    matrix = check_pairs(weights, shape, owner, "weights")
    if matrix.min() < 0.0 or matrix.max() <= 0.0:
        must_be = "nonnegative, and positive for one pair at least"
        got = f"weights from {matrix.min():g} to {matrix.max():g}"
        raise ValueError(_matrix_refusal(owner, "weights", must_be, got))
    return matrix


def check_pairs(matrix: ArrayLike, shape: tuple[int, int], owner: str, name: str) -> FloatArray:
    """Return a matrix over pairs of rows; the input itself where it already is one."""
    try:
        values = np.ascontiguousarray(matrix, dtype=float)
    except (TypeError, ValueError) as error:
        raise TypeError(f"The {name!r} parameter of {owner} must be numeric: {error}.") from error
    if values.shape != shape:
        must_be = f"a matrix of shape {shape}"
        raise ValueError(_matrix_refusal(owner, name, must_be, f"shape {values.shape}"))
    if not np.isfinite(values).all():
        row, column = (int(index) for index in np.argwhere(~np.isfinite(values))[0])
        got = f"{float(values[row, column])!r} in row {row}, column {column}"
        raise ValueError(_matrix_refusal(owner, name, "finite", got))
    farthest = float(np.abs(values).max(initial=0.0))
    if farthest > _LARGEST:
        must_be = f"at most {_LARGEST:g} in absolute value"
        raise ValueError(_matrix_refusal(owner, name, must_be, f"{farthest:g}"))
    return values


def _check_symmetric(matrix: FloatArray, owner: str, name: str) -> FloatArray:
    """Return the symmetric part of a matrix that is symmetric up to rounding."""
    asymmetry = float(np.abs(matrix - matrix.T).max())
    if asymmetry > _SYMMETRY * float(np.abs(matrix).max()):
        got = f"values that differ by {asymmetry:g} from those of the transpose"
        raise ValueError(_matrix_refusal(owner, name, "symmetric", got))
    return 0.5 * (matrix + matrix.T)


def _matrix_refusal(owner: str, name: str, must_be: str, got: str) -> str:
    return f"The {name!r} parameter of {owner} must be {must_be}. Got {got} instead."
