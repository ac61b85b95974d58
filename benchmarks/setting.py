"""Where the data are, on what a figure was measured, and how results are written."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

__all__ = [
    "GUIDED",
    "GUIDED_SVM",
    "AustralianSplit",
    "amputed",
    "australian_split",
    "dataset",
    "data_folder",
    "one_thread",
    "seed_of",
    "unit_range",
    "write_results",
]

RESULTS = Path(__file__).parent / "results"
GUIDED = {"guidance": "direct", "reference": "mean"}
"""The estimators that most figures are of: labels move fills away from column means."""
GUIDED_SVM = {**GUIDED, "machine": "svm"}
"""The classifier and the regressor of these figures."""
FloatArray = NDArray[np.float64]


def data_folder() -> Path:
    """Return the folder of the datasets: ``--data-dir``, else ``KERNIMPUTE_DATA``.

    Raises
    ------
    SystemExit
        If neither names a folder with the datasets.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--data-dir", default=os.environ.get("KERNIMPUTE_DATA"))
    arguments, _ = parser.parse_known_args()
    if arguments.data_dir is None or not (Path(arguments.data_dir) / "heart.csv").exists():
        raise SystemExit("Name the folder of heart.csv, … by --data-dir or KERNIMPUTE_DATA.")
    return Path(arguments.data_dir)


def seed_of(*axes: object) -> int:
    """Return a seed hashed from named axes, never from a method."""
    return int.from_bytes(hashlib.sha256(repr(axes).encode()).digest()[:4], "big")


def unit_range(X: FloatArray) -> FloatArray:
    """Return X with every column scaled to [0, 1] by its range."""
    return (X - X.min(axis=0)) / np.ptp(X, axis=0)


def dataset(name: str) -> tuple[FloatArray, NDArray[np.int64]]:
    """Return a dataset with columns scaled to [0, 1] over all rows, and labels 0 and 1."""
    table = pd.read_csv(data_folder() / f"{name}.csv")
    X = table.iloc[:, :-1].to_numpy(float)
    y = table.iloc[:, -1].to_numpy()
    return unit_range(X), (y == y.max()).astype(np.int64)


def amputed(X: FloatArray, missing_rate: float, *axes: object) -> FloatArray:
    """Return X with exactly round(N d m) cells removed, uniformly."""
    generator = np.random.default_rng(seed_of("amputation", missing_rate, *axes))
    holed = X.copy()
    holed.flat[generator.permutation(X.size)[: round(X.size * missing_rate)]] = np.nan
    return holed


@dataclass(frozen=True)
class AustralianSplit:
    """One of the authors' own splits at one missing rate.

    Parameters
    ----------
    X, y : ndarray
        Incomplete training rows of shape (276, 14), and their labels.
    truth : ndarray of shape (276, 14)
        The same rows before cells were removed.
    held_out : list of (ndarray, ndarray)
        Complete rows and labels of the holdout and of the test set.
    """

    X: FloatArray
    y: NDArray[np.int64]
    truth: FloatArray
    held_out: list[tuple[FloatArray, NDArray[np.int64]]]


def australian_split(repetition: int, missing_rate: float) -> AustralianSplit:
    """Return the authors' own split of a repetition."""
    X, y = dataset("australian")
    with np.load(data_folder() / "australian_splits.npz") as splits:
        train = splits["train"][repetition]
        gaps = splits["missing"][round(missing_rate * 10) - 1, repetition]
        held_out = [splits[name][repetition] for name in ("holdout", "test")]
    return AustralianSplit(
        X=np.where(gaps, np.nan, X[train]),
        y=y[train],
        truth=X[train],
        held_out=[(X[rows], y[rows]) for rows in held_out],
    )


@contextmanager
def one_thread() -> Iterator[None]:
    """Pin BLAS to one thread."""
    with threadpool_limits(limits=1):
        yield


def write_results(name: str, results: dict[str, Any]) -> None:
    """Write results with the machine and the versions they were measured on."""
    packages = ("kernimpute", "numpy", "scipy", "scikit-learn", "numba")
    measured_on = {
        "machine": platform.machine(),
        "processor": _processor(),
        "python": platform.python_version(),
        **{package: version(package) for package in packages},
        "blas_threads": 1,
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps({"measured_on": measured_on, **results}, indent=1) + "\n")
    partial.replace(path)
    print(f"written to {path}")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if "model name" in line), "")
