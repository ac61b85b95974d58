"""Time and memory of some work, and how they grow."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from benchmarks.setting import FloatArray, unit_range

__all__ = ["all_seconds", "exponent", "measured", "simulated"]

Result = TypeVar("Result")
FLOAT = 8


def all_seconds(work: Callable[[], object], repeats: int) -> list[float]:
    """Return the time of some work, so many times."""
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return seconds


def measured(
    work: Callable[[], Result], repeats: int, n_samples: int
) -> tuple[Result, float, float]:
    """Return a result, the median time of some work, and its peak in n x n float64 matrices.

    The peak is NumPy's, by tracemalloc, in a run of its own, which no time is taken from.
    """
    tracemalloc.start()
    result = work()
    peak = tracemalloc.get_traced_memory()[1] / (FLOAT * n_samples**2)
    tracemalloc.stop()
    return result, float(np.median(all_seconds(work, repeats))), peak


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Return p of the power law ``cost ~ size^p``, by least squares of the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def simulated(n_samples: int, n_features: int = 20) -> tuple[FloatArray, FloatArray]:
    """Return two overlapping clusters in [0, 1], complete, with labels."""
    generator = np.random.default_rng(n_samples)
    y = np.arange(n_samples) % 2
    X = generator.standard_normal((n_samples, n_features)) + 0.5 * y[:, None]
    return unit_range(X), y
