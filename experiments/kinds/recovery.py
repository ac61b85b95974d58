"""Stage II alone: features recovered from the exact kernel matrix of the complete table."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from experiments.amputation import draw_amputation
from experiments.config import RecoveryConfig, check_methods
from experiments.make_problem import make_problem
from experiments.problem import Setting, seed_of
from kernimpute import recover_features
from kernimpute.kernels import Gaussian

METHODS = ("recover_features",)
"""The methods there are."""

columns = (
    "feature_error_max",
    "feature_error_mean",
    "gram_error_max",
    "gram_error_mean",
    "n_sweeps",
    "solver_status",
)
"""The paper's e_X and e_K, absolute errors over all cells and over all pairs of rows; then what
the solver did. `seconds` are those of the recovery itself."""


def units(config: RecoveryConfig) -> list[dict[str, Any]]:
    """Return the axes: every gamma at every missing rate, each repetition."""
    check_methods(config, METHODS)
    return [
        {"dataset": config.dataset, "gamma": gamma, "missing_rate": rate, "repetition": repetition}
        for gamma in config.gammas
        for rate in config.missing_rates
        for repetition in range(config.repetitions)
    ]


def setting(config: RecoveryConfig, unit: dict[str, Any]) -> Setting:
    """Return the problem that a unit is of."""
    return Setting(unit["dataset"], "mcar", unit["missing_rate"], 0, splits="hashed")


def rows(
    config: RecoveryConfig, unit: dict[str, Any], method: str, data_dir: Path | None
) -> list[dict[str, Any]]:
    """Return the errors of one recovery."""
    rate, repetition = unit["missing_rate"], unit["repetition"]
    whole = make_problem(setting(config, unit), data_dir)
    X = np.vstack([whole.train.truth, whole.holdout.truth, whole.test.truth])
    # The same cells at every gamma.
    seed = seed_of("recovery", unit["dataset"], rate, repetition)
    generator = np.random.default_rng(seed)
    observed = draw_amputation("mcar", X, generator).mask(X, rate, generator)
    kernel = Gaussian(unit["gamma"])
    K = kernel(X, X)
    holed, target = np.where(observed, X, np.nan), kernel.inverse_link(K)
    # Compiles the sweep where that has not been done on this machine, outside the time measured.
    recover_features(holed[:3], target[:3, :3], kernel=kernel)
    began = time.perf_counter()
    recovered = recover_features(holed, target, kernel=kernel)
    seconds = time.perf_counter() - began
    feature_error = np.abs(recovered.X - X)
    gram_error = np.abs(kernel(recovered.X, recovered.X) - K)
    return [
        {
            "feature_error_max": float(feature_error.max()),
            "feature_error_mean": float(feature_error.mean()),
            "gram_error_max": float(gram_error.max()),
            "gram_error_mean": float(gram_error.mean()),
            "n_sweeps": recovered.n_sweeps,
            "solver_status": recovered.status.name,
            "seconds": seconds,
            "seed": seed,
        }
    ]
