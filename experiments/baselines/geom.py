"""GEOM: each row's margin measured among its own observed features (Chechik et al., 2008).

Row i lies in the space of its observed features, where a hyperplane w has the normal w^(i): w
without its other features. The row's margin is ``y_i (<w, x_i> + b) / ||w^(i)||``, and the
smallest of these is to be large. With ``s_i = ||w^(i)|| / ||w||`` held fixed, and slacks, that is

    minimise  ||w||^2 / 2 + C sum of xi_i   subject to  y_i (<w, x_i> + b) / s_i >= 1 - xi_i.

A round solves it and takes s anew from its w, starting from s = 1: the first round is the ordinary
machine. In signed coefficients, ``w = sum of b_i x_i``, the dual of one round is

    maximise  sum of s_i y_i b_i - b'Kb / 2   subject to  1'b = 0,  0 <= y_i b_i <= C / s_i.

(1'b = 0 comes from the intercept, which is scaled with the rest. Because of it, rescaling K to
K_ij / (s_i s_j) would not make this an ordinary machine.)

The kernel is Gaussian on the features observed in both rows, `observed_kernel`. Restricting w to
the features of row k restricts every row that w is made of,

    ||w^(k)||^2 = sum over i, j of b_i b_j K(x_i^(k), x_j^(k)),

with K there on the features observed in i, j and k.

This kernel matrix is not positive semidefinite in general. The machine is that of its positive
semidefinite part ``K_+ = U diag(max(lambda, 0)) U'``, so that every round has one optimum. With P
the projection on the positive eigenvectors, ``K_+ b = K P b``: the coefficients P b on K itself
classify new rows by the same rule, give ``||w||^2 = b'K_+ b``, and enter the norms above. Such a
norm may still come out negative, or larger than w's; s is clipped to [`SMALLEST_MARGIN`, 1].
Complete rows have s = 1 and are not affected by any of this.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from experiments.methods.candidates import (
    GRID,
    Candidate,
    Decider,
    RowFunction,
    candidate,
    memoized,
)
from experiments.naming import Option
from experiments.problem import Problem
from kernimpute.core.dual import Dual, make_dual
from kernimpute.kernels import Gaussian

FloatArray = NDArray[np.float64]
Float32Array = NDArray[np.float32]

SMALLEST_MARGIN = 0.01
"""Least s_i: no row weighs more than 100 times what it would in an ordinary machine."""
SETTLED = 0.1
"""Mean relative change of the margins up to which a round starts at the former solution."""
BLOCK = 2**13
"""Pairs of rows whose restricted kernels are computed at once."""
LARGEST_KEPT = 2**26
"""Restricted kernel values kept between rounds, a quarter of a GiB; more are computed anew."""
VANISHED = 100.0
"""Larger exponents count as this one, because single precision underflows there."""


def observed_kernel(X: FloatArray, Z: FloatArray, gamma: float) -> FloatArray:
    """Return the Gaussian kernel on the features observed in both rows; 1 where none is shared."""
    kernel = Gaussian(gamma)
    shown, also = ~np.isnan(X), ~np.isnan(Z)
    sums = kernel.observed_sums(np.where(shown, X, 0.0), shown, np.where(also, Z, 0.0), also)
    return kernel.link(sums)


class GEOMKernels:
    """What every fit to the same rows with the same gamma shares, whatever its C."""

    def __init__(self, X: FloatArray, gamma: float) -> None:
        # Rows without any observed cell have no margin and take part in nothing.
        self.shown = ~np.isnan(X).all(axis=1)
        self.X, self.gamma = X[self.shown], gamma
        self.K = observed_kernel(self.X, self.X, gamma)
        values, vectors = np.linalg.eigh(self.K)
        negative = values < 0.0
        self._negative = vectors[:, negative]
        self.K_positive = self.K - (self._negative * values[negative]) @ self._negative.T
        self._norms = _RestrictedNorms(self.X, gamma)

    def on_observed(self, dual_coef: FloatArray) -> FloatArray:
        """Return P b, the coefficients that do on K what b does on `K_positive`."""
        return dual_coef - self._negative @ (self._negative.T @ dual_coef)

    def margins(self, dual_coef: FloatArray) -> FloatArray:
        """Return the clipped s_i of coefficients on K, (n_shown, n_problems); 1 where w is 0."""
        margins = np.ones(dual_coef.shape)
        for k, column in enumerate(dual_coef.T):
            unit = column / (np.abs(column).max() or 1.0)  # s is free of units
            whole = float(unit @ self.K @ unit)
            if whole > 0.0:
                share = self._norms.squared(unit, whole) / whole
                margins[:, k] = np.sqrt(np.clip(share, SMALLEST_MARGIN**2, 1.0))
        return margins


class _RestrictedNorms:
    """The kernel on the features observed in i, j and k, for every pair of rows i, j and row k.

    Rows k that observe the same features share a pattern, for which a value is computed once, in
    single precision: that bends a margin by less than 1e-4 and halves time and memory.
    """

    def __init__(self, X: FloatArray, gamma: float) -> None:
        self._observed = ~np.isnan(X)
        self._filled = np.where(self._observed, X, 0.0)
        self._gamma = gamma
        self._incomplete = ~self._observed.all(axis=1)
        patterns, self._pattern_of = np.unique(
            self._observed[self._incomplete], axis=0, return_inverse=True
        )
        self._patterns = patterns.astype(np.float32)
        self._blocks: dict[int, Float32Array] = {}

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        return np.triu_indices(self._filled.shape[0], 1)

    def squared(self, coef: FloatArray, whole: float) -> FloatArray:
        """Return ``||w^(k)||^2`` of each row k; `whole` is ``||w||^2``, that of complete rows."""
        norms = np.full(coef.size, whole)
        if not self._incomplete.any():
            return norms
        first, second = self._pairs
        weights = (coef[first] * coef[second]).astype(np.float32)
        sums = np.zeros(self._patterns.shape[0])
        for start in range(0, first.size, BLOCK):
            sums += weights[start : start + BLOCK] @ self._block(start)
        # A row is at distance 0 from itself.
        norms[self._incomplete] = (float(coef @ coef) + 2.0 * sums)[self._pattern_of]
        return norms

    def _block(self, start: int) -> Float32Array:
        """Return the kernel values of `BLOCK` pairs, (n_pairs, n_patterns)."""
        if start in self._blocks:
            return self._blocks[start]
        first, second = (rows[start : start + BLOCK] for rows in self._pairs)
        terms = self._gamma * np.square(self._filled[first] - self._filled[second])
        terms *= self._observed[first] & self._observed[second]
        exponents = np.minimum(terms, VANISHED).astype(np.float32) @ self._patterns.T
        np.minimum(exponents, np.float32(VANISHED), out=exponents)
        values = np.exp(-exponents)
        if self._pairs[0].size * self._patterns.shape[0] <= LARGEST_KEPT:
            self._blocks[start] = values
        return values


@dataclass(frozen=True)
class GEOMRound:
    """The machine for given margins."""

    dual_coef: FloatArray  # (n_shown, n_problems), on K
    intercept: FloatArray  # (n_problems,)
    margins: FloatArray  # (n_shown, n_problems), the s_i that it was solved for

    def decision(self, K: FloatArray) -> FloatArray:
        """Return decision values from the kernel with the training rows; one problem, no column."""
        values = K @ self.dual_coef + self.intercept
        return values[:, 0] if values.shape[1] == 1 else values


def with_margins(dual: Dual, margins: FloatArray) -> Dual:
    """Return an ordinary machine's dual with each row's margin scaled.

    Its targets are not +-1, so it is stated as a regression without a tube.
    """
    return replace(
        dual,
        targets=margins * dual.targets,
        lower=dual.lower / margins,
        upper=dual.upper / margins,
        task="regression",
    )


def solve_rounds(kernels: GEOMKernels, dual: Dual, n_rounds: int) -> Iterator[GEOMRound]:
    """Yield the rounds: solve for given margins, then take the margins of the solution."""
    K = kernels.K_positive
    scaled, margins, start = dual, np.ones(dual.targets.shape), None
    for _ in range(n_rounds):
        dual_coef = scaled.solve(K, start=start)
        on_observed = kernels.on_observed(dual_coef)
        yield GEOMRound(on_observed, scaled.intercept(K, dual_coef), margins)
        former, margins = margins, kernels.margins(on_observed)
        scaled = with_margins(dual, margins)
        change = former / margins
        # s_i |b_i| in [0, C] is the constraint's multiplier: kept, it is near the next one. Where
        # the margins change much, too many coefficients reach or leave their bounds for that.
        settled = float(np.abs(np.log(change)).mean()) < SETTLED
        start = dual_coef * change if settled else None


def fit_geom(
    kernels: GEOMKernels, y: NDArray[np.int64], C: float, n_rounds: int = 5
) -> RowFunction:
    """Return the decision values of rows after each round, (n_rounds, n_rows) or one more axis.

    More than two classes are told apart one against the rest.
    """
    shown, X, gamma = y[kernels.shown], kernels.X, kernels.gamma
    if np.setdiff1d(y, shown).size:
        raise ValueError("Each class must have a row with an observed cell for GEOM.")
    dual = make_dual(shown, shown.size, C=C, owner="GEOM")
    rounds = list(solve_rounds(kernels, dual, n_rounds))

    def decisions(rows: FloatArray) -> FloatArray:
        K = observed_kernel(rows, X, gamma)
        return np.stack([done.decision(K) for done in rounds])

    return decisions


def candidates(problem: Problem, options: Mapping[str, Option]) -> Iterator[Candidate]:
    """Yield GEOM over C, gamma and the paper's numbers of rounds.

    All C are fitted gamma by gamma, because what takes long depends on gamma only and fills a
    quarter of a GiB. One fit has every round.
    """
    X, y = problem.train.X, problem.train.y
    fitted = {}
    for gamma in GRID:
        kernels = GEOMKernels(X, gamma)
        for C in GRID:
            fitted[C, gamma] = fit_geom(kernels, y, C)
    for C, gamma in product(GRID, GRID):
        decisions = memoized(fitted[C, gamma])
        for n_rounds in (2, 3, 4, 5):
            last = n_rounds - 1
            model = Decider(np.unique(y), lambda rows, of=decisions, last=last: of(rows)[last])
            yield candidate(problem, model, {"C": C, "gamma": gamma, "rounds": n_rounds})
