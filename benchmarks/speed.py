"""Speed as ratios to one eigendecomposition, one BLAS thread, same process.

``python -m benchmarks.speed --data-dir FOLDER`` measures, on the authors' australian split 1 at
60 % (276 x 14): Stage I (`anchored`) to a gap of 1e-3, `direct`, one sweep and the full recovery of
Stage II, and the whole default run; and what scikit-learn's `GridSearchCV` over `default_grid()`
costs, in fits of `KernelImputationClassifier`. `benchmarks.growth` has larger tables.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
import warnings

import numpy as np
from scipy.linalg import eigh
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from benchmarks.measuring import all_seconds, measured
from benchmarks.setting import australian_split, one_thread, write_results
from kernimpute import (
    KernelImputationClassifier,
    default_grid,
    impute,
    learn_kernel,
    recover_features,
)
from kernimpute.core.rows import scaled_kernel
from kernimpute.kernels import Gaussian

REPEATS = 7


def measure(X: np.ndarray, y: np.ndarray, truth: np.ndarray) -> dict[str, float | str | int]:
    """Measure one incomplete table against eigh of its size."""
    n = X.shape[0]
    kernel = scaled_kernel("gaussian", X)
    K_true = kernel(truth, truth)
    target = kernel.inverse_link(K_true)
    _, one_eigh, _ = measured(lambda: eigh(K_true), REPEATS, n)
    learned, anchored, anchored_peak = measured(
        lambda: learn_kernel(X, y, kernel=kernel), REPEATS, n
    )
    found, direct, direct_peak = measured(lambda: impute(X, y, kernel=kernel), REPEATS, n)
    recovered, recovery, _ = measured(
        lambda: recover_features(X, target, kernel=kernel), REPEATS, n
    )
    _, default, _ = measured(lambda: impute(X, y), REPEATS, n)
    missing = int(np.isnan(X).sum())
    return {
        "n_samples": n,
        "n_features": X.shape[1],
        "missing_rate": missing / X.size,
        "kernel": repr(kernel),
        "eigh_seconds": one_eigh,
        "anchored_eighs": anchored / one_eigh,
        "anchored_seconds": anchored,
        "anchored_rounds": learned.n_iter,
        "anchored_gap": learned.gap,
        "anchored_status": learned.status.name,
        "anchored_peak_matrices": anchored_peak,
        "direct_eighs": direct / one_eigh,
        "direct_seconds": direct,
        "direct_steps": len(found.trace) - 1,
        "direct_status": found.status.name,
        "direct_peak_matrices": direct_peak,
        "default_run_seconds": default,
        "recovery_seconds": recovery,
        "recovery_sweeps": recovered.n_sweeps,
        "recovery_feature_error": float(np.abs(recovered.X - truth).max()),
        "sweep_pairs_per_second": sweep_speed(X, target, kernel),
    }


def sweep_speed(X: np.ndarray, target: np.ndarray, kernel: Gaussian) -> float:
    """Return cell-row pairs per second, from the clock of the trace, extrapolation included."""
    recovered = recover_features(X, target, kernel=kernel, starts=("half",), tol=0.0, max_sweeps=40)
    one_sweep = float(np.median(np.diff(recovered.trace.column("seconds"))))
    return float(np.isnan(X).sum()) * X.shape[0] / one_sweep


def searches(X: np.ndarray, y: np.ndarray) -> dict[str, float | int]:
    """Measure the recipe of the guide, GridSearchCV over the default grid, against one fit."""
    guided = KernelImputationClassifier(machine="svm", guidance="direct")
    one_fit = min(all_seconds(lambda: guided.fit(X, y), 50))
    search = GridSearchCV(KernelImputationClassifier(machine="svm"), default_grid(), cv=5)
    seconds = min(all_seconds(lambda: search.fit(X, y), 3))
    return {
        "one_fit_seconds": one_fit,
        "candidates": len(search.cv_results_["params"]),
        "seconds": seconds,
        "fits": seconds / one_fit,
    }


def first_run_seconds() -> dict[str, float]:
    """Return the time of a whole new process that imports and imputes, caches warm."""
    script = (
        "import numpy as np; from kernimpute import impute; g = np.random.default_rng(0); "
        "X = g.random((276, 14)); y = (X[:, 0] > .5) * 1; X[g.random(X.shape) < .6] = np.nan; "
        "impute(X, y)"
    )
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", script], check=True)
        seconds.append(time.perf_counter() - began)
    return {"process_seconds": min(seconds)}


def main() -> None:
    """Measure, print and write."""
    with one_thread(), warnings.catch_warnings():
        # Candidates far from the defaults may need more rounds than they get.
        warnings.simplefilter("ignore", ConvergenceWarning)
        split = australian_split(0, 0.6)
        stages = measure(split.X, split.y, split.truth)
        searched = searches(split.X, split.y)
    for name, figures in {"stages": stages, "search": searched}.items():
        print(name)
        for key, value in figures.items():
            shown = f"{value:.4g}" if isinstance(value, float) else value
            print(f"  {key:28} {shown}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    write_results(
        "speed",
        {
            "stages": stages,
            "search": searched,
            "process": {**first_run_seconds(), "peak_rss_mib": peak},
        },
    )


if __name__ == "__main__":
    main()
