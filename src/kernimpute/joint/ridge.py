"""Kernel ridges with closed-form leave-one-out scores, and the average of five that predicts.

A kernel ridge fits f(z) = kernel(z, rows) coef to values Y: with a ridge r and weights w,

    minimise  sum_i w_i |Y_i - f(z_i)|^2 + r |f|^2.

One eigendecomposition of the weighted kernel matrix gives the fits for every ridge, and what each
would predict of a row without having seen it (Rifkin and Lippert, Notes on regularized least
squares, 2007). Beyond `MOST_LANDMARKS` rows the kernels are chosen on a sample, and the ridges are
fitted to all rows with Nystroem's features of the sample.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.spatial.distance import cdist

from kernimpute.core.arrays import FloatArray
from kernimpute.joint.gaussian import rows_times

WIDTHS = (0.25, 0.5, 1.0, 2.0)
"""Widths that are compared, in median squared distances."""
MIX, OTHER_MIXES = (0.0, 0.3), ((0.0, 0.0), (0.3, 0.0), (0.3, 0.3))
"""Weights of the linear and the mask kernel: one for every width, others for the best width."""
RIDGES = tuple(10.0 ** (power / 2.0) for power in range(6, -7, -1))
"""Ridges that are compared. The smoother candidate comes first and wins a tie."""
AVERAGED = 5
"""Kernels and ridges whose predictions are averaged."""
MOST_LANDMARKS = 1_000
"""Rows that kernels are chosen on at the most: an eigendecomposition costs their cube."""
CHUNK_CELLS = 2**22
"""Kernel values that are held at a time, where rows are many."""
TIE = 1e-8
"""Relative differences of errors below this decide nothing."""


class Spectrum(NamedTuple):
    """What serves every ridge: eigenvectors of the weighted kernel matrix of some rows."""

    values: FloatArray  # (n_values,), positive
    vectors: FloatArray  # (n_rows, n_values), orthonormal
    root: FloatArray  # (n_rows,): square roots of the weights
    back: FloatArray  # (n_landmarks, n_values): from rotated values to coefficients

    def rotated(self, Y: FloatArray) -> FloatArray:
        """Return the values Y (n_rows, n_targets) along the eigenvectors."""
        # A ridge with weights is one without, on rows and values times their square roots.
        return np.asarray(self.vectors.T @ (self.root[:, None] * Y))

    def held_out_errors(self, Y: FloatArray, rotated: FloatArray, ridge: float) -> FloatArray:
        """Return the error at each row of the fit to the others, Y - f, (n_rows, n_targets)."""
        shrunk = self.values / (self.values + ridge)
        residuals = self.root[:, None] * Y - self.vectors @ (shrunk[:, None] * rotated)
        # No array of squares, because rows may be many.
        leverage = np.einsum("ij,ij,j->i", self.vectors, self.vectors, shrunk)
        return np.asarray(residuals / ((1.0 - leverage) * self.root)[:, None])

    def coef(self, rotated: FloatArray, ridge: float) -> FloatArray:
        """Return the coefficients of the landmarks, (n_landmarks, n_targets)."""
        return np.asarray(self.back @ (rotated / (self.values + ridge)[:, None]))


def spectrum_of(K: FloatArray, weights: FloatArray) -> Spectrum:
    """Return the spectrum of a kernel matrix (n_rows, n_rows) whose rows are weighted."""
    root = np.sqrt(weights / weights.mean())
    values, vectors = np.linalg.eigh(K * root[:, None] * root)
    return Spectrum(np.maximum(values, 0.0), vectors, root, root[:, None] * vectors)


class Rows(NamedTuple):
    """Filled rows as the kernels take them."""

    Z: FloatArray  # (n_rows, n_columns), in standard units
    observed: FloatArray  # (n_rows, n_cells): 1 where the table's cell is observed, else 0

    def at(self, places: NDArray[np.intp] | slice) -> Rows:
        """Return some of the rows."""
        return Rows(self.Z[places], self.observed[places])

    def chunks(self, width: int) -> Iterator[slice]:
        """Yield slices of rows whose kernel values with so many others may be held."""
        size = max(64, CHUNK_CELLS // max(1, width))
        for first in range(0, len(self.Z), size):
            yield slice(first, first + size)


class MixedKernel(NamedTuple):
    """exp(-|z - z'|^2 / width) + linear <z, z'> / columns + mask agreement + 1.

    Agreement is the share of the table's cells that two rows both observe or both miss.
    """

    width: float
    linear: float
    mask: float

    def __call__(self, rows: Rows, others: Rows) -> FloatArray:
        """Return the kernel matrix (n_rows, n_others)."""
        K = np.exp(-cdist(rows.Z, others.Z, "sqeuclidean") / self.width) + 1.0
        if self.linear:
            K += self.linear * rows_times(rows.Z, others.Z.T) / rows.Z.shape[1]
        if self.mask:
            n_cells = max(1, rows.observed.shape[1])
            both = rows.observed @ others.observed.T
            neither = (1.0 - rows.observed) @ (1.0 - others.observed).T
            K += self.mask * (both + neither) / n_cells
        return np.asarray(K)


class Fit(NamedTuple):
    """A kernel ridge of the average."""

    error: float  # weighted sum of squared leave-one-out errors
    kernel: MixedKernel
    scores: FloatArray  # (n_rows, n_targets), each without the row itself
    coef: FloatArray  # (n_landmarks, n_targets)


@dataclass(frozen=True)
class KernelRidge:
    """The average of kernel ridges."""

    landmarks: Rows
    members: tuple[tuple[MixedKernel, FloatArray], ...]  # kernels, with their mean coefficients

    def scores(self, rows: Rows) -> FloatArray:
        """Return the predictions of rows, (n_rows, n_targets)."""
        scores = np.zeros((len(rows.Z), self.members[0][1].shape[1]))
        for chunk in rows.chunks(len(self.landmarks.Z)):
            some = rows.at(chunk)
            for kernel, coef in self.members:
                scores[chunk] += rows_times(kernel(some, self.landmarks), coef)
        return scores


def fit_ridge(
    rows: Rows, Y: FloatArray, weights: FloatArray, order: NDArray[np.intp]
) -> tuple[KernelRidge, FloatArray]:
    """Return the average of kernel ridges and its leave-one-out scores, (n_rows, n_targets).

    All targets of the centred `Y` share their kernels. The first of the `order` become landmarks.
    """
    some = np.sort(order[:MOST_LANDMARKS])
    landmarks = rows.at(some)
    best = _compared(landmarks, Y[some], weights[some])
    if len(Y) > MOST_LANDMARKS:
        kernels = dict.fromkeys(fit.kernel for fit in best)
        best = []
        for kernel in kernels:
            spectrum = _nystroem(kernel, rows, landmarks, weights)
            best = _best(best + _fits(kernel, spectrum, Y, weights))
    members: dict[MixedKernel, FloatArray] = {}
    for fit in best:
        members[fit.kernel] = members.get(fit.kernel, 0.0) + fit.coef / len(best)
    held_out = np.mean([fit.scores for fit in best], axis=0)
    return KernelRidge(landmarks, tuple(members.items())), held_out


def _best(fits: list[Fit]) -> list[Fit]:
    """Return the fits of the smallest errors; the first of equal ones."""
    # Rounding decides nothing.
    unit = TIE * min(fit.error for fit in fits) or 1.0
    return sorted(fits, key=lambda fit: round(fit.error / unit))[:AVERAGED]


def _compared(rows: Rows, Y: FloatArray, weights: FloatArray) -> list[Fit]:
    """Return the best fits of all kernels that are compared."""
    squares = cdist(rows.Z, rows.Z, "sqeuclidean")[np.triu_indices(len(Y), 1)]
    median = float(np.median(squares)) if squares.size else 0.0

    def fits(width: float, linear: float, mask: float) -> list[Fit]:
        kernel = MixedKernel(width * (median or 1.0), linear, mask)
        return _best(_fits(kernel, spectrum_of(kernel(rows, rows), weights), Y, weights))

    by_width = [fits(width, *MIX) for width in WIDTHS]
    width = WIDTHS[int(np.argmin([some[0].error for some in by_width]))]
    others = [fits(width, *mix) for mix in OTHER_MIXES]
    return _best([fit for some in by_width + others for fit in some])


def _fits(kernel: MixedKernel, spectrum: Spectrum, Y: FloatArray, weights: FloatArray) -> list[Fit]:
    """Return the fits of one kernel, for every ridge."""
    rotated, fits = spectrum.rotated(Y), []
    for ridge in RIDGES:
        errors = spectrum.held_out_errors(Y, rotated, ridge)
        total = float(weights @ (errors**2).sum(axis=1))
        fits.append(Fit(total, kernel, Y - errors, spectrum.coef(rotated, ridge)))
    return fits


def _nystroem(kernel: MixedKernel, rows: Rows, landmarks: Rows, weights: FloatArray) -> Spectrum:
    """Return the spectrum of kernel(rows, marks) kernel(marks)^-1 kernel(marks, rows)."""
    # With K = L L' on the landmarks, the features are kernel(rows, landmarks) L'^-1.
    K = kernel(landmarks, landmarks)
    n_landmarks = len(K)
    # Duplicated rows make K singular.
    K[np.diag_indices(n_landmarks)] += 1e-8 * K.trace() / n_landmarks
    L = cholesky(K, lower=True)
    root = np.sqrt(weights / weights.mean())
    features = np.empty((len(root), n_landmarks))
    for chunk in rows.chunks(n_landmarks):
        some = kernel(rows.at(chunk), landmarks)
        features[chunk] = root[chunk, None] * solve_triangular(L, some.T, lower=True).T
    values, turn = np.linalg.eigh(features.T @ features)
    values, turn = values[values > TIE * values[-1]], turn[:, values > TIE * values[-1]]
    scale = np.sqrt(values)
    back = solve_triangular(L, turn, lower=True, trans="T") * scale
    vectors = features @ turn
    vectors /= scale
    return Spectrum(values, vectors, root, back)
