"""Stage I as data: what is fixed during a run, and what moves.

All variants share one formulation (the paper's eq. (Stage1) is its first line):

    min over A, max over b and E of
        y'b - epsilon ||b||_1 - b'(base o A o E)b / 2 + eta ||A - anchor||^2 - rho ||E - 11'||^2

with ``lower <= A <= upper``, A and E positive semidefinite, b feasible in the dual. In the
paper's variants A is the adjustment, base the observed kernel and anchor 11'. In `anchored` A is
the learned kernel itself, base 11' and anchor the reference kernel; that makes the problem
convex in A and concave in b.

The matrices and the dual's arrays are of one namespace (`kernimpute.core.arrays`), and
the steps compute where they are. X, the mask and the kernel stay NumPy's, and so does the exact
machine: for it the kernel matrix goes to the CPU, and the coefficients come back.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernimpute.core.arrays import inner, like, to_numpy
from kernimpute.core.dual import Dual, coupling
from kernimpute.core.gram import RaisedGram
from kernimpute.core.kernels import Kernel
from kernimpute.core.rows import LabelledRows
from kernimpute.core.svm import solve_dual
from kernimpute.joint.reference import Reference, mean_kernel_of_completions, reference_kernel

__all__ = ["ReferenceMachine", "Relaxation", "StageOneProblem", "StageOneState"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

PROXIMAL_TOL, PROXIMAL_ROUNDS = 1e-4, 12
"""Accuracy of a proximal machine, and its rounds at the most: the next has another chance."""


@dataclass(frozen=True)
class ReferenceMachine:
    """The support vector machine on the reference kernel; each half is computed when asked for.

    Parameters
    ----------
    rows : LabelledRows
        Incomplete rows, kernel, dual and weights.
    reference : Reference
        What the reference is; see `kernimpute.joint.reference`.
    """

    rows: LabelledRows
    reference: Reference

    @cached_property
    def K(self) -> FloatArray:
        """The reference kernel, of shape (n_samples, n_samples)."""
        rows = self.rows
        return reference_kernel(
            rows.X, rows.kernel, self.reference, "learn_kernel", rows.sample_weight
        )

    @cached_property
    def dual_coef(self) -> FloatArray:
        """The signed coefficients of the exact machine, of shape (n_samples, n_problems)."""
        return self.rows.dual.solve(self.K)


@dataclass(frozen=True)
class Relaxation:
    """The set in which a variant looks for its adjustment, and where it starts.

    Parameters
    ----------
    base : ndarray of shape (n_samples, n_samples) or (1, 1)
        Factor of the adjustment in the learned kernel.
    anchor : ndarray of shape (n_samples, n_samples) or (1, 1)
        The adjustment that costs nothing.
    lower, upper : ndarray of shape (n_samples, n_samples)
        Bounds of the adjustment.
    ridge : float
        Multiple of the identity by which kernel matrices are raised where the set would have no
        interior, and which the learned kernel gives back; 0 otherwise.
    """

    base: FloatArray
    anchor: FloatArray
    lower: FloatArray
    upper: FloatArray
    ridge: float = 0.0

    def converted(self, convert: Callable[[FloatArray], FloatArray]) -> Relaxation:
        """Return the set with its matrices in another namespace.

        Parameters
        ----------
        convert : callable
            Takes one array there.

        Returns
        -------
        Relaxation
            The same set.
        """
        return replace(
            self,
            base=convert(self.base),
            anchor=convert(self.anchor),
            lower=convert(self.lower),
            upper=convert(self.upper),
        )


@dataclass(frozen=True)
class StageOneProblem:
    """What is fixed during a run of Stage I.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Rows with NaN at the gaps.
    observed : ndarray of bool of shape (n_samples, n_features)
        True where a cell is observed.
    kernel : Kernel
        The kernel.
    dual : Dual
        The support vector machine's dual.
    relaxation : Relaxation
        Base, anchor and bounds of the adjustment.
    eta : float
        Weight of the anchor, in (0, inf].
    rho : float
        Weight that holds the perturbation at 11', in (0, inf].
    radius : float
        Radius of the perturbation's ball, in the variant that has one.
    guess : ndarray of shape (n_samples, n_problems) or None
        The coefficients of the machine on the reference kernel, where the default eta has asked
        for them already.
    """

    X: FloatArray
    observed: BoolArray
    kernel: Kernel
    dual: Dual
    relaxation: Relaxation
    eta: float
    rho: float
    radius: float
    guess: FloatArray | None = None

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    def converted(self, convert: Callable[[FloatArray], FloatArray]) -> StageOneProblem:
        """Return the problem with its matrices and the dual's arrays in another namespace.

        Parameters
        ----------
        convert : callable
            Takes one array there.

        Returns
        -------
        StageOneProblem
            The same problem.
        """
        return replace(
            self,
            dual=_converted(self.dual, convert),
            relaxation=self.relaxation.converted(convert),
            guess=None if self.guess is None else convert(self.guess),
        )

    def interior(self) -> FloatArray:
        """Return a matrix of `anchored`'s set with room on every side, computed on the CPU.

        Returns
        -------
        ndarray of shape (n_samples, n_samples)
            The mean kernel of random completions, always the same, raised by the ridge; in the
            namespace of the bounds. It is not kept: few rounds ask for it.
        """
        mean = mean_kernel_of_completions(self.X, self.kernel)
        mean[np.diag_indices_from(mean)] += self.relaxation.ridge
        return like(mean, self.relaxation.lower)

    def solve(self, K: FloatArray, start: FloatArray | None = None) -> FloatArray:
        """Return the coefficients of the exact machine, solved on the CPU.

        Parameters
        ----------
        K : ndarray of shape (n_samples, n_samples)
            The kernel matrix.
        start : ndarray of shape (n_samples, n_problems) or None, default=None
            A guess.

        Returns
        -------
        ndarray of shape (n_samples, n_problems)
            Signed coefficients, in K's namespace.
        """
        guess = None if start is None else to_numpy(start)
        return like(_converted(self.dual, to_numpy).solve(to_numpy(K), start=guess), K)

    def proximal_machine(self, K: FloatArray, now: FloatArray, weight: float) -> FloatArray:
        """Return the maximiser of ``D(b; K) - weight ||b - now||^2 / 2``, solved on the CPU.

        Parameters
        ----------
        K : ndarray of shape (n_samples, n_samples)
            The kernel matrix. Where it is not positive semidefinite even with the weight on its
            diagonal, a point that meets the first-order conditions is returned.
        now : ndarray of shape (n_samples, n_problems)
            Feasible signed coefficients.
        weight : float
            The weight, in [0, inf).

        Returns
        -------
        ndarray of shape (n_samples, n_problems)
            Signed coefficients, in K's namespace.
        """
        dual, start = _converted(self.dual, to_numpy), to_numpy(now)
        gram = RaisedGram(to_numpy(K), weight)
        columns = [
            solve_dual(
                gram,
                dual.targets[:, k] + weight * start[:, k],
                dual.lower[:, k],
                dual.upper[:, k],
                dual.epsilon,
                start[:, k],
                tol=PROXIMAL_TOL,
                max_rounds=PROXIMAL_ROUNDS,
            ).point
            for k in range(dual.n_problems)
        ]
        return like(np.stack(columns, axis=1), K)

    def intercept(self, K: FloatArray, dual_coef: FloatArray) -> FloatArray:
        """Return the intercepts, computed on the CPU.

        Parameters
        ----------
        K : ndarray of shape (n_samples, n_samples)
            The kernel matrix.
        dual_coef : ndarray of shape (n_samples, n_problems)
            Signed coefficients.

        Returns
        -------
        ndarray of shape (n_problems,)
            NumPy's.
        """
        return _converted(self.dual, to_numpy).intercept(to_numpy(K), to_numpy(dual_coef))

    def perturbed_kernel(self, state: StageOneState) -> FloatArray:
        """Return ``base o A o E``, of shape (n_samples, n_samples)."""
        return self.relaxation.base * state.adjustment * state.perturbation

    def unconstrained_adjustment(self, state: StageOneState) -> FloatArray:
        """Return the closed form of eq. (7), before any constraint.

        Parameters
        ----------
        state : StageOneState
            Supplies the perturbation and the dual coefficients.

        Returns
        -------
        ndarray of shape (n_samples, n_samples)
            ``anchor + (base o E o coupling) / (4 eta)``.
        """
        pull = self.relaxation.base * state.perturbation * coupling(state.dual_coef)
        return self.relaxation.anchor + pull / (4.0 * self.eta)

    def objective(self, state: StageOneState) -> float:
        """Return the objective of the module's first lines at a state."""
        fit = self.dual.value(self.perturbed_kernel(state), state.dual_coef)
        return (
            fit
            + _penalty(self.eta, state.adjustment - self.relaxation.anchor)
            - _penalty(self.rho, state.perturbation - 1.0)
        )


def _penalty(weight: float, offset: FloatArray) -> float:
    """Return ``weight ||offset||^2``, 0 where an infinite weight leaves no offset."""
    squared = inner(offset, offset)
    return 0.0 if math.isinf(weight) and squared == 0.0 else weight * squared


def _converted(dual: Dual, convert: Callable[[FloatArray], FloatArray]) -> Dual:
    return replace(
        dual,
        targets=convert(dual.targets),
        lower=convert(dual.lower),
        upper=convert(dual.upper),
    )


@dataclass(frozen=True)
class StageOneState:
    """What moves during a run of Stage I.

    Parameters
    ----------
    adjustment : ndarray of shape (n_samples, n_samples)
        A.
    perturbation : ndarray of shape (n_samples, n_samples) or (1, 1)
        E.
    dual_coef : ndarray of shape (n_samples, n_problems)
        Signed coefficients b.
    iteration : int
        Rounds done.
    kernel_moments, perturbation_moments, dual_moments : object
        What each step carries from round to round; private to the step.
    """

    adjustment: FloatArray
    perturbation: FloatArray
    dual_coef: FloatArray
    iteration: int = 0
    kernel_moments: Any = field(default=None)
    perturbation_moments: Any = field(default=None)
    dual_moments: Any = field(default=None)
