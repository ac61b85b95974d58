"""Reference imputations and kernels that `anchored` and `direct` are anchored at; new rows."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from kernimpute.core import checks
from kernimpute.core.arrays import FloatArray
from kernimpute.core.kernels import Gaussian, Kernel

N_COMPLETIONS = 8
"""Random completions whose mean kernel matrix is taken."""
SHARPNESS = 8.0
"""How fast similarity falls with the distance of a new row relative to the mean distance."""


@runtime_checkable
class FittedImputer(Protocol):
    """Anything with scikit-learn's ``transform``, fitted."""

    def transform(self, X: FloatArray) -> ArrayLike:
        """Return rows of shape (n_samples, n_features) with their gaps, which are NaN, filled."""


Reference = str | ArrayLike | FittedImputer | None
"""None or "mean", "expected", a completed table, or a fitted imputer."""


def reference_table(
    X: FloatArray,
    kernel: Kernel,
    reference: Reference,
    owner: str = "reference_table",
    sample_weight: ArrayLike | None = None,
) -> FloatArray:
    """Return the completed table that a reference stands for.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Rows with NaN at the gaps; numeric columns in [0, 1], categorical ones hold codes.
    kernel : Kernel
        Says which columns are categorical.
    reference : None, "mean", array-like of shape (n_samples, n_features) or fitted imputer
        None and "mean" take weighted means (0.5 without a cell) and the most frequent code, the
        smallest of several. A table, or what the imputer's ``transform`` returns, is taken at the
        gaps, numeric cells clipped to [0, 1].
    owner : str, default="reference_table"
        The function whose parameter it is, for the messages.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights of the rows; None weights every row 1.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        The completed table; observed cells are those of X.

    Raises
    ------
    TypeError, ValueError
        If the reference is none of these, leaves gaps, or has another shape or another code.
    """
    observed = checks.observed_cells(X)
    numeric = kernel.numeric(X.shape[1])
    if isinstance(reference, str | None):
        if reference in (None, "mean"):
            weights = checks.check_sample_weight(owner, sample_weight, X.shape[0])
            return np.where(observed, X, typical_row(X, kernel, weights))
        must_be = "None, 'mean', a completed table or a fitted imputer where a table is needed"
        raise ValueError(checks.refusal(owner, "reference", must_be, reference))
    given: object = reference
    # A DataFrame has a method `transform` too.
    if isinstance(reference, FittedImputer) and not hasattr(reference, "__array__"):
        given = reference.transform(X)
    try:
        table = np.asarray(given, dtype=float)
    except (TypeError, ValueError) as error:
        must_be = "None, 'mean', a completed table of numbers or a fitted imputer"
        raise TypeError(checks.refusal(owner, "reference", must_be, reference)) from error
    if table.shape != X.shape or np.isnan(table).any():
        must_be = f"a completed table of shape {X.shape}"
        got = f"shape {table.shape} with {int(np.isnan(table).sum())} gaps"
        raise ValueError(checks.refusal_in_words(owner, "reference", must_be, got))
    table = np.where(observed, X, np.where(numeric, np.clip(table, 0.0, 1.0), table))
    for column in kernel.categorical:
        codes = np.unique(X[observed[:, column], column])
        if not np.isin(table[:, column], codes).all():
            must_be = f"a table whose column {column} holds only observed codes"
            raise ValueError(checks.refusal(owner, "reference", must_be, "another code"))
    return table


def typical_row(X: FloatArray, kernel: Kernel, weights: FloatArray) -> FloatArray:
    """Return the mean or most frequent code of each column of X, of shape (n_features,)."""
    values = []
    # Column by column, because X may lie in a file.
    for column, is_number in enumerate(kernel.numeric(X.shape[1])):
        known = ~np.isnan(X[:, column])
        cells, shares = X[known, column], weights[known]
        if not is_number:
            codes, counts = checks.codes_and_weights(cells, shares)
            values.append(codes[counts.argmax()])
        else:
            values.append(np.average(cells, weights=shares) if shares.any() else 0.5)
    return np.array(values)


def reference_kernel(
    X: FloatArray,
    kernel: Kernel,
    reference: Reference,
    owner: str = "reference_kernel",
    sample_weight: ArrayLike | None = None,
) -> FloatArray:
    """Return the kernel matrix of a reference, whose parameters are those of `reference_table`.

    It lies between the bounds. "expected" stands for `expected_kernel`.
    """
    if isinstance(reference, str) and reference == "expected":
        if not kernel.is_exponential:
            must_be = "'mean', a table or an imputer for a kernel that is no exponential"
            raise ValueError(checks.refusal(owner, "reference", must_be, reference))
        return expected_kernel(X, kernel, sample_weight)
    table = reference_table(X, kernel, reference, owner, sample_weight)
    return kernel(table, table)


def expected_kernel(
    X: FloatArray, kernel: Kernel, sample_weight: ArrayLike | None = None
) -> FloatArray:
    """Return the expectation of an exponential kernel over independent columns.

    Every gap is an independent draw from the observed cells of its column, each as likely as its
    row weighs; without any, from the uniform law on [0, 1], by a grid of 101. The result lies
    between the bounds and is positive semidefinite: a Gram matrix of mean embeddings, its diagonal
    raised to 1.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Rows with NaN at the gaps.
    kernel : Kernel
        A gaussian or laplacian kernel, so a product over features, as its expectation then is.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights of the rows; None weights every row 1.

    Returns
    -------
    ndarray of shape (n_samples, n_samples)
        The expected kernel matrix.
    """
    weights = checks.check_sample_weight("expected_kernel", sample_weight, X.shape[0])
    expected = np.ones((X.shape[0], X.shape[0]))
    for column, known in enumerate(checks.observed_cells(X).T):
        is_number = column not in kernel.categorical
        cells, draws, shares = X[known, column], X[known, column], weights[known]
        if not shares.any():
            draws = (np.arange(101) + 0.5) / 101 if is_number else cells
            shares = np.ones(draws.size)
        one_known = np.average(_factors(kernel, cells, draws, is_number), axis=1, weights=shares)
        unknown = np.average(_factors(kernel, draws, draws, is_number), axis=1, weights=shares)
        factor = np.full(expected.shape, np.average(unknown, weights=shares))
        factor[known, :] = one_known[:, None]
        factor[:, known] = one_known[None, :]
        factor[np.ix_(known, known)] = _factors(kernel, cells, cells, is_number)
        expected *= factor
    np.fill_diagonal(expected, 1.0)
    return expected


def _factors(kernel: Kernel, x: FloatArray, z: FloatArray, is_number: bool) -> FloatArray:
    """Return the kernel of all pairs of cells of one column."""
    left, right = x[:, None], z[None, :]
    terms = kernel.feature_term(left, right) if is_number else (left != right).astype(float)
    return kernel.link(terms)


def mean_kernel_of_completions(X: FloatArray, kernel: Kernel) -> FloatArray:
    """Return the mean kernel matrix of eight random completions, uniform or among the codes.

    For a positive semidefinite kernel it lies strictly between the bounds where a cell is unknown.
    """
    generator = np.random.default_rng(0)
    observed = checks.observed_cells(X)
    mean = np.zeros((X.shape[0], X.shape[0]))
    for _ in range(N_COMPLETIONS):
        drawn = generator.random(X.shape)
        for column in kernel.categorical:
            codes = np.unique(X[observed[:, column], column])
            drawn[:, column] = generator.choice(codes, size=X.shape[0])
        completion = np.where(observed, X, drawn)
        mean += kernel(completion, completion)
    mean /= N_COMPLETIONS
    return mean


def fill_from_similar(
    X_new: FloatArray, X_train: FloatArray, kernel: Kernel, sample_weight: FloatArray | None = None
) -> FloatArray:
    """Return new rows with NaN replaced by the mean, or most frequent code, of similar rows.

    Complete row k of `X_train` counts ``sample_weight_k exp(-8 share distance_k / mean distance)``,
    over the cells that the new row has, share being their share of the features. A row does not
    depend on the other new rows, to the last bit.
    """
    # Stage II would pull values out of the middle; the kernel's own gamma is not made for weights.
    counts = np.ones(X_train.shape[0]) if sample_weight is None else sample_weight
    # Scaled by a power of 2: no sum overflows, and equal frequencies stay equal to the last bit.
    counts = np.ldexp(counts, -int(np.frexp(counts.max())[1]))
    # In columns, so that the features that a row has are read in order.
    columns, counts = np.ascontiguousarray(X_train[counts > 0.0].T), counts[counts > 0.0]
    codes = {p: np.unique(columns[p], return_inverse=True) for p in kernel.categorical}
    metric = kernel if kernel.is_distance else Gaussian()
    numeric = kernel.numeric(X_new.shape[1])
    filled, missing = X_new.copy(), np.isnan(X_new)
    for i in np.flatnonzero(missing.any(axis=1)):
        row, gaps = X_new[i, :, None], missing[i]
        numbers, labels = ~gaps & numeric, ~gaps & ~numeric
        distance = metric.feature_term(row[numbers], columns[numbers]).sum(axis=0)
        distance += (row[labels] != columns[labels]).sum(axis=0)
        mean = float(counts @ distance) / float(counts.sum())
        sharpness = SHARPNESS * float((~gaps).mean()) / mean if mean > 0.0 else 0.0
        similarity = counts * np.exp(sharpness * (distance.min() - distance))
        means = columns[gaps & numeric] @ similarity / similarity.sum()
        filled[i, gaps & numeric] = np.clip(means, 0.0, 1.0)
        for p in np.flatnonzero(gaps & ~numeric):
            known, places = codes[int(p)]
            filled[i, p] = known[np.bincount(places, similarity).argmax()]
    return filled
