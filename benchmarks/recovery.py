"""The paper's table on recovery from a given kernel, and beyond it.

Heart (270 x 13), cells removed uniformly, the exact kernel matrix of the complete rows given;
five seeds each. Run as ``python -m benchmarks.recovery --data-dir FOLDER``.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.setting import amputed, dataset, one_thread, write_results
from kernimpute import recover_features
from kernimpute.kernels import Chi2, Gaussian, Kernel, Laplacian, Linear, Polynomial, Sigmoid

SEEDS = range(5)
GAUSSIAN = [
    (Gaussian(gamma), rate) for rate in (0.1, 0.9, 0.95, 0.98) for gamma in (1.0, 1.0 / 32.0, 32.0)
]
OTHERS = [
    (kernel, rate)
    for kernel in (Laplacian(1.0), Linear(), Polynomial(degree=3), Sigmoid(0.1), Chi2())
    for rate in (0.1, 0.5)
]


def one_run(kernel: Kernel, missing_rate: float, seed: int) -> dict[str, float | str]:
    """Recover heart's features from its own kernel matrix and return the errors."""
    X, _ = dataset("heart")
    holed = amputed(X, missing_rate, "heart", seed)
    K = kernel(X, X)
    began = time.perf_counter()
    recovered = recover_features(holed, kernel.inverse_link(K), kernel=kernel)
    seconds = time.perf_counter() - began
    feature_error = np.abs(recovered.X - X)
    gram_error = np.abs(kernel(recovered.X, recovered.X) - K)
    return {
        "kernel": repr(kernel),
        "missing_rate": missing_rate,
        "seed": seed,
        "feature_error_max": float(feature_error.max()),
        "feature_error_mean": float(feature_error.mean()),
        "gram_error_max": float(gram_error.max()),
        "gram_error_mean": float(gram_error.mean()),
        "n_sweeps": recovered.n_sweeps,
        "seconds": seconds,
        "status": recovered.status.name,
    }


def main() -> None:
    """Run every case, print a line each and write the results."""
    runs = []
    with one_thread():
        for kernel, rate in GAUSSIAN + OTHERS:
            case = [one_run(kernel, rate, seed) for seed in SEEDS]
            runs += case
            exact = sum(float(run["feature_error_max"]) <= 1e-8 for run in case)
            worst = max(float(run["feature_error_max"]) for run in case)
            gram = max(float(run["gram_error_max"]) for run in case)
            seconds = max(float(run["seconds"]) for run in case)
            print(
                f"{kernel!r:60} {rate:4.0%}  exact {exact}/5  feature error <= {worst:.1e}  "
                f"gram error <= {gram:.1e}  <= {seconds:.2f} s",
                flush=True,
            )
    write_results("recovery", {"runs": runs})


if __name__ == "__main__":
    main()
