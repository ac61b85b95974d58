"""A first reading of test accuracy on the authors' ten australian splits.

``python -m benchmarks.accuracy --data-dir FOLDER`` fills the training rows (276 x 14) at 20,
40, 60 and 80 % by every variant and reads two accuracies on the complete test rows: of the
variant's own coefficients, and of an SVC refitted on the filled rows. One rule selects
everything: the best holdout accuracy, ties to the smallest C, then gamma. Mean imputation with
the same SVC over the whole grid is what every gain is against.

The variants search the paper's neighbourhood, C and gamma of mean imputation times 1/2, 1, 2;
"direct, eta selected" searches eta = C, 4 C and 16 C as well. `paper`, `appendix` and `released`
take up to minutes a run: they get the middle, five repetitions, and 150 rounds at the most.
Rows are written as they come; a method whose rows for a split are there is not run again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from rich.progress import track
from sklearn.svm import SVC

from benchmarks.setting import RESULTS, australian_split, one_thread, write_results
from kernimpute import impute
from kernimpute.joint.reference import reference_table
from kernimpute.kernels import Gaussian

RATES = (0.2, 0.4, 0.6, 0.8)
REPETITIONS = range(10)
GRID = [2.0**power for power in range(-5, 6)]
NEIGHBOURS = (0.5, 1.0, 2.0)
NEAR = tuple(product(NEIGHBOURS, NEIGHBOURS))
MIDDLE = ((1.0, 1.0),)


@dataclass(frozen=True)
class Method:
    """A variant with what it may search.

    Parameters
    ----------
    variant : str
        A variant of `impute`.
    settings : tuple of (float, float)
        Factors of mean imputation's C and gamma.
    etas : tuple of float or None
        eta in units of C; None is the variant's default.
    repetitions : int
        How many of the ten splits it gets.
    max_iter : int or None
        Rounds at the most; None is the variant's default.
    """

    variant: str
    settings: tuple[tuple[float, float], ...] = NEAR
    etas: tuple[float | None, ...] = (None,)
    repetitions: int = 10
    max_iter: int | None = None


METHODS = {
    "direct": Method("direct"),
    "direct, eta selected": Method("direct", etas=(1.0, 4.0, 16.0)),
    "anchored": Method("anchored"),
    "paper": Method("paper", MIDDLE, repetitions=5, max_iter=150),
    "appendix": Method("appendix", MIDDLE, repetitions=5, max_iter=150),
    "released": Method("released", MIDDLE, repetitions=5, max_iter=150),
}

Reading = tuple[float, float]
"""Holdout and test accuracy."""


def accuracies(machine: SVC, splits: list) -> Reading:
    """Return the accuracies of a fitted machine on (holdout, test)."""
    holdout, test = (float(machine.score(X, y)) for X, y in splits)
    return holdout, test


def select(readings: list[Reading]) -> float:
    """Return the test accuracy at the best holdout accuracy, the first among equals."""
    return max(readings, key=lambda reading: reading[0])[1]


def mean_imputation(X: np.ndarray, y: np.ndarray, splits: list) -> tuple[float, float, float]:
    """Return test accuracy, C and gamma of mean imputation with an ordinary selection."""
    table = reference_table(X, Gaussian(), None)
    settings = list(product(GRID, GRID))
    readings = [accuracies(SVC(C=C, gamma=g).fit(table, y), splits) for C, g in settings]
    best = max(range(len(settings)), key=lambda index: readings[index][0])
    return readings[best][1], *settings[best]


def one_run(
    method: Method,
    X: np.ndarray,
    y: np.ndarray,
    splits: list,
    setting: tuple[float, float, float | None],
) -> tuple[Reading, Reading, bool, float]:
    """Return own and refitted readings, whether the run converged, and its seconds."""
    C, gamma, eta = setting
    began = time.perf_counter()
    result = impute(
        X,
        y,
        variant=method.variant,
        kernel=Gaussian(gamma),
        C=C,
        eta=None if eta is None else eta * C,
        max_iter=method.max_iter,
    )
    seconds = time.perf_counter() - began
    own = []
    for rows, labels in splits:
        decision = result.kernel(rows, result.X) @ result.dual_coef + result.intercept
        own.append(float(((decision > 0.0) == (labels == 1)).mean()))
    refitted = accuracies(SVC(C=C, gamma=gamma).fit(result.X, y), splits)
    return (own[0], own[1]), refitted, result.status.success, seconds


def split_readings(
    repetition: int, rate: float, known: frozenset[str]
) -> Iterator[dict[str, float | str]]:
    """Yield the rows of one split at one rate, but for the methods whose rows are known."""
    split = australian_split(repetition, rate)
    X, y, splits = split.X, split.y, split.held_out
    test, C_mean, gamma_mean = mean_imputation(X, y, splits)
    where = {"missing_rate": rate, "repetition": repetition}
    if "mean" not in known:
        yield {**where, "method": "mean", "reading": "refit", "accuracy": test}
    for name, method in METHODS.items():
        if name in known or repetition >= method.repetitions:
            continue
        runs = [
            one_run(method, X, y, splits, (C_mean * c, gamma_mean * g, eta))
            for (c, g), eta in product(method.settings, method.etas)
        ]
        common = {
            **where,
            "method": name,
            "unconverged": sum(not run[2] for run in runs) / len(runs),
            "seconds": sum(run[3] for run in runs) / len(runs),
        }
        yield {**common, "reading": "own", "accuracy": select([run[0] for run in runs])}
        yield {**common, "reading": "refit", "accuracy": select([run[1] for run in runs])}


def one_task(index: int, rate: float, known: frozenset[str]) -> list[dict[str, float | str]]:
    """Run one split at one rate on one thread."""
    with one_thread():
        return list(split_readings(index, rate, known))


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Return mean and standard error of the difference to mean imputation, by method."""
    keys = ["missing_rate", "repetition"]
    base = rows[rows["method"] == "mean"][[*keys, "accuracy"]]
    rows = rows.merge(base, on=keys, suffixes=("", "_of_mean"))
    rows["gain"] = rows["accuracy"] - rows["accuracy_of_mean"]
    grouped = rows.groupby(["method", "reading", "missing_rate"])
    return pd.DataFrame(
        {
            "accuracy": grouped["accuracy"].mean(),
            "gain over mean": grouped["gain"].mean(),
            "its standard error": grouped["gain"].sem(),
            "unconverged": grouped["unconverged"].mean(),
            "seconds": grouped["seconds"].mean(),
        }
    ).round(4)


def main() -> None:
    """Run all splits, print the summary and write rows and summary."""
    path = RESULTS / "accuracy.csv"
    rows = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=["method"])

    def known(index: int, rate: float) -> frozenset[str]:
        if rows.empty:
            return frozenset()
        here = (rows["repetition"] == index) & (rows["missing_rate"] == rate)
        return frozenset(rows.loc[here, "method"])

    tasks = [
        delayed(one_task)(index, rate, known(index, rate))
        for index in REPETITIONS
        for rate in RATES
    ]
    done = Parallel(n_jobs=2, return_as="generator_unordered")(tasks)
    for part in track(done, total=len(tasks), description="splits and rates"):
        rows = pd.concat([rows, pd.DataFrame(part)], ignore_index=True)
        rows.to_csv(path, index=False)
    table = summary(rows)
    print(table.to_string())
    write_results("accuracy", {"summary": table.reset_index().to_dict(orient="records")})


if __name__ == "__main__":
    main()
