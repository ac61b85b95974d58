"""How strongly to anchor `direct` when nothing is tuned.

``python -m benchmarks.anchor --data-dir FOLDER``: five tables, six random splits each, training
rows (300 at the most) with 60 % of their cells missing, complete test rows; scikit-learn's SVC
and logistic regression at their defaults on rows filled by `direct` with C = 1 and eta = 1, 4, 16
and 64, against the same on column means.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from benchmarks.setting import amputed, dataset, one_thread, unit_range, write_results
from kernimpute import impute

TABLES = ("breast_cancer", "heart", "pima", "australian", "german_numer")
ETAS = (1.0, 4.0, 16.0, 64.0)
SPLITS = range(6)


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return a table scaled to [0, 1] and its labels."""
    if name != "breast_cancer":
        return dataset(name)
    X, y = load_breast_cancer(return_X_y=True)
    return unit_range(X), y


def scores(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray) -> list[float]:
    """Return the test accuracies of both classifiers."""
    machines = (SVC(), LogisticRegression(max_iter=2000))
    return [float(machine.fit(X, y).score(X_test, y_test)) for machine in machines]


def gains(name: str, seed: int) -> Iterator[dict[str, float | str]]:
    """Yield the gain over column means for each eta and classifier on one split."""
    X, y = load(name)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.3, random_state=seed, stratify=y
    )
    holed = amputed(X_train[:300], 0.6, name, seed)
    labels = y_train[:300]
    means = np.where(np.isnan(holed), np.nanmean(holed, axis=0), holed)
    base = scores(means, labels, X_test, y_test)
    for eta in ETAS:
        filled = impute(holed, labels, eta=eta).X
        ours = scores(filled, labels, X_test, y_test)
        for classifier, before, after in zip(("SVC", "logistic"), base, ours, strict=True):
            yield {"table": name, "eta": eta, "classifier": classifier, "gain": after - before}


def main() -> None:
    """Run all tables and splits, print and write the gains."""
    with one_thread():
        rows = pd.DataFrame(
            [row for name in TABLES for seed in SPLITS for row in gains(name, seed)]
        )
    table = rows.groupby(["classifier", "eta", "table"])["gain"].agg(["mean", "sem"]).round(4)
    overall = table["mean"].groupby(["classifier", "eta"]).mean().round(4)
    print(table.unstack("table").to_string())
    print(overall.to_string())
    write_results(
        "anchor",
        {
            "gains": table.reset_index().to_dict(orient="records"),
            "mean over tables": overall.reset_index().to_dict(orient="records"),
        },
    )


if __name__ == "__main__":
    main()
