"""New rows, which have no label, filled from complete rows: each on its own, from similar ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernimpute.core.kernels import Gaussian, Kernel

__all__ = ["fill_from_similar"]

FloatArray = NDArray[np.float64]

SHARPNESS = 8.0
"""How fast similarity falls with the distance relative to the mean distance."""


def fill_from_similar(
    X_new: FloatArray,
    X_train: FloatArray,
    kernel: Kernel,
    sample_weight: FloatArray | None = None,
) -> FloatArray:
    """Return new rows whose gaps are filled with the mean of similar complete rows.

    A gap in a categorical column gets the most frequent code. Complete row k counts::

        sample_weight_k exp(-8 share distance_k / mean distance)

    where the distance is over the cells that the new row has, and share is their share of the
    features: the fewer cells there are to compare, the less the comparison decides. A row without
    any observed cell gets plain means.

    Parameters
    ----------
    X_new : ndarray of shape (n_new, n_features)
        The new rows with NaN at the gaps. Observed values may lie outside [0, 1], and observed
        codes may be new.
    X_train : ndarray of shape (n_train, n_features)
        Complete rows; numeric columns in [0, 1].
    kernel : Kernel
        Says which columns are categorical. The distance is the sum of its feature terms, or of
        squared differences if they are not distances.
    sample_weight : ndarray of shape (n_train,) or None, default=None
        How often each complete row counts, in [0, inf), not all 0. None counts each once.

    Returns
    -------
    ndarray of shape (n_new, n_features)
        The completed rows. The result for a row does not depend on the other new rows, to the last
        bit.

    Notes
    -----
    A row costs O(n_train n_features). This is Stage II's problem with the target in which every
    missing feature contributes ``g(mean, x_jp)``. The expected contribution, the mean of
    ``g(x_kp, x_jp)``, is a bad target: for the gaussian kernel it is larger by the variance of the
    feature, and a single value can only be that far from all rows by leaving their middle.
    The kernel's own values are bad weights because its gamma is not chosen for them.

    Examples
    --------
    >>> train = np.array([[0.0, 0.1], [0.1, 0.2], [1.0, 0.9]])
    >>> new = np.array([[0.05, np.nan], [np.nan, np.nan]])
    >>> fill_from_similar(new, train, Gaussian()).round(2)
    array([[0.05, 0.15],
           [0.37, 0.4 ]])
    """
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
