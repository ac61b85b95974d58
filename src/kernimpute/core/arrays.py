"""Arithmetic on arrays of any namespace, where NumPy and the array API standard differ.

Stage I computes on the arrays that it is given: NumPy's, or those of another library that follows
the array API standard. What has one name and one meaning in both is called from `namespace`; the
rest is here. Eigenvalues are taken to come in ascending order, as they do from every LAPACK.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import array_api_compat
import array_api_compat.numpy as numpy_namespace
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky

__all__ = [
    "by_rows",
    "clip",
    "inner",
    "is_array",
    "is_positive_definite",
    "like",
    "namespace",
    "norm",
    "on_diagonal",
    "row_blocks",
    "squared_distance",
    "to_numpy",
]

FloatArray = NDArray[np.float64]


def namespace(*arrays: FloatArray) -> Any:
    """Return the namespace of some arrays.

    Parameters
    ----------
    *arrays : array
        Arrays of one library.

    Returns
    -------
    module
        The library, with the names of the array API standard.
    """
    if all(type(array) is np.ndarray for array in arrays):
        # The rule, and asked for thousands of times a run.
        return numpy_namespace
    return array_api_compat.array_namespace(*arrays)


def is_array(value: object) -> bool:
    """Return whether something is an array of a library that is known here.

    Parameters
    ----------
    value : object
        Anything.

    Returns
    -------
    bool
        True for an array, of NumPy or of another library.
    """
    return isinstance(value, np.ndarray) or bool(array_api_compat.is_array_api_obj(value))


def clip(M: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return the nearest array between two others.

    Parameters
    ----------
    M, lower, upper : array of any one shape
        The array and its bounds.

    Returns
    -------
    array
        ``min(max(M, lower), upper)``.
    """
    if isinstance(M, np.ndarray):
        # With one array; np.clip's checks take longer than a column.
        raised = np.maximum(M, lower)
        return np.minimum(raised, upper, out=raised)
    xp = namespace(M)
    clipped: FloatArray = xp.minimum(xp.maximum(M, lower), upper)
    return clipped


def inner(A: FloatArray, B: FloatArray) -> float:
    """Return the sum of the products of two arrays, without an array of them.

    Parameters
    ----------
    A, B : array of any one shape
        The arrays.

    Returns
    -------
    float
        The Frobenius inner product.
    """
    if isinstance(A, np.ndarray):
        return float(np.vdot(A, B))
    xp = namespace(A, B)
    return float(xp.vecdot(xp.reshape(A, (-1,)), xp.reshape(B, (-1,))))


def norm(A: FloatArray) -> float:
    """Return the Frobenius norm.

    Parameters
    ----------
    A : array
        The array.

    Returns
    -------
    float
        The root of the sum of its squares.
    """
    if isinstance(A, np.ndarray):
        return math.sqrt(inner(A, A))
    return float(namespace(A).linalg.vector_norm(A))


def row_blocks(n_rows: int) -> Iterator[slice]:
    """Return slices that part the rows of a matrix into blocks that are small beside it.

    Parameters
    ----------
    n_rows : int
        Number of rows.

    Yields
    ------
    slice
        Rows that follow each other: a twelfth of all, but at least 16 and at most 128.
    """
    size = max(16, min(128, n_rows // 12))
    for first in range(0, n_rows, size):
        yield slice(first, min(first + size, n_rows))


def by_rows(compute: Callable[[slice], FloatArray], n_rows: int) -> FloatArray:
    """Return a matrix computed a block of rows at a time, so that its summands are never held.

    Parameters
    ----------
    compute : callable
        Returns the rows of a slice, as an array of shape (n_block, n_columns).
    n_rows : int
        Number of rows.

    Returns
    -------
    array of shape (n_rows, n_columns)
        The matrix, in the namespace of its rows.
    """
    blocks = row_blocks(n_rows)
    first = compute(next(blocks))
    if not isinstance(first, np.ndarray):
        joined: FloatArray = namespace(first).concat([first, *map(compute, blocks)])
        return joined
    # A list of all blocks would be the matrix a second time.
    matrix = np.empty((n_rows, first.shape[1]))
    matrix[: first.shape[0]] = first
    for rows in blocks:
        matrix[rows] = compute(rows)
    return matrix


def squared_distance(A: FloatArray, B: FloatArray) -> float:
    """Return the squared Frobenius norm of a difference, which is never held.

    Parameters
    ----------
    A, B : array of one shape (n_rows, n_columns)
        The matrices.

    Returns
    -------
    float
        ``||A - B||^2``.
    """
    total = 0.0
    for rows in row_blocks(A.shape[0]):
        offset = A[rows, :] - B[rows, :]
        total += inner(offset, offset)
    return total


def on_diagonal(M: FloatArray) -> NDArray[np.bool_]:
    """Return which places of a square matrix are on its diagonal.

    Parameters
    ----------
    M : array of shape (n, n)
        The matrix.

    Returns
    -------
    array of bool of shape (n, n)
        True on the diagonal.
    """
    places = namespace(M).arange(M.shape[0], device=array_api_compat.device(M))
    diagonal: NDArray[np.bool_] = places[:, None] == places[None, :]
    return diagonal


def like(array: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """Return a NumPy array as an array of another's library, on its device.

    Parameters
    ----------
    array : ndarray
        A NumPy array.
    other : array
        An array of the library wanted.

    Returns
    -------
    array
        The array itself where NumPy is wanted.
    """
    if isinstance(other, np.ndarray):
        return array
    device = array_api_compat.device(other)
    # Other libraries warn of memory that they may not write to, though nothing here writes.
    writeable = array if array.flags.writeable else array.copy()
    moved: NDArray[Any] = namespace(other).asarray(writeable, device=device)
    return moved


def to_numpy(array: FloatArray) -> FloatArray:
    """Return an array of any library as NumPy's, on the CPU.

    Parameters
    ----------
    array : array
        The array; of a library other than torch, one in the CPU's memory.

    Returns
    -------
    ndarray
        The array itself where it is NumPy's.
    """
    if isinstance(array, np.ndarray):
        return array
    if array_api_compat.is_torch_array(array):
        return np.asarray(array.detach().cpu())
    return np.from_dlpack(array)


def is_positive_definite(M: FloatArray, jitter: float = 0.0, *, overwrite: bool = False) -> bool:
    """Return whether a symmetric matrix has a Cholesky factor.

    Parameters
    ----------
    M : array of shape (n, n)
        The matrix; its lower triangle is read.
    jitter : float, default=0.0
        What its diagonal is raised by beforehand.
    overwrite : bool, default=False
        Whether M may be destroyed, which saves a copy.

    Returns
    -------
    bool
        True if the factor exists and is finite.
    """
    if isinstance(M, np.ndarray):
        # Transposed it is the same matrix, in the order in which LAPACK works in place.
        work = (M if overwrite else M.copy()).T
        work[np.diag_indices_from(work)] += jitter
        try:
            factor = cholesky(work, lower=True, check_finite=False, overwrite_a=True)
        except LinAlgError:
            return False
        # LAPACK takes a NaN for a pivot that is not negative.
        return bool(np.isfinite(np.diagonal(factor)).all())
    xp = namespace(M)
    raised = M + jitter * xp.eye(M.shape[0], dtype=M.dtype, device=array_api_compat.device(M))
    try:
        factor = xp.linalg.cholesky(raised)
    except (LinAlgError, getattr(xp.linalg, "LinAlgError", LinAlgError)):
        return False
    # Some libraries return NaN instead of raising.
    return bool(xp.all(xp.isfinite(xp.linalg.diagonal(factor))))
