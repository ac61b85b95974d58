"""The work behind every fit: fill the training rows, subset by subset."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernimpute.core.checks import codes_and_weights
from kernimpute.core.dual import Dual, make_dual
from kernimpute.core.kernels import KERNELS, Kernel, make_kernel
from kernimpute.core.rows import default_kernel
from kernimpute.core.status import Record, Status, Trace, overall
from kernimpute.estimators._labels import Labels
from kernimpute.estimators._machines import Machine, Machines, make_machine
from kernimpute.estimators._parallel import one_thread, run_all, runs_alone
from kernimpute.estimators._subsets import kept_subsets
from kernimpute.methods.impute import ImputationResult, impute

__all__ = [
    "FilledSubset",
    "Filling",
    "Settings",
    "dual_of",
    "fill",
    "fill_subset",
    "fitted_kernel",
    "for_all_classes",
]

FloatArray = NDArray[np.float64]
Rows = NDArray[np.intp]
Progress = Callable[[Record], object] | None


@dataclass(frozen=True)
class Settings:
    """How training rows are filled: what an estimator's parameters say.

    Parameters
    ----------
    variant : str
        The variant.
    C : float
        Penalty of the machine.
    eta : float or None
        Weight of the anchor; None is the variant's default.
    epsilon : float
        Half width of the regression tube, in standard deviations of the target.
    tol : float or None
        Stop rule; None is the variant's default.
    max_iter : int or None
        Rounds at the most; None is the variant's default.
    rho, radius : float or None
        The perturbation's, as in `kernimpute.learn_kernel`.
    """

    variant: str = "direct"
    C: float = 1.0
    eta: float | None = None
    epsilon: float = 0.1
    tol: float | None = None
    max_iter: int | None = None
    rho: float | None = None
    radius: float | None = None


@dataclass(frozen=True)
class FilledSubset:
    """The filled rows of one subset and how they came about.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        The filled rows.
    machine : Machine or None
        The machine on them; None where it was not asked for.
    unfinished : tuple of (str, Status)
        Stage and status of what did not meet its stop rule.
    status : Status
        How the run ended.
    gap : float
        Its certificate.
    trace : Trace
        A record of every round.
    """

    X: FloatArray
    machine: Machine | None
    unfinished: tuple[tuple[str, Status], ...]
    status: Status
    gap: float
    trace: Trace


@dataclass(frozen=True)
class Filling:
    """Filled training rows and the machines on them.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_columns)
        The filled rows.
    machines : Machines
        Those of the subsets that are kept.
    kept : ndarray of int of shape (n_kept,)
        The rows of these subsets, ascending.
    unfinished : tuple of (str, Status)
        Stage and status of each run that did not meet its stop rule.
    status : Status
        How the subsets ended, by `kernimpute.core.status.overall`.
    gap : float
        Largest certificate of the subsets.
    trace : Trace
        Records of the subsets that are kept, one after the other.
    n_iter : int
        Rounds of the longest run, its start included.
    n_subsets : int
        How many subsets there were.
    """

    X: FloatArray
    machines: Machines
    kept: Rows
    unfinished: tuple[tuple[str, Status], ...]
    status: Status
    gap: float
    trace: Trace
    n_iter: int
    n_subsets: int


def fitted_kernel(
    kernel: Kernel | str,
    gamma: float | str,
    matrix: FloatArray,
    categorical: tuple[int, ...],
    weights: FloatArray,
    part: float,
) -> Kernel:
    """Return the kernel with its gamma and its categorical columns.

    Parameters
    ----------
    kernel : Kernel or str
        A kernel, whose own gamma is kept; or a name.
    gamma : float, "scale" or "auto"
        For a kernel named: gamma, where it has one; "scale" fits it to the rows, "auto" takes a
        part of that.
    matrix : ndarray of shape (n_samples, n_columns)
        The training rows, NaN at the gaps.
    categorical : tuple of int
        Columns of codes.
    weights : ndarray of shape (n_samples,)
        Weights of the rows.
    part : float
        That part.

    Returns
    -------
    Kernel
        The kernel.
    """
    if isinstance(kernel, Kernel):
        return kernel.with_categorical(np.array(categorical, dtype=int), matrix.shape[1])
    if isinstance(gamma, str) or "gamma" not in KERNELS[kernel].__dataclass_fields__:
        factor = part if gamma == "auto" else 1.0
        return default_kernel(kernel, matrix, categorical, weights, part=factor)
    return make_kernel(kernel, float(gamma), categorical)


def fill(
    matrix: FloatArray,
    labels: Labels,
    kernel: Kernel,
    reference: FloatArray | str,
    subsets: Sequence[Rows],
    settings: Settings,
    *,
    max_models: int | None = None,
    n_jobs: int | None = None,
    progress: Progress = None,
) -> Filling:
    """Fill the training rows, subset by subset.

    Parameters
    ----------
    matrix : ndarray of shape (n_samples, n_columns)
        The training rows, NaN at the gaps.
    labels : Labels
        Their labels.
    kernel : Kernel
        The kernel.
    reference : ndarray of shape (n_samples, n_columns) or "expected"
        The completed rows that the filling is anchored at.
    subsets : sequence of ndarray of int
        Rows of each subset; a row in several of them is filled in the first.
    settings : Settings
        The method's parameters.
    max_models : int or None, default=None
        How many subsets are kept at the most, by `kept_subsets`; None keeps all.
    n_jobs : int or None, default=None
        Subsets at the same time, as joblib counts; None takes what ``parallel_config`` says.
    progress : callable or None, default=None
        Called with the `Record` of each round, where subsets run one after the other.

    Returns
    -------
    Filling
        The filled rows; the same bits whatever runs the subsets.
    """
    kept = kept_subsets(len(subsets), max_models)
    has_machine = np.isin(np.arange(len(subsets)), kept)
    shown = progress if len(subsets) == 1 or runs_alone(n_jobs) else None
    calls = (
        (
            matrix[rows],
            labels.of(rows),
            kernel,
            reference if isinstance(reference, str) else reference[rows],
            settings,
            bool(is_kept),
            shown,
        )
        for rows, is_kept in zip(subsets, has_machine, strict=True)
    )
    if len(subsets) == 1:
        # All cores serve the only one.
        done = [fill_subset(*call) for call in calls]
    else:
        # Sums depend on the number of threads that BLAS makes them with.
        with one_thread():
            done = run_all(fill_subset, calls, n_jobs)
    X = np.empty_like(matrix)
    for rows, one in zip(reversed(subsets), reversed(done), strict=True):
        X[rows] = one.X
    machines = tuple(one.machine for one in done if one.machine is not None)
    rows_kept = [subsets[place] for place in kept]
    return Filling(
        X=X,
        machines=Machines(machines),
        kept=np.unique(np.concatenate(rows_kept)) if rows_kept else np.arange(0),
        unfinished=tuple(ending for one in done for ending in one.unfinished),
        status=overall(one.status for one in done),
        gap=max(one.gap for one in done),
        trace=Trace(tuple(record for place in kept for record in done[place].trace.records)),
        n_iter=max(1, *(len(one.trace) for one in done)),
        n_subsets=len(subsets),
    )


def fill_subset(
    matrix: FloatArray,
    labels: Labels,
    kernel: Kernel,
    reference: FloatArray | str,
    settings: Settings,
    has_machine: bool = True,
    progress: Progress = None,
) -> FilledSubset:
    """Fill the rows of one subset.

    Parameters
    ----------
    matrix : ndarray of shape (n_rows, n_columns)
        The rows, NaN at the gaps.
    labels : Labels
        Their labels, coded and weighted as the whole table's.
    kernel : Kernel
        The kernel.
    reference : ndarray of shape (n_rows, n_columns) or "expected"
        The completed rows.
    settings : Settings
        The method's parameters.
    has_machine : bool, default=True
        Whether the machine on the filled rows is wanted.
    progress : callable or None, default=None
        Called with the `Record` of each round.

    Returns
    -------
    FilledSubset
        The filled rows.
    """
    if not isinstance(reference, str):
        matrix, reference = _with_own_codes(matrix, reference, kernel, labels.weights)
    result = impute(
        matrix,
        labels.values,
        variant=settings.variant,
        kernel=kernel,
        C=settings.C,
        eta=settings.eta,
        rho=settings.rho,
        radius=settings.radius,
        epsilon=settings.epsilon,
        task=labels.task,
        reference=reference,
        tol=settings.tol,
        max_iter=settings.max_iter,
        sample_weight=labels.weights,
        callback=progress,
    )
    one = result.stage_one
    return FilledSubset(
        X=result.X,
        machine=_machine(result, labels, settings) if has_machine else None,
        unfinished=tuple(_unfinished(result)),
        status=result.status,
        gap=float(one.gap if one is not None else _last_gap(result.trace)),
        trace=result.trace,
    )


def _with_own_codes(
    matrix: FloatArray, reference: FloatArray, kernel: Kernel, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return rows and reference of a subset so that it observes every code that it is held at.

    What is most frequent in the whole table may be observed nowhere in a subset: its own most
    frequent code is taken. A column of which it observes nothing is the reference's: no code would
    be any better there, and one that all rows have in common weighs nothing.
    """
    X, held = matrix.copy(), reference.copy()
    for column in kernel.categorical:
        known = ~np.isnan(matrix[:, column])
        if not known.any():
            X[:, column] = held[:, column]
            continue
        codes, shares = codes_and_weights(matrix[known, column], weights[known])
        strange = ~np.isin(held[:, column], codes)
        held[strange, column] = codes[shares.argmax()]
    return X, held


def _machine(result: ImputationResult, labels: Labels, settings: Settings) -> Machine:
    """Return the machine on the filled rows, with a column for every class of the whole table."""
    if result.stage_one is None:
        dual_coef = result.dual_coef.reshape(result.X.shape[0], -1)
        intercept = np.atleast_1d(np.asarray(result.intercept, dtype=float))
    else:
        # The coefficients of a learned kernel belong to it, not to the features recovered.
        dual = dual_of(labels, settings)
        K = result.kernel(result.X, result.X)
        dual_coef = dual.solve(K)
        intercept = dual.intercept(K, dual_coef)
    columns = for_all_classes(dual_coef, intercept, result.classes, labels)
    return make_machine(result.X, *columns, result.kernel)


def dual_of(labels: Labels, settings: Settings) -> Dual:
    """Return the dual problem of labels.

    Parameters
    ----------
    labels : Labels
        Labels and weights of the rows.
    settings : Settings
        C and epsilon.

    Returns
    -------
    Dual
        The problem.
    """
    return make_dual(
        labels.values,
        labels.values.size,
        C=settings.C,
        task=labels.task,
        epsilon=settings.epsilon,
        sample_weight=labels.weights,
    )


def for_all_classes(
    dual_coef: FloatArray,
    intercept: FloatArray,
    present: NDArray[np.generic] | None,
    labels: Labels,
) -> tuple[FloatArray, FloatArray]:
    """Return coefficients and intercepts with a column for each decision function of the labels.

    Parameters
    ----------
    dual_coef : ndarray of shape (n_samples, n_solved)
        Coefficients of the classes that these rows have.
    intercept : ndarray of shape (n_solved,)
        Their intercepts.
    present : ndarray of int or None
        Codes of these classes; None for a regression.
    labels : Labels
        Says how many classes the whole table has. A class that these rows lack is answered with
        -1, as by a machine that has seen none of it.

    Returns
    -------
    dual_coef : ndarray of shape (n_samples, n_problems)
        Coefficients.
    intercept : ndarray of shape (n_problems,)
        Intercepts.
    """
    if present is None or labels.classes is None or present.size == labels.classes.size:
        return dual_coef, intercept
    if present.size == 2:
        dual_coef = np.hstack([-dual_coef, dual_coef])
        intercept = np.append(-intercept, intercept)
    all_coef = np.zeros((dual_coef.shape[0], labels.classes.size))
    all_intercepts = np.full(labels.classes.size, -1.0)
    codes = present.astype(int)
    all_coef[:, codes], all_intercepts[codes] = dual_coef, intercept
    return all_coef, all_intercepts


def _last_gap(trace: Trace) -> float:
    """Return the certificate of the last round that has one; 0 where there was nothing to do."""
    known = [record.gap for record in trace.records if not math.isnan(record.gap)]
    return known[-1] if known else 0.0


def _unfinished(result: ImputationResult) -> list[tuple[str, Status]]:
    """Return stage and status of the runs that did not meet their stop rule."""
    if result.stage_one is None or result.stage_two is None:
        endings = [("direct", result.status)]
    else:
        endings = [("Stage I", result.stage_one.status), ("Stage II", result.stage_two.status)]
    return [(stage, status) for stage, status in endings if not status.success]
