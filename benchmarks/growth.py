"""What the stages cost as the rows grow, against one eigendecomposition and one matrix product.

``python -m benchmarks.growth`` takes simulated tables of 250 to 4000 rows and 20 columns with half
of the cells removed, BLAS on one thread, all in one process: Stage I (`anchored`) to a gap of 1e-3,
`direct`, one sweep of Stage II, and its recovery from the exact kernel. It fits an exponent to
each, and draws the costs with their slopes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import eigh

from benchmarks.measuring import exponent, measured, simulated
from benchmarks.setting import RESULTS, amputed, one_thread, write_results
from kernimpute import impute, learn_kernel, recover_features
from kernimpute.core.rows import scaled_kernel

SIZES = (250, 500, 1000, 2000, 4000)
MISSING_RATE = 0.5
COSTS = {
    "eigh": "one eigh",
    "product": "one matrix product",
    "anchored": "Stage I, anchored",
    "direct": "direct",
    "sweep": "one sweep of Stage II",
    "recovery": "Stage II from the exact kernel",
}
"""What is timed, and its name in the figure."""


def measure(n_samples: int) -> dict[str, Any]:
    """Measure a table of so many rows."""
    truth, y = simulated(n_samples)
    X = amputed(truth, MISSING_RATE, "simulated", n_samples)
    kernel = scaled_kernel("gaussian", X)
    K = kernel(truth, truth)
    target = kernel.inverse_link(K)
    # A run of minutes varies by less than a run of milliseconds.
    repeats = 5 if n_samples <= 1000 else 1
    _, one_eigh, _ = measured(lambda: eigh(K), max(repeats, 3), n_samples)
    _, one_product, _ = measured(lambda: K @ K, max(repeats, 3), n_samples)
    learned, anchored, anchored_peak = measured(
        lambda: learn_kernel(X, y, kernel=kernel), repeats, n_samples
    )
    found, direct, direct_peak = measured(lambda: impute(X, y, kernel=kernel), repeats, n_samples)
    recovered, recovery, _ = measured(
        lambda: recover_features(X, target, kernel=kernel), max(repeats, 3), n_samples
    )
    swept = recover_features(X, target, kernel=kernel, starts=("half",), tol=0.0, max_sweeps=20)
    one_sweep = float(np.median(np.diff(swept.trace.column("seconds"))))
    return {
        "n_samples": n_samples,
        "seconds": {
            "eigh": one_eigh,
            "product": one_product,
            "anchored": anchored,
            "direct": direct,
            "sweep": one_sweep,
            "recovery": recovery,
        },
        "peak_matrices": {"anchored": anchored_peak, "direct": direct_peak},
        "anchored": {"rounds": learned.n_iter, "gap": learned.gap, "status": learned.status.name},
        "direct": {"steps": len(found.trace) - 1, "status": found.status.name},
        "recovery": {
            "sweeps": recovered.n_sweeps,
            "feature_error": float(np.abs(recovered.X - truth).max()),
            "pairs_per_second": float(np.isnan(X).sum()) * n_samples / one_sweep,
        },
    }


def draw(cases: list[dict[str, Any]], exponents: dict[str, float], path: Path) -> None:
    """Draw cost against rows, both on logarithmic axes, a line for each thing timed."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.0, 4.5), layout="constrained")
    axes = figure.subplots()
    sizes = [case["n_samples"] for case in cases]
    # Okabe and Ito's colours, which colour-blind readers can tell apart.
    colours = ("#000000", "#999999", "#D55E00", "#0072B2", "#56B4E9", "#009E73")
    for (name, label), colour, marker in zip(COSTS.items(), colours, "ovsD^P", strict=True):
        seconds = [case["seconds"][name] for case in cases]
        axes.loglog(
            sizes, seconds, color=colour, marker=marker, label=f"{label}, ∝ N^{exponents[name]:.1f}"
        )
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("rows N")
    axes.set_ylabel("seconds, one thread")
    figure.legend(loc="outside upper center", ncols=2, frameon=False, fontsize="small")
    figure.savefig(path, metadata={"Date": None})
    print(f"written to {path}")


def main() -> None:
    """Measure, print, write and draw."""
    cases = []
    with one_thread():
        for n_samples in SIZES:
            cases.append(measure(n_samples))
            seconds = cases[-1]["seconds"]
            shown = ", ".join(
                f"{name} {seconds[name] / seconds['eigh']:.3g}" for name in COSTS if name != "eigh"
            )
            print(f"{n_samples} rows, eigh {seconds['eigh']:.3g} s; in eighs: {shown}", flush=True)
    exponents = {name: exponent(SIZES, [case["seconds"][name] for case in cases]) for name in COSTS}
    print("exponents:", ", ".join(f"{name} {power:.2f}" for name, power in exponents.items()))
    write_results("growth", {"cases": cases, "exponents": exponents})
    draw(cases, exponents, RESULTS / "growth.svg")


if __name__ == "__main__":
    main()
