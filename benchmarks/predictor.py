"""The predictors: what fits and predictions take, beside gradient boosting in the same run.

``python -m benchmarks.predictor`` takes the simulated tables of `benchmarks.joint` with 20 columns,
and two classes that two of the columns' signs decide. A third as many new rows are predicted. All
estimators are at their defaults, on one thread; the seconds are of the processor, the least of
three.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from benchmarks.joint import MISSING_RATE, REPEATS, seconds, table
from benchmarks.setting import one_thread, write_results
from kernimpute import KernelImputationClassifier, KernelImputationRegressor

N_COLUMNS = 20
ROWS = (300, 1_000, 5_000, 20_000)


def measure(n_rows: int) -> dict[str, Any]:
    """Measure one table."""
    X = table(n_rows + n_rows // 3, N_COLUMNS)
    known = np.nan_to_num(X)
    target = known[:, 0] * known[:, 1] + known[:, 2]
    rows, y, new = X[:n_rows], target[:n_rows], X[n_rows:]
    run: dict[str, Any] = {"n_rows": n_rows, "n_columns": N_COLUMNS}
    for name, estimator, labels in (
        ("classifier", KernelImputationClassifier(), y > 0.0),
        ("regressor", KernelImputationRegressor(), y),
        ("gradient_boosting", HistGradientBoostingClassifier(random_state=0), y > 0.0),
    ):
        run[f"{name}_fit_seconds"] = seconds(lambda e=estimator, z=labels: e.fit(rows, z))
        run[f"{name}_predict_seconds"] = seconds(lambda e=estimator: e.predict(new))
    return run


def main() -> None:
    """Measure, print and write."""
    runs = []
    with one_thread():
        for n_rows in ROWS:
            runs.append(measure(n_rows))
            figures = {name: f"{value:.4g}" for name, value in runs[-1].items()}
            print(", ".join(f"{name} {value}" for name, value in figures.items()), flush=True)
    write_results("predictor", {"missing_rate": MISSING_RATE, "repeats": REPEATS, "runs": runs})


if __name__ == "__main__":
    main()
