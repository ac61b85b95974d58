"""Sweeps of Stage II to a feature error of 1e-9, with and without extrapolation.

The exact distances of complete tables given, cells removed uniformly, the descent begun at 0.5 in
every gap: the start that finds the table at once would leave nothing to accelerate. Run as
``python -m benchmarks.acceleration --data-dir FOLDER``.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.setting import amputed, data_folder, one_thread, unit_range, write_results
from kernimpute import recover_features
from kernimpute.kernels import Gaussian

TABLES = ("australian", "heart", "pima", "german")
RATES = (0.1, 0.3, 0.5, 0.7, 0.9)
MOST_ROWS = 300
MAX_SWEEPS = 1000
FEATURE_ERROR = 1e-9


def table(name: str) -> np.ndarray:
    """Return the first rows of a dataset, texts as the places of their values, in [0, 1]."""
    frame = pd.read_csv(data_folder() / f"{name}.csv").iloc[:MOST_ROWS, :-1]
    numbers = [
        column if pd.api.types.is_numeric_dtype(column) else pd.factorize(column, sort=True)[0]
        for _, column in frame.items()
    ]
    X = np.column_stack(numbers).astype(float)
    return unit_range(X[:, np.ptp(X, axis=0) > 0.0])


def sweeps(X: np.ndarray, truth: np.ndarray, extrapolate: bool) -> int | None:
    """Return the sweeps to the feature error; None where the descent ends elsewhere."""
    kernel = Gaussian()
    target = kernel.sums(truth, truth)

    def after(n_sweeps: int) -> tuple[bool, int]:
        found = recover_features(
            X,
            target,
            kernel=kernel,
            starts=["half"],
            tol=0.0,
            max_sweeps=n_sweeps,
            extrapolate=extrapolate,
        )
        return float(np.abs(found.X - truth).max()) <= FEATURE_ERROR, found.n_sweeps

    # The first sweeps of a longer descent are those of a shorter one: double, then halve.
    too_few, enough = 0, 8
    while not after(enough)[0]:
        if enough >= MAX_SWEEPS or after(enough)[1] < enough:
            return None
        too_few, enough = enough, 2 * enough
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        if after(middle)[0]:
            enough = middle
        else:
            too_few = middle
    return enough


def main() -> None:
    """Run every case, print a line each and write the results."""
    runs = []
    with one_thread():
        for name in TABLES:
            truth = table(name)
            for rate in RATES:
                X = amputed(truth, rate, name, "acceleration")
                plain, accelerated = (sweeps(X, truth, flag) for flag in (False, True))
                runs.append(
                    {
                        "table": name,
                        "missing_rate": rate,
                        "n_samples": truth.shape[0],
                        "n_features": truth.shape[1],
                        "sweeps": plain,
                        "sweeps_extrapolated": accelerated,
                    }
                )
                print(f"{name:12} {rate:4.0%}  {plain} sweeps, {accelerated} extrapolated")
    ratios = [
        run["sweeps_extrapolated"] / run["sweeps"]
        for run in runs
        if run["sweeps"] and run["sweeps_extrapolated"]
    ]
    median = float(np.median(ratios))
    print(f"ratio of sweeps: median {median:.2f}, {min(ratios):.2f} to {max(ratios):.2f}")
    write_results("acceleration", {"median_ratio": median, "runs": runs})


if __name__ == "__main__":
    main()
