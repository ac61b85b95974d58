"""Means and paired tests of methods on the same splits.

A cell is a problem without its repetition: dataset, mechanism, missing rate, what is held out, how
columns are scaled, whose splits. Readings are laid out with a row for each cell and repetition and
a column for each method; a failed or skipped run is NaN there.

The repetitions of a cell draw their splits from the same rows, so their differences are not
independent and the ordinary paired t-test rejects too often. It is what the paper uses and is given
for comparison; beside it stands the corrected test of Nadeau and Bengio (Machine Learning 52,
2003), which widens the variance of the mean by the ratio of test rows to training rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import special, stats

from experiments.registry import family_of, paper_name

CELL = ("dataset", "mechanism", "missing_rate", "held_out", "scaling", "splits")
"""The columns of records that make a cell."""

LEVEL = 0.05
"""The level of all tests, as in the paper."""

TEST_TO_TRAIN = 3 / 4
"""Test rows to training rows of the protocol's 4:3:3 cut."""

TIE = 12
"""Decimals to which two means that are equal agree: they are sums of the same fractions."""


@dataclass(frozen=True)
class PairedTest:
    """The result of a paired comparison."""

    difference: float  # Mean of the first minus the second; NaN without a pair
    # Its standard error over the pairs, taken as independent; NaN below two pairs
    standard_error: float
    n: int  # Number of pairs
    p: float  # Two-sided p-value of the paired t-test; NaN below two pairs
    p_corrected: float  # The same with Nadeau and Bengio's variance

    @property
    def verdict(self) -> int:
        """1 or -1 where the first is better or worse at `LEVEL`, 0 where neither."""
        return int(np.sign(self.difference)) if self.p < LEVEL else 0


def paired_test(
    first: ArrayLike, second: ArrayLike, test_to_train: float = TEST_TO_TRAIN
) -> PairedTest:
    """Compare two methods on the repetitions that both have."""
    differences = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    differences = differences[~np.isnan(differences)]
    n = differences.size
    if n < 2:
        mean = float(differences.mean()) if n else np.nan
        return PairedTest(mean, np.nan, n, np.nan, np.nan)
    mean = float(differences.mean())
    variance = float(differences.var(ddof=1))
    if n < 3:
        # Equal differences are common then, since accuracies are multiples of 1 / n_test.
        return PairedTest(mean, float(np.sqrt(variance / n)), n, np.nan, np.nan)
    if np.ptp(differences) <= 1e-12:
        p = 1.0 if abs(mean) <= 1e-12 else 0.0
        return PairedTest(mean, 0.0, n, p, p)
    plain, corrected = (
        float(2 * special.stdtr(n - 1, -abs(mean) / np.sqrt(variance * factor)))
        for factor in (1 / n, 1 / n + test_to_train)
    )
    return PairedTest(mean, float(np.sqrt(variance / n)), n, plain, corrected)


def signed_rank_p(differences: ArrayLike) -> float:
    """Return the p-value of Wilcoxon's test, 1 without a difference.

    It is scipy's. With ties among at most 13 that counts all signs one by one, which takes seconds.
    """
    all_of_them = np.asarray(differences, dtype=float)
    values = all_of_them[all_of_them != 0.0]
    if not values.size:
        return 1.0
    ranks = stats.rankdata(np.abs(values))
    if all_of_them.size > 13 or np.unique(ranks).size == all_of_them.size:
        return float(stats.wilcoxon(all_of_them).pvalue)
    signs = np.arange(2**values.size)[:, None] >> np.arange(values.size) & 1
    sums, found = signs @ ranks, ranks[values > 0.0].sum()
    return float(min(1.0, 2.0 * min((sums <= found).mean(), (sums >= found).mean())))


def summary(records: pd.DataFrame, keys: list[str], value: str = "accuracy") -> pd.DataFrame:
    """Return mean, standard deviation and missing runs of a reading, grouped by some columns."""
    rows: dict[Any, dict[str, Any]] = {}
    for key, group in records.groupby(keys, sort=False, dropna=False):
        found = group.loc[group["status"] == "done", value].dropna().to_numpy(float)
        failures = group.loc[group["status"] != "done", "reason"].dropna()
        rows[key] = {
            "mean": found.mean() if found.size else np.nan,
            "std": found.std() if found.size else np.nan,
            "n": found.size,
            "failed": int((group["status"] == "failed").sum()),
            "skipped": int((group["status"] == "skipped").sum()),
            "reasons": tuple(dict.fromkeys(str(reason) for reason in failures if reason)),
        }
    index = pd.MultiIndex.from_tuples(list(rows), names=keys)
    return pd.DataFrame(list(rows.values()), index=index)


def readings(
    records: pd.DataFrame, value: str = "accuracy", rule: str | None = "plain"
) -> pd.DataFrame:
    """Lay readings out by cell and repetition, a column for each method."""
    rows = records if rule is None else records[records["rule"] == rule]
    methods = list(dict.fromkeys(rows["method"]))
    rows = rows.assign(**{value: rows[value].where(rows["status"] == "done").astype(float)})
    wide = rows.set_index([*CELL, "repetition", "method"])[value].unstack("method")
    order = dict.fromkeys(rows.set_index([*CELL, "repetition"]).index)
    return wide.loc[list(order), methods]


def versus(wide: pd.DataFrame, baseline: str) -> pd.DataFrame:
    """Compare every method with a baseline, cell by cell."""
    if baseline not in wide.columns:
        raise ValueError(
            f"The baseline must be one of the methods {', '.join(wide.columns)}; got {baseline!r}."
        )
    groups = [group for _, group in wide.groupby(level=list(CELL), sort=False, dropna=False)]
    rows = {}
    for method in wide.columns.drop(baseline):
        tests = [paired_test(group[method], group[baseline]) for group in groups]
        tests = [test for test in tests if test.n]
        if not tests:
            continue
        differences = np.round([test.difference for test in tests], TIE)
        corrected = np.array([test.p_corrected < LEVEL for test in tests])
        verdicts = np.array([test.verdict for test in tests])
        rows[method] = {
            "difference": differences.mean(),
            "cells": len(tests),
            "higher": int((differences > 0).sum()),
            "lower": int((differences < 0).sum()),
            "better": int((verdicts > 0).sum()),
            "worse": int((verdicts < 0).sum()),
            "better_corrected": int((corrected & (differences > 0)).sum()),
            "worse_corrected": int((corrected & (differences < 0)).sum()),
            "p": signed_rank_p(differences),
        }
    # From records, so that counts stay whole numbers.
    return pd.DataFrame(list(rows.values()), index=pd.Index(list(rows), name="method"))


def gain(wide: pd.DataFrame, first: str, second: str) -> PairedTest:
    """Return how much one method is above another, over all cells, repetition by repetition."""
    averages = (wide[first] - wide[second]).groupby(level="repetition").mean()
    return paired_test(averages, np.zeros(len(averages)))


def best_stands_alone(group: pd.DataFrame, best: str) -> bool:
    """Return whether a method is better than every other by the paired t-test at `LEVEL`."""
    others = (group[[best, other]].dropna() for other in group.columns.drop(best))
    tests = [
        paired_test(common.iloc[:, 0], common.iloc[:, 1])
        for common in others
        if len(common) >= 3 and not common.iloc[:, 0].equals(common.iloc[:, 1])
    ]
    return bool(tests) and all(test.verdict > 0 for test in tests)


_FAMILIES = ("rival", "field", "ours", "ablation")
_RIVALS = ("MI", "GEOM", "KARMA", "genRBF", "NewImp", None)


def in_order(records: pd.DataFrame) -> pd.DataFrame:
    """Return records with a rule in every row, sorted by method.

    Rivals come first, in the paper's order, then the field, ours, and the controls. A run that
    ended before its selection has no rule: it gets a row for each rule that its method has
    elsewhere, for "plain" where it has none.
    """
    if "rule" in records:
        records = _with_rules(records)
    order = {method: _place(method) for method in dict.fromkeys(records["method"])}
    return records.sort_values("method", key=lambda m: m.map(order), kind="stable")


def _place(method: str) -> str:
    rival = _RIVALS.index(paper_name(method))
    return f"{_FAMILIES.index(family_of(method))} {rival} {method}"


def _with_rules(records: pd.DataFrame) -> pd.DataFrame:
    known = records.dropna(subset=["rule"])
    rules = known.groupby("method")["rule"].unique().to_dict()
    lists = [
        list(rules.get(method, ["plain"])) if pd.isna(rule) else [rule]
        for method, rule in zip(records["method"], records["rule"], strict=True)
    ]
    return records.assign(rule=lists).explode("rule")
