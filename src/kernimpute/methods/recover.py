"""Stage II: from sums of feature terms back to the features (`recover_features`).

Minimise over the missing cells, numeric ones in [0, 1] and categorical ones among the observed
codes of their column (eq. (Stage2) of the paper, with weights)::

    sum over i, j of weights_ij (sum over p of g(x_ip, x_jp) - target_ij)^2
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from kernimpute.core import checks
from kernimpute.core.arrays import BoolArray, FloatArray
from kernimpute.core.kernels import Kernel
from kernimpute.core.status import COMPILING, Callback, Rounds, Status, Trace
from kernimpute.methods import sweep as compiled

ZERO = 1e-28
"""Objective, relative to that of all sums 0, at which residuals are rounding, 1e-14 of the sums."""
MEMORY, RIDGE = 8, 1e-14
"""Changes between sweeps that an extrapolation combines, and its least squares' relative ridge."""
SYMMETRY = 1e-8
"""Relative asymmetry of a target that passes for rounding."""
LARGEST = 1e150
"""Largest sum, and largest weight, of a pair, so that their squares can be summed."""
SMALLEST_WEIGHT = 1e-100
"""Smallest relative weight of a pair, so that a row that is far from all others keeps its pairs."""


@dataclass(frozen=True)
class RecoveredFeatures:
    """A completed table and how it was found.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The completed table; observed cells bit for bit as they were given.
    objective : float
        Weighted sum of squared residuals.
    status, n_sweeps, trace : Status, int and Trace
        How the descent from the winning start ended, its sweeps, and its records.
    start : str
        The winning start.
    """

    X: FloatArray
    objective: float
    status: Status
    n_sweeps: int
    trace: Trace
    start: str = ""


def recover_features(
    X: ArrayLike,
    target: ArrayLike,
    *,
    kernel: Kernel,
    weights: ArrayLike | None = None,
    starts: str | Sequence[str | ArrayLike] = "auto",
    categorical: ArrayLike | None = None,
    tol: float = 1e-7,
    max_sweeps: int = 3000,
    extrapolate: bool = True,
    callback: Callback | None = None,
) -> RecoveredFeatures:
    """Fill the missing cells of a table so that its sums of feature terms are close to a target.

    Minimises the weighted sum of squared residuals over the missing cells. From each start:

    1. Sweep: row by row, put every missing cell in turn on its exact minimiser, given all others.
       For the gaussian and the product kernels, also move all numeric cells of the row together.
    2. Extrapolate the last sweeps, and keep the guess if it lowers the objective.
    3. Stop once a sweep lowers it by at most `tol`, relatively, or residuals are rounding.

    The best table wins. After one whose residuals are rounding no further start is tried.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The table with NaN at the gaps; numeric columns in [0, 1], categorical ones hold codes.
    target : array-like of shape (n_samples, n_samples)
        Symmetric sums in link space: for an exponential kernel ``-log(K) / gamma``, a distance.
    kernel : Kernel
        The kernel whose feature terms are summed.
    weights : array-like of shape (n_samples, n_samples), "kernel" or None, default=None
        Weight of each pair of rows. None: all alike, the paper's second form. ``"kernel"``: the
        squared slope of the link at the target, the paper's first form to first order.
    starts : "auto" or sequence of names and tables, default="auto"
        ``"half"`` (0.5 in every gap) and ``"mean"`` (column means), both with the most frequent
        code; ``"spectral"`` (from eigenvectors of the target); or tables of shape (n_samples,
        n_features). ``"auto"`` is ``("spectral", "mean", "half")``.
    categorical : array-like of bool or int, default=None
        The columns with codes; None keeps those of the kernel.
    tol : float, default=1e-7
        Relative decrease of the objective in one sweep below which a descent ends, in [0, inf).
    max_sweeps : int, default=3000
        Largest number of sweeps from each start, in [0, inf).
    extrapolate : bool, default=True
        Whether to take step 2, which saves more than half of the sweeps where there are many.
    callback : callable, default=None
        Called with the `Record` of every start and sweep, the start's name in its note; a true
        answer ends everything with the best table so far.

    Returns
    -------
    RecoveredFeatures
        The completed table and how it was found.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described.
    """
    owner = "recover_features"
    problem = recovery_problem(X, target, kernel, weights, categorical, owner)
    checks.check_real(owner, "tol", tol, 0.0, low_included=True)
    checks.check_integer(owner, "max_sweeps", max_sweeps, 0)
    is_auto = isinstance(starts, str) and starts == "auto"
    listed = ("spectral", "mean", "half") if is_auto else starts
    is_list = isinstance(listed, Sequence) and not isinstance(listed, str) and len(listed) > 0
    if not is_list or any(isinstance(each, str) and each not in STARTS for each in listed):
        must_be = f"'auto' or a sequence of tables and of {', '.join(map(repr, sorted(STARTS)))}"
        raise ValueError(checks.refusal(owner, "starts", must_be, starts))
    named_starts = [
        (each, None) if isinstance(each, str) else _given_table(problem, each, place, owner)
        for place, each in enumerate(listed)
    ]
    if problem.observed.all():
        X, objective = problem.X.copy(), problem.objective(problem.X)
        return RecoveredFeatures(X, objective, Status.NOTHING_MISSING, n_sweeps=0, trace=Trace())
    rounds = Rounds("Stage II", callback)
    if not compiled.is_compiled(compiled.sweep):
        rounds.tell(COMPILING)
    weight = problem.weight_scale * float(problem.weights.mean())
    rounding = ZERO * weight * float((problem.target**2).sum())
    found: list[RecoveredFeatures] = []
    for name, given in named_starts:
        start = STARTS[name](problem) if given is None else given
        found.append(_descend(problem, start, name, tol, max_sweeps, rounding, extrapolate, rounds))
        if found[-1].status is Status.INTERRUPTED or found[-1].objective <= rounding:
            break
    best = min(found, key=lambda result: result.objective)
    is_cut = found[-1].status is Status.INTERRUPTED
    return replace(best, status=Status.INTERRUPTED) if is_cut else best


def _descend(
    problem: RecoveryProblem,
    start: FloatArray,
    name: str,
    tol: float,
    max_sweeps: int,
    rounding: float,
    extrapolate: bool,
    rounds: Rounds,
) -> RecoveredFeatures:
    """Descend from one start, with the numbered steps of `recover_features`."""
    missing = ~problem.observed
    rows = problem.rows(start)
    is_categorical = rows.n_codes > 0
    # Indices into the flat columns: a mask takes several times as long.
    numeric = np.flatnonzero(missing.T & ~is_categorical[:, None])
    extrapolation = Extrapolation()

    def evaluate(rows: compiled.Rows) -> float:
        value = compiled.objective(rows, problem.target, problem.weights)
        return problem.weight_scale * float(value)

    objective, decrease, step = evaluate(rows), math.inf, math.nan
    first = len(rounds.records)
    while True:
        asked_to_stop = rounds.add(
            len(rounds.records) - first,
            objective=objective,
            step_norms={"features": step},
            inner_iterations=1,
            note=f"start: {name}",
        )
        # 3. Stop.
        status = Status.INTERRUPTED if asked_to_stop else None
        if objective <= rounding or decrease <= tol * objective:
            status = status or Status.CONVERGED
        if status or len(rounds.records) - first > max_sweeps:
            break
        before, previous = rows.columns.copy(), objective
        # 1. Sweep.
        compiled.sweep(rows, problem.target, problem.weights, missing)
        objective = evaluate(rows)
        # 2. Extrapolate.
        if extrapolate:
            if not np.array_equal(rows.columns[is_categorical], before[is_categorical]):
                # With other codes the map from sweep to sweep is another.
                extrapolation = Extrapolation()
            guess = extrapolation.guess(before.take(numeric), rows.columns.take(numeric))
            if guess is not None:
                columns = rows.columns.copy()
                columns.put(numeric, guess)
                guessed_rows = compiled.arrange(rows.cell, columns, rows.n_codes)
                value = evaluate(guessed_rows)
                if value < objective:
                    rows, objective = guessed_rows, value
        step = float(np.linalg.norm((rows.columns - before).take(numeric)))
        decrease = previous - objective
    trace, table = Trace(tuple(rounds.records[first:])), problem.table(rows.columns)
    status = status or Status.MAX_ITER
    return RecoveredFeatures(table, objective, status, len(trace) - 1, trace, start=name)


class Extrapolation:
    """Anderson's extrapolation of a fixed-point map from its latest steps (Walker and Ni, 2011)."""

    def __init__(self) -> None:
        self._last: tuple[FloatArray, FloatArray] | None = None
        self._changes: deque[tuple[FloatArray, FloatArray]] = deque(maxlen=MEMORY)

    def guess(self, before: FloatArray, after: FloatArray) -> FloatArray | None:
        """Remember a sweep of the cells, and return the guess in [0, 1]; None from two sweeps."""
        step = after - before
        if self._last is not None:
            self._changes.append((step - self._last[0], after - self._last[1]))
        self._last = (step, after)
        if len(self._changes) < 2:
            return None
        of_steps, of_ends = (np.array(changes) for changes in zip(*self._changes, strict=True))
        gram = of_steps @ of_steps.T
        ridge = RIDGE * np.trace(gram)
        if not ridge > np.finfo(float).tiny:
            return None
        gram[np.diag_indices_from(gram)] += ridge
        # The combination of changes that would make the step shortest.
        mixture = np.linalg.solve(gram, of_steps @ step)
        return np.asarray(np.clip(after - mixture @ of_ends, 0.0, 1.0))


@dataclass(frozen=True)
class RecoveryProblem:
    """A table with gaps and what its sums of feature terms should be."""

    X: FloatArray  # (n_samples, n_features), NaN at the gaps
    observed: BoolArray  # (n_samples, n_features), True where a cell is observed
    kernel: Kernel  # with its categorical columns marked
    target: FloatArray  # (n_samples, n_samples), symmetric sums in link space
    weights: FloatArray  # (n_samples, n_samples), the largest 1; or one row of ones: uniform
    weight_scale: float  # what the weights were divided by
    codes: tuple[FloatArray, ...]  # the observed codes of each column; empty if it is numeric

    def rows(self, table: FloatArray) -> compiled.Rows:
        """Return a complete table as the compiled sweep takes it."""
        columns = np.array(table.T)
        for column, codes in zip(columns, self.codes, strict=True):
            if codes.size:
                column[:] = np.searchsorted(codes, column)
        n_codes = np.array([codes.size for codes in self.codes], dtype=np.int64)
        return compiled.arrange(compiled.CELLS[self.kernel.cell], columns, n_codes)

    def table(self, columns: FloatArray) -> FloatArray:
        """Return columns as a table, with the observed cells bit for bit as they were given."""
        table = columns.T.copy()
        for p, codes in enumerate(self.codes):
            if codes.size:
                table[:, p] = codes[table[:, p].astype(np.int64)]
        return np.where(self.observed, self.X, table)

    def objective(self, table: FloatArray) -> float:
        """Return the weighted sum of squared residuals of a complete table."""
        residuals = self.kernel.sums(table, table) - self.target
        return float(self.weight_scale * (self.weights * residuals**2).sum())


def recovery_problem(
    X: ArrayLike,
    target: ArrayLike,
    kernel: Kernel,
    weights: ArrayLike | None = None,
    categorical: ArrayLike | None = None,
    owner: str = "recovery_problem",
) -> RecoveryProblem:
    """Return the checked problem of `recover_features`, whose parameters these are."""
    if not isinstance(kernel, Kernel) or kernel.cell not in compiled.CELLS:
        error = ValueError if isinstance(kernel, Kernel) else TypeError
        must_be = "a Kernel whose cells Stage II can move, such as Gaussian(gamma=1.0)"
        raise error(checks.refusal(owner, "kernel", must_be, kernel))
    # In one memory layout, because numba compiles a function once for each layout.
    table = np.ascontiguousarray(checks.check_matrix(X, owner))
    n, n_features = table.shape
    kernel = kernel.with_categorical(categorical, n_features)
    checks.check_incomplete(table, owner, kernel.numeric(n_features))
    sums = _check_pairs(target, n, owner, "target")
    scale, matrix = 1.0, np.ones((1, n))
    if isinstance(weights, str):
        if weights != "kernel":
            must_be = "'kernel', None or a matrix of weights"
            raise ValueError(checks.refusal(owner, "weights", must_be, weights))
        matrix = _kernel_weights(kernel, sums)
    elif weights is not None:
        matrix = _check_pairs(weights, n, owner, "weights")
        scale = float(matrix.max())
        if matrix.min() < 0.0 or scale <= 0.0:
            must_be = "nonnegative, and positive for one pair at least"
            got = f"weights from {matrix.min():g} to {scale:g}"
            raise ValueError(checks.refusal_in_words(owner, "weights", must_be, got))
        matrix /= scale
    observed = checks.observed_cells(table)
    codes = tuple(
        np.unique(table[observed[:, p], p]) if p in kernel.categorical else np.empty(0)
        for p in range(n_features)
    )
    return RecoveryProblem(table, observed, kernel, sums, matrix, scale, codes)


def _check_pairs(matrix: ArrayLike, n: int, owner: str, name: str) -> FloatArray:
    """Return the symmetric part of a finite matrix over pairs of n rows."""
    values = np.ascontiguousarray(checks.as_floats(matrix, owner, name))
    must_be, got = "", ""
    if values.shape != (n, n):
        must_be, got = f"a matrix of shape {(n, n)}", f"shape {values.shape}"
    elif not np.isfinite(values).all():
        row, column = (int(index) for index in np.argwhere(~np.isfinite(values))[0])
        must_be, got = "finite", f"{float(values[row, column])!r} in row {row}, column {column}"
    elif (largest := float(np.abs(values).max())) > LARGEST:
        must_be, got = f"at most {LARGEST:g} in absolute value", f"{largest:g}"
    elif (asymmetry := float(np.abs(values - values.T).max())) > SYMMETRY * largest:
        must_be = "symmetric"
        got = f"values that differ by {asymmetry:g} from those of the transpose"
    if must_be:
        raise ValueError(checks.refusal_in_words(owner, name, must_be, got))
    # An asymmetry that is rounding is averaged away.
    return np.asarray(0.5 * (values + values.T))


def _kernel_weights(kernel: Kernel, sums: FloatArray) -> FloatArray:
    """Return the squared slopes of the link at the sums, relative to the largest."""
    # The 0 on the diagonal of distances is no measure for the other pairs.
    pairs = ~np.eye(sums.shape[0], dtype=bool)
    if kernel.is_distance:
        # Of sums less the lowest, so that slopes neither overflow nor all vanish.
        lowest = np.min(sums, where=pairs, initial=np.inf)
        slopes = kernel.link(np.maximum(sums - lowest, 0.0))
    else:
        slopes = np.abs(kernel.link_gradient(sums))
        largest = np.max(slopes, where=pairs, initial=0.0)
        slopes = np.minimum(slopes / largest, 1.0) if largest > 0.0 else np.ones(sums.shape)
    return np.asarray(np.maximum(slopes**2, SMALLEST_WEIGHT))


def _given_table(
    problem: RecoveryProblem, start: ArrayLike, place: int, owner: str
) -> tuple[str, FloatArray]:
    """Return the name of a given start, and it with the observed cells of the problem."""
    name = f"starts[{place}]"
    table = checks.as_floats(start, owner, name)
    if table.shape != problem.X.shape:
        must_be = f"a table of shape {problem.X.shape}"
        raise ValueError(checks.refusal_in_words(owner, name, must_be, f"shape {table.shape}"))
    table = np.where(problem.observed, problem.X, table)
    for column, codes in enumerate(problem.codes):
        values = table[:, column]
        fits = np.isin(values, codes) if codes.size else (values >= 0.0) & (values <= 1.0)
        if not fits.all():
            row = int(np.flatnonzero(~fits)[0])
            must_be = f"a table with {'observed codes' if codes.size else 'values in [0, 1]'}"
            got = f"{float(values[row])!r} in row {row}, column {column}"
            raise ValueError(checks.refusal_in_words(owner, name, f"{must_be} at the gaps", got))
    return f"given table {place}", table


def _filled(problem: RecoveryProblem, typical: Callable[[FloatArray], float]) -> FloatArray:
    """Return the table with a typical number or the most frequent code in its gaps."""
    table = problem.X.copy()
    for column, codes in enumerate(problem.codes):
        known = problem.observed[:, column]
        if codes.size:
            counts = (table[known, column, None] == codes).sum(axis=0)
            table[~known, column] = codes[np.argmax(counts)]
        else:
            table[~known, column] = typical(table[known, column])
    return table


SPARE_DIMENSIONS = 3
"""Coordinates per column for kernels whose sums are not those of a Euclidean space."""
EXACT, FITS = 1e-6, 32
"""Relative error of coordinates up to which random tables are tried too; and fits at the most."""
FIT_STEPS, FITTED = 3000, 1e-26
"""Steps of a fit at the most, and its mean squared misfit that is rounding."""
PATIENCE, SLOW = 20, 1e-6
"""A fit is given up after so many steps in a row whose relative change is below `SLOW`."""
RIDGES = np.concatenate([[0.0], 10.0 ** np.arange(-8.0, 1.0, 0.5)])
"""Ridges, relative to the squared norm of all coordinates, that a regression chooses from."""
RANK = 1e-9
"""Relative size up to which an eigenvalue or singular value counts as 0."""


def _spectral(problem: RecoveryProblem) -> FloatArray:
    """Return the table whose rows lie as the target says, as well as can be."""
    kernel = problem.kernel
    # 1. Indicators of codes; as sqrt(1/2), two different ones are at the squared distance 1.
    blocks, highest = [], []
    for column, codes in enumerate(problem.codes):
        values = problem.X[:, column, None]
        is_code = np.where(np.isnan(values), np.nan, np.sqrt(0.5) * (values == codes))
        blocks.append(is_code if codes.size else values)
        highest += [np.sqrt(0.5)] * codes.size or [1.0]
    features, top = np.hstack(blocks), np.array(highest)
    # 2. Coordinates of the rows.
    n_coordinates = features.shape[1] * (1 if kernel.is_euclidean else SPARE_DIMENSIONS)
    coordinates, error = _coordinates(problem.target, n_coordinates, kernel.is_distance)
    # 3. Every column is a linear function of them; in a Euclidean space, a rigid motion.
    fitted = np.clip(_regress(coordinates, features, kernel.is_distance), 0.0, top)
    if kernel.is_euclidean:
        start, lowest, rng = fitted, np.inf, np.random.default_rng(0)
        for fit in range(FITS if error <= EXACT else 1):
            guess = start if fit == 0 else top * rng.random(features.shape)
            candidate, misfit = _fit_isometry(coordinates, features, guess, top, kernel.is_distance)
            if misfit < lowest:
                fitted, lowest = candidate, misfit
            if lowest <= FITTED:
                break
    table, first = problem.X.copy(), 0
    for column, codes in enumerate(problem.codes):
        gaps, last = ~problem.observed[:, column], first + max(codes.size, 1)
        block = fitted[gaps, first:last]
        table[gaps, column] = codes[block.argmax(axis=1)] if codes.size else block[:, 0]
        first = last
    return table


STARTS: dict[str, Callable[[RecoveryProblem], FloatArray]] = {
    "half": lambda problem: _filled(problem, lambda known: 0.5),
    "mean": lambda problem: _filled(problem, lambda known: known.mean() if known.size else 0.5),
    "spectral": _spectral,
}
"""The starts by name: each takes the problem and returns a complete table."""


def _coordinates(target: FloatArray, n_coordinates: int, centred: bool) -> tuple[FloatArray, float]:
    """Return coordinates of the rows, largest extent first, and the relative error they leave."""
    products = target
    # Inner products, or squared distances, which classical scaling centres.
    if centred:
        means = target.mean(axis=0)
        products = -0.5 * (target - means - means[:, None] + means.mean())
    values, vectors = np.linalg.eigh(products)
    values, vectors = values[: -n_coordinates - 1 : -1], vectors[:, : -n_coordinates - 1 : -1]
    kept = values > max(RANK * values[0], 0.0)
    norm = float(np.linalg.norm(products))
    left = max(norm**2 - float((values[kept] ** 2).sum()), 0.0)
    error = float(np.sqrt(left)) / norm if norm > 0.0 else 0.0
    return vectors[:, kept] * np.sqrt(values[kept]), error


def _regress(coordinates: FloatArray, features: FloatArray, centred: bool) -> FloatArray:
    """Return every column as a linear function of the coordinates, or 0.5 without a known cell."""
    fitted = np.full(features.shape, 0.5)
    extent = float(np.linalg.norm(coordinates)) or 1.0
    for column in range(features.shape[1]):
        known = ~np.isnan(features[:, column])
        if not known.any():
            continue
        x, y = coordinates[known] / extent, features[known, column]
        x_mean, y_mean = centred * x.mean(axis=0), centred * y.mean()
        left, sizes, right = np.linalg.svd(x - x_mean, full_matrices=False)
        kept = sizes > RANK
        left, sizes, right = left[:, kept], sizes[kept], right[kept]
        y = y - y_mean
        along = left.T @ y
        shrink = sizes**2 / (sizes**2 + RIDGES[:, None])
        outside = max(float(y @ y - along @ along), 0.0)
        misfit = outside + ((along * (1.0 - shrink)) ** 2).sum(axis=1)
        freedom = y.size - float(centred) - shrink.sum(axis=1)
        # Generalised cross-validation.
        scores = np.where(freedom > 0.1, misfit / np.maximum(freedom, 0.1) ** 2, np.inf)
        slope = right.T @ (shrink[np.argmin(scores)] * along / sizes)
        fitted[:, column] = (coordinates / extent - x_mean) @ slope + y_mean
    return fitted


def _fit_isometry(
    coordinates: FloatArray,
    features: FloatArray,
    guess: FloatArray,
    highest: FloatArray,
    centred: bool,
) -> tuple[FloatArray, float]:
    """Return the table nearest to a rigid motion of the coordinates, and its mean misfit."""
    known = ~np.isnan(features)
    table = previous = aim = np.where(known, features, guess)
    misfit, momentum, slow = np.inf, 0, 0
    # In turn the rotation, and shift, nearest to the table and the table nearest to what is moved.
    for _ in range(FIT_STEPS):
        shift = aim.mean(axis=0) if centred else 0.0
        left, _, right = np.linalg.svd(coordinates.T @ (aim - shift), full_matrices=False)
        moved = coordinates @ (left @ right) + shift
        table = np.where(known, features, np.clip(moved, 0.0, highest))
        last, misfit = misfit, float(np.mean((moved - table) ** 2))
        slow = slow + 1 if abs(last - misfit) <= SLOW * misfit else 0
        if misfit <= FITTED or slow >= PATIENCE:
            break
        # Nesterov's momentum, dropped whenever the misfit rises.
        momentum = 0 if misfit > last else momentum + 1
        aim = table + momentum / (momentum + 3.0) * (table - previous)
        previous = table
    return table, misfit
