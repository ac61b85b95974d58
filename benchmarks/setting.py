"""Where the data are, on what a figure was measured, and how results are written."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

__all__ = [
    "amputed",
    "australian_split",
    "dataset",
    "data_folder",
    "one_thread",
    "seed_of",
    "write_results",
]

RESULTS = Path(__file__).parent / "results"
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


def dataset(name: str) -> tuple[FloatArray, NDArray[np.int64]]:
    """Return a dataset with columns scaled to [0, 1] over all rows, and labels 0 and 1."""
    table = pd.read_csv(data_folder() / f"{name}.csv")
    X = table.iloc[:, :-1].to_numpy(float)
    y = table.iloc[:, -1].to_numpy()
    return (X - X.min(axis=0)) / np.ptp(X, axis=0), (y == y.max()).astype(np.int64)


def amputed(X: FloatArray, missing_rate: float, *axes: object) -> FloatArray:
    """Return X with exactly round(N d m) cells removed, uniformly."""
    generator = np.random.default_rng(seed_of("amputation", missing_rate, *axes))
    holed = X.copy()
    holed.flat[generator.permutation(X.size)[: round(X.size * missing_rate)]] = np.nan
    return holed


def australian_split(
    repetition: int, missing_rate: float
) -> tuple[FloatArray, NDArray[np.int64], list[tuple[FloatArray, NDArray[np.int64]]]]:
    """Return the authors' own split: incomplete training rows, labels, (holdout, test)."""
    X, y = dataset("australian")
    splits = np.load(data_folder() / "australian_splits.npz")
    rate = int(round(missing_rate * 10)) - 1
    train = splits["train"][repetition]
    X_train = np.where(splits["missing"][rate, repetition], np.nan, X[train])
    rest = [splits["holdout"][repetition], splits["test"][repetition]]
    return X_train, y[train], [(X[rows], y[rows]) for rows in rest]


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
