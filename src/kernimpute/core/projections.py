"""Projections on the convex sets of Stage I, in the Frobenius (Euclidean) norm.

Closed forms: the positive semidefinite cone, a box, a Frobenius ball, a box cut by the
hyperplane ``1'v = 0``. By an iteration: a box cut by a cone, given the projection on the cone
(`project_box_cone`), of which `project_box_psd` is the case that Appendix B calls P1 and the
eigenvalue quadratic program of the paper's eq. (find_d) is another.

`clip_and_centre`, which the paper's Step 3 uses, is here so that it stands beside the projection
it is mistaken for.

All take arrays of any one namespace, and return such arrays; see `kernimpute.core.arrays`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components

from kernimpute.core.arrays import clip, inner, like, namespace, norm, to_numpy
from kernimpute.core.status import Status

__all__ = [
    "AdamMoments",
    "BoxConeProjection",
    "Multiplier",
    "PsdProjection",
    "adam_step",
    "clip_and_centre",
    "project_box",
    "project_box_cone",
    "project_box_hyperplane",
    "project_box_psd",
    "project_frobenius_ball",
    "project_psd",
    "psd_projection",
    "symmetrise",
]

FloatArray = NDArray[np.float64]

PARTIAL_SHARE = 0.15
"""Largest share of the spectrum for which computing it alone pays."""
PARTIAL_FROM = 64
"""Rows from which on it does."""


def symmetrise(M: FloatArray) -> FloatArray:
    """Return the symmetric part of a square matrix.

    Parameters
    ----------
    M : ndarray of shape (n, n)
        A matrix; symmetric up to rounding, usually.

    Returns
    -------
    ndarray of shape (n, n)
        ``(M + M') / 2``, symmetric to the last bit; M itself if it is that already.
    """
    return M if bool(namespace(M).all(M == M.T)) else 0.5 * (M + M.T)


@dataclass(frozen=True)
class PsdProjection:
    """The projection on the positive semidefinite cone, and what the next one can use.

    Parameters
    ----------
    point : ndarray of shape (n, n)
        The nearest positive semidefinite matrix.
    n_negative : int
        How many eigenvalues were negative.
    """

    point: FloatArray
    n_negative: int


def project_psd(M: FloatArray) -> FloatArray:
    """Project a symmetric matrix on the positive semidefinite cone.

    The paper's ``P_+``: negative eigenvalues become 0.

    Parameters
    ----------
    M : ndarray of shape (n, n)
        A matrix; its symmetric part is projected.

    Returns
    -------
    ndarray of shape (n, n)
        The nearest positive semidefinite matrix.
    """
    return psd_projection(M).point


def psd_projection(M: FloatArray, n_negative: int | None = None) -> PsdProjection:
    """Project as `project_psd`, by the part of the spectrum that is cheapest.

    Parameters
    ----------
    M : ndarray of shape (n, n)
        A matrix; its symmetric part is projected.
    n_negative : int or None, default=None
        How many negative eigenvalues are expected, as a projection of a similar matrix found
        them. Where they are few, or nearly all, only the few of one sign are computed. A wrong
        guess costs time, not accuracy.

    Returns
    -------
    PsdProjection
        The projection, and how many eigenvalues were negative.
    """
    M = symmetrise(M)
    n = M.shape[0]
    few = PARTIAL_SHARE * n
    if isinstance(M, np.ndarray) and n_negative is not None and n >= PARTIAL_FROM:
        if n_negative <= few:
            part = _one_sided_root(M, -math.inf, 0.0)
            return PsdProjection(part @ part.T + M, part.shape[1])
        if n - n_negative <= few:
            part = _one_sided_root(M, 0.0, math.inf)
            return PsdProjection(part @ part.T, n - part.shape[1])
    xp = namespace(M)
    values, vectors = xp.linalg.eigh(M)
    found = int(xp.count_nonzero(values < 0.0))
    # The smaller part of the spectrum makes the cheaper product.
    if 2 * found <= n:
        part = vectors[:, :found] * xp.sqrt(-values[:found])
        del vectors
        # The product first: NumPy then adds into it.
        return PsdProjection(part @ part.T + M, found)
    part = vectors[:, found:] * xp.sqrt(values[found:])
    # Of what is as large as M, nothing is held that is not needed any more.
    del M, vectors
    return PsdProjection(part @ part.T, found)


def _one_sided_root(M: FloatArray, low: float, high: float) -> FloatArray:
    """Return R of shape (n, n_found), RR' being the part of |M| with eigenvalues in (low, high]."""
    # Of all drivers this one alone spares what is not asked for.
    values, vectors = eigh(M, subset_by_value=(low, high), driver="evr", check_finite=False)
    root: FloatArray = vectors * np.sqrt(np.abs(values))
    return root


def project_box(M: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Project on the box ``lower <= M <= upper``.

    Parameters
    ----------
    M, lower, upper : ndarray of any one shape
        The point and the ends of the box.

    Returns
    -------
    ndarray
        The nearest point of the box.
    """
    return clip(M, lower, upper)


def project_frobenius_ball(M: FloatArray, centre: FloatArray, radius: float) -> FloatArray:
    """Project on the ball ``||M - centre|| <= radius`` of the Frobenius norm.

    Parameters
    ----------
    M, centre : ndarray of any one shape
        The point and the centre.
    radius : float
        The radius, in [0, inf).

    Returns
    -------
    ndarray
        The nearest point of the ball.
    """
    offset = M - centre
    distance = norm(offset)
    return M if distance <= radius else centre + offset * (radius / distance)


def project_box_hyperplane(
    v: FloatArray, lower: FloatArray, upper: FloatArray, threshold: float = 0.0
) -> FloatArray:
    """Project on a box cut by the hyperplane ``1'v = 0``, after an optional soft threshold.

    Appendix B's P3 in signed coefficients. With a threshold t it is the proximal operator of
    ``t ||.||_1`` on that set, which the tube of support vector regression asks for:
    ``argmin over b in the set of ||b - v||^2 / 2 + t ||b||_1``.

    Parameters
    ----------
    v : ndarray of shape (n,)
        The point.
    lower, upper : ndarray of shape (n,)
        Ends of the box; ``lower <= 0 <= upper``, so that the set holds 0.
    threshold : float, default=0.0
        The soft threshold t, in [0, inf).

    Returns
    -------
    ndarray of shape (n,)
        The projection, exact up to rounding: the multiplier of the hyperplane is found among
        the sorted kinks of a piecewise linear function.
    """
    xp = namespace(v)
    shrinkage = xp.full_like(v, threshold) if threshold else v

    def point(multiplier: FloatArray) -> FloatArray:
        shifted = v - multiplier
        if threshold:
            shifted = shifted - clip(shifted, -shrinkage, shrinkage)
        return clip(shifted, lower, upper)

    # An entry falls with the multiplier between these kinks, and rests outside.
    kinks = (
        xp.concat([v - upper - threshold, v + threshold, v - lower + threshold, v - threshold])
        if threshold
        else xp.concat([v - upper, v - lower])
    )
    last = kinks.shape[0] - 1
    order = xp.argsort(kinks)
    kinks = xp.take(kinks, order)
    falling = xp.cumulative_sum(2.0 * xp.astype(2 * order < last, v.dtype) - 1.0)
    falls = xp.cumulative_sum(falling[:-1] * (kinks[1:] - kinks[:-1]))
    left = int(xp.count_nonzero(falls < xp.sum(upper)))
    # The running sum has its rounding: the sums at the two kinks decide.
    while left > 0 and float(xp.sum(point(kinks[left]))) <= 0.0:
        left -= 1
    right = min(left + 1, last)
    while right < last and float(xp.sum(point(kinks[right]))) > 0.0:
        left, right = right, right + 1
    start, end = point(kinks[left]), point(kinks[right])
    at_left, at_right = float(xp.sum(start)), float(xp.sum(end))
    if at_left <= 0.0 or at_left == at_right:
        return start
    # Between neighbouring kinks the point is linear in the multiplier. Interpolating the points
    # instead of the kinks keeps the sum at 0 where v is large beside the box.
    fraction = at_left / (at_left - at_right)
    return clip(start + fraction * (end - start), lower, upper)


def clip_and_centre(v: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Clip to the box, then subtract the mean: the paper's Step 3, which is no projection.

    The result meets the hyperplane ``1'v = 0`` but may leave the box, by up to the mean.

    Parameters
    ----------
    v, lower, upper : ndarray of shape (n,)
        The point and the ends of the box, in signed coefficients.

    Returns
    -------
    ndarray of shape (n,)
        The clipped and centred point.
    """
    clipped = clip(v, lower, upper)
    centred: FloatArray = clipped - namespace(v).mean(clipped)
    return centred


@dataclass(frozen=True)
class Multiplier:
    """The multiplier of the box, with what lets another call go on as if there had been one.

    Parameters
    ----------
    value : ndarray of shape (n, n)
        The multiplier Y.
    ahead : ndarray of shape (n, n)
        Y extrapolated.
    pace : float
        Nesterov's sequence; 1 after a restart.
    """

    value: FloatArray
    ahead: FloatArray
    pace: float = 1.0


@dataclass(frozen=True)
class BoxConeProjection:
    """The projection on a box cut by a cone, as far as it was carried.

    Parameters
    ----------
    point : ndarray of shape (n, n)
        A point of the cone.
    multiplier : Multiplier
        Multiplier of the box; pass it as the start of the next, similar projection.
    status : Status
        ``CONVERGED``; ``MAX_ITER``; or ``INFEASIBLE`` where the two sets are shown not to
        meet.
    n_iter : int
        Projections on the cone made.
    violation : float
        Largest distance of an entry of `point` from the box.
    """

    point: FloatArray
    multiplier: Multiplier
    status: Status
    n_iter: int
    violation: float

    @property
    def infeasible(self) -> bool:
        """Whether the box and the cone were shown not to meet."""
        return self.status is Status.INFEASIBLE


def project_box_cone(
    M: FloatArray,
    project_cone: Callable[[FloatArray], FloatArray],
    lower: FloatArray,
    upper: FloatArray,
    *,
    multiplier: Multiplier | None = None,
    tol: float = 1e-9,
    max_iter: int = 1000,
) -> BoxConeProjection:
    """Project on the intersection of a box with a closed convex cone.

    ``min ||P - M||^2 / 2`` over P in the cone with ``lower <= P <= upper``, by accelerated
    proximal gradient ascent on the dual in the box's multiplier Y, where ``P = proj(M - Y)``,
    with restarts; the step 1 is exact, for the projection is non-expansive. One projection on
    the cone an iteration.

    Parameters
    ----------
    M : ndarray of shape (n, n)
        The point to project.
    project_cone : callable
        Projection on the cone.
    lower, upper : ndarray of shape (n, n)
        Ends of the box.
    multiplier : Multiplier, default=None
        Multiplier to start from; 0 by default.
    tol : float, default=1e-9
        Largest violation of the box, relative to ``max(1, |M|)``, at which the projection has
        converged; the multiplier must have settled to the same tolerance.
    max_iter : int, default=1000
        Projections on the cone at the most.

    Returns
    -------
    BoxConeProjection
        The point, the multiplier and how it ended.

    Notes
    -----
    The sets are shown not to meet by a separating direction: a Y with ``proj(-Y) = 0`` and
    ``sum of max(Y lower, Y upper) < 0``, which the multiplier tends to in that case.
    """
    xp = namespace(M)
    zeros = xp.zeros_like(M)
    now = Multiplier(zeros, zeros) if multiplier is None else multiplier
    allowed = tol * max(1.0, _largest(M))
    status = Status.MAX_ITER
    point, n_iter = M, 0
    for n_iter in range(1, max_iter + 1):
        point = project_cone(M - now.ahead)
        raised = now.ahead + point
        Y = raised - clip(raised, lower, upper)
        moved = _largest(Y - now.ahead)
        now = _extrapolated(now, Y)
        if moved <= allowed:
            # The violation of `point` is at most what the multiplier moved.
            status = Status.CONVERGED
            break
        if n_iter % 25 == 0 and _separates(Y, project_cone, lower, upper):
            status = Status.INFEASIBLE
            break
    return BoxConeProjection(point, now, status, n_iter, _violation(point, lower, upper))


def _extrapolated(now: Multiplier, Y: FloatArray) -> Multiplier:
    """Return the multiplier after a step to Y, extrapolated unless it overshot."""
    change = Y - now.value
    if inner(now.ahead - Y, change) > 0.0:
        return Multiplier(Y, Y)
    pace = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * now.pace * now.pace))
    return Multiplier(Y, Y + ((now.pace - 1.0) / pace) * change, pace)


def _violation(point: FloatArray, lower: FloatArray, upper: FloatArray) -> float:
    xp = namespace(point)
    return max(0.0, float(xp.max(lower - point)), float(xp.max(point - upper)))


def _largest(M: FloatArray) -> float:
    xp = namespace(M)
    return float(xp.max(xp.abs(M)))


def _separates(
    Y: FloatArray,
    project_cone: Callable[[FloatArray], FloatArray],
    lower: FloatArray,
    upper: FloatArray,
) -> bool:
    """Whether Y, made a member of the dual cone, has a negative support function on the box."""
    # Moreau: -Y = proj(-Y) + (a member of the polar cone), so this one pairs >= 0 with the cone.
    direction = Y + project_cone(-Y)
    xp = namespace(direction)
    support = float(xp.sum(xp.maximum(direction * lower, direction * upper)))
    return support < -1e-9 * max(1e-300, float(xp.sum(xp.abs(direction))))


def project_box_psd(
    M: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    *,
    multiplier: Multiplier | None = None,
    tol: float = 1e-9,
    max_iter: int = 1000,
) -> BoxConeProjection:
    """Project on the positive semidefinite matrices of a box: Appendix B's P1.

    Parameters
    ----------
    M, lower, upper : ndarray of shape (n, n)
        The symmetric point and the symmetric ends of the box.
    multiplier : Multiplier, default=None
        Multiplier to start from, as an earlier projection on this box returned it.
    tol : float, default=1e-9
        Largest violation of the box, relative to ``max(1, |M|)``.
    max_iter : int, default=1000
        Eigendecompositions at the most.

    Returns
    -------
    BoxConeProjection
        The point (positive semidefinite), the multiplier and how it ended.

    Notes
    -----
    Two rows whose four entries the box fixes at one value, as an adjustment's are at 1 where both
    rows are complete, are equal in every positive semidefinite matrix of the box. Then the dual
    has no solution and the iteration creeps, so such rows are merged: with E the orthonormal
    basis of their groups the problem is the same in ``E'ME``, the size of the groups in its box.
    """
    M = symmetrise(M)
    groups = _equal_rows(lower, upper)
    if groups is None:
        return project_box_cone(
            M, project_psd, lower, upper, multiplier=multiplier, tol=tol, max_iter=max_iter
        )
    scale = like(groups.scale, M)
    merged = groups.sums(M) / scale
    allowed = tol * max(1.0, _largest(M))
    found = project_box_cone(
        merged,
        project_psd,
        scale * like(groups.lower, M),
        scale * like(groups.upper, M),
        multiplier=multiplier,
        tol=allowed / max(1.0, _largest(merged)),
        max_iter=max_iter,
    )
    point = groups.expand(found.point / scale)
    return replace(found, point=point, violation=_violation(point, lower, upper))


@dataclass(frozen=True)
class _Groups:
    """Rows in groups, on the CPU.

    Parameters
    ----------
    labels : ndarray of int of shape (n,)
        The group of each row.
    scale : ndarray of shape (n_groups, n_groups)
        Square root of the number of entries in each block.
    lower, upper : ndarray of shape (n_groups, n_groups)
        The box that each block's entries have in common.
    """

    labels: NDArray[np.int32]
    scale: FloatArray
    lower: FloatArray
    upper: FloatArray

    def sums(self, M: FloatArray) -> FloatArray:
        """Return the sum of each block of a matrix."""
        membership = like((self.labels[:, None] == np.arange(len(self.scale))).astype(float), M)
        summed: FloatArray = membership.T @ M @ membership
        return summed

    def expand(self, M: FloatArray) -> FloatArray:
        """Return the matrix that is constant on each block."""
        xp, rows = namespace(M), like(self.labels, M)
        constant: FloatArray = xp.take(xp.take(M, rows, axis=0), rows, axis=1)
        return constant


def _equal_rows(lower: FloatArray, upper: FloatArray) -> _Groups | None:
    """Return the groups of rows that are equal in every positive semidefinite matrix of the box.

    None where all rows may differ, or where a group has no common interval for some entry.
    """
    lower, upper = to_numpy(lower), to_numpy(upper)
    fixed = np.where(np.diagonal(lower) == np.diagonal(upper), np.diagonal(lower), np.nan)
    equal = (lower == upper) & (lower == fixed[:, None]) & (lower == fixed[None, :])
    if np.count_nonzero(equal) == np.count_nonzero(np.diagonal(equal)):
        # Each row is equal to itself only.
        return None
    n_groups, labels = connected_components(equal, directed=False)
    counts = np.bincount(labels, minlength=n_groups).astype(float)
    scale = np.sqrt(counts[:, None] * counts[None, :])
    lower, upper = _reduced(lower, labels, np.maximum), _reduced(upper, labels, np.minimum)
    return None if (lower > upper).any() else _Groups(labels, scale, lower, upper)


def _reduced(M: FloatArray, labels: NDArray[np.int32], operation: np.ufunc) -> FloatArray:
    """Return the maximum or the minimum of each block of a matrix."""
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    strips = operation.reduceat(M[np.ix_(order, order)], starts, axis=0)
    return np.asarray(operation.reduceat(strips, starts, axis=1))


@dataclass(frozen=True)
class AdamMoments:
    """Running means of the gradient and of its square.

    Parameters
    ----------
    mean, square : ndarray
        The two moments, in the shape of the variable.
    t : int
        Steps taken so far.
    """

    mean: FloatArray
    square: FloatArray
    t: int = 0

    @classmethod
    def zeros(cls, like: FloatArray) -> AdamMoments:
        """Return the moments before the first step, in the shape of a variable."""
        zeros = namespace(like).zeros_like(like)
        return cls(zeros, zeros)


def adam_step(
    gradient: FloatArray,
    moments: AdamMoments,
    learning_rate: float,
    *,
    beta_mean: float = 0.9,
    beta_square: float = 0.999,
    guard: float = 1e-8,
) -> tuple[FloatArray, AdamMoments]:
    """Return the step of one Adam update and the moments after it.

    Parameters
    ----------
    gradient : ndarray
        Gradient at the current point.
    moments : AdamMoments
        Moments after the previous step.
    learning_rate : float
        Length scale of the step.
    beta_mean, beta_square : float, default=0.9, 0.999
        Decay of the two moments.
    guard : float, default=1e-8
        Added to the root of the second moment.

    Returns
    -------
    step : ndarray
        What to add to the variable in order to ascend (subtract to descend).
    moments : AdamMoments
        The moments after the step.
    """
    t = moments.t + 1
    mean = beta_mean * moments.mean + (1.0 - beta_mean) * gradient
    square = beta_square * moments.square + (1.0 - beta_square) * gradient**2
    unbiased_mean = mean / (1.0 - beta_mean**t)
    unbiased_square = square / (1.0 - beta_square**t)
    step = learning_rate * unbiased_mean / (namespace(gradient).sqrt(unbiased_square) + guard)
    return step, AdamMoments(mean, square, t)
