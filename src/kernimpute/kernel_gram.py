"""The kernel matrix of complete rows, made chunk by chunk as it is asked for.

Making an entry again costs a few nanoseconds, about as much as fetching one that is held: what
holding saves is the time of libsvm, which asks for rows one by one. So a small matrix is held
while a machine is solved, and of a large one nothing but the chunk at work and the blocks that
the solver takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernimpute.gram import DenseGram, Gram
from kernimpute.kernels import Kernel

__all__ = ["KernelGram"]

FloatArray = NDArray[np.float64]
Rows = NDArray[np.intp]

CHUNK_CELLS = 2**18
"""Entries made at a time: as many as a core's cache holds."""
HELD_ROWS = 3000
"""Rows up to which the matrix is held while a machine is solved: 72 MB."""


@dataclass(frozen=True)
class KernelGram:
    """The kernel matrix of complete rows.

    Parameters
    ----------
    kernel : Kernel
        A kernel whose matrices are positive semidefinite, for `largest`.
    X : ndarray of shape (n, n_features)
        Complete rows.
    """

    kernel: Kernel
    X: FloatArray

    def chunks(self, rows: Rows, columns: Rows) -> Iterator[tuple[slice, FloatArray]]:
        """Yield the sums of feature terms of some rows and columns, a few rows at a time.

        Parameters
        ----------
        rows, columns : ndarray of int
            Indices in ascending order, each at most once.

        Yields
        ------
        part : slice
            Which of the rows.
        sums : ndarray of shape (n_part, n_columns)
            Their sums, in link space.
        """
        others = self.X[columns]
        size = max(1, CHUNK_CELLS // max(1, columns.size))
        for first in range(0, rows.size, size):
            part = slice(first, first + size)
            sums = self.kernel.sums(self.X[rows[part]], others)
            if self.kernel.is_distance and columns.size:
                # The matrix product leaves rounding there; a row is at distance 0 from itself.
                place = np.minimum(np.searchsorted(columns, rows[part]), columns.size - 1)
                own = np.flatnonzero(columns[place] == rows[part])
                sums[own, place[own]] = 0.0
            yield part, sums

    def largest(self) -> float:
        """Return the largest entry, which is on the diagonal."""
        return float(self.kernel.link(self.kernel.own_sums(self.X)).max())

    def product(self, b: FloatArray) -> FloatArray:
        """Return ``K b``."""
        return self._product(np.arange(self.X.shape[0]), b)

    def quadratic(self, b: FloatArray) -> float:
        """Return ``b'K b``, summed over the columns of b."""
        rows = _nonzero(b)
        return float(np.vdot(b[rows], self._product(rows, b)))

    def block(self, rows: Rows, columns: Rows) -> FloatArray:
        """Return the entries of some rows and columns."""
        entries = np.empty((rows.size, columns.size))
        for part, sums in self.chunks(rows, columns):
            entries[part] = self.kernel.link(sums)
        return entries

    def among(self, rows: Rows) -> KernelGram:
        """Return the matrix of some of the rows."""
        return KernelGram(self.kernel, self.X[rows])

    def held(self) -> Gram:
        """Return an array if it is small, or if libsvm has no such kernel."""
        if self.X.shape[0] <= HELD_ROWS or self.kernel.libsvm_form(self.X) is None:
            return DenseGram(self.matrix())
        return self

    def matrix(self) -> FloatArray:
        """Return all entries."""
        everyone = np.arange(self.X.shape[0])
        return self.block(everyone, everyone)

    def libsvm_form(self) -> tuple[FloatArray, dict[str, object]]:
        """Return rows and options of libsvm's own kernel; the matrix where it has none."""
        own = self.kernel.libsvm_form(self.X)
        return DenseGram(self.matrix()).libsvm_form() if own is None else own

    def _product(self, rows: Rows, b: FloatArray) -> FloatArray:
        """Return some rows of ``K b``."""
        pulling = _nonzero(b)
        products = np.empty((rows.size, *b.shape[1:]))
        for part, sums in self.chunks(rows, pulling):
            products[part] = self.kernel.link(sums) @ b[pulling]
        return products


def _nonzero(b: FloatArray) -> Rows:
    """Return the rows that have a coefficient."""
    return np.flatnonzero(b if b.ndim == 1 else b.any(axis=1))
