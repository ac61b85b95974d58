"""What a Gaussian says of rows with gaps: densities of observed cells, conditionals of the rest.

Rows with the same gaps share an inverse; those of different patterns are taken at once, in blocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernimpute.missing import observed_cells

__all__ = [
    "Patterns",
    "conditional_gaussians",
    "log_densities",
    "observed_precisions",
    "pattern_blocks",
]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.intp]

BLOCK_CELLS = 1 << 21
"""Numbers that the inverses of one block of patterns take at the most."""


@dataclass(frozen=True)
class Patterns:
    """Some of the gap patterns, and the rows that have them.

    Parameters
    ----------
    masks : ndarray of bool of shape (n_patterns, n_features)
        True where observed.
    counts : ndarray of shape (n_patterns,)
        Rows of each pattern.
    rows : ndarray of int of shape (n_rows,)
        Which rows of the table.
    pattern : ndarray of int of shape (n_rows,)
        Which pattern each of them has.
    """

    masks: BoolArray
    counts: FloatArray
    rows: IntArray
    pattern: IntArray


def pattern_blocks(observed: BoolArray) -> Iterator[Patterns]:
    """Yield the gap patterns in blocks of bounded size, with their rows.

    Parameters
    ----------
    observed : ndarray of bool of shape (n_samples, n_features)
        True where observed.

    Yields
    ------
    Patterns
        Some of the patterns.
    """
    masks, pattern, counts = np.unique(observed, axis=0, return_inverse=True, return_counts=True)
    pattern = pattern.reshape(-1)
    size = max(1, BLOCK_CELLS // observed.shape[1] ** 2)
    for start in range(0, masks.shape[0], size):
        rows = np.flatnonzero((pattern >= start) & (pattern < start + size))
        yield Patterns(
            masks=masks[start : start + size],
            counts=counts[start : start + size].astype(float),
            rows=rows,
            pattern=pattern[rows] - start,
        )


def observed_precisions(covariance: FloatArray, masks: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return the inverses and the log-determinants of the observed blocks of a covariance.

    Parameters
    ----------
    covariance : ndarray of shape (n_features, n_features)
        A positive definite matrix.
    masks : ndarray of bool of shape (n_patterns, n_features)
        True where observed.

    Returns
    -------
    precisions : ndarray of shape (n_patterns, n_features, n_features)
        The inverses, zero outside the blocks.
    log_dets : ndarray of shape (n_patterns,)
        0 where nothing is observed.

    Raises
    ------
    LinAlgError
        If a block is not positive definite.
    """
    both = masks[:, :, None] & masks[:, None, :]
    # The identity stands at the gaps: it changes neither the block's inverse nor its determinant.
    blocks = np.where(both, covariance, 0.0) + (~masks)[:, None, :] * np.eye(masks.shape[1])
    diagonals = np.diagonal(np.linalg.cholesky(blocks), axis1=1, axis2=2)
    return np.where(both, np.linalg.inv(blocks), 0.0), 2.0 * np.log(diagonals).sum(axis=1)


def log_densities(X: FloatArray, means: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return the log-densities of each row's observed cells under Gaussians of one covariance.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Rows with NaN at the gaps.
    means : ndarray of shape (n_groups, n_features)
        The means.
    covariance : ndarray of shape (n_features, n_features)
        The covariance.

    Returns
    -------
    ndarray of shape (n_samples, n_groups)
        The log-densities; 0 for a row with nothing observed.
    """
    observed = observed_cells(X)
    values = np.where(observed, X, 0.0)
    densities = np.empty((X.shape[0], means.shape[0]))
    for block in pattern_blocks(observed):
        precisions, log_dets = observed_precisions(covariance, block.masks)
        constant = log_dets + block.masks.sum(axis=1) * math.log(2.0 * math.pi)
        deviations = values[block.rows, None, :] - means
        weighted = deviations @ precisions[block.pattern]
        squares = (weighted * deviations).sum(axis=2)
        densities[block.rows] = -0.5 * (constant[block.pattern, None] + squares)
    return densities


def conditional_gaussians(
    X: FloatArray, mean: FloatArray, covariance: FloatArray
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return the Gaussian conditioned on each row's observed cells.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Rows with NaN at the gaps.
    mean : ndarray of shape (n_features,)
        The mean.
    covariance : ndarray of shape (n_features, n_features)
        The covariance.

    Returns
    -------
    means : ndarray of shape (n_samples, n_features)
        The rows with conditional means at the gaps; observed cells as they are.
    covariances : ndarray of shape (n_patterns, n_features, n_features)
        The conditional covariance of each gap pattern, zero in observed rows and columns.
    pattern : ndarray of int of shape (n_samples,)
        The pattern of each row.
    """
    observed = observed_cells(X)
    means = X.copy()
    covariances = []
    pattern = np.empty(X.shape[0], dtype=np.intp)
    n_patterns = 0
    for block in pattern_blocks(observed):
        precisions, _ = observed_precisions(covariance, block.masks)
        seen = observed[block.rows]
        deviations = np.where(seen, X[block.rows] - mean, 0.0)
        z = (deviations[:, None, :] @ precisions[block.pattern])[:, 0]
        means[block.rows] = np.where(seen, X[block.rows], mean + z @ covariance)
        gaps = ~block.masks
        residual = covariance - covariance @ precisions @ covariance
        # Zero but for rounding at observed cells.
        covariances.append(np.where(gaps[:, :, None] & gaps[:, None, :], residual, 0.0))
        pattern[block.rows] = n_patterns + block.pattern
        n_patterns += block.masks.shape[0]
    return means, np.concatenate(covariances), pattern
