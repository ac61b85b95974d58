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

__all__ = ["GEOMKernels", "GEOMRound", "observed_kernel", "solve_rounds"]

FloatArray = NDArray[np.float64]

SMALLEST_MARGIN = 0.01
"""Least s_i, so that no row weighs more than 100 times what it would in an ordinary machine."""

SETTLED = 0.1
"""Mean relative change of the margins up to which a round starts at the former solution."""


def observed_kernel(X: ArrayLike, Z: ArrayLike | None = None, *, gamma: float) -> FloatArray:
    """Return the Gaussian kernel on the features observed in both rows.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        Rows with NaN at the gaps.
    Z : array-like of shape (n_other_rows, n_features), default=None
        Other rows; None takes X.
    gamma : float
        Inverse squared width, in (0, inf).

    Returns
    -------
    ndarray of shape (n_rows, n_other_rows)
        `K_observed`; 1 for rows that share no observed feature.

    Raises
    ------
    TypeError, ValueError
        If X or Z is no matrix of numbers that are finite or NaN, Z has another number of columns
        than X, or gamma is out of its range.

    Notes
    -----
    Not positive semidefinite in general.

    Examples
    --------
    >>> observed_kernel([[0.0, 1.0], [None, 3.0]], [[2.0, None]], gamma=0.25).round(2)
    array([[0.37],
           [1.  ]])
    """
    kernel = Gaussian(check_real("observed_kernel", "gamma", gamma, 0.0))
    left, right = check_pair(X, Z, "observed_kernel")
    if Z is None:
        return kernel.link(kernel.observed_sums(left, observed_cells(left)))
    sums = kernel.observed_sums(left, observed_cells(left), right, observed_cells(right))
    return kernel.link(sums)


class GEOMKernels:
    """What every fit to the same rows with the same gamma shares, whatever its C.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows with NaN at the gaps.
    gamma : float
        Inverse squared width of the kernel, in (0, inf).

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        The rows.
    gamma : float
        The inverse squared width.
    shown : ndarray of bool of shape (n_samples,)
        The rows with an observed cell. The others have no margin and take part in nothing.
    K_positive : ndarray of shape (n_shown, n_shown)
        The positive semidefinite part of `K_observed`.

    Raises
    ------
    TypeError, ValueError
        If X is no matrix of numbers that are finite or NaN, or gamma is out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.baselines import GEOMClassifier, GEOMKernels
    >>> X, y = np.array([[0.0, np.nan], [0.1, 0.2], [np.nan, 0.9], [1.0, 0.8]]), [0, 0, 1, 1]
    >>> kernels = GEOMKernels(X, gamma=2.0)
    >>> [GEOMClassifier(C, 2.0).fit(X, y, kernels).score(X, y) for C in (1.0, 8.0)]
    [1.0, 1.0]
    """

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
        """Return the coefficients that do on `K_observed` what the given ones do on its part.

        Parameters
        ----------
        dual_coef : ndarray of shape (n_shown, n_problems)
            Coefficients of a machine with the kernel matrix `K_positive`.

        Returns
        -------
        ndarray of shape (n_shown, n_problems)
            Their projection on the eigenvectors that are not negative.

        Raises
        ------
        ValueError
            If the coefficients are not of that shape.
        """
        self._check_shape(dual_coef)
        return np.asarray(dual_coef - self._negative @ (self._negative.T @ dual_coef))

    def margins(self, dual_coef: FloatArray) -> FloatArray:
        """Return ``s_i = ||w^(i)|| / ||w||``, clipped; 1 where w is 0.

        Parameters
        ----------
        dual_coef : ndarray of shape (n_shown, n_problems)
            Coefficients on `K_observed`, a column for each w.

        Returns
        -------
        ndarray of shape (n_shown, n_problems)
            The margins' scale in each row's own space, in [0.01, 1].

        Raises
        ------
        ValueError
            If the coefficients are not of that shape.
        """
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
    """One round: the machine for given margins.

    Parameters
    ----------
    dual_coef : ndarray of shape (n_shown, n_problems)
        Signed coefficients on `K_observed`.
    intercept : ndarray of shape (n_problems,)
        Intercepts.
    margins : ndarray of shape (n_shown, n_problems)
        The s_i that the round was solved for; 1 in the first.
    """

    dual_coef: FloatArray
    intercept: FloatArray
    margins: FloatArray

    def decision(self, K: FloatArray) -> FloatArray:
        """Return decision values.

        Parameters
        ----------
        K : ndarray of shape (n_rows, n_shown)
            `observed_kernel` between rows and the training rows.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_problems)
            The values; a single problem has no column.

        Raises
        ------
        ValueError
            If K has not a column for each coefficient.
        """
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
    """Yield the rounds: solve for given margins, then take the margins of the solution.

    Parameters
    ----------
    kernels : GEOMKernels
        The rows' kernel matrix and norms.
    dual : Dual
        The ordinary machine's dual of the rows that are shown.
    n_rounds : int
        How many to yield, in [1, inf).

    Yields
    ------
    GEOMRound
        The machine of each round in turn.
    """
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
