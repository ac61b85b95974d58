"""The reference that filled cells are held at, and what new rows are filled from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from kernimpute.core.kernels import Gaussian, Kernel
from kernimpute.joint.reference import FittedImputer, reference_table, typical_row
from kernimpute.methods.new_rows import recover_new_rows

__all__ = ["NewRows", "fitted_reference"]

FloatArray = NDArray[np.float64]

CHUNK_ROWS = 2048
"""New rows filled at a time; their number does not change what any row gets."""


def fitted_reference(
    reference: object,
    matrix: FloatArray,
    kernel: Kernel,
    weights: FloatArray,
    owner: str = "fitted_reference",
) -> tuple[FloatArray | str, FloatArray | FittedImputer]:
    """Return the reference of the training rows, and what fills new rows in its manner.

    Parameters
    ----------
    reference : "mean", "expected" or imputer
        The parameter.
    matrix : ndarray of shape (n_samples, n_columns)
        The training rows, NaN at the gaps.
    kernel : Kernel
        Says which columns hold codes.
    weights : ndarray of shape (n_samples,)
        Weights of the rows.
    owner : str
        The estimator's name, for the message.

    Returns
    -------
    table : ndarray of shape (n_samples, n_columns) or "expected"
        The completed training rows, as `impute` takes them.
    filler : ndarray of shape (n_columns,) or fitted imputer
        The mean (most frequent code) of each column, or the imputer.

    Raises
    ------
    ValueError
        If the imputer returns other columns, or leaves gaps.
    """
    if not isinstance(reference, str):
        imputer = clone(reference).fit(matrix)
        table = np.asarray(imputer.transform(matrix))
        if table.shape != matrix.shape:
            raise ValueError(
                f"The 'reference' parameter of {owner} must be an imputer that returns every "
                f"column once. Got {type(imputer).__name__}, which returned {table.shape[1]} for "
                f"{matrix.shape[1]} columns, instead."
            )
        return reference_table(matrix, kernel, table, owner), imputer
    row = typical_row(matrix, kernel, weights)
    if reference == "expected":
        return "expected", row
    return np.where(np.isnan(matrix), row, matrix), row


@dataclass(frozen=True)
class NewRows:
    """What rows without labels are filled from.

    Parameters
    ----------
    training : ndarray of shape (n_samples, n_columns) or None
        Filled training rows, for the mean of similar ones; None fills by the reference.
    weights : ndarray of shape (n_samples,)
        Their weights.
    metric : Gaussian
        Says which columns hold codes.
    filler : ndarray of shape (n_columns,) or fitted imputer
        What the reference has for a gap.
    """

    training: FloatArray | None
    weights: FloatArray
    metric: Gaussian
    filler: FloatArray | FittedImputer

    def fill(self, matrix: FloatArray) -> FloatArray:
        """Return new rows with their gaps filled, chunk by chunk, each row on its own.

        Parameters
        ----------
        matrix : ndarray of shape (n_rows, n_columns)
            The rows, NaN at the gaps.

        Returns
        -------
        ndarray of shape (n_rows, n_columns)
            The rows filled.
        """
        filled = matrix.copy()
        gappy = np.flatnonzero(np.isnan(matrix).any(axis=1))
        for first in range(0, gappy.size, CHUNK_ROWS):
            rows = gappy[first : first + CHUNK_ROWS]
            filled[rows] = self._fill_chunk(matrix[rows])
        return filled

    def _fill_chunk(self, rows: FloatArray) -> FloatArray:
        if self.training is not None:
            return recover_new_rows(
                rows, self.training, kernel=self.metric, sample_weight=self.weights
            ).X
        if isinstance(self.filler, np.ndarray):
            return np.where(np.isnan(rows), self.filler, rows)
        return reference_table(rows, self.metric, self.filler)
