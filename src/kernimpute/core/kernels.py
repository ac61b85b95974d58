"""Kernels that decouple over features, and their bounds on rows with gaps.

Every kernel is ``k(x, z) = link(sum over p of g(x_p, z_p))`` with numeric features in [0, 1]
(the paper's appendix A). The sum over the features observed in both rows is the *observed sum*;
each other feature adds something between 0 and a largest term, which gives the *bounds*.

To add a kernel, write a class here and put it into `KERNELS`; a new feature term must be added to
`kernimpute.methods.sweep`, too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from numbers import Integral
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from kernimpute.core.arrays import BoolArray, FloatArray
from kernimpute.core.checks import check_choice, check_integer, check_real, refusal

__all__ = [
    "Chi2",
    "Gaussian",
    "KERNELS",
    "Kernel",
    "Laplacian",
    "Linear",
    "Polynomial",
    "Sigmoid",
    "make_kernel",
]

Mask = BoolArray | None

BLOCK_CELLS = 2**16
"""Entries of a matrix computed at a time: as many as a core's cache holds."""


@dataclass(frozen=True)
class Kernel(ABC):
    """A kernel that is a link of a sum of feature terms; all about gaps follows from the two.

    Parameters
    ----------
    categorical : tuple of int, default=()
        Columns that hold category codes; their feature term is 1 if the codes differ and 0 if
        they agree. Only kernels of a distance have such a term.

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of its range, or the kernel has no categorical feature term.
    """

    categorical: tuple[int, ...] = field(default=(), kw_only=True)

    cell: ClassVar[str] = ""
    """How Stage II moves one cell: a key of `kernimpute.methods.sweep.CELLS`."""
    is_distance: ClassVar[bool] = False
    """Whether the sum is a distance: zero between a row and itself, whatever is unknown."""
    is_euclidean: ClassVar[bool] = False
    """Whether the sums are squared Euclidean distances or inner products of the rows."""
    is_exponential: ClassVar[bool] = False
    """Whether the link is ``exp(-gamma s)``: K / K_observed then needs the unknown sums alone."""
    is_positive_semidefinite: ClassVar[bool] = True
    """Whether every kernel matrix is positive semidefinite."""

    def __post_init__(self) -> None:
        """Refuse parameters out of range, and codes where the kernel has no term for them."""
        owner, parameters = type(self).__name__, vars(self)
        if "gamma" in parameters:
            check_real(owner, "gamma", parameters["gamma"], 0.0)
        if "offset" in parameters:
            check_real(owner, "offset", parameters["offset"], 0.0, low_included=True)
        if "degree" in parameters:
            check_integer(owner, "degree", parameters["degree"], 1)
        columns = self.categorical
        is_right = isinstance(columns, tuple) and all(
            isinstance(one, Integral) and not isinstance(one, bool) and one >= 0 for one in columns
        )
        if not is_right or len(set(columns)) < len(columns):
            must_be = "a tuple of distinct ints in [0, inf)"
            raise ValueError(refusal(owner, "categorical", must_be, columns))
        if columns and not self.is_distance:
            must_be = "empty: only the gaussian and laplacian kernels have a term for categories"
            raise ValueError(refusal(owner, "categorical", must_be, columns))

    # Here begins what a kernel states.

    @abstractmethod
    def feature_term(self, x: FloatArray, z: FloatArray) -> FloatArray:
        """Return ``g(x, z)``, elementwise with broadcasting, of numeric values in [0, 1]."""

    @abstractmethod
    def feature_gradient(self, x: FloatArray, z: FloatArray) -> FloatArray:
        """Return the derivative of ``g(x, z)`` in its first argument, elementwise."""

    @abstractmethod
    def link(self, sums: FloatArray) -> FloatArray:
        """Return the kernel's values at sums of feature terms, elementwise."""

    @abstractmethod
    def link_gradient(self, sums: FloatArray) -> FloatArray:
        """Return the derivative of `link`, elementwise."""

    @abstractmethod
    def inverse_link(self, K: FloatArray) -> FloatArray:
        """Return the sums at kernel values, elementwise; the nearest end's outside the range."""

    def largest_term(self, x: FloatArray) -> FloatArray:
        """Return the maximum of ``g(x, z)`` over z in [0, 1], at an end of it; the minimum is 0."""
        ends = np.zeros_like(x), np.ones_like(x)
        return np.maximum(*(self.feature_term(x, end) for end in ends))

    # Here begins what follows from it.

    def with_categorical(self, categorical: ArrayLike | None, n_features: int) -> Self:
        """Return this kernel with columns marked by a mask or by indices; None keeps its own."""
        given = np.asarray(self.categorical if categorical is None else categorical)
        is_mask = given.dtype == bool
        fits = given.shape == (n_features,) if is_mask else given.ndim == 1
        if fits and given.size and not is_mask:
            fits = given.dtype.kind in "iu" and bool(((given >= 0) & (given < n_features)).all())
        if not fits:
            must_be = f"a mask over, or indices of, the {n_features} columns"
            raise ValueError(refusal(type(self).__name__, "categorical", must_be, given.tolist()))
        columns = np.flatnonzero(given) if is_mask else np.unique(given)
        return replace(self, categorical=tuple(int(column) for column in columns))

    def numeric(self, n_features: int) -> BoolArray:
        """Return the mask of shape (n_features,) of the columns that are not categorical."""
        mask = np.ones(n_features, dtype=bool)
        mask[list(self.categorical)] = False
        return mask

    def __call__(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        """Return the kernel matrix, (n_rows, n_other_rows), between complete rows X and Z."""
        K = self.sums(X, Z)
        # A few rows at a time, so that there is never a second matrix.
        for rows in row_blocks(*K.shape):
            K[rows] = self.link(K[rows])
        return K

    def sums(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        """Return the sums of feature terms, (n_rows, n_other_rows), between complete rows."""
        return self._sums(X, None, Z, None)

    def observed_sums(
        self,
        X: FloatArray,
        observed: BoolArray,
        Z: FloatArray | None = None,
        observed_Z: BoolArray | None = None,
    ) -> FloatArray:
        """Return the sums, (n_rows, n_other_rows), over the features observed in both rows.

        What stands at unobserved cells is ignored. Without other rows Z the pairs are those of X.
        """
        if (Z is None) != (observed_Z is None):
            must_be = "given together with observed_Z, or not at all"
            raise TypeError(refusal("observed_sums", "Z", must_be, Z))
        return self._sums(X, observed, *((X, observed) if Z is None else (Z, observed_Z)))

    def bounds(self, X: FloatArray, observed: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Return the smallest and the largest sums that a completion of the rows can have.

        Both have shape (n_samples, n_samples) and are attained, pair by pair. Numeric cells lie in
        [0, 1], categorical ones are among the observed categories of their column.
        """
        lower = self.observed_sums(X, observed)
        missing = (~observed).astype(float)
        unknown_range = missing.copy()
        known_range = np.where(observed, self.largest_term(np.where(observed, X, 0.0)), 0.0)
        for column in self.categorical:
            can_differ = float(np.unique(X[observed[:, column], column]).size > 1)
            unknown_range[:, column] *= can_differ
            known_range[:, column] = can_differ * observed[:, column]
        # Known with unknown, unknown with known, unknown with unknown.
        upper = known_range @ missing.T
        upper += upper.T.copy()
        upper += unknown_range @ missing.T
        if self.is_distance:
            # The unknown value is the same number twice.
            np.fill_diagonal(upper, 0.0)
        upper += lower
        return lower, upper

    def sums_gradient(self, X: FloatArray, Z: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the gradient in X of ``sum over i, j of weights_ij sums(X, Z)_ij``, 0 at codes.

        With Z = X and symmetric weights, of half that sum when both arguments move together.
        """
        gradient = self._numeric_gradient(X, Z, weights)
        gradient[:, list(self.categorical)] = 0.0
        return gradient

    def _sums(self, X: FloatArray, observed: Mask, Z: FloatArray, observed_Z: Mask) -> FloatArray:
        """Return the sums over the features observed in both rows; None is all observed."""
        columns = self.numeric(X.shape[1])
        left = _known_cells(X, observed, columns)
        # One and the same array: the product with its own transpose is symmetric to the last bit.
        right = left if X is Z else _known_cells(Z, observed_Z, columns)
        sums = self._numeric_sums(*left, *right)
        for column in self.categorical:
            differs = X[:, column, None] != Z[None, :, column]
            if observed is not None and observed_Z is not None:
                differs &= observed[:, column, None]
                differs &= observed_Z[None, :, column]
            sums += differs
        if X is Z and self.is_distance:
            # The matrix product leaves rounding there; a row is at distance 0 from itself.
            np.fill_diagonal(sums, 0.0)
        return sums

    def _numeric_sums(
        self, X: FloatArray, observed: Mask, Z: FloatArray, observed_Z: Mask
    ) -> FloatArray:
        """Return the sums over numeric columns, whose unobserved cells hold 0."""
        sums = np.zeros((X.shape[0], Z.shape[0]))
        for column in range(X.shape[1]):
            term = self.feature_term(X[:, column, None], Z[None, :, column])
            if observed is not None and observed_Z is not None:
                term *= observed[:, column, None]
                term *= observed_Z[None, :, column]
            sums += term
        return sums

    def _numeric_gradient(self, X: FloatArray, Z: FloatArray, weights: FloatArray) -> FloatArray:
        """Return `sums_gradient` as if all columns were numeric."""
        gradient = np.empty(X.shape)
        for column in range(X.shape[1]):
            slope = self.feature_gradient(X[:, column, None], Z[None, :, column])
            slope *= weights
            gradient[:, column] = slope.sum(axis=1)
        return gradient


@dataclass(frozen=True)
class _ExponentialKernel(Kernel):
    """``exp(-gamma s)`` of a distance s."""

    gamma: float = 1.0

    is_distance: ClassVar[bool] = True
    is_exponential: ClassVar[bool] = True

    def link(self, sums: FloatArray) -> FloatArray:
        values = np.asarray(np.multiply(sums, -self.gamma))
        return np.asarray(np.exp(values, out=values))

    def link_gradient(self, sums: FloatArray) -> FloatArray:
        return -self.gamma * self.link(sums)

    def inverse_link(self, K: FloatArray) -> FloatArray:
        """Return ``-log(K) / gamma``, infinite where K is 0 or negative."""
        K = np.asarray(K, dtype=float)
        logs = np.log(K, out=np.full(K.shape, -np.inf), where=~(K <= 0.0))
        return -logs / self.gamma


@dataclass(frozen=True)
class Gaussian(_ExponentialKernel):
    """The Gaussian kernel ``exp(-gamma ||x - z||^2)``.

    Parameters
    ----------
    gamma : float, default=1.0
        Inverse squared width, in (0, inf).
    categorical : tuple of int, default=()
        Columns that hold category codes; a differing code adds 1 to the squared distance.
    """

    cell: ClassVar[str] = "gaussian"
    is_euclidean: ClassVar[bool] = True

    def feature_term(self, x: FloatArray, z: FloatArray) -> FloatArray:
        """Return ``(x - z)^2``."""
        return np.asarray(np.square(x - z))

    def feature_gradient(self, x: FloatArray, z: FloatArray) -> FloatArray:
        """Return ``2 (x - z)``."""
        return 2.0 * (x - z)

    def _numeric_sums(
        self, X: FloatArray, observed: Mask, Z: FloatArray, observed_Z: Mask
    ) -> FloatArray:
        """Return the sums by matrix products instead of a loop over columns."""
        if observed is not None and observed_Z is not None:
            sums = np.square(X) @ observed_Z.T.astype(float)
            sums += sums.T if Z is X else observed.astype(float) @ np.square(Z).T
            cross = X @ Z.T
            cross *= 2.0
            sums -= cross
        else:
            norms = np.einsum("ij,ij->i", X, X)
            others = norms if X is Z else np.einsum("ij,ij->i", Z, Z)
            sums = X @ Z.T
            sums *= 2.0
            # A few rows at a time, so that there is never a second matrix.
            for rows in row_blocks(*sums.shape):
                np.subtract(np.add.outer(norms[rows], others), sums[rows], out=sums[rows])
        return np.asarray(np.maximum(sums, 0.0, out=sums))

    def _numeric_gradient(self, X: FloatArray, Z: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the gradient by matrix products instead of a loop over columns."""
        return np.asarray(2.0 * (weights.sum(axis=1)[:, None] * X - weights @ Z))


@dataclass(frozen=True)
class Laplacian(_ExponentialKernel):
    """The Laplacian kernel ``exp(-gamma ||x - z||_1)``.

    Parameters
    ----------
    gamma : float, default=1.0
        Inverse width, in (0, inf).
    categorical : tuple of int, default=()
        Columns that hold category codes; a differing code adds 1 to the distance.
    """

    cell: ClassVar[str] = "laplacian"

    def feature_term(self, x: FloatArray, z: FloatArray) -> FloatArray:
        """Return ``|x - z|``."""
        return np.asarray(np.abs(x - z))

    def feature_gradient(self, x: FloatArray, z: FloatArray) -> FloatArray:
        """Return ``sign(x - z)``."""
        return np.asarray(np.sign(x - z))


@dataclass(frozen=True)
class _ProductKernel(Kernel):
    """A link of the inner product."""

    cell: ClassVar[str] = "product"
    is_euclidean: ClassVar[bool] = True

    def feature_term(self, x: FloatArray, z: FloatArray) -> FloatArray:
        return np.asarray(x * z)

    def feature_gradient(self, x: FloatArray, z: FloatArray) -> FloatArray:
        return np.array(np.broadcast_to(z, np.broadcast_shapes(np.shape(x), np.shape(z))))

    def _numeric_sums(
        self, X: FloatArray, observed: Mask, Z: FloatArray, observed_Z: Mask
    ) -> FloatArray:
        # Unobserved cells hold 0.
        return np.asarray(X @ Z.T)

    def _numeric_gradient(self, X: FloatArray, Z: FloatArray, weights: FloatArray) -> FloatArray:
        return np.asarray(weights @ Z)


@dataclass(frozen=True)
class _ShiftedKernel(Kernel):
    """``s + offset``."""

    offset: float = 1.0

    def link(self, sums: FloatArray) -> FloatArray:
        return sums + self.offset

    def link_gradient(self, sums: FloatArray) -> FloatArray:
        return np.ones_like(sums)

    def inverse_link(self, K: FloatArray) -> FloatArray:
        return np.asarray(K, dtype=float) - self.offset


@dataclass(frozen=True)
class Linear(_ProductKernel, _ShiftedKernel):
    """The linear kernel ``<x, z> + offset``.

    The offset changes nothing in the SVM, whose signed coefficients sum to 0; it keeps the
    observed kernel positive for the variants that divide by it.

    Parameters
    ----------
    offset : float, default=1.0
        The constant added, in [0, inf).
    """


@dataclass(frozen=True)
class Polynomial(_ProductKernel):
    """The polynomial kernel ``(<x, z> + offset)^degree``.

    Parameters
    ----------
    degree : int, default=3
        The power, in [1, inf).
    offset : float, default=1.0
        The constant added to the inner product, in [0, inf).
    """

    degree: int = 3
    offset: float = 1.0

    def link(self, sums: FloatArray) -> FloatArray:
        """Return ``(s + offset)^degree``."""
        return np.asarray((sums + self.offset) ** self.degree)

    def link_gradient(self, sums: FloatArray) -> FloatArray:
        """Return ``degree (s + offset)^(degree - 1)``."""
        return np.asarray(self.degree * (sums + self.offset) ** (self.degree - 1))

    def inverse_link(self, K: FloatArray) -> FloatArray:
        """Return ``K^(1/degree) - offset``; a negative K counts as 0."""
        return np.asarray(np.maximum(K, 0.0) ** (1.0 / self.degree) - self.offset)


@dataclass(frozen=True)
class Sigmoid(_ProductKernel):
    """The sigmoid kernel ``tanh(gamma <x, z> + offset)``, not positive semidefinite in general.

    Parameters
    ----------
    gamma : float, default=0.1
        Slope, in (0, inf). tanh keeps little of an argument beyond 5, which Stage II needs.
    offset : float, default=1.0
        The constant added to the scaled inner product, in [0, inf).
    """

    gamma: float = 0.1
    offset: float = 1.0

    is_positive_semidefinite: ClassVar[bool] = False

    def link(self, sums: FloatArray) -> FloatArray:
        """Return ``tanh(gamma s + offset)``."""
        return np.asarray(np.tanh(self.gamma * sums + self.offset))

    def link_gradient(self, sums: FloatArray) -> FloatArray:
        """Return ``gamma (1 - tanh(gamma s + offset)^2)``."""
        return np.asarray(self.gamma * (1.0 - np.tanh(self.gamma * sums + self.offset) ** 2))

    def inverse_link(self, K: FloatArray) -> FloatArray:
        """Return ``(artanh(K) - offset) / gamma``, infinite where K leaves (-1, 1)."""
        K = np.asarray(K, dtype=float)
        ends = np.asarray(np.copysign(np.inf, K))
        return (np.arctanh(K, out=ends, where=~(np.abs(K) >= 1.0)) - self.offset) / self.gamma


@dataclass(frozen=True)
class Chi2(_ShiftedKernel):
    """The additive chi-squared kernel ``sum over p of 2 x_p z_p / (x_p + z_p) + offset``.

    Parameters
    ----------
    offset : float, default=1.0
        The constant added, in [0, inf); without effect on the SVM, as in `Linear`.
    """

    cell: ClassVar[str] = "chi2"

    def feature_term(self, x: FloatArray, z: FloatArray) -> FloatArray:
        """Return ``2 x z / (x + z)``, 0 at ``x = z = 0``."""
        return 2.0 * _quotient(np.asarray(x * z), np.asarray(x + z, dtype=float))

    def feature_gradient(self, x: FloatArray, z: FloatArray) -> FloatArray:
        """Return ``2 z^2 / (x + z)^2``, 0 at ``x = z = 0``."""
        total = np.asarray(x + z, dtype=float)
        return 2.0 * np.square(_quotient(np.broadcast_to(z, total.shape), total))


def row_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Yield slices of a few rows each, so that no matrix of them with the columns is large."""
    size = max(1, BLOCK_CELLS // max(1, n_columns))
    for first in range(0, n_rows, size):
        yield slice(first, first + size)


def _known_cells(X: FloatArray, observed: Mask, columns: BoolArray) -> tuple[FloatArray, Mask]:
    """Return some columns with 0 at unobserved cells, and where they are observed."""
    if observed is None:
        return X[:, columns], None
    return np.where(observed, X, 0.0)[:, columns], observed[:, columns]


def _quotient(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Return the quotient, 0 where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.zeros(denominator.shape), where=denominator > 0)


KERNELS: dict[str, type[Kernel]] = {
    "gaussian": Gaussian,
    "laplacian": Laplacian,
    "linear": Linear,
    "polynomial": Polynomial,
    "sigmoid": Sigmoid,
    "chi2": Chi2,
}
"""The kernels by name."""


def make_kernel(name: str, gamma: float | None = None, categorical: Sequence[int] = ()) -> Kernel:
    """Return a kernel by its name.

    Parameters
    ----------
    name : str
        A key of `KERNELS`.
    gamma : float or None, default=None
        Its gamma; None keeps the kernel's default.
    categorical : sequence of int, default=()
        Columns that hold category codes.

    Returns
    -------
    Kernel
        The kernel.

    Raises
    ------
    ValueError
        If there is no such kernel, or it has no such parameter.
    """
    kernel = KERNELS[check_choice("make_kernel", "name", name, KERNELS)]
    columns = tuple(categorical)
    if gamma is None:
        return kernel(categorical=columns)
    if "gamma" not in {parameter.name for parameter in fields(kernel)}:
        raise ValueError(refusal("make_kernel", "gamma", f"None for the {name} kernel", gamma))
    return kernel(categorical=columns, **{"gamma": gamma})
