"""New rows have no label: each is filled on its own, from the complete rows similar to it.

Stage II cannot fill a new row well. Its target would be the distances that the row should have, in
which a missing feature contributes the mean of ``g(x_kp, x_jp)``. For the gaussian kernel that is
larger than ``g(mean, x_jp)`` by the variance of the feature, and a value can only be that far from
all rows by leaving their middle. The kernel's own values are bad weights because its gamma is not
chosen for them.
"""

from __future__ import annotations

import numpy as np

from kernimpute.core.arrays import FloatArray
from kernimpute.core.kernels import Gaussian, Kernel

SHARPNESS = 8.0
"""How fast similarity falls with the distance relative to the mean distance."""


def fill_from_similar(
    X_new: FloatArray, X_train: FloatArray, kernel: Kernel, sample_weight: FloatArray | None = None
) -> FloatArray:
    """Return new rows with NaN replaced by the mean, or most frequent code, of similar rows.

    Complete row k of `X_train` counts ``sample_weight_k exp(-8 share distance_k / mean distance)``.
    The distance, a sum of feature terms, is over the cells that the new row has, and share is their
    share of the features: the fewer cells there are to compare, the less the comparison decides. A
    row does not depend on the other new rows, to the last bit.

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
