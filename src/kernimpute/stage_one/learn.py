"""Stage I: learn a kernel matrix from incomplete rows and their labels. The only loop."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernimpute.core.arrays import namespace, to_numpy
from kernimpute.core.checks import check_choice
from kernimpute.core.devices import on_device
from kernimpute.core.dual import Dual
from kernimpute.core.kernels import Kernel
from kernimpute.core.rows import LabelledRows, check_labelled_rows
from kernimpute.core.status import Callback, Record, Status, StopRule, Trace
from kernimpute.joint.reference import Reference
from kernimpute.stage_one.assessments import Assessment, Progress
from kernimpute.stage_one.certificate import SaddleCertificate
from kernimpute.stage_one.options import StageOneOptions, check_extremes, stage_one_options
from kernimpute.stage_one.problem import ReferenceMachine, StageOneProblem, StageOneState
from kernimpute.stage_one.steps import Move
from kernimpute.stage_one.variants import VARIANTS, Solution, Variant

__all__ = ["LearnedKernel", "learn_from_rows", "learn_kernel"]

FloatArray = NDArray[np.float64]
OWNER = "learn_kernel"


@dataclass(frozen=True)
class LearnedKernel:
    """What Stage I learned.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        The learned kernel matrix.
    target : ndarray of shape (n_samples, n_samples)
        ``inverse_link(K)``, what Stage II fits; kept within the bounds of the sums, so that
        an underflown kernel value does no harm.
    dual_coef : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Signed coefficients; a column for each class where there are more than two.
    intercept : float or ndarray of shape (n_classes,)
        Intercepts of the decision functions ``K b + intercept``.
    classes : ndarray of shape (n_classes,) or None
        The labels in ascending order; None for a regression.
    status : Status
        How the loop ended.
    n_iter : int
        Rounds done.
    gap : float
        How far K's objective, maximised over the coefficients, can be above the saddle value,
        relative to it: the smallest that a round has certified. With status RAISED or NOT_PSD it is
        that of the raised matrices; infinite where the anchor is returned and is not positive
        semidefinite; NaN in the variants without one. `dual_coef` is the machine on K.
    trace : Trace
        One record a round.
    """

    K: FloatArray
    target: FloatArray
    dual_coef: FloatArray
    intercept: float | FloatArray
    classes: NDArray[np.generic] | None
    status: Status
    n_iter: int
    gap: float
    trace: Trace


def learn_kernel(
    X: ArrayLike,
    y: ArrayLike,
    *,
    kernel: Kernel | str,
    C: float = 1.0,
    eta: float | None = None,
    rho: float | None = None,
    radius: float | None = None,
    epsilon: float = 0.1,
    variant: str = "anchored",
    task: str = "classification",
    categorical: ArrayLike | None = None,
    reference: Reference = None,
    sample_weight: ArrayLike | None = None,
    tol: float | None = None,
    max_iter: int | None = None,
    callback: Callback | None = None,
    device: str | None = None,
) -> LearnedKernel:
    """Learn a kernel matrix jointly with a support vector machine (eq. (Stage1)).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows with NaN at the gaps; numeric columns in [0, 1], categorical ones hold codes. Rows
        without any observed cell are allowed.
    y : array-like of shape (n_samples,)
        Labels of two or more classes, or targets.
    kernel : Kernel or str
        The kernel, or the name of one whose gamma is then fitted to the table; see
        `kernimpute.core.rows.scaled_kernel`.
    C : float, default=1.0
        Penalty of the support vector machine, in (0, inf).
    eta : float or None, default=None
        Weight that holds the adjustment at its anchor, in (0, inf]. None takes the norm of the
        dual coefficients of the support vector machine on the reference kernel, the paper's rule.
    rho : float or None, default=None
        Weight that holds the perturbation, in (0, inf], for `paper` and `appendix`. None takes
        ``5 C / m`` with m the share of missing cells, the paper's rule.
    radius : float or None, default=None
        Radius of the perturbation's ball, in [0, inf), for `released`. None takes ``0.2 N m``,
        the released code's rule.
    epsilon : float, default=0.1
        Half width of the regression tube, in [0, inf).
    variant : {"anchored", "paper", "appendix", "released"}, default="anchored"
        The variant; see `kernimpute.stage_one.variants`.
    task : {"classification", "regression"}, default="classification"
        What y holds. More than two classes are learned one against the rest, with one kernel.
    categorical : array-like or None, default=None
        Mask or indices of the columns that hold category codes; None keeps the kernel's own.
    reference : None, "mean", "expected", array-like or fitted imputer, default=None
        What `anchored` is anchored at, and what the default eta is taken from; see
        `kernimpute.joint.reference`.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights of the rows, finite, nonnegative and not all 0; None weights every row 1. They
        enter the machine's bounds, the reference and a gamma fitted to the table; the anchor on
        the kernel matrix weighs all pairs of rows alike.
    tol : float or None, default=None
        The stop rule: for `anchored` the relative saddle gap (1e-3), for `paper` and
        `appendix` the largest relative step (1e-3), for `released` the norm of the step of the
        coefficients (1e-4). None takes the value in brackets.
    max_iter : int or None, default=None
        Rounds at the most; None takes the variant's default.
    callback : callable or None, default=None
        Called with the `Record` of each round; a true answer stops.
    device : str or None, default=None
        Where the rounds are computed: None by NumPy, a name such as "cpu", "cuda" or "cuda:0" by
        torch there, in double precision. What is returned is NumPy's. Bounds and reference are
        computed on the CPU and copied; so is each machine, of which `anchored` has one a round, and
        for which a kernel matrix comes back.

    Returns
    -------
    LearnedKernel
        The kernel matrix, the coefficients, and how the loop ended.

    Raises
    ------
    ImportError
        If a device is given and torch is not installed.
    TypeError, ValueError
        If a parameter is out of its range, X is not as described, y has fewer than two classes,
        the kernel does not suit the variant, or torch cannot use the device.

    Examples
    --------
    >>> import numpy as np
    >>> from kernimpute.core.kernels import Gaussian
    >>> X = np.array([[0.0, 0.1], [0.2, np.nan], [np.nan, 0.9], [1.0, 0.8]])
    >>> learned = learn_kernel(X, [0, 0, 1, 1], kernel=Gaussian(gamma=1.0))
    >>> learned.status.name, bool(learned.gap <= 1e-3)
    ('CONVERGED', True)
    """
    record = VARIANTS[check_choice(OWNER, "variant", variant, VARIANTS)]
    rows = check_labelled_rows(
        X,
        y,
        kernel,
        owner=OWNER,
        C=C,
        task=task,
        epsilon=epsilon,
        categorical=categorical,
        sample_weight=sample_weight,
    )
    options = stage_one_options(
        OWNER,
        eta=eta,
        rho=rho,
        radius=radius,
        reference=reference,
        tol=tol,
        max_iter=max_iter,
        callback=callback,
        device=device,
    )
    return learn_from_rows(rows, record, options)


def learn_from_rows(
    rows: LabelledRows, variant: Variant, options: StageOneOptions
) -> LearnedKernel:
    """Learn a kernel matrix from checked rows.

    Parameters
    ----------
    rows : LabelledRows
        Incomplete rows, kernel, dual and weights.
    variant : Variant
        The variant.
    options : StageOneOptions
        The other parameters of `learn_kernel`.

    Returns
    -------
    LearnedKernel
        The kernel matrix, the coefficients, and how the loop ended.

    Raises
    ------
    TypeError, ValueError
        If the reference or the kernel does not suit, or a number is too extreme.
    """
    if rows.observed.all():
        return _plain_machine(rows)
    check_extremes(options, float(np.maximum(rows.dual.upper, -rows.dual.lower).max()))
    machine = ReferenceMachine(rows, options.reference)
    weights = _weights(machine, options)
    relaxation = variant.relax(rows.X, rows.observed, rows.kernel, machine)
    guess = machine.dual_coef if options.eta is None else None
    problem = StageOneProblem(
        rows.X, rows.observed, rows.kernel, rows.dual, relaxation, *weights, guess
    )
    # It holds the reference kernel, of which the anchor is a copy.
    del machine
    if options.device is not None:
        problem = problem.converted(partial(on_device, device=options.device))
    return _run(problem, variant, options.stop(variant.stop), options.callback)


def _weights(reference: ReferenceMachine, options: StageOneOptions) -> tuple[float, float, float]:
    """Return eta, rho and radius, as given or by their default rules."""
    rows = reference.rows
    dual, missing_rate = rows.dual, float((~rows.observed).mean())
    eta, rho, radius = options.eta, options.rho, options.radius
    if eta is None:
        # A machine without support vectors has norm 0, and eta must be positive.
        eta = float(np.linalg.norm(reference.dual_coef)) or dual.C
    if rho is None:
        rho = 5.0 * dual.C / missing_rate
    if radius is None:
        radius = 0.2 * rows.X.shape[0] * missing_rate
    return float(eta), float(rho), float(radius)


def _run(
    problem: StageOneProblem, variant: Variant, stop: StopRule, callback: Callback | None
) -> LearnedKernel:
    """Learn by the loop, unless the solution is known."""
    if math.isinf(problem.eta) and tuple(problem.relaxation.base.shape) == (1, 1):
        # An anchor that is itself a kernel, held with infinite weight, is the solution.
        return _learned_anchor(problem)
    solution, status, trace = _loop(problem, variant, stop, callback)
    return _learned(problem, solution, status, trace)


def _loop(
    problem: StageOneProblem, variant: Variant, stop: StopRule, callback: Callback | None
) -> tuple[Solution, Status, Trace]:
    """Run Steps 1 to 3 until the stop rule is met."""
    began = time.perf_counter()
    state = variant.start(problem)
    objective = math.nan
    certificate: SaddleCertificate | None = None
    status = Status.MAX_ITER
    records: list[Record] = []
    for iteration in range(1, stop.max_iter + 1):
        # Without its multipliers, which nothing asks for afterwards and which are matrices.
        before = replace(state, kernel_moments=None)
        # What runs away overflows in the end; what is then no number is found below.
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            # 1) to 3) the adjustment, the perturbation and the dual coefficients
            moments, state = [state.kernel_moments], replace(before, iteration=iteration)
            state, moves = _stepped(problem, variant, state, moments)
            halted = _halt(moves)
            if halted is None:
                objective, objective_before = variant.objective(problem, state), objective
                halted = _halt_at(problem, objective)
            if halted is not None:
                state, status = before, halted
                records.append(_record(iteration, moves, began))
                break
            # 4) the stop rule
            progress = Progress.between(before, state, objective, objective_before)
            # Its adjustment is a matrix, which a certificate has better use for.
            del before
            assessment = variant.assess(problem, state, progress, stop.tol, certificate)
            certificate = assessment.certificate
        record = _record(iteration, moves, began, progress.norms, assessment)
        # They hold matrices that the next round replaces.
        del moves
        records.append(record)
        asked_to_stop = callback is not None and bool(callback(record))
        if assessment.watched <= stop.tol:
            status = Status.CONVERGED
            break
        if asked_to_stop:
            status = Status.INTERRUPTED
            break
    if status is Status.CONVERGED:
        status = _settled(problem)
    return variant.finish(problem, state, certificate), status, Trace(tuple(records))


def _stepped(
    problem: StageOneProblem, variant: Variant, state: StageOneState, kernel_moments: list[Any]
) -> tuple[StageOneState, tuple[Move, ...]]:
    """Return the state after the three steps, and the moves that led there.

    The kernel step's moments come in a list, which is emptied: the step alone then holds them, and
    can let go of its old matrices before it makes new ones.
    """
    first = variant.kernel_step(problem, replace(state, kernel_moments=kernel_moments.pop()))
    state = replace(state, adjustment=first.value, kernel_moments=first.moments)
    second = variant.perturbation_step(problem, state)
    state = replace(state, perturbation=second.value, perturbation_moments=second.moments)
    third = variant.dual_step(problem, state)
    state = replace(state, dual_coef=third.value, dual_moments=third.moments)
    return state, (first, second, third)


def _halt(moves: tuple[Move, ...]) -> Status | None:
    """Return why the loop must stop at once, if it must."""
    if not all(_is_finite(move.value) for move in moves):
        return Status.DIVERGED
    stoppers = [move.status for move in moves if move.status is Status.DIVERGED]
    return stoppers[0] if stoppers else None


def _is_finite(array: FloatArray) -> bool:
    xp = namespace(array)
    return bool(xp.all(xp.isfinite(array)))


def _halt_at(problem: StageOneProblem, objective: float) -> Status | None:
    """Return ``DIVERGED`` where the objective is no number though no weight is infinite."""
    weighed = math.isfinite(problem.eta) and math.isfinite(problem.rho)
    return Status.DIVERGED if weighed and not math.isfinite(objective) else None


def _record(
    iteration: int,
    moves: tuple[Move, ...],
    began: float,
    norms: Mapping[str, float] | None = None,
    assessment: Assessment | None = None,
) -> Record:
    return Record(
        iteration=iteration,
        objective=math.nan if assessment is None else assessment.objective,
        gap=math.nan if assessment is None else assessment.gap,
        step_norms=dict(norms or {}),
        inner_iterations=sum(move.inner_iterations for move in moves),
        seconds=time.perf_counter() - began,
        note=" ".join(move.note for move in moves if move.note),
        stage="Stage I",
    )


def _learned(
    problem: StageOneProblem, solution: Solution, status: Status, trace: Trace
) -> LearnedKernel:
    K, dual_coef = to_numpy(solution.K), to_numpy(solution.dual_coef)
    if problem.relaxation.ridge != 0.0:
        K = K - problem.relaxation.ridge * np.eye(problem.n_samples)
    target = solution.target
    if target is None:
        # Of a tiny gamma the sums may be beyond all numbers, and so beyond their bounds.
        with np.errstate(over="ignore"):
            sums = problem.kernel.inverse_link(K)
        target = np.clip(sums, *problem.kernel.bounds(problem.X, problem.observed))
    gap = solution.gap
    return _shaped(problem.dual, K, target, dual_coef, solution.intercept, status, gap, trace)


def _learned_anchor(problem: StageOneProblem) -> LearnedKernel:
    K = problem.relaxation.anchor
    dual_coef = problem.solve(K)
    solution = Solution(K, dual_coef, problem.intercept(K, dual_coef), gap=0.0)
    return _learned(problem, solution, _settled(problem), Trace())


def _settled(problem: StageOneProblem) -> Status:
    """Return the status of a run that met its stop rule."""
    if problem.relaxation.ridge == 0.0:
        return Status.CONVERGED
    return Status.RAISED if problem.kernel.is_positive_semidefinite else Status.NOT_PSD


def _plain_machine(rows: LabelledRows) -> LearnedKernel:
    """Return the plain support vector machine, for a table without gaps."""
    sums = rows.kernel.sums(rows.X, rows.X)
    K, dual = rows.kernel.link(sums), rows.dual
    dual_coef = dual.solve(K)
    intercept = dual.intercept(K, dual_coef)
    return _shaped(dual, K, sums, dual_coef, intercept, Status.NOTHING_MISSING, 0.0, Trace())


def _shaped(
    dual: Dual,
    K: FloatArray,
    target: FloatArray,
    dual_coef: FloatArray,
    intercept: FloatArray,
    status: Status,
    gap: float,
    trace: Trace,
) -> LearnedKernel:
    coefficients, intercepts = dual.shaped(dual_coef, intercept)
    return LearnedKernel(
        K=K,
        target=target,
        dual_coef=coefficients,
        intercept=intercepts,
        classes=dual.classes,
        status=status,
        n_iter=len(trace),
        gap=gap,
        trace=trace,
    )
