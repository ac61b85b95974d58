"""Stage II on the training rows: from sums of feature terms back to the features.

`recover_features` is the one loop of the stage: from every start it sweeps over the rows, each
all but minimised over, extrapolates, and keeps the table with the lowest objective.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernimpute.core.checks import check_integer, check_real, refusal
from kernimpute.core.kernels import Kernel
from kernimpute.core.status import Callback, Record, Status, Trace
from kernimpute.methods import sweep as compiled
from kernimpute.methods.starts import STARTS, RecoveryProblem, in_rows, recovery_problem

__all__ = ["Extrapolation", "MEMORY", "RecoveredFeatures", "recover_features"]

FloatArray = NDArray[np.float64]

_AUTO = ("spectral", "mean", "half")

_ZERO = 1e-28
"""Objective, relative to that of all sums 0, at which only rounding is left of the residuals.

They are then 1e-14 of the sums, whatever the weights, of which rounding knows nothing.
"""


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
    """Fill the gaps of a table so that its sums of feature terms are the target.

    Minimises, over the missing cells, the weighted sum of squared residuals (eq. (Stage2); see
    `kernimpute.methods.starts`). From each start:

    1. Sweep: row by row, put every missing cell in turn on its exact minimiser, given all others;
       then, for the gaussian and the product kernels, take Newton's step in all numeric cells of
       the row, as far as it lowers the objective most, and repeat the two until it is a full one.
    2. Extrapolate the last sweeps; keep the guess if it lowers the objective.
    3. Stop once a sweep lowers the objective by at most `tol`, relatively, or only rounding is
       left of the residuals; else go to 1.

    The table with the lowest objective wins; no further start is tried once one has left only
    rounding.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The table with NaN at the gaps; numeric columns in [0, 1], categorical ones with any
        codes, of which those observed in the column may fill it.
    target : array-like of shape (n_samples, n_samples)
        Symmetric sums in link space: for the gaussian kernel the squared distances.
    kernel : Kernel
        One of the six kernels.
    weights : array-like of shape (n_samples, n_samples), "kernel" or None, default=None
        Weight of each pair of rows. None: all alike, the paper's second form. ``"kernel"``: the
        squared slope of the link at the target, relative to the largest, so that the objective
        is the squared difference of kernels to first order, the paper's first form.
    starts : "auto" or sequence of names and tables, default="auto"
        Names are ``"half"``, ``"mean"``, ``"random"`` and ``"spectral"`` (see
        `kernimpute.methods.starts`); of a table of shape (n_samples, n_features) the missing
        cells are used. ``"auto"`` is ``("spectral", "mean", "half")``.
    categorical : array-like of bool or int, default=None
        The columns with codes; None keeps what the kernel says.
    tol : float, default=1e-7
        Relative decrease of the objective in one sweep below which a descent ends.
    max_sweeps : int, default=3000
        Sweeps from each start at the most.
    extrapolate : bool, default=True
        Whether to take step 2. From the start ``"half"`` it saves more than half of the sweeps
        where there are many, fewer where some ten suffice; without it every table is that of a
        sweep.
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
        If anything is not what it must be.

    Notes
    -----
    A sweep costs O(n_samples^2 n_features). The defaults are made so that sums of a real table
    give its cells back to about 1e-12, at any gamma, while a target that no table has stops
    within some tens of sweeps.

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
    checked = _check_starts(problem, starts, owner)
    if problem.observed.all():
        return RecoveredFeatures(
            X=problem.X.copy(),
            objective=problem.objective(problem.X),
            status=Status.NOTHING_MISSING,
            n_sweeps=0,
            trace=Trace(),
        )
    began = time.perf_counter()
    weight = problem.weight_scale * float(problem.weights.mean())
    rounding = _ZERO * weight * float((problem.target**2).sum())
    stop = _Stop(tol=tol, max_sweeps=max_sweeps, rounding=rounding, callback=callback)
    found: list[RecoveredFeatures] = []
    for name, given in checked:
        table = STARTS[name](problem, rng) if given is None else given
        found.append(_descend(problem, table, name, extrapolate, stop, began))
        if found[-1].status is Status.INTERRUPTED or found[-1].objective <= rounding:
            break
    best = min(found, key=lambda result: result.objective)
    if found[-1].status is Status.INTERRUPTED:
        return replace(best, status=Status.INTERRUPTED)
    return best


@dataclass(frozen=True)
class _Stop:
    """When a descent ends; `rounding` is the objective that rounding leaves."""

    tol: float
    max_sweeps: int
    rounding: float
    callback: Callback | None


def _descend(
    problem: RecoveryProblem,
    start: FloatArray,
    name: str,
    extrapolate: bool,
    stop: _Stop,
    began: float,
) -> RecoveredFeatures:
    """Descend from one start; the numbers are those of `recover_features`."""
    table = _MovingTable(problem, start)
    extrapolation = Extrapolation(table.n_cells) if extrapolate else None
    objective = table.objective()
    records: list[Record] = []
    status: Status | None = None
    step = math.nan
    decrease = math.inf
    while status is None:
        if records:
            before = table.columns.copy()
            # 1. Sweep.
            table.sweep()
            after = table.objective()
            # 2. Extrapolate.
            if extrapolation is not None:
                if not table.same_codes(before):
                    extrapolation.forget()
                guess = extrapolation.guess(table.cells(before), table.cells(table.columns))
                if guess is not None:
                    after = table.try_cells(guess, after)
            step = float(np.linalg.norm(table.cells(table.columns - before)))
            decrease = objective - after
            objective = after
        records.append(
            Record(
                iteration=len(records),
                objective=objective,
                step_norms={"features": step},
                inner_iterations=1,
                seconds=time.perf_counter() - began,
                note=f"start: {name}",
                stage="Stage II",
            )
        )
        # 3. Stop.
        if stop.callback is not None and stop.callback(records[-1]):
            status = Status.INTERRUPTED
        elif objective <= stop.rounding or decrease <= stop.tol * objective:
            status = Status.CONVERGED
        elif len(records) > stop.max_sweeps:
            status = Status.MAX_ITER
    return RecoveredFeatures(
        X=problem.table(table.columns),
        objective=objective,
        status=status,
        n_sweeps=len(records) - 1,
        trace=Trace(tuple(records)),
        start=name,
    )


class _MovingTable:
    """The table in the layout of the compiled sweep, and what goes with it.

    Attributes
    ----------
    rows : Rows
        The table.
    """

    def __init__(self, problem: RecoveryProblem, table: FloatArray) -> None:
        self._problem = problem
        self._missing = ~problem.observed
        self.rows = problem.rows(table)
        self._categorical = self.rows.n_codes > 0
        # Places in the flat columns: a mask takes several times as long.
        self._numeric = np.flatnonzero(self._missing.T & ~self._categorical[:, None])

    @property
    def columns(self) -> FloatArray:
        """The columns of the table; `sweep` overwrites them."""
        return self.rows.columns

    @property
    def n_cells(self) -> int:
        """Number of numeric missing cells."""
        return self._numeric.size

    def cells(self, columns: FloatArray) -> FloatArray:
        """Return the numeric missing cells of columns."""
        return columns.take(self._numeric)

    def objective(self) -> float:
        """Return the objective."""
        problem = self._problem
        value = compiled.objective(self.rows, problem.target, problem.weights)
        return float(problem.weight_scale * value)

    def sweep(self) -> None:
        """Minimise over the cells of every row in turn."""
        problem = self._problem
        compiled.sweep(self.rows, problem.target, problem.weights, self._missing)

    def same_codes(self, columns: FloatArray) -> bool:
        """Return whether the categorical cells are those of other columns."""
        codes = self.columns[self._categorical]
        return bool(np.array_equal(codes, columns[self._categorical]))

    def try_cells(self, cells: FloatArray, objective: float) -> float:
        """Put numeric cells in place if that lowers the objective; return the objective."""
        kept = self.rows
        columns = kept.columns.copy()
        columns.put(self._numeric, cells)
        self.rows = in_rows(kept.kind, columns, kept.n_codes)
        value = self.objective()
        if value < objective:
            return value
        self.rows = kept
        return objective


def _check_starts(
    problem: RecoveryProblem, starts: str | Sequence[str | ArrayLike], owner: str
) -> list[tuple[str, FloatArray | None]]:
    """Return the starts as names, each with its table where one is given."""
    listed = _AUTO if isinstance(starts, str) and starts == "auto" else starts
    must_be = f"'auto' or a sequence of tables and of {', '.join(map(repr, sorted(STARTS)))}"
    if isinstance(listed, str) or not isinstance(listed, Sequence) or not listed:
        raise ValueError(refusal(owner, "starts", must_be, starts))
    checked: list[tuple[str, FloatArray | None]] = []
    for place, start in enumerate(listed):
        if not isinstance(start, str):
            checked.append((f"given table {place}", _check_table(problem, start, place, owner)))
        elif start in STARTS:
            checked.append((start, None))
        else:
            raise ValueError(refusal(owner, "starts", must_be, starts))
    return checked


def _check_table(problem: RecoveryProblem, start: ArrayLike, place: int, owner: str) -> FloatArray:
    """Return the given start with the observed cells of the problem."""
    name = f"starts[{place}]"
    try:
        table = np.array(start, dtype=float)
    except (TypeError, ValueError) as error:
        raise TypeError(f"The {name!r} parameter of {owner} must be numeric: {error}.") from error
    if table.shape != problem.X.shape:
        must_be = f"a table of shape {problem.X.shape}"
        got = f"shape {table.shape}"
        raise ValueError(f"The {name!r} parameter of {owner} must be {must_be}. Got {got} instead.")
    table = np.where(problem.observed, problem.X, table)
    for column, codes in enumerate(problem.codes):
        values = table[:, column]
        fits = np.isin(values, codes) if codes.size else (values >= 0.0) & (values <= 1.0)
        if not fits.all():
            row = int(np.flatnonzero(~fits)[0])
            must_be = "an observed code" if codes.size else "in [0, 1]"
            raise ValueError(
                f"The {name!r} parameter of {owner} must hold at a gap a value that is {must_be}. "
                f"Got {float(values[row])!r} in row {row}, column {column} instead."
            )
    return table


MEMORY = 8
"""Differences of sweeps that are combined at the most."""

_RIDGE = 1e-14
"""Relative ridge of the small least-squares problem: nearly parallel steps add nothing."""


class Extrapolation:
    """The memory of the last sweeps: how the step and the end of each differ from those before.

    Parameters
    ----------
    n_cells : int
        Number of cells.
    """

    def __init__(self, n_cells: int) -> None:
        # Filled in turn, whatever the order, so that nothing is copied from sweep to sweep.
        self._step_changes = np.empty((MEMORY, n_cells))
        self._end_changes = np.empty((MEMORY, n_cells))
        self._n_changes = 0
        self._last: tuple[FloatArray, FloatArray] | None = None

    def forget(self) -> None:
        """Drop what is remembered: the map has changed."""
        self._n_changes = 0
        self._last = None

    def guess(self, before: FloatArray, after: FloatArray) -> FloatArray | None:
        """Remember a sweep and return the guess, in [0, 1].

        Parameters
        ----------
        before, after : ndarray of shape (n_cells,)
            The numeric missing cells before and after the sweep.

        Returns
        -------
        ndarray of shape (n_cells,) or None
            The extrapolated cells; None while too few sweeps are remembered.
        """
        step = after - before
        if self._last is not None:
            place = self._n_changes % MEMORY
            np.subtract(step, self._last[0], out=self._step_changes[place])
            np.subtract(after, self._last[1], out=self._end_changes[place])
            self._n_changes += 1
        self._last = (step, after)
        if self._n_changes < 2:
            return None
        kept = slice(min(self._n_changes, MEMORY))
        changes = self._step_changes[kept]
        gram = changes @ changes.T
        ridge = _RIDGE * np.trace(gram)
        gram[np.diag_indices_from(gram)] += ridge
        if not ridge > np.finfo(float).tiny:
            return None
        mixture = np.linalg.solve(gram, changes @ step)
        return np.asarray(np.clip(after - mixture @ self._end_changes[kept], 0.0, 1.0))
