"""Projections on the convex sets of Stage I, in the Frobenius (Euclidean) norm, and Adam."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from kernimpute.core.arrays import FloatArray
from kernimpute.core.status import Status

BETA_MEAN, BETA_SQUARE, GUARD = 0.9, 0.999, 1e-8
"""Adam's constants."""


def symmetrise(M: FloatArray) -> FloatArray:
    """Return the symmetric part of a square matrix; M itself if it is symmetric."""
    return M if bool((M == M.T).all()) else 0.5 * (M + M.T)


def project_psd(M: FloatArray) -> FloatArray:
    """Set the negative eigenvalues of a matrix's symmetric part to 0: the paper's ``P_+``."""
    M = symmetrise(M)
    values, vectors = np.linalg.eigh(M)
    n_negative = int(np.count_nonzero(values < 0.0))
    # The smaller part of the spectrum makes the cheaper product.
    if 2 * n_negative <= M.shape[0]:
        part = vectors[:, :n_negative] * np.sqrt(-values[:n_negative])
        return np.asarray(part @ part.T + M)
    part = vectors[:, n_negative:] * np.sqrt(values[n_negative:])
    return np.asarray(part @ part.T)


def project_frobenius_ball(M: FloatArray, centre: FloatArray, radius: float) -> FloatArray:
    """Project on the ball ``||M - centre|| <= radius`` of the Frobenius norm."""
    offset = M - centre
    distance = float(np.linalg.norm(offset))
    return M if distance <= radius else centre + offset * (radius / distance)


def project_box_hyperplane(
    v: FloatArray, lower: FloatArray, upper: FloatArray, threshold: float = 0.0
) -> FloatArray:
    """Project on a box cut by the hyperplane ``1'v = 0``: Appendix B's P3 in signed coefficients.

    With a threshold t it is a regression's proximal point, ``argmin over b in the set of
    ||b - v||^2 / 2 + t ||b||_1``. The box must hold 0.
    """

    def point(multiplier: np.float64) -> FloatArray:
        shifted = v - multiplier
        if threshold:
            shifted = shifted - np.clip(shifted, -threshold, threshold)
        return np.clip(shifted, lower, upper)

    # As a function of the multiplier, each entry falls between two kinks and is constant outside.
    kinks = (
        np.concatenate([v - upper - threshold, v + threshold, v - lower + threshold, v - threshold])
        if threshold
        else np.concatenate([v - upper, v - lower])
    )
    last = kinks.size - 1
    order = np.argsort(kinks)
    kinks = kinks[order]
    falling = np.cumsum(2.0 * (2 * order < last) - 1.0)
    falls = np.cumsum(falling[:-1] * np.diff(kinks))
    left = int(np.count_nonzero(falls < upper.sum()))
    # The running sum is rounded, so the sums at the two kinks decide.
    while left > 0 and point(kinks[left]).sum() <= 0.0:
        left -= 1
    right = min(left + 1, last)
    while right < last and point(kinks[right]).sum() > 0.0:
        left, right = right, right + 1
    start, end = point(kinks[left]), point(kinks[right])
    at_left, at_right = float(start.sum()), float(end.sum())
    if at_left <= 0.0 or at_left == at_right:
        return start
    # Between neighbouring kinks the point is linear in the multiplier. To interpolate the points
    # and not the kinks keeps the sum at 0 where v is large beside the box.
    fraction = at_left / (at_left - at_right)
    return np.clip(start + fraction * (end - start), lower, upper)


@dataclass(frozen=True)
class BoxMultiplier:
    """The multiplier of the box and its momentum, for a warm start."""

    value: FloatArray
    ahead: FloatArray  # the multiplier extrapolated
    pace: float = 1.0  # Nesterov's sequence; 1 after a restart


@dataclass(frozen=True)
class BoxConeProjection:
    """The projection on a box cut by a cone, as far as the iteration got."""

    point: FloatArray  # of the cone
    multiplier: BoxMultiplier  # the start of the next, similar projection
    status: Status  # CONVERGED, MAX_ITER, or INFEASIBLE if the sets are shown not to meet
    n_iter: int  # projections on the cone made
    violation: float  # largest distance of an entry of `point` from the box


def project_box_cone(
    M: FloatArray,
    project_cone: Callable[[FloatArray], FloatArray],
    lower: FloatArray,
    upper: FloatArray,
    multiplier: BoxMultiplier | None = None,
    tol: float = 1e-9,
    max_iter: int = 1000,
) -> BoxConeProjection:
    """Project on the intersection of a box with a closed convex cone, as for P1 and eq. (find_d).

    ``min ||P - M||^2 / 2`` over P in the cone with ``lower <= P <= upper``, by accelerated gradient
    ascent with restarts on the dual in the box's multiplier Y, where ``P = proj(M - Y)``. It has
    converged once the box is violated by at most ``tol max(1, |M|)`` and Y moves by no more. Of two
    sets that do not meet, Y tends to a separating direction, which proves it.
    """
    zeros = np.zeros_like(M)
    now = BoxMultiplier(zeros, zeros) if multiplier is None else multiplier
    allowed = tol * max(1.0, float(np.abs(M).max()))
    status = Status.MAX_ITER
    point, n_iter = M, 0
    for n_iter in range(1, max_iter + 1):
        point = project_cone(M - now.ahead)
        raised = now.ahead + point
        Y = raised - np.clip(raised, lower, upper)
        moved = float(np.abs(Y - now.ahead).max())
        change = Y - now.value
        if np.vdot(now.ahead - Y, change) > 0.0:
            # The momentum has overshot.
            now = BoxMultiplier(Y, Y)
        else:
            pace = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * now.pace * now.pace))
            now = BoxMultiplier(Y, Y + ((now.pace - 1.0) / pace) * change, pace)
        if moved <= allowed:
            # The violation of `point` is at most what the multiplier moved.
            status = Status.CONVERGED
            break
        if n_iter % 25 == 0 and _separates(Y, project_cone, lower, upper):
            status = Status.INFEASIBLE
            break
    return BoxConeProjection(point, now, status, n_iter, _violation(point, lower, upper))


def _violation(point: FloatArray, lower: FloatArray, upper: FloatArray) -> float:
    return max(0.0, float((lower - point).max()), float((point - upper).max()))


def _separates(
    Y: FloatArray,
    project_cone: Callable[[FloatArray], FloatArray],
    lower: FloatArray,
    upper: FloatArray,
) -> bool:
    """Return whether Y, moved into the dual cone, is negative on the whole box."""
    # Moreau: -Y = proj(-Y) + (a member of the polar cone), so this one pairs >= 0 with the cone.
    direction = Y + project_cone(-Y)
    support = float(np.maximum(direction * lower, direction * upper).sum())
    return support < -1e-9 * max(1e-300, float(np.abs(direction).sum()))


def project_box_psd(
    M: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    multiplier: BoxMultiplier | None = None,
    tol: float = 1e-9,
    max_iter: int = 1000,
) -> BoxConeProjection:
    """Project on the positive semidefinite matrices of a symmetric box: Appendix B's P1.

    Two rows whose four entries the box fixes at one value, as those of complete rows at 1, are
    equal in every positive semidefinite matrix of the box, and the iteration would creep. So they
    are merged: with E the orthonormal basis of their groups, the problem is the same in ``E'ME``.
    """
    M = symmetrise(M)
    for labels in (_equal_rows(lower, upper), np.arange(M.shape[0])):
        # The interval that the entries of each block have in common. Where there is none, the sets
        # do not meet, which the iteration finds on the rows as they are.
        least = np.full((labels.max() + 1,) * 2, -np.inf)
        most = -least
        np.maximum.at(least, (labels[:, None], labels), lower)
        np.minimum.at(most, (labels[:, None], labels), upper)
        if (least <= most).all():
            break
    membership = (labels[:, None] == np.arange(len(least))).astype(float)
    counts = membership.sum(axis=0)
    scale = np.sqrt(np.outer(counts, counts))
    merged = membership.T @ M @ membership / scale
    allowed = tol * max(1.0, float(np.abs(M).max()))
    tol = allowed / max(1.0, float(np.abs(merged).max()))
    box = scale * least, scale * most
    found = project_box_cone(merged, project_psd, *box, multiplier, tol, max_iter)
    point = (found.point / scale)[np.ix_(labels, labels)]
    return replace(found, point=point, violation=_violation(point, lower, upper))


def _equal_rows(lower: FloatArray, upper: FloatArray) -> NDArray[np.int32]:
    """Return a number for each row, the same for rows equal in every matrix of box and cone."""
    fixed = np.where(np.diagonal(lower) == np.diagonal(upper), np.diagonal(lower), np.nan)
    equal = (lower == upper) & (lower == fixed[:, None]) & (lower == fixed[None, :])
    return np.asarray(connected_components(equal, directed=False)[1])


@dataclass(frozen=True)
class AdamMoments:
    """Running means of the gradient and of its square, after t steps."""

    mean: FloatArray | float = 0.0
    square: FloatArray | float = 0.0
    t: int = 0


def adam_step(
    gradient: FloatArray, moments: AdamMoments, learning_rate: float
) -> tuple[FloatArray, AdamMoments]:
    """Return what one Adam update adds in order to ascend, and the moments after it."""
    t = moments.t + 1
    mean = BETA_MEAN * moments.mean + (1.0 - BETA_MEAN) * gradient
    square = BETA_SQUARE * moments.square + (1.0 - BETA_SQUARE) * gradient**2
    unbiased_mean = mean / (1.0 - BETA_MEAN**t)
    unbiased_square = square / (1.0 - BETA_SQUARE**t)
    step = learning_rate * unbiased_mean / (np.sqrt(unbiased_square) + GUARD)
    return step, AdamMoments(mean, square, t)
