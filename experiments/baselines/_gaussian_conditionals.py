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

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.intp]

BLOCK_CELLS = 1 << 21
"""Numbers that the inverses of one block of patterns take at the most."""


@dataclass(frozen=True)
class Patterns:
    """Some of the gap patterns, and the rows that have them."""

    masks: BoolArray  # True where observed
    counts: FloatArray  # Rows of each pattern
    rows: IntArray  # Which rows of the table
    pattern: IntArray  # Which pattern each of them has


def pattern_blocks(observed: BoolArray) -> Iterator[Patterns]:
    """Yield the gap patterns in blocks of bounded size, with their rows."""
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
    """Return the inverses and the log-determinants of the observed blocks of a covariance."""
    both = masks[:, :, None] & masks[:, None, :]
    # The identity stands at the gaps: it changes neither the block's inverse nor its determinant.
    blocks = np.where(both, covariance, 0.0) + (~masks)[:, None, :] * np.eye(masks.shape[1])
    diagonals = np.diagonal(np.linalg.cholesky(blocks), axis1=1, axis2=2)
    return np.where(both, np.linalg.inv(blocks), 0.0), 2.0 * np.log(diagonals).sum(axis=1)


def log_densities(X: FloatArray, means: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return the log-densities of each row's observed cells under Gaussians of one covariance."""
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
    """Return the Gaussian conditioned on each row's observed cells."""
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
