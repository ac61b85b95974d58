"""What a table's gaps look like, and whether they tell of the label."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler

from kernimpute.comparison.candidates import coding
from kernimpute.core.arrays import BoolArray, FloatArray
from kernimpute.core.checks import Task
from kernimpute.estimators._base import disjoint_pairs

N_PERMUTATIONS = 999
"""Permutations of the test whether gaps tell of the label: its least p-value is .001."""
MOST_PATTERNS = 10
"""Patterns of gaps that are listed, the most frequent first."""
RARE = 10
"""A category of fewer rows is rare."""


def facts_of(
    table: pd.DataFrame, y: NDArray[Any], task: Task, *, has_groups: bool, seed: int
) -> dict[str, Any]:
    """Return the facts of a prepared table: numbers as floats, the rest as categories."""
    gaps = table.isna().to_numpy()
    classes = pd.Series(y if task == "classification" else []).value_counts().sort_index()
    patterns, n_rows = np.unique(gaps, axis=0, return_counts=True)
    quantiles = np.quantile(gaps.sum(axis=1), [0.0, 0.25, 0.5, 0.75, 1.0])
    numbers = table.select_dtypes("number")
    rare = [
        {"column": str(name), "category": str(value), "n_rows": int(n)}
        for name, column in table.drop(columns=numbers.columns).items()
        for value, n in column.value_counts().items()
        if 0 < n < RARE
    ]
    return {
        "n_rows": len(table),
        "n_columns": table.shape[1],
        "n_gaps": int(gaps.sum()),
        "task": task,
        "classes": {str(label): int(n) for label, n in classes.items()},
        "columns": _columns(table, gaps, y, task, has_groups=has_groups),
        "rows": {
            "complete": int((~gaps.any(axis=1)).sum()),
            "empty": int(gaps.all(axis=1).sum()),
            "gaps_per_row": dict(
                zip(("least", "q1", "median", "q3", "most"), quantiles.tolist(), strict=True)
            ),
        },
        "n_patterns": len(patterns),
        "patterns": [
            {"columns": [*map(str, table.columns[patterns[place]])], "n_rows": int(n_rows[place])}
            for place in np.argsort(-n_rows, kind="stable")[:MOST_PATTERNS]
        ],
        "gaps_tell": {"p": None if has_groups else gaps_tell(table, gaps, y, task, seed)},
        # Whole numbers, no two alike and no gap, may count the rows.
        "identifiers": [
            str(name)
            for name, own in numbers.items()
            if len(own) > 20 and own.is_unique and own.eq(own.round()).all()
        ],
        "rare_categories": sorted(
            rare, key=lambda one: (one["n_rows"], one["column"], one["category"])
        ),
        "disjoint_pairs": disjoint_pairs(~gaps),
        # They may be in the training and the test rows of one fold.
        "n_copies": int(table.duplicated().sum()),
    }


def _columns(
    table: pd.DataFrame, gaps: BoolArray, y: NDArray[Any], task: Task, *, has_groups: bool
) -> list[dict[str, Any]]:
    """Return the gaps of each column, by class, with a test corrected over the columns."""
    by_class = pd.DataFrame(gaps).groupby(y).mean()
    by_class.index = by_class.index.map(str)
    shares = gaps.mean(axis=0)
    # Rows of one group are alike, so that their labels cannot be exchanged.
    tested = [] if has_groups else np.flatnonzero((shares > 0.0) & (shares < 1.0)).tolist()
    p = holm(np.array([_p_of_column(gaps[:, place], y, task) for place in tested]))
    p_of_place = dict(zip(tested, p.tolist(), strict=True))
    return [
        {
            "column": str(name),
            "kind": "number" if table[name].dtype.kind == "f" else "category",
            "n_gaps": int(gaps[:, place].sum()),
            "share": float(shares[place]),
            "gaps_by_class": by_class[place].to_dict() if task == "classification" else {},
            "p": p_of_place.get(place),
        }
        for place, name in enumerate(table.columns)
    ]


def _p_of_column(gap: BoolArray, y: NDArray[Any], task: Task) -> float:
    """Return the p-value that a column's gaps and the label are independent."""
    if task == "regression":
        return float(stats.mannwhitneyu(y[gap], y[~gap]).pvalue)
    return float(stats.chi2_contingency(pd.crosstab(gap, y)).pvalue)


def holm(p: FloatArray) -> FloatArray:
    """Return p-values corrected for their number by Holm's steps (Scand. J. Stat. 6, 1979)."""
    order = np.argsort(p, kind="stable")
    steps = (p.size - np.arange(p.size)) * p[order]
    corrected = np.empty(p.size)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return corrected


def gaps_tell(
    table: pd.DataFrame, gaps: BoolArray, y: NDArray[Any], task: Task, seed: int
) -> float | None:
    """Return the p-value that gaps say nothing of the label beyond what the filled columns say.

    1. The label, as numbers or as indicators of its classes, is regressed on the columns as filled
       by means; so are the indicators of gaps.
    2. The statistic is the share of the label's residual that the gaps' residuals explain.
    3. It is compared with the same for permuted residuals (Freedman and Lane, J. Bus. Econ. Stat.
       1, 1983).
    None where no gap tells rows apart.
    """
    gappy = np.unique(gaps[:, gaps.any(axis=0) & ~gaps.all(axis=0)], axis=1)
    # 1.
    most = max(1, len(y) // 4)
    code = coding(StandardScaler(), SimpleImputer(strategy="most_frequent"))
    # A standardised column has its mean at 0.
    filled = np.nan_to_num(code.fit_transform(table.dropna(axis="columns", how="all")))
    known = _basis(filled - filled.mean(axis=0), most)
    label = (pd.get_dummies(y) if task == "classification" else pd.DataFrame(y)).to_numpy(float)
    residual = label - label.mean(axis=0)
    residual -= known @ (known.T @ residual)
    of_gaps = gappy - gappy.mean(axis=0)
    of_gaps = _basis(of_gaps - known @ (known.T @ of_gaps), most)
    if of_gaps.shape[1] == 0:
        return None
    total = float((residual**2).sum())

    def explained(residual: FloatArray) -> float:
        left = total - float(((known.T @ residual) ** 2).sum())
        return float(((of_gaps.T @ residual) ** 2).sum()) / left if left > 0.0 else 0.0

    # 2. and 3.
    rng = np.random.default_rng(seed)
    found = explained(residual)
    as_large = sum(
        explained(residual[rng.permutation(len(y))]) >= found * (1 - 1e-12)
        for _ in range(N_PERMUTATIONS)
    )
    return (1 + as_large) / (1 + N_PERMUTATIONS)


def _basis(matrix: FloatArray, most: int) -> FloatArray:
    """Return an orthonormal basis of the columns, at most so many of the largest directions."""
    left, sizes, _ = np.linalg.svd(matrix, full_matrices=False)
    rank = int((sizes > 1e-9 * max(1.0, float(sizes.max(initial=0.0)))).sum())
    return np.asarray(left[:, : min(rank, most)])
