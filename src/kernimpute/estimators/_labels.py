"""Labels as the solvers take them: class codes, or a standardised target, with row weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from kernimpute.labels import Task, infer_task, plain_labels

__all__ = ["Labels", "read_labels"]

FloatArray = NDArray[np.float64]
ClassWeight = str | Mapping[object, float] | None


@dataclass(frozen=True)
class Labels:
    """The labels of the training rows.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
        Class codes 0, 1, …; or the target, centred and scaled to unit variance.
    weights : ndarray of shape (n_samples,)
        Weight of each row; class weights are in it.
    task : {"classification", "regression"}
        What the labels are.
    classes : ndarray of shape (n_classes,) or None
        The labels in ascending order; None for a regression.
    centre, spread : float
        Mean and standard deviation of the target; 0 and 1 for classes.
    """

    values: NDArray[np.generic]
    weights: FloatArray
    task: Task
    classes: NDArray[np.generic] | None
    centre: float = 0.0
    spread: float = 1.0

    @property
    def n_problems(self) -> int:
        """Number of decision functions: one for two classes or a target, else one a class."""
        return 1 if self.classes is None or self.classes.size == 2 else int(self.classes.size)

    @property
    def counted(self) -> NDArray[np.intp]:
        """The rows of positive weight; the others are as good as left out."""
        return np.flatnonzero(self.weights > 0.0)

    def of(self, rows: NDArray[np.intp]) -> Labels:
        """Return the labels of some of the rows, coded as these are."""
        return Labels(
            self.values[rows],
            self.weights[rows],
            self.task,
            self.classes,
            self.centre,
            self.spread,
        )


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


def _target(labels: NDArray[np.generic], weights: FloatArray, owner: str) -> Labels:
    try:
        target = labels.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"The 'y' parameter of {owner}.fit must hold numbers for a regression. "
            f"Got {labels.dtype} values instead."
        ) from error
    assert_all_finite(target, input_name="y")
    if not weights.any():
        raise ValueError(_weightless(owner))
    centre = float(np.average(target, weights=weights))
    spread = float(np.sqrt(np.average((target - centre) ** 2, weights=weights)))
    # A constant target has no unit; it guides nothing and is predicted as it is.
    spread = spread if spread > 1e-12 * max(abs(centre), np.finfo(float).tiny) else 1.0
    return Labels((target - centre) / spread, weights, "regression", None, centre, spread)


def _classes(
    labels: NDArray[np.generic], weights: FloatArray, class_weight: ClassWeight, owner: str
) -> Labels:
    check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    present = np.unique(codes[weights > 0.0])
    if present.size < 2:
        got = f"1 class ({classes[present].tolist()[0]!r})" if present.size else "no weight at all"
        weighted = " of positive weight" if classes.size > 1 else ""
        raise ValueError(
            f"The 'y' parameter of {owner}.fit must hold at least 2 classes{weighted}. "
            f"Got {got} in {labels.size} rows instead: one class guides nothing."
        )
    if isinstance(class_weight, str):
        # Each class counts as much as the others, weights of rows included.
        totals = np.bincount(codes, weights=weights, minlength=classes.size)
        shares = np.divide(
            weights.sum() / present.size, totals, out=np.zeros(classes.size), where=totals > 0.0
        )
    else:
        shares = compute_class_weight(class_weight, classes=classes, y=labels)
    return Labels(codes, weights * shares[codes], "classification", classes)


def _weightless(owner: str) -> str:
    return (
        f"The 'sample_weight' parameter of {owner}.fit must hold a positive weight. "
        "Got zeros only instead."
    )
