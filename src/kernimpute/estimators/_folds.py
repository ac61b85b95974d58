"""Folds of the training rows: as many as the rarest class allows, each fit to learn and judge."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing

from kernimpute.estimators._subsets import Labels

__all__ = ["DEFAULT_FOLDS", "Fold", "folds_of"]

DEFAULT_FOLDS = 5
HELD_OUT = 2
"""Rows that a fold of a regression holds out at least: a single one has no variance to explain."""


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
    owner: str = "KernelImputationClassifier",
    **split_params: Any,
) -> list[Fold]:
    """Return the folds that a parameter `cv` stands for, checked before anything is fitted.

    Parameters
    ----------
    cv : int, splitter, iterable of splits or None
        The parameter; None is 5. A number of folds is of the rows of positive weight, and lowered
        to the rows of the rarest class, or to half the rows of a regression.
    frame : DataFrame of shape (n_samples, n_columns)
        The rows.
    labels : Labels
        Their labels.
    warn : callable
        Called with the message where the number of folds is lowered.
    owner : str, default="KernelImputationClassifier"
        The estimator's name, for the messages.
    **split_params : object
        What the splitter takes besides, such as groups.

    Returns
    -------
    list of Fold
        The folds; none where a class has a single row, or a regression fewer than 4.

    Raises
    ------
    ValueError
        If splits are not pairs of rows of the table, there are none, or a fold has no row of
        positive weight to train or to hold out, or trains on a single class.
    """
    if cv is not None and not isinstance(cv, Integral):
        is_splitter = hasattr(cv, "split")
        splits = cv.split(frame, labels.values, **split_params) if is_splitter else cv
        return _checked(splits, labels, owner)
    # As if the rows of weight zero were left out: where they stand must not matter.
    counted = labels.counted
    n_folds = _number_of_folds(cv, labels.of(counted), warn)
    if n_folds < 2:
        return []
    values = labels.values[counted]
    some = {
        name: value if value is None else _safe_indexing(value, counted)
        for name, value in split_params.items()
    }
    splitter = check_cv(n_folds, values, classifier=labels.classes is not None)
    splits = splitter.split(frame.iloc[counted], values, **some)
    return _checked(((counted[train], counted[test]) for train, test in splits), labels, owner)


def _number_of_folds(cv: Any, labels: Labels, warn: Callable[[str], None]) -> int:
    """Return how many folds the rows allow, with a warning where that is fewer than wanted."""
    wanted = DEFAULT_FOLDS if cv is None else int(cv)
    if labels.classes is None:
        rows = labels.values.size
        most, why = rows // HELD_OUT, f"there are {rows} rows, {HELD_OUT} to hold out at a time"
    else:
        most = int(np.unique(labels.values, return_counts=True)[1].min())
        why = f"the rarest class has {most} rows"
    if 2 <= most < wanted:
        warn(f"{why}, so cross-validation has {most} folds instead of {wanted}.")
    return min(wanted, most)


def _checked(splits: Iterable[Any], labels: Labels, owner: str) -> list[Fold]:
    """Return the splits as folds, each of which can be learned from and judged on."""
    folds = []
    for number, split in enumerate(splits):
        try:
            train, test = split
        except (TypeError, ValueError) as error:
            got = f"fold {number} is {split!r}"
            raise _refused(owner, "hold pairs of rows that train and of rows held out", got) from (
                error
            )
        trains = f"the rows that train in fold {number}"
        held_out = f"the rows held out in fold {number}"
        fold = Fold(_rows(train, trains, labels, owner), _rows(test, held_out, labels, owner))
        folds.append(fold)
        if labels.classes is None:
            continue
        present = np.unique(labels.values[fold.train][labels.weights[fold.train] > 0.0])
        if present.size < 2:
            must = "leave at least 2 classes to train on in every fold"
            raise _refused(owner, must, f"{trains} hold {present.size} class")
    if not folds:
        raise _refused(owner, "hold at least one fold", "it has none")
    return folds


def _rows(given: ArrayLike, what: str, labels: Labels, owner: str) -> NDArray[np.intp]:
    """Return one side of a split as places, some of them of positive weight."""
    n_samples = labels.values.size
    rows = np.asarray(given)
    if rows.dtype == bool and rows.shape == (n_samples,):
        rows = np.flatnonzero(rows)
    if rows.size == 0:
        raise _refused(owner, "have rows that train and rows held out", f"{what} are none")
    inside = (
        rows.ndim == 1 and rows.dtype.kind in "iu" and 0 <= rows.min() <= rows.max() < n_samples
    )
    if not inside:
        must = f"hold places in [0, {n_samples - 1}], or masks of {n_samples} rows"
        got = np.array2string(rows, threshold=6, edgeitems=2).replace("\n", "")
        raise _refused(owner, must, f"{what} are {got}, of shape {rows.shape}")
    if not (labels.weights[rows] > 0.0).any():
        must = "have rows of positive weight on both sides of every fold"
        raise _refused(owner, must, f"{what} have weight zero")
    return rows.astype(np.intp)


def _refused(owner: str, must: str, got: str) -> ValueError:
    return ValueError(f"The 'cv' parameter of {owner} must {must}: {got}.")
