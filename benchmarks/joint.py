"""The joint reference: what a default fit and fill take, beside `IterativeImputer` in the same run.

``python -m benchmarks.joint`` takes simulated tables whose columns share a third as many factors,
30 % of the cells missing. Every imputer is at its defaults, on one thread, in turns; the seconds
are of the processor, the least of three. `without the remainder` leaves out the kernel ridge.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer

from benchmarks.setting import FloatArray, one_thread, seed_of, write_results
from kernimpute import KernelImputer

SHAPES = ((276, 14), (1000, 100), (60, 2000), (20_000, 20))
MISSING_RATE = 0.3
MOST_ITERATIVE_COLUMNS = 100
"""With more columns `IterativeImputer` takes minutes and is left out."""
REPEATS = 3


def table(n_rows: int, n_columns: int) -> FloatArray:
    """Return rows of some factors and noise, with gaps."""
    generator = np.random.default_rng(seed_of("joint", n_rows, n_columns))
    n_factors = min(50, n_columns // 3)
    X = generator.standard_normal((n_rows, n_factors))
    X = X @ generator.standard_normal((n_factors, n_columns))
    X += 0.5 * generator.standard_normal(X.shape)
    return np.where(generator.random(X.shape) < MISSING_RATE, np.nan, X)


def seconds(work: Callable[[], object]) -> float:
    """Return the processor's seconds that some work takes, the least of three runs."""
    taken = []
    for _ in range(REPEATS):
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return min(taken)


def measure(n_rows: int, n_columns: int) -> dict[str, Any]:
    """Measure one shape of table."""
    X = table(n_rows, n_columns)
    fitted = KernelImputer().fit(X)
    fill = seconds(lambda: fitted.transform(X))
    run: dict[str, Any] = {
        "n_rows": n_rows,
        "n_columns": n_columns,
        "fit_transform_seconds": seconds(lambda: KernelImputer().fit_transform(X)),
        "transform_seconds": fill,
        "transform_rows_per_second": n_rows / fill,
    }
    with patch("kernimpute.joint.fills.MOST_REMAINDER_ROWS", 0):
        run["without_the_remainder"] = seconds(lambda: KernelImputer().fit_transform(X))
    if n_columns <= MOST_ITERATIVE_COLUMNS:
        rival = seconds(lambda: IterativeImputer(random_state=0).fit_transform(X))
        run["iterative_imputer_seconds"] = rival
        run["share_of_iterative_imputer"] = run["fit_transform_seconds"] / rival
    return run


def main() -> None:
    """Measure, print and write."""
    runs = []
    with one_thread(), warnings.catch_warnings():
        # IterativeImputer seldom settles in its default rounds, which are what is timed.
        warnings.simplefilter("ignore", ConvergenceWarning)
        for shape in SHAPES:
            runs.append(measure(*shape))
            figures = {name: f"{value:.4g}" for name, value in runs[-1].items()}
            print(", ".join(f"{name} {value}" for name, value in figures.items()), flush=True)
    write_results("joint", {"missing_rate": MISSING_RATE, "repeats": REPEATS, "runs": runs})


if __name__ == "__main__":
    main()
