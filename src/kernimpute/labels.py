"""What labels are: plain arrays without gaps, classes or a quantity."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["MOST_CLASSES", "Task", "infer_task", "is_gap", "plain_labels", "task_of_numbers"]

Task = Literal["classification", "regression"]
"""What the labels are."""

MOST_CLASSES = 10
"""Whole-number labels with more distinct values than this are a quantity, unless told."""


def plain_labels(y: ArrayLike, owner: str) -> NDArray[np.generic]:
    """Return labels as an array of numbers, booleans or text, without gaps.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The labels; objects of one kind get that kind's dtype.
    owner : str
        The function whose parameter they are, for the messages.

    Returns
    -------
    ndarray
        The labels; of the shape that came.

    Raises
    ------
    TypeError
        If they are of mixed kinds, or of a kind that is no label.
    ValueError
        If one is missing or infinite.
    """
    labels = np.asarray(y)
    if labels.dtype.kind == "O":
        cells = labels.ravel().tolist()
        if any(is_gap(label) for label in cells):
            raise ValueError(_gap_refusal(owner))
        if len({isinstance(label, str) for label in cells}) > 1:
            raise TypeError(
                f"The 'y' parameter of {owner} must be of one kind. Got text and other labels "
                "instead."
            )
        # Of one kind, they get its type: [True, False] as booleans, [1, 2] as integers.
        labels = np.array(cells).reshape(labels.shape)
    if labels.dtype.kind not in "biufUT":
        must_be = "made of numbers, booleans or text"
        raise TypeError(
            f"The 'y' parameter of {owner} must be {must_be}. Got {labels.dtype} instead."
        )
    if labels.dtype.kind == "f":
        if np.isnan(labels).any():
            raise ValueError(_gap_refusal(owner))
        if np.isinf(labels).any():
            raise ValueError(
                f"The 'y' parameter of {owner} must be finite. Got an infinite value instead."
            )
    return labels


def infer_task(labels: NDArray[np.generic]) -> Task:
    """Return what labels are taken for when the caller doesn't say.

    Text and booleans are classes. So are whole numbers with two distinct values, or with at most
    ten of which each occurs twice or more on average. Other numbers are a quantity, for
    regression.

    Parameters
    ----------
    labels : ndarray of shape (n_labels,)
        The labels, without gaps.

    Returns
    -------
    {"classification", "regression"}
        The task.

    Examples
    --------
    >>> infer_task(np.array(["no", "yes", "no"]))
    'classification'
    >>> infer_task(np.array([1.0, 2.0, 2.0]))
    'classification'
    >>> infer_task(np.array([0.5, 2.0, 2.0]))
    'regression'
    """
    if labels.dtype.kind not in "iuf":
        return "classification"
    return task_of_numbers(labels.astype(float))


def task_of_numbers(labels: NDArray[np.float64]) -> Task:
    """Return what labels that are numbers are taken for; see `infer_task`.

    Parameters
    ----------
    labels : ndarray of shape (n_labels,)
        The labels, without gaps.

    Returns
    -------
    {"classification", "regression"}
        The task.
    """
    if (labels != np.rint(labels)).any():
        return "regression"
    distinct = np.unique(labels).size
    few = distinct <= MOST_CLASSES and 2 * distinct <= labels.size
    return "classification" if distinct <= 2 or few else "regression"


def is_gap(label: object) -> bool:
    """Return whether a label is None, NaN, NaT or pandas' NA, which refuses to be compared."""
    if label is None:
        return True
    try:
        return bool(label != label)
    except (TypeError, ValueError):
        return True


def _gap_refusal(owner: str) -> str:
    return (
        f"The 'y' parameter of {owner} must be complete, without NaN or None. Got gaps instead: "
        "rows without a label are filled as new rows, after a fit to the others."
    )
