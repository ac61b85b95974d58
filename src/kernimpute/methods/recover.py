"""Stage II on the training rows: from sums of feature terms back to the features."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from kernimpute.core.arrays import FloatArray
from kernimpute.core.checks import check_integer, check_real
from kernimpute.core.kernels import Kernel
from kernimpute.core.status import COMPILING, Callback, Rounds, Status, Trace
from kernimpute.methods import sweep as compiled
from kernimpute.methods.starts import STARTS, RecoveryProblem, check_starts, recovery_problem

ZERO = 1e-28
"""Objective, relative to that of all sums 0, at which the residuals are rounding, 1e-14 of the
sums."""
MEMORY = 8
"""Largest number of changes between sweeps that an extrapolation combines."""
RIDGE = 1e-14
"""Relative ridge of the extrapolation's least squares, for steps that are nearly parallel."""


@dataclass(frozen=True)
class RecoveredFeatures:
    """A completed table and how it was found.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The completed table; observed cells bit for bit as they were given.
    objective : float
        Weighted sum of squared residuals.
    status : Status
        How the descent from the winning start ended.
    n_sweeps : int
        Sweeps from the winning start.
    trace : Trace
        Start and sweeps of the winning descent; the objective never rises along it.
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
    random_state: int = 0,
    callback: Callback | None = None,
) -> RecoveredFeatures:
    """Fill the gaps of a table so that its sums of feature terms are close to a target.

    Minimises the weighted sum of squared residuals over the missing cells (eq. (Stage2); see
    `kernimpute.methods.starts`). From each start:

    1. Sweep: row by row, put every missing cell in turn on its exact minimiser, given all others.
       For the gaussian and the product kernels, then take Newton's step in all numeric cells of
       the row, as far as it lowers the objective most, and repeat both until it is a full step.
    2. Extrapolate the last sweeps, and keep the guess if it lowers the objective.
    3. Stop once a sweep lowers the objective by at most `tol`, relatively, or the residuals are
       rounding; else go to 1.

    The table with the lowest objective wins. Once the residuals of one are rounding, no further
    start is tried.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The table with NaN at the gaps. Numeric columns lie in [0, 1]. Categorical columns hold any
        codes; a gap is filled with one that was observed in its column.
    target : array-like of shape (n_samples, n_samples)
        Symmetric sums in link space: for the gaussian kernel the squared distances.
    kernel : Kernel
        The kernel whose feature terms are summed.
    weights : array-like of shape (n_samples, n_samples), "kernel" or None, default=None
        Weight of each pair of rows. None: all alike, the paper's second form. ``"kernel"``: the
        squared slope of the link at the target, relative to the largest, so that the objective
        is the squared difference of kernels to first order, the paper's first form.
    starts : "auto" or sequence of names and tables, default="auto"
        Names are ``"half"``, ``"mean"``, ``"random"`` and ``"spectral"`` (see
        `kernimpute.methods.starts`). Of a table of shape (n_samples, n_features) the missing
        cells are used. ``"auto"`` is ``("spectral", "mean", "half")``.
    categorical : array-like of bool or int, default=None
        The columns with codes; None keeps those of the kernel.
    tol : float, default=1e-7
        Relative decrease of the objective in one sweep below which a descent ends, in [0, inf).
    max_sweeps : int, default=3000
        Largest number of sweeps from each start, in [0, inf).
    extrapolate : bool, default=True
        Whether to take step 2, which saves more than half of the sweeps where there are many.
    random_state : int, default=0
        Seed of the random start and of the repeated fits of the spectral one.
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

    Notes
    -----
    A sweep costs O(n_samples^2 n_features). With the defaults the sums of a real table give its
    cells back to about 1e-12, at any gamma, while a target that no table has stops within some
    tens of sweeps.

    Examples
    --------
    >>> import numpy as np
    >>> from kernimpute.core.kernels import Gaussian
    >>> table = np.array([[0.1, 0.9], [0.8, 0.4], [0.3, 0.2], [1.0, 0.0]])
    >>> gappy = table.copy()
    >>> gappy[0, 1] = gappy[2, 0] = np.nan
    >>> kernel = Gaussian()
    >>> recover_features(gappy, kernel.sums(table, table), kernel=kernel).X.round(6)
    array([[0.1, 0.9],
           [0.8, 0.4],
           [0.3, 0.2],
           [1. , 0. ]])
    """
    owner = "recover_features"
    problem = recovery_problem(
        X, target, kernel=kernel, weights=weights, categorical=categorical, owner=owner
    )
    check_real(owner, "tol", tol, 0.0, low_included=True)
    check_integer(owner, "max_sweeps", max_sweeps, 0)
    rng = np.random.default_rng(check_integer(owner, "random_state", random_state, 0))
    named_starts = check_starts(problem, starts, owner)
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
        start = STARTS[name](problem, rng) if given is None else given
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
        if asked_to_stop:
            status = Status.INTERRUPTED
            break
        if objective <= rounding or decrease <= tol * objective:
            status = Status.CONVERGED
            break
        if len(rounds.records) - first > max_sweeps:
            status = Status.MAX_ITER
            break
        before, previous = rows.columns.copy(), objective
        # 1. Sweep.
        compiled.sweep(rows, problem.target, problem.weights, missing)
        objective = evaluate(rows)
        # 2. Extrapolate.
        if extrapolate:
            if not np.array_equal(rows.columns[is_categorical], before[is_categorical]):
                # With other codes the map from sweep to sweep is another.
                extrapolation.forget()
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
    trace = Trace(tuple(rounds.records[first:]))
    table = problem.table(rows.columns)
    return RecoveredFeatures(table, objective, status, len(trace) - 1, trace, start=name)


class Extrapolation:
    """Anderson's extrapolation of a fixed-point map, from the latest changes of its steps.

    See Walker and Ni (2011), "Anderson acceleration for fixed-point iterations".
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Drop what is remembered."""
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
