"""The rounds of GEOM: an ordinary machine but for the margins, then the margins anew.

Row i lies in the space of its observed features, where a hyperplane w has the normal w^(i), w
without its other features. So the row's margin is ``y_i (<w, x_i> + b) / ||w^(i)||``, and it is
the smallest of these that is to be large. With ``s_i = ||w^(i)|| / ||w||`` held fixed, and slacks,
that is

    minimise  ||w||^2 / 2 + C sum of xi_i   subject to  y_i (<w, x_i> + b) / s_i >= 1 - xi_i,

so solving it and taking s anew from its w are done in turn, from s = 1: the first round is the
ordinary machine. In signed coefficients, ``w = sum of b_i x_i``, the dual of one round is

    maximise  sum of s_i y_i b_i - b'Kb / 2   subject to  1'b = 0,  0 <= y_i b_i <= C / s_i,

a `kernimpute.dual.Dual` with the targets s_i y_i. (Its constraint 1'b = 0, from the intercept that
is scaled with the rest, is why rescaling K to K_ij / (s_i s_j) would not make it an ordinary one.)

The kernel is Gaussian on the features observed in both rows, `K_observed`. Restricting w to the
features of row k restricts every row that w is made of,

    ||w^(k)||^2 = sum over i, j of b_i b_j K(x_i^(k), x_j^(k)),

with K there on the features observed in i, j and k.

K_observed is not positive semidefinite in general. The machine is that of its positive
semidefinite part ``K_+ = U diag(max(lambda, 0)) U'``, so that every round has one optimum. With P
the projection on the positive eigenvectors, ``K_+ b = K_observed P b``: the coefficients P b on
K_observed itself classify new rows by the same rule, give ``||w||^2 = b'K_+ b``, and enter the
norms above. Such a restricted norm may still come out negative, or larger than w's; s is clipped
to [`SMALLEST_MARGIN`, 1]. None of this does anything to complete rows, where s = 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from experiments.baselines._restricted import RestrictedNorms
from kernimpute.dual import Dual
from kernimpute.kernels import Gaussian
from kernimpute.missing import check_pair, observed_cells
from kernimpute.parameters import check_real, refusal_in_words

FloatArray = NDArray[np.float64]

SMALLEST_MARGIN = 0.01
"""Least s_i, so that no row weighs more than 100 times what it would in an ordinary machine."""

SETTLED = 0.1
"""Mean relative change of the margins up to which a round starts at the former solution."""


def observed_kernel(X: ArrayLike, Z: ArrayLike | None = None, *, gamma: float) -> FloatArray:
    """Return the Gaussian kernel on the features observed in both rows."""
    kernel = Gaussian(check_real("observed_kernel", "gamma", gamma, 0.0))
    left, right = check_pair(X, Z, "observed_kernel")
    if Z is None:
        return kernel.link(kernel.observed_sums(left, observed_cells(left)))
    sums = kernel.observed_sums(left, observed_cells(left), right, observed_cells(right))
    return kernel.link(sums)


class GEOMKernels:
    """What every fit to the same rows with the same gamma shares, whatever its C."""

    def __init__(self, X: ArrayLike, gamma: float) -> None:
        self.X, _ = check_pair(X, None, "GEOMKernels")
        self.gamma = check_real("GEOMKernels", "gamma", gamma, 0.0)
        self.shown = observed_cells(self.X).any(axis=1)
        rows = self.X[self.shown]
        self._K = observed_kernel(rows, gamma=gamma) if rows.size else np.zeros((0, 0))
        values, vectors = np.linalg.eigh(self._K)
        negative = values < 0.0
        self._negative = vectors[:, negative]
        self.K_positive = self._K - (self._negative * values[negative]) @ self._negative.T
        self._norms = RestrictedNorms(rows, gamma)

    def on_observed(self, dual_coef: FloatArray) -> FloatArray:
        """Return the coefficients that do on `K_observed` what the given ones do on its part."""
        self._check_shape(dual_coef)
        return np.asarray(dual_coef - self._negative @ (self._negative.T @ dual_coef))

    def margins(self, dual_coef: FloatArray) -> FloatArray:
        """Return ``s_i = ||w^(i)|| / ||w||``, clipped; 1 where w is 0."""
        self._check_shape(dual_coef)
        margins = np.ones(dual_coef.shape)
        for k, column in enumerate(dual_coef.T):
            # s knows no units; in these no product overflows.
            unit = column / (np.abs(column).max() or 1.0)
            whole = float(unit @ self._K @ unit)
            if whole > 0.0:
                share = self._norms.squared(unit, whole) / whole
                margins[:, k] = np.sqrt(np.clip(share, SMALLEST_MARGIN**2, 1.0))
        return margins

    def _check_shape(self, dual_coef: FloatArray) -> None:
        n_shown = self._K.shape[0]
        if dual_coef.ndim != 2 or dual_coef.shape[0] != n_shown:
            must_be = f"of shape ({n_shown}, n_problems), a row for each row with an observed cell"
            got = f"an array of shape {dual_coef.shape}"
            raise ValueError(refusal_in_words("GEOMKernels", "dual_coef", must_be, got))


@dataclass(frozen=True)
class GEOMRound:
    """One round: the machine for given margins."""

    dual_coef: FloatArray  # Signed coefficients on `K_observed`
    intercept: FloatArray  # Intercepts
    margins: FloatArray  # The s_i that the round was solved for; 1 in the first

    def decision(self, K: FloatArray) -> FloatArray:
        """Return decision values."""
        n_shown = self.dual_coef.shape[0]
        if K.ndim != 2 or K.shape[1] != n_shown:
            must_be = f"of shape (n_rows, {n_shown}), a column for each row of the machine"
            got = f"an array of shape {K.shape}"
            raise ValueError(refusal_in_words("GEOMRound.decision", "K", must_be, got))
        values = K @ self.dual_coef + self.intercept
        return values[:, 0] if values.shape[1] == 1 else values


def _with_margins(dual: Dual, margins: FloatArray) -> Dual:
    """Return an ordinary machine's dual with each row's margin scaled.

    The result is no classification as libsvm knows them, for its targets are not +-1; as a
    regression without a tube it is the same problem.
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
    scaled, margins = dual, np.ones(dual.targets.shape)
    dual_coef = scaled.solve(K)
    while True:
        on_observed = kernels.on_observed(dual_coef)
        yield GEOMRound(on_observed, scaled.intercept(K, dual_coef), margins)
        n_rounds -= 1
        if n_rounds == 0:
            return
        former, margins = margins, kernels.margins(on_observed)
        scaled = _with_margins(dual, margins)
        change = former / margins
        if float(np.abs(np.log(change)).mean()) < SETTLED:
            # s_i |b_i| in [0, C] is the constraint's multiplier: kept, it is near the next one.
            start = dual_coef * change
        else:
            start = None
        dual_coef = scaled.solve(K, start=start)
