"""Labels as the solvers take them: class codes, or a standardised target, with row weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from kernimpute.core.checks import Task, infer_task, plain_labels

__all__ = ["Labels", "read_labels"]

FloatArray = NDArray[np.float64]
LARGEST = 1e300
"""Largest target: predictions beyond it would not be floats."""

ClassWeight = str | Mapping[object, float] | None


@dataclass(frozen=True)
class Labels:
    """The labels of the training rows.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
        Class codes 0, 1, …; or the target, centred and scaled to unit variance.
    sample_weight : ndarray of shape (n_samples,)
        Weight of each row, as given.
    weights : ndarray of shape (n_samples,)
        The same times the weight of the row's class.
    task : {"classification", "regression"}
        What the labels are.
    classes : ndarray of shape (n_classes,) or None
        The labels in ascending order; None for a regression.
    class_weight : None, "balanced" or mapping
        Factors of the weights of each class's rows.
    centre, spread : float
        Mean and standard deviation of the target; 0 and 1 for classes.
    """

    values: NDArray[Any]
    sample_weight: FloatArray
    weights: FloatArray
    task: Task
    classes: NDArray[np.generic] | None
    class_weight: ClassWeight = None
    centre: float = 0.0
    spread: float = 1.0

    @property
    def counted(self) -> NDArray[np.intp]:
        """The rows of positive weight; the others are as good as left out."""
        return np.flatnonzero(self.weights > 0.0)

    def of(self, rows: NDArray[np.intp]) -> Labels:
        """Return the labels of some of the rows, coded and weighted as these are."""
        return replace(
            self,
            values=self.values[rows],
            sample_weight=self.sample_weight[rows],
            weights=self.weights[rows],
        )

    def learned_from(self, rows: NDArray[np.intp]) -> Labels:
        """Return the labels of some of the rows, scaled and balanced by these rows alone."""
        some = self.of(rows)
        if self.classes is None:
            return _standardised(self.centre + self.spread * some.values, some.sample_weight)
        return _weighted(some.values, some.sample_weight, self.classes, self.class_weight)


def read_labels(
    y: ArrayLike,
    X: object,
    sample_weight: ArrayLike | None,
    *,
    task: str,
    class_weight: ClassWeight,
    owner: str,
) -> Labels:
    """Return checked labels.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels or targets, complete.
    X : table
        The rows, for their number.
    sample_weight : array-like of shape (n_samples,) or None
        Weight of each row, at least 0.
    task : {"auto", "classification", "regression"}
        What the labels are; "auto" asks `infer_task`.
    class_weight : None, "balanced" or mapping
        Factor of the weights of each class's rows.
    owner : str
        The estimator's name, for the messages.

    Returns
    -------
    Labels
        The labels.

    Raises
    ------
    TypeError, ValueError
        If y has gaps, does not match the rows, has a single class of positive weight, or is
        continuous for a classification; or a weight is negative or not finite.
    """
    labels = column_or_1d(plain_labels(y, owner), warn=True)
    check_consistent_length(X, labels)
    weights = _check_sample_weight(sample_weight, labels, dtype=np.float64)
    if (weights < 0.0).any():
        raise ValueError(
            f"The 'sample_weight' parameter of {owner}.fit must hold values in [0, inf). "
            f"Got {float(weights.min())!r} instead."
        )
    if task == "auto":
        task = infer_task(labels)
    if task == "regression":
        return _target(labels, weights, owner)
    return _classes(labels, weights, class_weight, owner)


def _target(labels: NDArray[np.generic], sample_weight: FloatArray, owner: str) -> Labels:
    try:
        target = labels.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"The 'y' parameter of {owner}.fit must hold numbers for a regression. "
            f"Got {labels.dtype} values instead."
        ) from error
    assert_all_finite(target, input_name="y")
    if np.abs(target).max() > LARGEST:
        raise ValueError(
            f"The 'y' parameter of {owner}.fit must hold numbers of at most {LARGEST:g}. "
            f"Got {float(target[np.abs(target).argmax()])!r} instead."
        )
    if not sample_weight.any():
        raise ValueError(
            f"The 'sample_weight' parameter of {owner}.fit must hold a positive weight. "
            "Got zeros only instead."
        )
    return _standardised(target, sample_weight)


def _standardised(target: FloatArray, sample_weight: FloatArray) -> Labels:
    """Return a target in units in which its mean is 0 and its variance 1."""
    size = float(np.abs(target).max()) or 1.0
    centre = size * float(np.average(target / size, weights=sample_weight))
    offset = target - centre
    farthest = float(np.abs(offset).max())
    spread = 1.0
    # A constant target has no unit; it guides nothing and is predicted as it is.
    if farthest > 1e-12 * abs(centre):
        # In units of the largest, for a square may leave the range of floats.
        squares = (offset / farthest) ** 2
        spread = farthest * float(np.sqrt(np.average(squares, weights=sample_weight)))
    values = offset / (spread or 1.0)
    return Labels(
        values, sample_weight, sample_weight, "regression", None, centre=centre, spread=spread
    )


def _classes(
    labels: NDArray[np.generic],
    sample_weight: FloatArray,
    class_weight: ClassWeight,
    owner: str,
) -> Labels:
    check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    if not isinstance(class_weight, str):
        # Refuses what is no mapping of classes; what its factors must be is for us to say.
        factors = compute_class_weight(class_weight, classes=classes, y=labels)
        if not (np.isfinite(factors).all() and (factors >= 0.0).all()):
            raise ValueError(
                f"The 'class_weight' parameter of {owner} must hold weights in [0, inf). "
                f"Got {class_weight!r} instead."
            )
    weighted = _weighted(codes, sample_weight, classes, class_weight)
    present = np.unique(codes[weighted.weights > 0.0])
    if present.size < 2:
        got = f"1 class ({classes[present].tolist()[0]!r})" if present.size else "no weight at all"
        of_weight = " of positive weight" if classes.size > 1 else ""
        raise ValueError(
            f"The 'y' parameter of {owner}.fit must hold at least 2 classes{of_weight}. "
            f"Got {got} in {labels.size} rows instead: one class guides nothing."
        )
    return weighted


def _weighted(
    codes: NDArray[Any],
    sample_weight: FloatArray,
    classes: NDArray[np.generic],
    class_weight: ClassWeight,
) -> Labels:
    """Return class labels with the weights of their classes."""
    if isinstance(class_weight, str):
        # Each class counts as much as the others, weights of rows included.
        totals = np.bincount(codes, weights=sample_weight, minlength=classes.size)
        n_present = int(np.count_nonzero(totals))
        share = float(totals.sum()) / max(n_present, 1)
        factors = np.divide(share, totals, out=np.zeros(classes.size), where=totals > 0.0)
    else:
        given = class_weight or {}
        factors = np.array([given.get(label, 1.0) for label in classes.tolist()], dtype=float)
    weights = sample_weight * factors[codes]
    return Labels(codes, sample_weight, weights, "classification", classes, class_weight)
