"""Whether the default anchor holds where there are more than two classes.

``python -m benchmarks.multiclass --data-dir FOLDER``: six tables of three to ten classes, 30 and
60 % of all cells missing, five stratified folds. Nothing is tuned. Accuracy on the held-out rows,
which have gaps too, less that of column means and the same classifier: of logistic regression and
SVC at scikit-learn's defaults behind `KernelImputer`, and of `KernelImputationClassifier` against
column means and SVC. Three anchors, in units of C / (observed share) for K classes:

default
    16 K in the imputer and 32 K in the classifier: there is a machine for each class;
without K
    16 and 32, as for two classes;
eta=inf, similar rows
    no label guides; new rows are filled from similar ones, as by default.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.progress import track
from sklearn.datasets import load_digits, load_iris, load_wine, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

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
from kernimpute import KernelImputationClassifier, KernelImputer
from kernimpute.core.rows import CLASSIFIER_C, CLASSIFIER_ETA

RATES = (0.3, 0.6)
N_FOLDS = 5
WINE_SAMPLES = (5, 7)
N_WINES = 800
N_DIGITS = 600
CLASSIFIERS = {"LR": LogisticRegression(max_iter=2000), "SVC": SVC()}
OWN = "own machine"
"""The comparison of `KernelImputationClassifier`, whose rival is mean imputation and SVC."""
ANCHORS = ("default", "without K", "eta=inf, similar rows")

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Fold:
    """Rows to learn from and rows to judge by, all of them with gaps.

    Parameters
    ----------
    X : ndarray of shape (n_train, n_features)
        Training rows.
    y : ndarray of shape (n_train,)
        Their classes.
    X_test : ndarray of shape (n_test, n_features)
        Held-out rows.
    y_test : ndarray of shape (n_test,)
        Their classes.
    """

    X: FloatArray
    y: NDArray[np.int64]
    X_test: FloatArray
    y_test: NDArray[np.int64]


def tables() -> Iterator[tuple[str, FloatArray, NDArray[np.int64]]]:
    """Yield (name, features, classes) of every table."""
    wine = pd.read_csv(data_folder() / "wine_white.csv")
    # The grades 3 and 9 have too few rows for five folds.
    wine = wine[wine["target"].between(4, 8)]
    for seed in WINE_SAMPLES:
        rows = wine.sample(N_WINES, random_state=seed)
        y = rows.pop("target").to_numpy()
        yield f"white wine, sample {seed}", rows.to_numpy(float), y
    X, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(0).permutation(y.size)[:N_DIGITS]
    X, y = X[rows], y[rows]
    yield "digits", X[:, np.ptp(X, axis=0) > 0.0], y
    yield "wine", *load_wine(return_X_y=True)
    yield "iris", *load_iris(return_X_y=True)
    X, y = make_classification(
        600,
        12,
        n_informative=6,
        n_classes=4,
        n_clusters_per_class=1,
        class_sep=0.7,
        flip_y=0.1,
        random_state=0,
    )
    yield "synthetic", X, y


def folds(name: str, X: FloatArray, y: NDArray[np.int64], missing_rate: float) -> Iterator[Fold]:
    """Yield the folds of a table at one missing rate."""
    axes = ("multiclass", name, missing_rate)
    holed = amputed(X, missing_rate, *axes)
    splitter = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed_of("folds", *axes))
    for train, test in splitter.split(holed, y):
        yield Fold(holed[train], y[train], holed[test], y[test])


def readings(fold: Fold) -> Iterator[tuple[str, str, float]]:
    """Yield (method, classifier, accuracy) of every method on one fold."""
    as_two_classes = 1.0 / (1.0 - float(np.isnan(fold.X).mean()))
    imputers = dict(
        zip(
            ANCHORS,
            (
                KernelImputer(**GUIDED),
                KernelImputer(**GUIDED, eta=16.0 * as_two_classes),
                KernelImputer(**GUIDED, eta=np.inf, new_rows="similar"),
            ),
            strict=True,
        )
    )
    machines = dict(
        zip(
            ANCHORS,
            (
                KernelImputationClassifier(**GUIDED_SVM),
                KernelImputationClassifier(
                    **GUIDED_SVM, eta=CLASSIFIER_ETA * CLASSIFIER_C * as_two_classes
                ),
                KernelImputationClassifier(**GUIDED_SVM, eta=np.inf, new_rows="similar"),
            ),
            strict=True,
        )
    )
    for method, imputer in {"mean": SimpleImputer(), **imputers}.items():
        filled = imputer.fit_transform(fold.X, fold.y)
        filled_test = imputer.transform(fold.X_test)
        for name, classifier in CLASSIFIERS.items():
            pipeline = make_pipeline(StandardScaler(), classifier).fit(filled, fold.y)
            accuracy = float(pipeline.score(filled_test, fold.y_test))
            yield method, name, accuracy
            if method == "mean" and name == "SVC":
                yield method, OWN, accuracy
    for method, machine in machines.items():
        machine.fit(fold.X, fold.y)
        yield method, OWN, float(machine.score(fold.X_test, fold.y_test))


def all_readings() -> pd.DataFrame:
    """Return the readings of all tables, rates and folds."""
    rows = []
    settings = [(*table, rate) for table in tables() for rate in RATES]
    for name, X, y, rate in track(settings):
        where = {"dataset": name, "classes": np.unique(y).size, "missing_rate": rate}
        for number, fold in enumerate(folds(name, X, y, rate)):
            with warnings.catch_warnings():
                # Unmet stop rules are part of the game.
                warnings.simplefilter("ignore", ConvergenceWarning)
                rows += [
                    {**where, "fold": number, "method": method, "classifier": name, "accuracy": of}
                    for method, name, of in readings(fold)
                ]
    return pd.DataFrame(rows)


PAIRED = (["dataset", "classes", "missing_rate", "classifier"], "fold", "accuracy")
"""What makes a setting, over what differences are paired, and in what."""
COUNTED = ["method", "classifier"]
"""What settings are counted by."""


def markdown(table: pd.DataFrame) -> str:
    """Return the differences to mean imputation as the table of the README."""
    columns = [(method, name) for name in (*CLASSIFIERS, OWN) for method in ANCHORS[:2]]
    lines = ["| | " + " | ".join(f"{name}, {method}" for method, name in columns) + " |"]
    lines.append("|---" * (len(columns) + 1) + "|")
    for (dataset, K, rate), rows in table.groupby(
        ["dataset", "classes", "missing_rate"], sort=False
    ):
        cells = []
        for method, name in columns:
            cell = rows[(rows["method"] == method) & (rows["classifier"] == name)].iloc[0]
            shown = f"{cell['difference']:+.3f} ± {cell['standard_error']:.3f}".replace("-", "−")
            cells.append(f"**{shown}**" if cell["worse"] else shown)
        lines.append(f"| {dataset}, K = {K}, {rate:.0%} | " + " | ".join(cells) + " |")
    return "\n".join(lines).replace("%", " %")


def main() -> None:
    """Measure, print and write."""
    with one_thread():
        rows = all_readings()
    rows.round(6).to_csv(RESULTS / "multiclass.csv", index=False)
    table = differences(rows, *PAIRED)
    summary = counts(table, COUNTED)
    guidance = {
        other: counts(
            differences(rows[rows["method"].isin(["default", other])], *PAIRED, to=other), COUNTED
        )
        for other in ANCHORS[1:]
    }
    print(markdown(table))
    print(summary.round(4).to_string(index=False))
    for other, against in guidance.items():
        print(f"the default against {other}:")
        print(against.round(4).to_string(index=False))
    write_results(
        "multiclass",
        {
            "counts": summary.round(5).to_dict(orient="records"),
            "default against": {
                other: against.round(5).to_dict(orient="records")
                for other, against in guidance.items()
            },
            "settings": table.round(5).to_dict(orient="records"),
        },
    )


if __name__ == "__main__":
    main()
