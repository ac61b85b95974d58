"""A primal-dual interior-point method for the dual of a support vector machine.

It needs about ten factorisations of an (n, n) matrix whatever the kernel and however large C, or of
an (r, r) matrix where the kernel matrix is ``F F'`` with F of shape (n, r) (Fine and Scheinberg,
2001), and leaves a point that `active_set` makes exact in a few rounds. Where libsvm finds its way
it is faster than the first; where it does not (large C, a kernel of low rank) it can be a thousand
times slower.

The coefficients are written as ``b = base + sum of signed parts``, each part between 0 and a
width: with a tube a positive and a negative part each, which makes the absolute value linear, else
one part, ``b - lower``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from kernimpute.gram import Gram, as_gram

__all__ = ["near_solution"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

MAX_ITERATIONS = 60
ACCURACY = 1e-8
"""Where it ends: mean gap, relative to half the range of y times the mean coefficient."""
TO_THE_WALL = 0.995
"""Share of the way to the nearest bound that a step may go."""


@dataclass(frozen=True)
class _Parts:
    """The parts that make up the coefficients.

    Parameters
    ----------
    base : ndarray of shape (n,)
        The coefficients where all parts are 0.
    owner : ndarray of int of shape (n_parts,)
        The coefficient that each part belongs to.
    sign : ndarray of shape (n_parts,)
        Whether it is added or subtracted.
    width : ndarray of shape (n_parts,)
        Its upper bound.
    cost : ndarray of shape (n_parts,)
        Its linear term in the minimisation.
    """

    base: FloatArray
    owner: IntArray
    sign: FloatArray
    width: FloatArray
    cost: FloatArray

    def gather(self, values: FloatArray) -> FloatArray:
        """Return the signed sum of values over the parts of each coefficient, of shape (n,)."""
        total = np.bincount(self.owner, self.sign * values, minlength=self.base.size)
        return np.asarray(total, dtype=float)

    def spread(self, values: FloatArray) -> FloatArray:
        """Return the value of each part's coefficient, with its sign, of shape (n_parts,)."""
        return np.asarray(self.sign * values[self.owner])


def _parts(y: FloatArray, lower: FloatArray, upper: FloatArray, epsilon: float) -> _Parts:
    everyone = np.arange(y.size)
    if epsilon == 0.0:
        return _Parts(lower, everyone, np.ones(y.size), upper - lower, -y)
    return _Parts(
        base=np.zeros(y.size),
        owner=np.concatenate([everyone, everyone]),
        sign=np.repeat([1.0, -1.0], y.size),
        width=np.concatenate([upper, -lower]),
        cost=np.concatenate([epsilon - y, epsilon + y]),
    )


@dataclass(frozen=True)
class _Point:
    """An iterate, or a direction between iterates.

    Parameters
    ----------
    low, high : ndarray of shape (n_parts,)
        Distance of each part from 0 and from its width.
    at_low, at_high : ndarray of shape (n_parts,)
        Multipliers of the two bounds.
    multiplier : float
        Multiplier of ``1'b = 0``.
    """

    low: FloatArray
    high: FloatArray
    at_low: FloatArray
    at_high: FloatArray
    multiplier: float

    @property
    def gap(self) -> float:
        """Mean product of a distance and its multiplier."""
        total = float(self.low @ self.at_low) + float(self.high @ self.at_high)
        return total / (2 * self.low.size)

    def moved(self, direction: _Point, share: float) -> _Point:
        """Return the iterate after a share of a direction."""
        return _Point(
            self.low + share * direction.low,
            self.high + share * direction.high,
            self.at_low + share * direction.at_low,
            self.at_high + share * direction.at_high,
            self.multiplier + share * direction.multiplier,
        )

    def longest_share(self, direction: _Point) -> float:
        """Return the share of a direction, at most 1, that keeps everything positive."""
        share = 1.0
        for name in ("low", "high", "at_low", "at_high"):
            value, move = getattr(self, name), getattr(direction, name)
            falls = move < 0.0
            if falls.any():
                share = min(share, TO_THE_WALL * float((-value[falls] / move[falls]).min()))
        return share


class _Factorised:
    """A kernel matrix plus a diagonal, factorised.

    Parameters
    ----------
    gram : Gram
        The kernel matrix.
    diagonal : ndarray of shape (n,)
        What is added, positive.
    """

    def __init__(self, gram: Gram, diagonal: FloatArray) -> None:
        # Laid out as LAPACK wants it, so that the factor takes its place.
        matrix = np.array(gram.matrix(), dtype=float, order="F")
        matrix[np.diag_indices(diagonal.size)] += diagonal
        self.factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)

    def solve(self, right_side: FloatArray) -> FloatArray:
        """Return the solution of the system with a right side, of shape (n,)."""
        return np.asarray(cho_solve(self.factor, right_side, check_finite=False))


class _FactorisedLowRank:
    """The same of ``F F'``, by Woodbury's identity.

    Where the diagonal is small the identity takes differences of large numbers; what that loses is
    won back by a second solution, for what the first left over.

    Parameters
    ----------
    gram : Gram
        The kernel matrix, whose factor is known.
    diagonal : ndarray of shape (n,)
        What is added, positive.
    """

    def __init__(self, gram: Gram, diagonal: FloatArray) -> None:
        self.F, self.diagonal = cast(FloatArray, gram.factor), diagonal
        small = self.F.T @ (self.F / diagonal[:, None])
        small[np.diag_indices(small.shape[0])] += 1.0
        self.factor = cho_factor(small, lower=True, overwrite_a=True, check_finite=False)

    def solve(self, right_side: FloatArray) -> FloatArray:
        """Return the solution of the system with a right side, of shape (n,)."""
        first = self._solve(right_side)
        left_over = right_side - self.F @ (self.F.T @ first) - self.diagonal * first
        return first + self._solve(left_over)

    def _solve(self, right_side: FloatArray) -> FloatArray:
        alone = right_side / self.diagonal
        common = cho_solve(self.factor, self.F.T @ alone, check_finite=False)
        return np.asarray(alone - (self.F @ common) / self.diagonal)


def _product(gram: Gram, b: FloatArray) -> FloatArray:
    """Return ``K b``, by the factor where there is one."""
    return gram.product(b) if gram.factor is None else gram.factor @ (gram.factor.T @ b)


class _NewtonSystem:
    """The linearised optimality conditions at an iterate, factorised.

    Reduced to the coefficients they are ``(K + diag(1 / softness)) d + m 1 = rest`` with
    ``1'd = -1'b``.

    Parameters
    ----------
    gram : Gram
        The kernel matrix.
    parts : _Parts
        The parts.
    point : _Point
        The iterate.

    Raises
    ------
    scipy.linalg.LinAlgError
        If the matrix is not positive definite.
    """

    def __init__(self, gram: Gram, parts: _Parts, point: _Point) -> None:
        self.parts, self.point = parts, point
        self.b = parts.base + parts.gather(point.low)
        force = parts.spread(_product(gram, self.b) + point.multiplier)
        self.slack = point.at_low - point.at_high - parts.cost - force
        self.weight = point.at_low / point.low + point.at_high / point.high
        self.softness = np.bincount(parts.owner, 1.0 / self.weight, minlength=self.b.size)
        # What rounding may have made negative in a singular K.
        ridge = 1e-15 * self.b.size * gram.largest()
        factorise = _Factorised if gram.factor is None else _FactorisedLowRank
        self.factorised = factorise(gram, 1.0 / self.softness + ridge)
        self.unit = self.factorised.solve(np.ones(self.b.size))

    def direction(self, to_low: FloatArray, to_high: FloatArray) -> _Point:
        """Return the direction that changes the products of distance and multiplier so."""
        parts, point = self.parts, self.point
        pull = self.slack + to_low / point.low - to_high / point.high
        rest = parts.gather(pull / self.weight)
        unbalanced = self.factorised.solve(rest / self.softness)
        raised = float(unbalanced.sum() + self.b.sum()) / float(self.unit.sum())
        force = (rest - unbalanced + raised * self.unit) / self.softness
        move = (pull - parts.spread(force)) / self.weight
        at_low = (to_low - point.at_low * move) / point.low
        at_high = (to_high + point.at_high * move) / point.high
        return _Point(move, -move, at_low, at_high, raised)


def near_solution(
    K: FloatArray | Gram,
    y: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    epsilon: float,
) -> FloatArray:
    """Return a point near the maximiser of the dual, its coefficients at bounds put there.

    Mehrotra's predictor and corrector.

    Parameters
    ----------
    K : ndarray of shape (n, n) or Gram
        The kernel matrix, positive semidefinite. Where a factorisation fails because it is not,
        the point reached so far is returned.
    y : ndarray of shape (n,)
        The linear term.
    lower, upper : ndarray of shape (n,)
        Bounds, ``lower <= 0 <= upper`` and ``lower < upper``; with a tube ``lower < 0 < upper``.
    epsilon : float
        Weight of the absolute values, in [0, inf).

    Returns
    -------
    ndarray of shape (n,)
        Coefficients between their bounds, whose sum is 0 only to the accuracy of the method.
    """
    gram = as_gram(K)
    y = y - 0.5 * (y.max() + y.min())
    scale = float(y.max()) or 1.0
    parts = _parts(y, lower, upper, epsilon)
    middle, ones = 0.5 * parts.width, np.full(parts.width.size, scale)
    point = _Point(middle, middle, ones, ones, 0.0)
    for _ in range(MAX_ITERATIONS):
        try:
            system = _NewtonSystem(gram, parts, point)
        except LinAlgError:
            break
        near = point.gap <= ACCURACY * scale * float(np.abs(system.b).mean())
        if near and float(np.abs(system.slack).max()) <= math.sqrt(ACCURACY) * scale:
            break
        to_low, to_high = -point.low * point.at_low, -point.high * point.at_high
        predicted = system.direction(to_low, to_high)
        ahead = point.moved(predicted, point.longest_share(predicted))
        centre = point.gap * (ahead.gap / point.gap) ** 3
        corrected = system.direction(
            centre + to_low - predicted.low * predicted.at_low,
            centre + to_high - predicted.high * predicted.at_high,
        )
        share = point.longest_share(corrected)
        if not share > 1e-8:
            break
        point = point.moved(corrected, share)
        # Its factor is a matrix, and so is the next one's.
        del system
    # A part is at the bound whose multiplier outweighs its distance.
    at_zero = point.low / parts.width < point.at_low / scale
    at_width = point.high / parts.width < point.at_high / scale
    settled = np.where(at_zero, 0.0, np.where(at_width, parts.width, point.low))
    return parts.base + parts.gather(np.minimum(settled, parts.width))
