"""How the baselines read rows and labels: by scikit-learn's rules, with a sentence of their own.

scikit-learn says of a table with text what text it is, but not in which column, and of labels
that lack one that it cannot compare them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from kernimpute.labels import plain_labels

FloatArray = NDArray[np.float64]


def read_rows(estimator: BaseEstimator, X: ArrayLike, *, reset: bool) -> FloatArray:
    """Return rows as floats, with NaN at the gaps."""
    rows: FloatArray = _validated(estimator, X, reset=reset)
    return rows


def read_labelled(
    estimator: BaseEstimator, X: ArrayLike, y: ArrayLike
) -> tuple[FloatArray, NDArray[Any]]:
    """Return the rows of fit as floats, with NaN at the gaps, and their labels."""
    # No labels at all, and complex numbers, scikit-learn refuses in sentences of its own.
    if y is not None and np.asarray(y).dtype.kind != "c":
        plain_labels(y, type(estimator).__name__)
    rows, labels = _validated(estimator, X, y=y)
    check_classification_targets(labels)
    return rows, labels


def _validated(estimator: BaseEstimator, X: ArrayLike, **options: Any) -> Any:
    try:
        return validate_data(
            estimator, X, dtype=np.float64, ensure_all_finite="allow-nan", **options
        )
    except (TypeError, ValueError):
        _refuse_other_than_numbers(X, type(estimator).__name__)
        raise


def _refuse_other_than_numbers(X: Any, owner: str) -> None:
    """Name the first column of a data frame that holds other than numbers."""
    for name in getattr(X, "columns", ()):
        column = X[name]
        try:
            check_array(column, ensure_2d=False, dtype=np.float64, ensure_all_finite=False)
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(_column_refusal(owner, name, str(error))) from error
        dtype = np.asarray(column).dtype
        # By themselves dates and spans of time would pass, as so many nanoseconds.
        if dtype.kind in "mM":
            raise TypeError(_column_refusal(owner, name, f"{dtype} is no number"))


def _column_refusal(owner: str, name: object, why: str) -> str:
    return (
        f"The 'X' parameter of {owner} must be numeric. Got other than numbers in column "
        f"{name!r} instead: {why}."
    )
