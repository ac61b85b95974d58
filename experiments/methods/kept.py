"""Functions of rows whose last results are kept, so that a grid of settings shares them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
RowFunction = Callable[[FloatArray], FloatArray]


def kept(function: RowFunction, size: int = 2) -> RowFunction:
    """Return the same function, its last results kept by the array they came from.

    Every setting of a grid asks for the same holdout rows; what does not depend on the setting,
    such as the filled rows or their distances to the training rows, is then computed once.
    """
    last: list[tuple[FloatArray, FloatArray]] = []

    def remembered(X: FloatArray) -> FloatArray:
        for known, value in last:
            if known is X:
                return value
        value = function(X)
        last.insert(0, (X, value))
        del last[size:]
        return value

    return remembered
