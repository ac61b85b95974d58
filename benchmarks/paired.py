"""Readings of several methods on the same splits, as differences to one of them."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

__all__ = ["counts", "differences"]


def differences(
    rows: pd.DataFrame, keys: Sequence[str], split: str, reading: str, to: str = "mean"
) -> pd.DataFrame:
    """Return a reading and its difference to a method's, with its standard error, by setting.

    Parameters
    ----------
    rows : DataFrame
        A reading a row, with its method, its setting and its split.
    keys : sequence of str
        The columns that make a setting.
    split : str
        The column of the split, over which the differences are paired.
    reading : str
        The column of the reading.
    to : str, default="mean"
        The method that the others are held against.

    Returns
    -------
    DataFrame
        A row for each other method and setting; it is worse or better where the difference is
        beyond its standard error.
    """
    base = rows[rows["method"] == to].drop(columns="method")
    others = rows[rows["method"] != to]
    pairs = others.merge(base, on=[*keys, split], suffixes=("", "_of_other"))
    pairs["difference"] = pairs[reading] - pairs[f"{reading}_of_other"]
    grouped = pairs.groupby(["method", *keys], sort=False)
    table = grouped["difference"].agg(difference="mean", standard_error="sem")
    table.insert(0, reading, grouped[reading].mean())
    table["worse"] = table["difference"] < -table["standard_error"]
    table["better"] = table["difference"] > table["standard_error"]
    return table.reset_index()


def counts(table: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return the settings by some columns, how many differ, and the mean difference.

    Parameters
    ----------
    table : DataFrame
        What `differences` returns.
    by : sequence of str
        The columns.

    Returns
    -------
    DataFrame
        A row for each of their values.
    """
    return (
        table.groupby(list(by), sort=False)
        .agg(
            settings=("worse", "size"),
            worse=("worse", "sum"),
            better=("better", "sum"),
            mean_difference=("difference", "mean"),
            smallest_difference=("difference", "min"),
        )
        .reset_index()
    )
