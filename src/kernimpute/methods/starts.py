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

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh

from kernimpute.core.checks import check_incomplete, observed_cells, refusal
from kernimpute.core.kernels import Chi2, Gaussian, Kernel, Laplacian, Linear, Polynomial, Sigmoid
from kernimpute.methods.sweep import CHI2, GAUSSIAN, LAPLACIAN, PRODUCT, Rows

__all__ = [
    "RecoveryProblem",
    "STARTS",
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


_SPARE_DIMENSIONS = 3
"""Coordinates a column for the kernels whose term is no isometry of the column itself."""

_EXACT = 1e-6
"""Relative error with which coordinates reproduce a target that is worth several fits."""

_FITS = 32
"""Fits of the isometry, from random tables after the first, while none fits the observed cells."""

_FIT_STEPS = 3000
_FITTED = 1e-26
"""Mean squared misfit at which an isometry fits to rounding."""

_PATIENCE = 20
"""Steps with a relative change below `_SLOW` after which a fit is given up."""

_SLOW = 1e-6

_RIDGES = np.concatenate([[0.0], 10.0 ** np.arange(-8.0, 1.0, 0.5)])
"""Ridges, relative to the squared norm of all coordinates, that a regression chooses from."""

_RANK = 1e-9
"""Relative size up to which an eigenvalue or singular value counts as 0."""


def _half(problem: RecoveryProblem, rng: np.random.Generator) -> FloatArray:
    """Return the table with 0.5 or the most frequent code in its gaps."""
    return _filled(problem, lambda known: 0.5)


def _mean(problem: RecoveryProblem, rng: np.random.Generator) -> FloatArray:
    """Return the table with the column mean or the most frequent code in its gaps."""
    return _filled(problem, lambda known: float(known.mean()) if known.size else 0.5)


def _filled(problem: RecoveryProblem, typical: Callable[[FloatArray], float]) -> FloatArray:
    table = problem.X.copy()
    for column, codes in enumerate(problem.codes):
        known = problem.observed[:, column]
        if codes.size:
            counts = (table[known, column, None] == codes).sum(axis=0)
            table[~known, column] = codes[np.argmax(counts)]
        else:
            table[~known, column] = typical(table[known, column])
    return table


def _random(problem: RecoveryProblem, rng: np.random.Generator) -> FloatArray:
    """Return the table with uniform values or codes in its gaps."""
    table = problem.X.copy()
    for column, codes in enumerate(problem.codes):
        gaps = ~problem.observed[:, column]
        n_gaps = int(gaps.sum())
        drawn = rng.choice(codes, n_gaps) if codes.size else rng.random(n_gaps)
        table[gaps, column] = drawn
    return table


def _spectral(problem: RecoveryProblem, rng: np.random.Generator) -> FloatArray:
    """Return the table whose rows best lie as the target says."""
    features, highest = _indicators(problem)
    isometric = not isinstance(problem.kernel, Laplacian | Chi2)
    centred = problem.kernel.is_distance
    n_coordinates = features.shape[1] * (1 if isometric else _SPARE_DIMENSIONS)
    coordinates, error = _coordinates(problem.target, n_coordinates, centred)
    fitted = np.clip(_regress(coordinates, features, centred), 0.0, highest)
    if isometric:
        first = fitted
        lowest = np.inf
        for fit in range(_FITS if error <= _EXACT else 1):
            guess = first if fit == 0 else highest * rng.random(features.shape)
            candidate, misfit = _fit_isometry(coordinates, features, guess, highest, centred)
            if misfit < lowest:
                fitted, lowest = candidate, misfit
            if lowest <= _FITTED:
                break
    return _table(problem, fitted)


STARTS: dict[str, Callable[[RecoveryProblem, np.random.Generator], FloatArray]] = {
    "half": _half,
    "mean": _mean,
    "random": _random,
    "spectral": _spectral,
}
"""The starts by name: each takes the problem and a generator and returns a complete table."""


# ------------------------------------------------------------------------------- the spectral one


def _indicators(problem: RecoveryProblem) -> tuple[FloatArray, FloatArray]:
    """Return the table with a column a code for categorical columns, and the largest values.

    Returns
    -------
    features : ndarray of shape (n_samples, n_indicators)
        NaN at the gaps.
    highest : ndarray of shape (n_indicators,)
        1 for a numeric column, ``sqrt(1/2)`` for a code.
    """
    blocks = []
    highest = []
    for column, codes in enumerate(problem.codes):
        values = problem.X[:, column, None]
        if codes.size:
            block = np.where(np.isnan(values), np.nan, np.sqrt(0.5) * (values == codes))
            highest += [np.sqrt(0.5)] * codes.size
        else:
            block = values
            highest += [1.0]
        blocks.append(block)
    return np.hstack(blocks), np.array(highest)


def _table(problem: RecoveryProblem, features: FloatArray) -> FloatArray:
    """Return the table from columns of indicators: the code with the largest one."""
    table = problem.X.copy()
    first = 0
    for column, codes in enumerate(problem.codes):
        gaps = ~problem.observed[:, column]
        width = max(codes.size, 1)
        block = features[gaps, first : first + width]
        table[gaps, column] = codes[np.argmax(block, axis=1)] if codes.size else block[:, 0]
        first += width
    return table


def _coordinates(target: FloatArray, n_coordinates: int, centred: bool) -> tuple[FloatArray, float]:
    """Return coordinates of the rows, and the relative error with which they give the target.

    Parameters
    ----------
    target : ndarray of shape (n_samples, n_samples)
        Squared distances, if `centred`, or inner products.
    n_coordinates : int
        Coordinates at the most; fewer where the target has fewer positive eigenvalues.
    centred : bool
        Whether to centre: classical scaling.

    Returns
    -------
    coordinates : ndarray of shape (n_samples, n_kept)
        The coordinates, largest extent first.
    error : float
        Norm of what the coordinates leave of the matrix of inner products, relative to its norm.
    """
    products = target
    if centred:
        means = target.mean(axis=0)
        products = -0.5 * (target - means - means[:, None] + means.mean())
    n = target.shape[0]
    values, vectors = eigh(products, subset_by_index=[max(n - n_coordinates, 0), n - 1])
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > max(_RANK * values[0], 0.0)
    norm = float(np.linalg.norm(products))
    left = max(norm**2 - float((values[kept] ** 2).sum()), 0.0)
    error = float(np.sqrt(left)) / norm if norm > 0.0 else 0.0
    return vectors[:, kept] * np.sqrt(values[kept]), error


def _regress(coordinates: FloatArray, features: FloatArray, centred: bool) -> FloatArray:
    """Return every column as a linear function of the coordinates, fitted on its known cells.

    Ridge regression, the ridge of each column by generalised cross-validation: the least of
    squared residuals over squared degrees of freedom left. A column without known cells
    becomes 0.5.
    """
    fitted = np.full(features.shape, 0.5)
    extent = float(np.linalg.norm(coordinates)) or 1.0
    for column in range(features.shape[1]):
        known = ~np.isnan(features[:, column])
        if not known.any():
            continue
        x = coordinates[known]
        y = features[known, column]
        x_mean = x.mean(axis=0) if centred else np.zeros(x.shape[1])
        y_mean = y.mean() if centred else 0.0
        left, sizes, right = np.linalg.svd((x - x_mean) / extent, full_matrices=False)
        kept = sizes > _RANK
        left, sizes, right = left[:, kept], sizes[kept], right[kept]
        y = y - y_mean
        along = left.T @ y
        shrink = sizes**2 / (sizes**2 + _RIDGES[:, None])
        misfit = max(float(y @ y - along @ along), 0.0) + ((along * (1.0 - shrink)) ** 2).sum(
            axis=1
        )
        freedom = y.size - float(centred) - shrink.sum(axis=1)
        scores = np.where(freedom > 0.1, misfit / np.maximum(freedom, 0.1) ** 2, np.inf)
        best = shrink[np.argmin(scores)]
        slope = right.T @ (best * along / sizes)
        fitted[:, column] = (coordinates - x_mean) / extent @ slope + y_mean
    return fitted


def _fit_isometry(
    coordinates: FloatArray,
    features: FloatArray,
    guess: FloatArray,
    highest: FloatArray,
    centred: bool,
) -> tuple[FloatArray, float]:
    """Return the table nearest to a moved copy of the coordinates that agrees with known cells.

    Alternates between the motion that takes the coordinates nearest to the table (a rotation
    by the singular vectors, and a shift if `centred`) and the table nearest to the moved
    coordinates: known cells as known, the others brought into their range. Nesterov's momentum,
    dropped whenever the misfit rises, makes it quick.

    Parameters
    ----------
    coordinates : ndarray of shape (n_samples, n_coordinates)
        The rows up to a motion.
    features : ndarray of shape (n_samples, n_indicators)
        The known cells, NaN elsewhere.
    guess : ndarray of shape (n_samples, n_indicators)
        Where the unknown cells begin.
    highest : ndarray of shape (n_indicators,)
        The largest value of each column; the smallest is 0.
    centred : bool
        Whether the motion may shift.

    Returns
    -------
    table : ndarray of shape (n_samples, n_indicators)
        The table.
    misfit : float
        Mean squared distance between it and the moved coordinates.
    """
    known = ~np.isnan(features)
    table = previous = aim = np.where(known, features, guess)
    misfit = np.inf
    momentum = 0
    slow = 0
    for _ in range(_FIT_STEPS):
        shift = aim.mean(axis=0) if centred else 0.0
        left, _, right = np.linalg.svd(coordinates.T @ (aim - shift), full_matrices=False)
        moved = coordinates @ (left @ right) + shift
        table = np.where(known, features, np.clip(moved, 0.0, highest))
        last, misfit = misfit, float(np.mean((moved - table) ** 2))
        slow = slow + 1 if abs(last - misfit) <= _SLOW * misfit else 0
        if misfit <= _FITTED or slow >= _PATIENCE:
            break
        momentum = 0 if misfit > last else momentum + 1
        aim = table + momentum / (momentum + 3.0) * (table - previous)
        previous = table
    return table, misfit
