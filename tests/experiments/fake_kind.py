"""A kind of experiment that needs no data: its methods do as their names say."""

import sys
import time
import warnings

import numpy as np
from threadpoolctl import threadpool_info

from experiments.config import Config

MOONS = """
kind: moons
description: A trial.
n_samples: 40
noise: 0.1
n_missing: 4
C: 4.0
gamma: 8.0
grid: 3
repetitions: 2
methods: [mean, direct]
"""
"""A quick config of a kind that needs no data either."""

columns = ("rule", "accuracy", "filled_error")


def register():
    """Make this module the kind "fake" of this process."""
    sys.modules["experiments.kinds.fake"] = sys.modules[__name__]


def config(methods=("quick", "two_rules"), repetitions=3):
    return Config.model_validate(
        {
            "name": "trial",
            "kind": "fake",
            "description": "A trial.",
            "repetitions": repetitions,
            "methods": [{"name": m} if isinstance(m, str) else m for m in methods],
        }
    )


def units(config):
    return [
        {"dataset": dataset, "missing_rate": 0.4, "repetition": repetition}
        for dataset in ("heart", "pima")
        for repetition in range(config.repetitions)
    ]


def setting(config, unit):
    return None


def rows(config, unit, method, data_dir):
    accuracy = (unit["repetition"] + 1) / 7
    if method == "two_rules":
        refused = {"rule": "released", "status": "failed", "reason": "no candidate passes"}
        return [{"rule": "plain", "accuracy": np.float64(accuracy)}, refused]
    if method == "slow":
        time.sleep(0.1)
    if method == "fails":
        raise ValueError("the first line\nand a second")
    if method == "too_large":
        raise MemoryError
    if method == "warns":
        for _ in range(3):
            warnings.warn("not converged", RuntimeWarning, stacklevel=1)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    if method == "fat":
        held = np.ones(8 * 2**20)
        time.sleep(0.1)
        accuracy = held[0]
    if method == "threads":
        accuracy = max(pool["num_threads"] for pool in threadpool_info())
    if method == "nothing":
        return []
    if method == "unannounced":
        return [{"acuracy": 1.0}]
    return [{"rule": "plain", "accuracy": accuracy}]
