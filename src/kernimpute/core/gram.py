"""What a support vector machine's dual asks of a kernel matrix.

The solvers never index the matrix themselves. They multiply it with coefficients and look at the
block of the coefficients that are free.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["DenseGram", "Gram", "RaisedGram", "as_gram"]

FloatArray = NDArray[np.float64]
Rows = NDArray[np.intp]


class Gram(Protocol):
    """A symmetric kernel matrix of n rows."""

    def largest(self) -> float:
        """Return a bound on the largest magnitude of an entry; NaN or infinite if an entry is."""

    def product(self, b: FloatArray) -> FloatArray:
        """Return ``K b`` for b of shape (n,) or (n, n_problems)."""

    def quadratic(self, b: FloatArray) -> float:
        """Return ``b'K b``, summed over the columns of b."""

    def block(self, rows: Rows, columns: Rows) -> FloatArray:
        """Return the entries of some rows and columns as a new array."""

    def subset(self, rows: Rows) -> Gram:
        """Return the matrix of some of the rows."""

    def matrix(self) -> FloatArray:
        """Return all entries, of shape (n, n)."""


@dataclass(frozen=True)
class DenseGram:
    """A kernel matrix as an array of shape (n, n)."""

    K: FloatArray

    def largest(self) -> float:
        """Return the largest magnitude of an entry; NaN or infinite if an entry is."""
        return self._largest

    @cached_property
    def _largest(self) -> float:
        # Two reductions do not need an array of the magnitudes, and both pass a NaN on.
        return float(np.maximum(self.K.max(), -self.K.min()))

    def product(self, b: FloatArray) -> FloatArray:
        """Return ``K b``."""
        return np.asarray(self.K @ b)

    def quadratic(self, b: FloatArray) -> float:
        """Return ``b'K b``, summed over the columns of b."""
        return float(np.vdot(b, self.K @ b))

    def block(self, rows: Rows, columns: Rows) -> FloatArray:
        """Return the entries of some rows and columns."""
        return self.K[rows[:, None], columns]

    def subset(self, rows: Rows) -> DenseGram:
        """Return the matrix of some of the rows."""
        return DenseGram(self.block(rows, rows))

    def matrix(self) -> FloatArray:
        """Return the array itself."""
        return self.K


@dataclass(frozen=True)
class RaisedGram:
    """A kernel matrix of shape (n, n) plus `ridge` times the identity, without a second matrix."""

    K: FloatArray
    ridge: float

    def largest(self) -> float:
        """Return a bound on the largest magnitude of an entry; NaN or infinite if one is."""
        return DenseGram(self.K).largest() + self.ridge

    def product(self, b: FloatArray) -> FloatArray:
        """Return ``(K + ridge I) b``."""
        return np.asarray(self.K @ b + self.ridge * b)

    def quadratic(self, b: FloatArray) -> float:
        """Return ``b'(K + ridge I) b``, summed over the columns of b."""
        return float(np.vdot(b, self.product(b)))

    def block(self, rows: Rows, columns: Rows) -> FloatArray:
        """Return the entries of some rows and columns."""
        entries = self.K[rows[:, None], columns]
        entries[rows[:, None] == columns] += self.ridge
        return entries

    def subset(self, rows: Rows) -> RaisedGram:
        """Return the matrix of some of the rows."""
        return RaisedGram(self.K[rows[:, None], rows], self.ridge)

    def matrix(self) -> FloatArray:
        """Return all entries, of shape (n, n)."""
        raised = self.K.copy()
        raised[np.diag_indices_from(raised)] += self.ridge
        return raised


def as_gram(K: FloatArray | Gram) -> Gram:
    """Return a kernel matrix as the solvers take it."""
    return DenseGram(K) if isinstance(K, np.ndarray) else K
