"""How the columns of a table enter the kernel: two codings with one interface.

`CodeColumns` keeps one column of codes for each categorical column, for the kernels that have a
term for them: a gap becomes one category. `IndicatorColumns` has one column for each category
(one for two categories): a gap can be filled softly, with frequencies, and every kernel and
every imputer takes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kernimpute.table.code import EncodedTable, TableCode

__all__ = ["FARTHEST", "CodeColumns", "Coding", "IndicatorColumns", "within_reach"]

FloatArray = NDArray[np.float64]

FARTHEST = 1e6
"""How far new numbers may lie from the training range [0, 1]: powers of them stay floats."""


def within_reach(matrix: FloatArray) -> FloatArray:
    """Return new rows with no number farther off than `FARTHEST`; gaps stay gaps.

    Parameters
    ----------
    matrix : ndarray of shape (n_rows, n_matrix_columns)
        Rows in a coding's matrix.

    Returns
    -------
    ndarray of shape (n_rows, n_matrix_columns)
        The rows.
    """
    return np.asarray(np.clip(matrix, -FARTHEST, FARTHEST))


class Coding(Protocol):
    """From coded tables to the matrix that the solvers see, and back."""

    @property
    def categorical(self) -> tuple[int, ...]:
        """The columns of the matrix that the kernel must take for codes."""

    def matrix(self, rows: EncodedTable) -> FloatArray:
        """Return the matrix, NaN at the gaps, of shape (n_rows, n_matrix_columns)."""

    def codes(
        self, filled: FloatArray, rows: EncodedTable, reference: FloatArray | None
    ) -> FloatArray:
        """Return the filled rows as numbers and codes, of shape (n_rows, n_features)."""


@dataclass(frozen=True)
class CodeColumns:
    """One column of codes for each categorical column.

    Parameters
    ----------
    code : TableCode
        The table's code.
    """

    code: TableCode

    @property
    def categorical(self) -> tuple[int, ...]:
        """The columns of codes."""
        return tuple(int(column) for column in np.flatnonzero(self.code.categorical))

    def matrix(self, rows: EncodedTable) -> FloatArray:
        """Return numbers and codes."""
        return _with_a_column(rows.matrix)

    def codes(
        self, filled: FloatArray, rows: EncodedTable, reference: FloatArray | None
    ) -> FloatArray:
        """Return the filled rows as they are."""
        return filled[:, : rows.matrix.shape[1]]


@dataclass(frozen=True)
class IndicatorColumns:
    """One column for each category.

    Parameters
    ----------
    code : TableCode
        The table's code.
    """

    code: TableCode

    @property
    def categorical(self) -> tuple[int, ...]:
        """None: the indicators are numbers."""
        return ()

    def matrix(self, rows: EncodedTable) -> FloatArray:
        """Return numbers and indicators."""
        return _with_a_column(self.code.to_indicators(rows.matrix))

    def codes(
        self, filled: FloatArray, rows: EncodedTable, reference: FloatArray | None
    ) -> FloatArray:
        """Return the category that the indicators are for; see `TableCode.to_codes`."""
        width = len(self.code.indicator_columns)
        start = None if reference is None else reference[:, :width]
        return self.code.to_codes(filled[:, :width], rows.matrix, start)


def _with_a_column(matrix: FloatArray) -> FloatArray:
    """Return the matrix; with a column of zeros where a table of constants leaves none."""
    return matrix if matrix.shape[1] else np.zeros((matrix.shape[0], 1))
