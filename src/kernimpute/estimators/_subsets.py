"""Stratified subsets of the training rows, imputed independently of each other."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from kernimpute.estimators._labels import Labels

__all__ = ["stratified_subsets"]

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
        for code in range(labels.classes.size):
            members = shuffled[labels.values[shuffled] == code]
            if 0 < members.size < n_subsets:
                dealt = [_with_lent(rows, members, turn) for turn, rows in enumerate(dealt)]
    return [np.sort(rows) for rows in dealt]


def _with_lent(rows: Rows, members: Rows, turn: int) -> Rows:
    """Return the rows of a subset with at least two of a rare class, or its only one."""
    lent = members[(turn + np.arange(min(2, members.size))) % members.size]
    has = np.isin(members, rows).sum()
    return rows if has >= lent.size else np.union1d(rows, lent)
