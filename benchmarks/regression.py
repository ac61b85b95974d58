"""Whether labels that are quantities help to fill the features that predict them.

``python -m benchmarks.regression --data-dir FOLDER``: five tables with a quantity to predict, 30
and 70 % of the cells missing, ten splits each; test rows complete (as they come) and amputed at
the same rate ("life"). Nothing is tuned. Two comparisons, in R2 on the test rows, each with what
tells its parts apart:

svr
    `KernelImputationRegressor()` against mean imputation and SVR at scikit-learn's defaults, on
    columns scaled to [0, 1] and a standardised target, as our own has them;
ridge
    `KernelImputer(task="regression")` and ridge regression on standardised columns against mean
    imputation and the same.

With eta = inf no label guides the fills; "similar rows" then still fills new rows from similar
ones. With eta = 16 C / (observed share) a quantity is held as classes are by default.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.progress import track
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVR

from benchmarks.paired import counts, differences
from benchmarks.setting import (
    GUIDED,
    GUIDED_SVM,
    RESULTS,
    amputed,
    data_folder,
    one_thread,
    seed_of,
    write_results,
)
from kernimpute import KernelImputationRegressor, KernelImputer

RATES = (0.3, 0.7)
REPETITIONS = range(10)
TARGETS = {
    "diabetes": "progression",
    "wine_white": "target",
    "pima": "mass",
    "heart": "max_heart_rate",
    "german_numer": "A4",
}
"""What is predicted, by table."""
N_WINES = 600
UNGUIDED = "eta=inf, similar rows"
"""What differs from the defaults in that no label guides, and in nothing else."""

FloatArray = NDArray[np.float64]
Rows = dict[str, FloatArray]


@dataclass(frozen=True)
class Split:
    """Rows to learn from and rows to judge by.

    Parameters
    ----------
    X : ndarray of shape (n_train, n_features)
        Amputed rows.
    y : ndarray of shape (n_train,)
        Their target.
    tests : dict of str to ndarray of shape (n_test, n_features)
        Test rows, "complete" and "life".
    y_test : ndarray of shape (n_test,)
        Their target.
    """

    X: FloatArray
    y: FloatArray
    tests: Rows
    y_test: FloatArray


@cache
def load_table(name: str) -> tuple[FloatArray, FloatArray]:
    """Return features and target of a table in `TARGETS`; a class label is dropped."""
    if name == "diabetes":
        return load_diabetes(return_X_y=True)
    table = pd.read_csv(data_folder() / f"{name}.csv").astype(float)
    if name == "wine_white":
        table = table.sample(N_WINES, random_state=0)
    if name == "pima":
        # A body mass of 0 is one that nobody took.
        table = table[table["mass"] > 0.0]
    y = table.pop(TARGETS[name])
    return table.drop(columns="target", errors="ignore").to_numpy(), y.to_numpy()


def split_table(name: str, missing_rate: float, repetition: int) -> Split:
    """Return a split, 4:3:3 by floor cuts, of which the holdout is left unused."""
    X, y = load_table(name)
    axes = ("regression", name, missing_rate, repetition)
    order = np.random.default_rng(seed_of("split", *axes)).permutation(y.size)
    n_train, n_holdout = (y.size * share // 10 for share in (4, 3))
    train, test = order[:n_train], order[n_train + n_holdout :]
    return Split(
        X=amputed(X[train], missing_rate, "train", *axes),
        y=y[train],
        tests={"complete": X[test], "life": amputed(X[test], missing_rate, "test", *axes)},
        y_test=y[test],
    )


def readings(split: Split) -> Iterator[tuple[str, str, str, float]]:
    """Yield (comparison, method, test, R2) of every method on one split."""
    svr = TransformedTargetRegressor(SVR(), transformer=StandardScaler())
    as_classes = 16.0 / (1.0 - float(np.isnan(split.X).mean()))
    rival = make_pipeline(SimpleImputer(keep_empty_features=True), MinMaxScaler(), svr)
    regressors = {
        "mean": rival,
        "default": KernelImputationRegressor(**GUIDED_SVM),
        "eta=inf": KernelImputationRegressor(**GUIDED_SVM, eta=np.inf),
        UNGUIDED: KernelImputationRegressor(**GUIDED_SVM, eta=np.inf, new_rows="similar"),
        "eta=16 C": KernelImputationRegressor(**GUIDED_SVM, eta=as_classes),
    }
    for method, regressor in regressors.items():
        regressor.fit(split.X, split.y)
        for test, rows in split.tests.items():
            yield "svr", method, test, float(regressor.score(rows, split.y_test))
    imputers = {
        "mean": SimpleImputer(keep_empty_features=True),
        "default": KernelImputer(**GUIDED, task="regression"),
        UNGUIDED: KernelImputer(**GUIDED, task="regression", eta=np.inf, new_rows="similar"),
        "eta=16 C": KernelImputer(**GUIDED, task="regression", eta=as_classes),
    }
    for method, imputer in imputers.items():
        filled = imputer.fit_transform(split.X, split.y)
        ridge = make_pipeline(StandardScaler(), Ridge()).fit(filled, split.y)
        for test, rows in split.tests.items():
            yield "ridge", method, test, float(ridge.score(imputer.transform(rows), split.y_test))


def all_readings() -> pd.DataFrame:
    """Return the readings of all tables, rates and repetitions."""
    rows = []
    columns = ["comparison", "method", "test", "r2"]
    for name, rate, repetition in track(list(product(TARGETS, RATES, REPETITIONS))):
        where = {"dataset": name, "missing_rate": rate, "repetition": repetition}
        split = split_table(name, rate, repetition)
        with warnings.catch_warnings():
            # Unmet stop rules are part of the game.
            warnings.simplefilter("ignore", ConvergenceWarning)
            rows += [
                {**where, **dict(zip(columns, reading, strict=True))} for reading in readings(split)
            ]
    return pd.DataFrame(rows)


PAIRED = (["comparison", "dataset", "missing_rate", "test"], "repetition", "r2")
"""What makes a setting, over what differences are paired, and in what."""
COUNTED = ["comparison", "method"]
"""What settings are counted by."""


def markdown(table: pd.DataFrame) -> str:
    """Return the differences of the defaults as the table of the README."""
    columns = list(product(("svr", "ridge"), ("complete", "life")))
    lines = ["| | " + " | ".join(f"{name}, {test}" for name, test in columns) + " |"]
    lines.append("|---" * (len(columns) + 1) + "|")
    part = table[table["method"] == "default"]
    for (dataset, rate), rows in part.groupby(["dataset", "missing_rate"], sort=False):
        cells = []
        for name, test in columns:
            cell = rows[(rows["comparison"] == name) & (rows["test"] == test)].iloc[0]
            shown = f"{cell['difference']:+.3f} ± {cell['standard_error']:.3f}".replace("-", "−")
            cells.append(f"**{shown}**" if cell["worse"] else shown)
        lines.append(f"| {dataset}, {rate:.0%} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print and write."""
    with one_thread():
        rows = all_readings()
    rows.round(6).to_csv(RESULTS / "regression.csv", index=False)
    table = differences(rows, *PAIRED)
    summary = counts(table, COUNTED)
    guided = differences(rows[rows["method"].isin(["default", UNGUIDED])], *PAIRED, to=UNGUIDED)
    guidance = counts(guided, COUNTED)
    print(markdown(table))
    print(summary.round(4).to_string(index=False))
    print("labels that guide against labels that do not:")
    print(guidance.round(4).to_string(index=False))
    by = ["comparison", "method", "missing_rate", "test"]
    print(rows.groupby(by, sort=False)["r2"].mean().round(3).unstack([2, 3]).to_string())
    write_results(
        "regression",
        {
            "counts": summary.to_dict(orient="records"),
            "guidance": guidance.to_dict(orient="records"),
            "settings": table.round(5).to_dict(orient="records"),
        },
    )


if __name__ == "__main__":
    main()
