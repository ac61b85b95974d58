"""Stratified subsets of the training rows, imputed independently of each other."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from kernimpute.estimators._labels import Labels

__all__ = ["kept_subsets", "stratified_subsets"]

Rows = NDArray[np.intp]


def stratified_subsets(labels: Labels, subset_size: int | None, seed: int) -> list[Rows]:
    """Return rows dealt out to subsets so that each has its share of every class.

    Rows of positive weight are sorted by label, shuffled within a class, and dealt round robin;
    a target is dealt in ascending order, so that every subset spans its range. A class with
    fewer rows than there are subsets lends them: every subset gets two of its rows (the only one,
    where there is no other), in turn.

    Parameters
    ----------
    labels : Labels
        The labels of the training rows.
    subset_size : int or None
        Rows of a subset at the most (lent rows come on top); None makes one subset of all.
    seed : int
        Of the shuffling.

    Returns
    -------
    list of ndarray of int
        The rows of each subset, ascending; together they hold every row.
    """
    n_samples = labels.values.size
    if subset_size is None or n_samples <= subset_size:
        return [np.arange(n_samples)]
    n_subsets = math.ceil(n_samples / subset_size)
    generator = np.random.default_rng(seed)
    shuffled = generator.permutation(n_samples)
    order = shuffled[np.argsort(labels.values[shuffled], kind="stable")]
    dealt = [order[first::n_subsets] for first in range(n_subsets)]
    if labels.classes is not None:
        counts = np.bincount(labels.values.astype(np.intp), minlength=labels.classes.size)
        ends = np.cumsum(counts)
        for code in np.flatnonzero((counts > 0) & (counts < n_subsets)):
            members = order[ends[code] - counts[code] : ends[code]]
            dealt = [_with_lent(rows, members, turn) for turn, rows in enumerate(dealt)]
    return [np.sort(rows) for rows in dealt]


def kept_subsets(n_subsets: int, max_models: int | None) -> Rows:
    """Return the subsets that new rows are filled from and predicted by.

    The smallest targets of each round of dealing go to the first subsets, so the ones kept are
    spread evenly: the middle ones of equal shares.

    Parameters
    ----------
    n_subsets : int
        How many there are.
    max_models : int or None
        How many are kept at the most; None keeps all.

    Returns
    -------
    ndarray of int of shape (n_kept,)
        Their places, ascending.

    Examples
    --------
    >>> kept_subsets(10, 2)
    array([2, 7])
    """
    n_kept = n_subsets if max_models is None else min(n_subsets, max_models)
    return (2 * np.arange(n_kept) + 1) * n_subsets // (2 * n_kept)


def _with_lent(rows: Rows, members: Rows, turn: int) -> Rows:
    """Return the rows of a subset with at least two of a rare class, or its only one."""
    lent = members[(turn + np.arange(min(2, members.size))) % members.size]
    has = np.isin(members, rows).sum()
    return rows if has >= lent.size else np.union1d(rows, lent)
