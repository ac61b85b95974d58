"""Folds of the training rows, as many as the rarest class allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from kernimpute.estimators._labels import Labels

__all__ = ["Fold", "folds_of"]

DEFAULT_FOLDS = 5


@dataclass(frozen=True)
class Fold:
    """Which rows train and which are held out.

    Parameters
    ----------
    train, test : ndarray of int
        The rows.
    """

    train: NDArray[np.intp]
    test: NDArray[np.intp]


def folds_of(
    cv: Any,
    frame: Any,
    labels: Labels,
    *,
    warn: Callable[[str], None],
    **split_params: Any,
) -> list[Fold]:
    """Return the folds that a parameter `cv` stands for.

    Parameters
    ----------
    cv : int, splitter, iterable of splits or None
        The parameter; None is 5. A number of folds is lowered to the rows of the rarest class.
    frame : DataFrame of shape (n_samples, n_columns)
        The rows.
    labels : Labels
        Their labels.
    warn : callable
        Called with the message where the number of folds is lowered.
    **split_params : object
        What the splitter takes besides, such as groups.

    Returns
    -------
    list of Fold
        The folds; none where a class has a single row.
    """
    if cv is None or isinstance(cv, Integral):
        wanted = DEFAULT_FOLDS if cv is None else int(cv)
        weighted = labels.values[labels.weights > 0.0]
        if labels.classes is None:
            most = weighted.size
        else:
            most = int(np.unique(weighted, return_counts=True)[1].min())
        if most < 2:
            return []
        if most < wanted:
            what = "there are" if labels.classes is None else "the rarest class has"
            warn(f"{what} {most} rows, so cross-validation has {most} folds instead of {wanted}.")
        cv = min(wanted, most)
    splitter = check_cv(cv, labels.values, classifier=labels.classes is not None)
    splits = splitter.split(frame, labels.values, **split_params)
    return [Fold(np.asarray(train), np.asarray(test)) for train, test in splits]
