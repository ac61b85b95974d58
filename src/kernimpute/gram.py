"""What a support vector machine's dual asks of a kernel matrix, and a matrix that is there.

The solvers never index the matrix itself. They multiply it with coefficients, most of which are 0,
and look at the block of the few that are free. `DenseGram` answers from an array;
`kernimpute.kernel_gram.KernelGram` from the rows, without ever holding all entries.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from kernimpute.arrays import inner, is_array

__all__ = ["DenseGram", "Gram", "RaisedGram", "as_gram"]

FloatArray = NDArray[np.float64]
Rows = NDArray[np.intp]


class Gram(Protocol):
    """A symmetric kernel matrix of n rows, whether or not it is held."""

    @property
    def factor(self) -> FloatArray | None:
        """An F much narrower than the matrix, which is ``F F'``; None where none is known."""

    def largest(self) -> float:
        """Return the largest magnitude of an entry; NaN or infinite if an entry is."""

    def product(self, b: FloatArray) -> FloatArray:
        """Return ``K b``.

        Parameters
        ----------
        b : ndarray of shape (n,) or (n, n_problems)
            Coefficients.

        Returns
        -------
        ndarray of the shape of `b`
            The product.
        """

    def quadratic(self, b: FloatArray) -> float:
        """Return ``b'K b``, summed over the columns of b.

        Parameters
        ----------
        b : ndarray of shape (n,) or (n, n_problems)
            Coefficients.

        Returns
        -------
        float
            The sum.
        """

    def block(self, rows: Rows, columns: Rows) -> FloatArray:
        """Return the entries of some rows and columns.

        Parameters
        ----------
        rows, columns : ndarray of int
            Indices in ascending order, each at most once.

        Returns
        -------
        ndarray of shape (n_rows, n_columns)
            A new array.
        """

    def among(self, rows: Rows) -> Gram:
        """Return the matrix of some of the rows.

        Parameters
        ----------
        rows : ndarray of int
            Indices in ascending order, each at most once.

        Returns
        -------
        Gram
            The matrix.
        """

    def held(self) -> Gram:
        """Return the matrix as it is quickest to solve with: as an array unless that is large."""

    def matrix(self) -> FloatArray:
        """Return all entries, of shape (n, n)."""

    def libsvm_form(self) -> tuple[FloatArray, dict[str, object]]:
        """Return what libsvm is to be fitted on, and the options of its kernel."""


@dataclass(frozen=True)
class DenseGram:
    """A kernel matrix as an array.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        The matrix, symmetric. Products are taken of one of any namespace; the rest is NumPy's.
    factor : ndarray of shape (n, n_columns) or None, default=None
        As `Gram.factor` has it.
    """

    K: FloatArray
    factor: FloatArray | None = None

    def largest(self) -> float:
        """Return the largest magnitude of an entry; NaN or infinite if an entry is."""
        return self._largest

    @cached_property
    def _largest(self) -> float:
        # Of two reductions neither makes an array of the magnitudes; both hand on a NaN.
        return float(np.maximum(self.K.max(), -self.K.min()))

    def product(self, b: FloatArray) -> FloatArray:
        """Return ``K b``."""
        multiplied: FloatArray = self.K @ b
        return multiplied

    def quadratic(self, b: FloatArray) -> float:
        """Return ``b'K b``, summed over the columns of b."""
        return inner(b, self.K @ b)

    def block(self, rows: Rows, columns: Rows) -> FloatArray:
        """Return the entries of some rows and columns."""
        return self.K[rows[:, None], columns]

    def among(self, rows: Rows) -> DenseGram:
        """Return the matrix of some of the rows."""
        return DenseGram(self.block(rows, rows), None if self.factor is None else self.factor[rows])

    def held(self) -> DenseGram:
        """Return the same."""
        return self

    def matrix(self) -> FloatArray:
        """Return the array itself."""
        return self.K

    def libsvm_form(self) -> tuple[FloatArray, dict[str, object]]:
        """Return the array, as a precomputed kernel."""
        return self.K, {"kernel": "precomputed"}


@dataclass(frozen=True)
class RaisedGram:
    """A kernel matrix plus a multiple of the identity, which no second matrix is made for.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        The matrix, symmetric, NumPy's.
    ridge : float
        The multiple, in [0, inf).
    """

    K: FloatArray
    ridge: float

    @property
    def factor(self) -> None:
        """Nothing: what is raised has no narrow factor."""

    def largest(self) -> float:
        """Return a bound on the largest magnitude of an entry; NaN or infinite if one is."""
        return DenseGram(self.K).largest() + self.ridge

    def product(self, b: FloatArray) -> FloatArray:
        """Return ``(K + ridge I) b``."""
        multiplied: FloatArray = self.K @ b + self.ridge * b
        return multiplied

    def quadratic(self, b: FloatArray) -> float:
        """Return ``b'(K + ridge I) b``, summed over the columns of b."""
        return inner(b, self.product(b))

    def block(self, rows: Rows, columns: Rows) -> FloatArray:
        """Return the entries of some rows and columns."""
        entries = DenseGram(self.K).block(rows, columns)
        entries[rows[:, None] == columns] += self.ridge
        return entries

    def among(self, rows: Rows) -> RaisedGram:
        """Return the matrix of some of the rows."""
        return RaisedGram(DenseGram(self.K).block(rows, rows), self.ridge)

    def held(self) -> RaisedGram:
        """Return the same."""
        return self

    def matrix(self) -> FloatArray:
        """Return all entries, of shape (n, n)."""
        everyone = np.arange(self.K.shape[0])
        return self.block(everyone, everyone)

    def libsvm_form(self) -> tuple[FloatArray, dict[str, object]]:
        """Return all entries, as a precomputed kernel."""
        return self.matrix(), {"kernel": "precomputed"}


def as_gram(K: FloatArray | Gram) -> Gram:
    """Return a kernel matrix as the solvers take it.

    Parameters
    ----------
    K : ndarray of shape (n, n) or Gram
        The matrix.

    Returns
    -------
    Gram
        The same matrix.
    """
    return DenseGram(cast(FloatArray, K)) if is_array(K) else cast(Gram, K)
