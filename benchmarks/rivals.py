"""Whole fits against other imputers, and rows filled a second once fitted.

``python -m benchmarks.rivals`` takes simulated tables of 1000, 5000 and 20 000 rows and 20 columns
at 30 % missing, every imputer at its defaults on one thread, in one process, in turns. Ours runs
guided by labels as well, and so by subsets of 500, also with two jobs (the only one that has them).
A second table of as many rows is then filled without labels.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer

from benchmarks.measuring import simulated
from benchmarks.setting import GUIDED, FloatArray, amputed, one_thread, write_results
from kernimpute import KernelImputer

SIZES = (1000, 5000, 20_000)
MISSING_RATE = 0.3
SUBSET = 500


def _forest() -> IterativeImputer:
    """Return a missForest: the same rounds as in the experiments, of the same trees."""
    trees = ExtraTreesRegressor(n_estimators=50, max_features="sqrt", random_state=0)
    return IterativeImputer(trees, max_iter=5, random_state=0)


IMPUTERS: dict[str, Callable[[], Any]] = {
    "KernelImputer": KernelImputer,
    "KernelImputer, guided": lambda: KernelImputer(**GUIDED),
    "KernelImputer, guided, subsets of 500": lambda: KernelImputer(**GUIDED, subset_size=SUBSET),
    "KernelImputer, the same, two jobs": lambda: KernelImputer(
        **GUIDED, subset_size=SUBSET, n_jobs=2
    ),
    "KNNImputer": KNNImputer,
    "IterativeImputer": lambda: IterativeImputer(random_state=0),
    "IterativeImputer, all ten rounds": lambda: IterativeImputer(tol=0.0, random_state=0),
    "missForest": _forest,
}
MOST_ROWS = {"missForest": 5000}
"""Where an imputer would take many minutes it is left out, and its row says so."""


def measure(n_samples: int, name: str) -> dict[str, Any]:
    """Measure one imputer on a table of so many rows."""
    if n_samples > MOST_ROWS.get(name, n_samples):
        return {"n_samples": n_samples, "imputer": name, "skipped": "it would take many minutes"}
    complete, labels = simulated(2 * n_samples)
    holed = amputed(complete, MISSING_RATE, "rivals", n_samples)
    # Every other row has the other label.
    X, new, y = holed[:n_samples], holed[n_samples:], labels[:n_samples]
    imputer = IMPUTERS[name]()
    began = time.perf_counter()
    filled = imputer.fit_transform(X, y)
    fitted = time.perf_counter()
    filled_new = imputer.transform(new)
    ended = time.perf_counter()
    gaps = np.isnan(new)
    return {
        "n_samples": n_samples,
        "imputer": name,
        "fit_transform_seconds": fitted - began,
        "transform_seconds": ended - fitted,
        "rows_per_second": n_samples / (ended - fitted),
        "rmse_training": _rmse(filled, complete[:n_samples], np.isnan(X)),
        "rmse_new": _rmse(filled_new, complete[n_samples:], gaps),
    }


def _rmse(filled: FloatArray, truth: FloatArray, gaps: np.ndarray) -> float:
    return float(np.sqrt(np.mean((filled[gaps] - truth[gaps]) ** 2)))


def main() -> None:
    """Measure, print and write."""
    runs = []
    with one_thread(), warnings.catch_warnings():
        # IterativeImputer seldom settles in its default rounds, which are what is timed.
        warnings.simplefilter("ignore", ConvergenceWarning)
        # What is compiled or loaded once is not part of any fit.
        for name in IMPUTERS:
            measure(1001, name)
        for n_samples in SIZES:
            for name in IMPUTERS:
                runs.append(measure(n_samples, name))
                print(_line(runs[-1]), flush=True)
    write_results("rivals", {"runs": runs})


def _line(run: dict[str, Any]) -> str:
    if "skipped" in run:
        return f"{run['n_samples']:6d} rows  {run['imputer']:34}  skipped: {run['skipped']}"
    return (
        f"{run['n_samples']:6d} rows  {run['imputer']:34}  "
        f"fit_transform {run['fit_transform_seconds']:8.2f} s  "
        f"transform {run['rows_per_second']:9.0f} rows/s  rmse {run['rmse_training']:.4f}"
    )


if __name__ == "__main__":
    main()
