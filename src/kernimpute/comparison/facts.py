"""What a table's gaps look like, and whether they tell of the label.

These are facts of the whole table, which the user reads before any candidate is compared.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from sklearn.preprocessing import OneHotEncoder, StandardScaler

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
    labels, counts = np.unique(y, return_counts=True)
    patterns, n_rows = np.unique(gaps, axis=0, return_counts=True)
    order = np.argsort(-n_rows, kind="stable")[:MOST_PATTERNS]
    quantiles = np.quantile(gaps.sum(axis=1), [0.0, 0.25, 0.5, 0.75, 1.0])
    numbers = [name for name in table if table[name].dtype.kind == "f"]
    return {
        "n_rows": len(table),
        "n_columns": table.shape[1],
        "n_gaps": int(gaps.sum()),
        "task": task,
        "classes": {str(label): int(n) for label, n in zip(labels, counts, strict=True)}
        if task == "classification"
        else {},
        "columns": _columns(table, gaps, y, task),
        "rows": {
            "complete": int((~gaps.any(axis=1)).sum()),
            "empty": int(gaps.all(axis=1).sum()),
            "gaps_per_row": dict(
                zip(("least", "q1", "median", "q3", "most"), quantiles.tolist(), strict=True)
            ),
        },
        "n_patterns": len(patterns),
        "patterns": [
            {
                "columns": [str(name) for name in table.columns[patterns[place]]],
                "n_rows": int(n_rows[place]),
            }
            for place in order.tolist()
        ],
        # Rows of one group are alike, so that their labels cannot be exchanged.
        "gaps_tell": {"p": None if has_groups else gaps_tell(table, gaps, y, task, seed)},
        "identifiers": [str(name) for name in numbers if _is_identifier(table[name])],
        "rare_categories": _rare_categories(table),
        "disjoint_pairs": disjoint_pairs(~gaps),
        # They may be in the training and the test rows of one fold.
        "n_copies": int(table.duplicated().sum()),
    }


def _columns(
    table: pd.DataFrame, gaps: BoolArray, y: NDArray[Any], task: Task
) -> list[dict[str, Any]]:
    """Return the gaps of each column, by class, with a test corrected over the columns."""
    p = np.array([_p_of_column(gaps[:, place], y, task) for place in range(table.shape[1])])
    tested = ~np.isnan(p)
    p[tested] = holm(p[tested])
    rows = []
    for place, name in enumerate(table.columns):
        by_class = {}
        if task == "classification":
            by_class = {str(label): float(gaps[y == label, place].mean()) for label in np.unique(y)}
        rows.append(
            {
                "column": str(name),
                "kind": "number" if table[name].dtype.kind == "f" else "category",
                "n_gaps": int(gaps[:, place].sum()),
                "share": float(gaps[:, place].mean()),
                "gaps_by_class": by_class,
                "p": float(p[place]) if tested[place] else None,
            }
        )
    return rows


def _p_of_column(gap: BoolArray, y: NDArray[Any], task: Task) -> float:
    """Return the p-value that a column's gaps and the label are independent; NaN without both."""
    if gap.all() or not gap.any():
        return np.nan
    if task == "regression":
        return float(stats.mannwhitneyu(y[gap], y[~gap]).pvalue)
    counts = pd.crosstab(gap, y).to_numpy()
    return float(stats.chi2_contingency(counts).pvalue)


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
    if gappy.shape[1] == 0:
        return None
    # 1.
    most = max(1, len(y) // 4)
    known = _basis(_filled_by_means(table), most)
    label = (
        pd.get_dummies(pd.Series(y)).to_numpy(dtype=float)
        if task == "classification"
        else y.astype(float)[:, None]
    )
    residual = label - label.mean(axis=0)
    residual -= known @ (known.T @ residual)
    of_gaps = gappy - gappy.mean(axis=0)
    of_gaps = _basis(of_gaps - known @ (known.T @ of_gaps), most)
    if of_gaps.shape[1] == 0:
        return None
    # 2. and 3.
    rng = np.random.default_rng(seed)
    total = float((residual**2).sum())
    found = _explained(of_gaps, known, residual, total)
    as_large = sum(
        _explained(of_gaps, known, residual[rng.permutation(len(y))], total) >= found * (1 - 1e-12)
        for _ in range(N_PERMUTATIONS)
    )
    return (1 + as_large) / (1 + N_PERMUTATIONS)


def _explained(of_gaps: FloatArray, known: FloatArray, residual: FloatArray, total: float) -> float:
    """Return the share of a residual that an orthonormal basis explains, beyond what is known."""
    left = total - float(((known.T @ residual) ** 2).sum())
    return float(((of_gaps.T @ residual) ** 2).sum()) / left if left > 0.0 else 0.0


def _filled_by_means(table: pd.DataFrame) -> FloatArray:
    """Return standardised columns with gaps at the mean, and indicators of categories, centred."""
    is_number = [dtype.kind == "f" for dtype in table.dtypes]
    numbers = table.loc[:, is_number]
    categories = table.loc[:, [not one for one in is_number]]
    parts = [np.empty((len(table), 0))]
    if numbers.shape[1]:
        parts.append(np.nan_to_num(StandardScaler().fit_transform(numbers.to_numpy())))
    if categories.shape[1]:
        encoder = OneHotEncoder(sparse_output=False, max_categories=50)
        texts = categories.astype(object).where(categories.notna(), None)
        modes = texts.mode().iloc[0].to_dict()
        parts.append(encoder.fit_transform(texts.fillna(modes).astype(str)))
    matrix = np.hstack(parts)
    return np.asarray(matrix - matrix.mean(axis=0))


def _basis(matrix: FloatArray, most: int) -> FloatArray:
    """Return an orthonormal basis of the columns, at most so many of the largest directions."""
    left, sizes, _ = np.linalg.svd(matrix, full_matrices=False)
    rank = int((sizes > 1e-9 * max(1.0, float(sizes.max(initial=0.0)))).sum())
    return np.asarray(left[:, : min(rank, most)])


def _is_identifier(numbers: pd.Series) -> bool:
    """Return whether a column of numbers counts rows: whole numbers, no two alike, no gap."""
    values = numbers.to_numpy()
    return bool(
        len(values) > 20
        and np.isfinite(values).all()
        and (values == np.rint(values)).all()
        and np.unique(values).size == len(values)
    )


def _rare_categories(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the categories of few rows, the rarest first."""
    found: list[tuple[int, Hashable, object]] = []
    for name in table:
        if table[name].dtype.kind != "f":
            counts = table[name].value_counts()
            found += [(int(n), name, value) for value, n in counts.items() if 0 < n < RARE]
    found.sort(key=lambda one: (one[0], str(one[1]), str(one[2])))
    return [{"column": str(name), "category": str(value), "n_rows": n} for n, name, value in found]
