"""What a support vector machine's dual asks of a kernel matrix, and a matrix that is there.

The solvers never index the matrix itself. They multiply it with coefficients, most of which are 0,
and look at the block of the few that are free. `DenseGram` answers from an array;
`kernimpute.core.gram.KernelGram` from the rows, without ever holding all entries.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from kernimpute.core.arrays import inner, is_array
from kernimpute.core.kernels import Kernel

__all__ = [
    "DenseGram",
    "Gram",
    "HeldKernelGram",
    "KernelGram",
    "RaisedGram",
    "as_gram",
    "make_buffer",
]

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


CHUNK_CELLS = 2**16
"""Entries made at a time: as many as a core's cache holds."""
HELD_ROWS = 3000
"""Rows up to which the matrix is held while it is worked on: 72 MB."""
STEEP = 1e8
"""Slope of a kernel from which on rows that coincide have none."""


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

    @cached_property
    def factor(self) -> FloatArray | None:
        """As `kernimpute.core.gram.Gram.factor` has it."""
        return self.kernel.factor(self.X)

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

    def slopes(self, rows: Rows, columns: Rows) -> Iterator[tuple[slice, FloatArray]]:
        """Yield the derivatives of the link at some rows and columns, a few rows at a time.

        Rows that coincide do not move each other. Their gradient says so by a difference of two
        products with the slope; where that is steep, its rounding outweighs all the rest, and the
        slope is 0 instead.

        Parameters
        ----------
        rows, columns : ndarray of int
            Indices in ascending order, each at most once.

        Yields
        ------
        part : slice
            Which of the rows.
        slopes : ndarray of shape (n_part, n_columns)
            Their derivatives, a new array.
        """
        for part, sums in self.chunks(rows, columns):
            slopes = self.kernel.link_gradient(sums)
            if self.kernel.is_distance and float(np.abs(slopes).max(initial=0.0)) > STEEP:
                slopes = np.where(sums == 0.0, 0.0, slopes)
            yield part, slopes

    def held_in(self, buffer: FloatArray | None) -> KernelGram:
        """Return the matrix held in a buffer.

        Parameters
        ----------
        buffer : ndarray of shape (n, n) or None
            What it is written to; None returns the matrix as it is.

        Returns
        -------
        KernelGram
            The matrix, until something else is written there.
        """
        if buffer is None:
            return self
        everyone = np.arange(self.X.shape[0])
        entries = self._block(everyone, everyone, buffer)
        return HeldKernelGram(self.kernel, self.X, DenseGram(entries, self.factor))

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
        return self._block(rows, columns, np.empty((rows.size, columns.size)))

    def _block(self, rows: Rows, columns: Rows, entries: FloatArray) -> FloatArray:
        """Return the entries of some rows and columns, written to an array."""
        for part, sums in self.chunks(rows, columns):
            entries[part] = self.kernel.link(sums)
        return entries

    def among(self, rows: Rows) -> KernelGram:
        """Return the matrix of some of the rows."""
        return KernelGram(self.kernel, self.X[rows])

    def held(self) -> Gram:
        """Return an array if it is small, or if libsvm has no such kernel."""
        if self.X.shape[0] <= HELD_ROWS or self.kernel.libsvm_form(self.X) is None:
            return DenseGram(self.matrix(), self.factor)
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
        if self.factor is not None:
            return np.asarray(self.factor[rows] @ (self.factor.T @ b))
        pulling = _nonzero(b)
        products = np.empty((rows.size, *b.shape[1:]))
        for part, sums in self.chunks(rows, pulling):
            products[part] = self.kernel.link(sums) @ b[pulling]
        return products


@dataclass(frozen=True)
class HeldKernelGram(KernelGram):
    """The same matrix, of which the entries are at hand.

    Parameters
    ----------
    kernel, X
        As in `KernelGram`.
    entries : DenseGram
        The matrix as an array.
    """

    entries: DenseGram

    def slopes(self, rows: Rows, columns: Rows) -> Iterator[tuple[slice, FloatArray]]:
        """Yield the derivatives of the link, from the entries where these tell them."""
        slopes = self.kernel.slopes_of_values(self.entries.block(rows, columns))
        if slopes is None or float(np.abs(slopes).max(initial=0.0)) > STEEP:
            yield from super().slopes(rows, columns)
        else:
            yield slice(0, rows.size), slopes

    def product(self, b: FloatArray) -> FloatArray:
        """Return ``K b``."""
        return self.entries.product(b)

    def quadratic(self, b: FloatArray) -> float:
        """Return ``b'K b``, summed over the columns of b."""
        return self.entries.quadratic(b)

    def block(self, rows: Rows, columns: Rows) -> FloatArray:
        """Return the entries of some rows and columns."""
        return self.entries.block(rows, columns)

    def held(self) -> Gram:
        """Return the array."""
        return self.entries

    def matrix(self) -> FloatArray:
        """Return the array itself."""
        return self.entries.matrix()


def make_buffer(kernel: Kernel, n_rows: int) -> FloatArray | None:
    """Return memory for `KernelGram.held_in`, where a matrix is small and a machine's own.

    To write to memory that is fresh can take longer than to compute what is written.

    Parameters
    ----------
    kernel : Kernel
        The kernel; what is not positive semidefinite is projected before there is a machine.
    n_rows : int
        How many rows there are.

    Returns
    -------
    ndarray of shape (n_rows, n_rows) or None
        The memory.
    """
    held = n_rows <= HELD_ROWS and kernel.is_positive_semidefinite
    return np.empty((n_rows, n_rows)) if held else None


def _nonzero(b: FloatArray) -> Rows:
    """Return the rows that have a coefficient."""
    return np.flatnonzero(b if b.ndim == 1 else b.any(axis=1))
