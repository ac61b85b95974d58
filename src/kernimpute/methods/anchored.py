"""Stage I with the kernel matrix itself as the variable, and a certificate (`anchored`).

    min over K in the set, max over b of    D(b; K) + eta ||K - anchor||^2,
    set = {lower <= K <= upper, K positive semidefinite},

with D the dual of the machine and the anchor a reference kernel. It is convex in K and concave in
b, so two bounds certify its saddle; `docs/theory.md` derives them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from kernimpute.core.arrays import FloatArray
from kernimpute.core.dual import Dual, coupling
from kernimpute.core.projections import project_psd, symmetrise
from kernimpute.core.rows import LabelledRows
from kernimpute.core.status import Callback, Status, StopRule
from kernimpute.core.svm import solve_dual
from kernimpute.joint.reference import mean_kernel_of_completions
from kernimpute.methods.paper import LearnedKernel, StageOneRounds, finish, penalised_value

PENALTY, PATIENCE = 5.0, 30
"""Penalty between the two copies of K, relative to 2 eta; rounds after which it grows with them."""
RELAXATION = 1.9
"""Over-relaxation of the multiplier's step, below 2; 1.6 took up to a third more rounds."""
FIRST_CAUTION, LEAST_CAUTION = 0.5, 1e-3
"""Share of the proximal weight in the first round, and the smallest."""
BOLDNESS, TRIES = 0.7, 2
"""Part of the share that would have sufficed that a step takes; and weights that it tries."""
MACHINE_TOL, MACHINE_ROUNDS = 1e-4, 12
"""Accuracy and rounds of a proximal machine: an exact one can take longer than many rounds."""
ROUNDING = 1e-12
"""A negative eigenvalue of this size, relative to the largest entry, counts as rounding."""
LEAST_ROOM, RIDGE = 1e-7, 1e-3
"""Least eigenvalue, relative to the diagonal, that leaves any room; and what is added elsewhere."""


class Problem(NamedTuple):
    """What is fixed during a run; all matrices are of shape (n_samples, n_samples)."""

    dual: Dual
    eta: float
    anchor: FloatArray
    lower: FloatArray
    upper: FloatArray
    interior: FloatArray  # in the set, with room on every side
    ridge: float = 0.0  # multiple of the identity that is in all of these matrices

    def minimiser(self, b: FloatArray, Z: FloatArray) -> FloatArray:
        """Return the K that minimises over the box alone, with Z the multiplier of the cone."""
        pull = (coupling(b) + 2.0 * Z) / (4.0 * self.eta)
        return np.clip(pull + self.anchor, self.lower, self.upper)

    def lower_bound(self, b: FloatArray, Z: FloatArray, K: FloatArray) -> float:
        """Return the Lagrangian, at its minimiser K a lower bound by weak duality."""
        return self.value(K, b) - float(np.vdot(Z, K))

    def value(self, K: FloatArray, b: FloatArray) -> float:
        """Return the objective; for a K of the set it is at most the upper bound at K."""
        return penalised_value(self.dual, K, b, (self.eta, K - self.anchor))

    def upper_bound(self, K: FloatArray, b: FloatArray) -> float:
        """Return the machine's primal value at K, plus the anchor's term, for a K of the set."""
        return self.dual.primal_value(K, b) + self.eta * float(np.square(K - self.anchor).sum())


class Certificate(NamedTuple):
    """A K of the set, coefficients close to the machine on it, and the upper bound they give."""

    K: FloatArray
    dual_coef: FloatArray
    value: float


@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def stage_one(
    rows: LabelledRows,
    K_reference: FloatArray,
    guess: FloatArray | None,
    eta: float,
    stop: StopRule,
    callback: Callback | None = None,
) -> LearnedKernel:
    """Learn a kernel matrix in its bounds, and certify it; `guess` is the reference's machine."""
    dual = rows.dual
    problem = make_problem(rows, K_reference, eta)
    anchor = problem.anchor
    converged = Status.CONVERGED
    if problem.ridge:
        is_psd = rows.kernel.is_positive_semidefinite
        converged = Status.RAISED if is_psd else Status.NOT_PSD
    rounds, status = StageOneRounds("Stage I", callback, stop.tol), None

    def result(K: FloatArray, b: FloatArray, gap: float, status: Status) -> LearnedKernel:
        intercept = dual.intercept(K, b)
        K = K - problem.ridge * np.eye(K.shape[0])
        return finish(rows, K, b, intercept, status, rounds.records, gap=gap)

    if math.isinf(eta):
        return result(anchor, dual.solve(anchor), 0.0, converged)
    b = _start(problem, dual.solve(anchor) if guess is None else guess)
    K, P, Z = anchor, anchor, np.zeros_like(anchor)
    bound, caution = -math.inf, FIRST_CAUTION
    best: Certificate | None = None
    for t in range(1, stop.max_iter + 1):
        before = (K, b, bound)
        # 1) The multiplier of the cone, and the K that minimises over the box at it.
        Z, P = multiplier_step(problem, b, Z, P, t)
        K = problem.minimiser(b, Z)
        # 2) The coefficients; the bound that counts is the largest so far.
        b, value, caution = proximal_step(problem, K, b, Z, caution)
        bound = max(bound, value)
        # 3) The certificate. One that would end the run is tried at the first three rounds and
        #    where a power of 1.25 is passed, but not while the bound still rises by more than the
        #    gap wanted; any better one at the powers of 2 from the eighth round on.
        smallest = math.inf if best is None else best.value
        is_due = t <= 3 or math.floor(math.log(t, 1.25)) > math.floor(math.log(t - 1, 1.25))
        to_end = is_due and (t == 1 or not bound - before[2] > stop.tol * abs(bound))
        to_keep = t >= 8 and t & (t - 1) == 0
        is_open = best is None or relative_gap(smallest, bound) > stop.tol
        is_finite = np.isfinite(K).all() and math.isfinite(bound)
        if is_finite and is_open and (to_keep or to_end):
            enough = math.inf if to_keep else stop.tol
            best = certify(problem, K, b, smallest, bound, enough) or best
        # 4) The stop rule.
        gap = math.nan if best is None else relative_gap(best.value, bound)
        changes = {"kernel": (K, before[0]), "dual": (b, before[1])}
        watched = math.inf if best is None else gap
        status = rounds.end(bound, watched=watched, gap=gap, inner_iterations=1, changes=changes)
        if status is Status.DIVERGED:
            _, b, bound = before
        if status is not None:
            break
    if bound == -math.inf:
        Z = np.zeros_like(anchor)
        bound = problem.lower_bound(b, Z, problem.minimiser(b, Z))
    # 5) The K of the smallest upper bound, which may be the anchor's, and the exact machine on it.
    #    Those at hand bound the anchor's value from below, which may spare its machine.
    if best is None or best.value > dual.value(anchor, best.dual_coef):
        machine = dual.solve(anchor)
        value = problem.upper_bound(anchor, machine) if _is_psd(anchor) else math.inf
        if best is None or value < best.value:
            best = Certificate(anchor, machine, value)
    gap = relative_gap(best.value, bound) if math.isfinite(best.value) else math.inf
    K, b, _ = best
    b = b if K is anchor else dual.solve(K, start=b)
    status = converged if status is Status.CONVERGED else status or Status.MAX_ITER
    return result(K, b, gap, status)


def make_problem(rows: LabelledRows, K_reference: FloatArray, eta: float) -> Problem:
    """Return bounds, anchor and interior; all raised by a ridge where the set has no interior."""
    kernel = rows.kernel
    # A link may fall or rise.
    ends = [kernel.link(sums) for sums in kernel.bounds(rows.X, rows.observed)]
    lower, upper = np.minimum(*ends), np.maximum(*ends)
    # The rounding of a matrix product may put the reference outside by the last digits.
    anchor = np.clip(K_reference, lower, upper)
    interior = mean_kernel_of_completions(rows.X, kernel)
    ridge, scale = 0.0, float(np.diagonal(interior).mean())
    if not _has_factor(interior, -LEAST_ROOM * scale):
        ridge = RIDGE * scale + max(0.0, -float(np.linalg.eigvalsh(interior)[0]))
    if not kernel.is_positive_semidefinite:
        ridge = max(ridge, -1.01 * float(np.linalg.eigvalsh(anchor)[0]))
    raised = ridge * np.eye(len(anchor))
    anchor, lower, upper, interior = (M + raised for M in (anchor, lower, upper, interior))
    return Problem(rows.dual, eta, anchor, lower, upper, interior, ridge)


def _start(problem: Problem, machine: FloatArray) -> FloatArray:
    """Return the machine times the t in [0, 1] that is best where K answers without bounds."""
    # The machine can be far too large, because its coupling will raise the kernel.
    linear = problem.dual.linear_value(machine)
    quadratic = 2.0 * (linear - problem.dual.value(problem.anchor, machine))
    products = machine.T @ machine
    quartic = float(np.vdot(products, products)) / (16.0 * problem.eta)

    def slope(t: float) -> float:
        return linear - t * quadratic - 4.0 * t**3 * quartic

    t = float(brentq(slope, 0.0, 1.0)) if slope(1.0) < 0.0 < slope(0.0) else 1.0
    return t * machine


def multiplier_step(
    problem: Problem, b: FloatArray, Z: FloatArray, P: FloatArray, t: int
) -> tuple[FloatArray, FloatArray]:
    """Return Z and P after an alternating direction step (Boyd et al. 2011, section 3.4.3)."""
    eta = problem.eta
    # The multiplier is large for sets with next to no interior.
    rho = 2.0 * eta * PENALTY * max(1.0, t / PATIENCE)
    # 1) The copy in the box is the minimiser given P and Z.
    pull = 0.5 * coupling(b) + Z + rho * P
    centre = (2.0 * eta * problem.anchor + pull) / (2.0 * eta + rho)
    in_box = np.clip(centre, problem.lower, problem.upper)
    # 2) Z <- the projection of M = Z - rho (that copy, over-relaxed towards where it came from P).
    M = Z - rho * (RELAXATION * in_box + (1.0 - RELAXATION) * P)
    Z = project_psd(M)
    # 3) P <- the projection of -M / rho, which by Moreau's theorem is what M lacks to the new Z.
    return Z, (Z - M) / rho


def proximal_step(
    problem: Problem, K: FloatArray, now: FloatArray, Z: FloatArray, caution: float
) -> tuple[FloatArray, float, float]:
    """Return new coefficients, their lower bound, which is no smaller, and the next caution."""
    # The best response to a fixed K cycles. With a proximal term of this weight, or of the share of
    # it that would have sufficed, the machine's dual minorises the lower bound at a fixed Z.
    dual = problem.dual
    before = problem.lower_bound(now, Z, K)
    weight = float(np.vdot(now, now)) / (2.0 * problem.eta)
    for _ in range(TRIES):
        b = proximal_machine(dual, K, now, caution * weight)
        bound = problem.lower_bound(b, Z, problem.minimiser(b, Z))
        moved = 0.5 * weight * float(np.vdot(b - now, b - now))
        # What the bound lacks to the value of a K that would not answer.
        short = before + dual.value(K, b) - dual.value(K, now) - bound
        needed = short / moved if moved > 0.0 else 0.0
        caution = min(max(BOLDNESS * needed, LEAST_CAUTION), 1.0)
        if bound >= before:
            return b, bound, caution
    return now, before, caution


def proximal_machine(dual: Dual, K: FloatArray, now: FloatArray, weight: float) -> FloatArray:
    """Return the maximiser of D(b; K) - weight ||b - now||^2 / 2, or nearly so."""
    raised = K + weight * np.eye(len(K))
    targets, limits = dual.targets + weight * now, (MACHINE_TOL, MACHINE_ROUNDS)
    columns = [
        solve_dual(raised, y, lower, upper, dual.epsilon, b, *limits).point
        for y, lower, upper, b in zip(targets.T, dual.lower.T, dual.upper.T, now.T, strict=True)
    ]
    return np.stack(columns, axis=1)


def relative_gap(value: float, bound: float) -> float:
    """Return the gap between an upper and a lower bound, relative to the upper one."""
    return max((value - bound) / max(abs(value), 1e-12), 0.0)


def certify(
    problem: Problem, K: FloatArray, b: FloatArray, smallest: float, bound: float, enough: float
) -> Certificate | None:
    """Return a certificate near a K of the box, if its value is the smallest and its gap enough."""

    def is_wanted(value: float) -> bool:
        return value < smallest and relative_gap(value, bound) <= enough

    # Any b gives a first look at the value before K is repaired, which raises it as a rule.
    feasible: FloatArray | None = symmetrise(K)
    if not _is_psd(K):
        if not is_wanted(problem.value(K, b)):
            return None
        nearly = nearly_feasible(problem, K)
        if not is_wanted(problem.value(nearly, b)):
            return None
        # As little of the interior as suffices; what is still negative is little.
        feasible = _least_mixture(nearly, problem.interior)
    if feasible is None or not is_wanted(problem.value(feasible, b)):
        return None
    machine = proximal_machine(problem.dual, feasible, b, 0.0)
    value = problem.upper_bound(feasible, machine)
    return Certificate(feasible, machine, value) if is_wanted(value) else None


def nearly_feasible(problem: Problem, K: FloatArray) -> FloatArray:
    """Return a matrix between the bounds that is closer to the cone."""
    # The projection makes the diagonal larger; clipping it alone would undo the projection, but
    # scaling rows and columns keeps a matrix in the cone.
    projected = project_psd(K)
    diagonal = np.diagonal(projected)
    allowed = np.clip(diagonal, np.diagonal(problem.lower), np.diagonal(problem.upper))
    ratio = np.divide(allowed, diagonal, out=np.ones_like(diagonal), where=diagonal > 0.0)
    scale = np.sqrt(np.maximum(ratio, 0.0))
    scaled = projected * (scale[:, None] * scale)
    return np.asarray(np.clip(scaled, problem.lower, problem.upper))


def _least_mixture(K: FloatArray, interior: FloatArray) -> FloatArray | None:
    """Return K moved towards the interior just far enough to be positive semidefinite."""
    if not _is_psd(interior):
        return None
    short, enough = 1e-9, 1.0
    while enough > 1.5 * short:
        share = math.sqrt(short * enough)
        if _is_psd(share * (interior - K) + K):
            enough = share
        else:
            short = share
    return np.asarray(enough * (interior - K) + K)


def _is_psd(K: FloatArray) -> bool:
    """Whether a symmetric matrix is positive semidefinite up to `ROUNDING`."""
    return _has_factor(K, ROUNDING * float(np.abs(K).max()))


def _has_factor(M: FloatArray, jitter: float) -> bool:
    """Whether a symmetric matrix, its diagonal raised, has a finite Cholesky factor."""
    try:
        factor = np.linalg.cholesky(M + jitter * np.eye(len(M)))
    except np.linalg.LinAlgError:
        return False
    # LAPACK takes a NaN for a positive pivot.
    return bool(np.isfinite(np.diagonal(factor)).all())
