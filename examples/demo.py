"""From a table with gaps to a classifier: `make demo`.

1. Takes scikit-learn's breast cancer table, sets new rows aside, and removes 60 % of the cells,
   with a fixed seed: demo/breast_cancer_gaps.csv and, without labels, demo/breast_cancer_new.csv.
2. Fills it with `kernimpute impute`: demo/breast_cancer_filled.csv and demo/report.html.
3. On ten such splits compares `KernelImputer` with column means and scikit-learn's
   `IterativeImputer`: how far the fills are from the truth, and how well two classifiers predict
   new rows. It prints the figures and what they say, whichever way they come out.
"""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from kernimpute import KernelImputer

MISSING_RATE = 0.6
N_SPLITS = 10
FOLDER = Path("demo")
GAPS = FOLDER / "breast_cancer_gaps.csv"
NEW = FOLDER / "breast_cancer_new.csv"
FILLED = FOLDER / "breast_cancer_filled.csv"
REPORT = FOLDER / "report.html"

IMPUTERS = {
    "column means": SimpleImputer(),
    "IterativeImputer": IterativeImputer(random_state=0),
    "kernimpute": KernelImputer(),
}
CLASSIFIERS = {"logistic regression": LogisticRegression(max_iter=1000), "SVM": SVC()}
ERRORS = ["removed cells of training rows", "removed cells of new rows"]
LINES = {
    "Error of the fills": ERRORS,
    "Accuracy on new rows with gaps": list(CLASSIFIERS),
    "Accuracy on complete new rows": list(CLASSIFIERS),
}
"""What is measured, in the order of `figures`, under headings."""


def main() -> int:
    """Run the demonstration and return its exit code."""
    complete, labels = write_gaps(Path())

    command = ["impute", str(GAPS), "--target", "diagnosis", "-o", str(FILLED)]
    command += ["--report", str(REPORT), "--force"]
    print(f"$ kernimpute {' '.join(command)}\n", flush=True)
    done = subprocess.run([sys.executable, "-m", "kernimpute", *command], check=False)
    if done.returncode:
        return done.returncode

    print(f"\nThe same over {N_SPLITS} splits, beside two other imputers ...\n", flush=True)
    scores = np.array([figures(complete, labels, seed) for seed in range(N_SPLITS)])
    print_scores(scores)
    print(f"\nLook at {GAPS}, {FILLED} and {REPORT}.")
    return 0


def write_gaps(folder: Path) -> tuple[pd.DataFrame, pd.Series]:
    """Write the rows of the first split with missing cells; return the whole table and labels."""
    complete, y = load_breast_cancer(return_X_y=True, as_frame=True)
    labels = y.map({0: "malignant", 1: "benign"})
    rows, new = split(labels, seed=0)
    gaps = removed(complete.iloc[rows], seed=0)
    (folder / FOLDER).mkdir(exist_ok=True)
    gaps.assign(diagnosis=labels.iloc[rows]).to_csv(folder / GAPS, index=False)
    removed(complete.iloc[new], seed=N_SPLITS).to_csv(folder / NEW, index=False)
    return complete, labels


def split(labels: pd.Series, seed: int) -> list[np.ndarray]:
    """Return the places of training rows and new rows, stratified by label."""
    places = np.arange(len(labels))
    return train_test_split(places, test_size=0.3, random_state=seed, stratify=labels)


def removed(table: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return a table that has lost 60 % of its cells at random."""
    gone = np.zeros(table.size, dtype=bool)
    order = np.random.default_rng(seed).permutation(table.size)
    gone[order[: round(MISSING_RATE * table.size)]] = True
    return table.mask(gone.reshape(table.shape))


def figures(complete: pd.DataFrame, labels: pd.Series, seed: int) -> np.ndarray:
    """Return the figures of each imputer on one split, (n_lines, n_imputers)."""
    train, new = split(labels, seed)
    gaps = removed(complete.iloc[train], seed)
    # z-scores by the observed training cells, the same for every imputer and classifier.
    complete = (complete - gaps.mean()) / gaps.std()
    X_train, X_new = complete.iloc[train], complete.iloc[new]
    gappy_train, gappy_new = removed(X_train, seed), removed(X_new, seed + N_SPLITS)
    columns = []
    for imputer in IMPUTERS.values():
        with warnings.catch_warnings():
            # At its defaults IterativeImputer stops after ten rounds, converged or not.
            warnings.simplefilter("ignore", ConvergenceWarning)
            filled_train = imputer.fit_transform(gappy_train.to_numpy())
        filled_new = imputer.transform(gappy_new.to_numpy())
        errors = [
            np.sqrt(np.mean((filled - truth.to_numpy())[gappy.isna().to_numpy()] ** 2))
            for filled, truth, gappy in (
                (filled_train, X_train, gappy_train),
                (filled_new, X_new, gappy_new),
            )
        ]
        machines = [one.fit(filled_train, labels.iloc[train]) for one in CLASSIFIERS.values()]
        accuracies = [
            machine.score(rows, labels.iloc[new])
            for rows in (filled_new, X_new.to_numpy())
            for machine in machines
        ]
        columns.append(errors + accuracies)
    return np.array(columns).T


def print_scores(scores: np.ndarray) -> None:
    """Print mean figures from (n_splits, n_lines, n_imputers), and what they say."""
    means = scores.mean(axis=0)
    differences = scores[:, :, 2] - scores[:, :, 1]
    gains = differences.mean(axis=0)
    standard_errors = differences.std(axis=0, ddof=1) / np.sqrt(len(scores))
    print(f"{'':34}{''.join(f'{name:>17}' for name in [*IMPUTERS, 'difference'])}")
    worse, line = [], 0
    for heading, names in LINES.items():
        print(heading)
        for name in names:
            values = "".join(f"{value:17.3f}" for value in means[line])
            print(f"  {name:32}{values}{gains[line]:+10.3f} ± {standard_errors[line]:.3f}")
            gain = -gains[line] if names is ERRORS else gains[line]
            if gain < -standard_errors[line]:
                worse.append(f"{heading[0].lower()}{heading[1:]} ({name})")
            line += 1
    print(
        f"\nMeans of {len(scores)} splits, at everybody's defaults. Errors are root mean squares, "
        "in standard deviations of\nthe column. The difference is kernimpute minus "
        "IterativeImputer, paired by split, ± its standard error. Splits\nshare rows, so it is too "
        "small.\n"
    )
    if worse:
        print(f"kernimpute is worse than IterativeImputer in: {'; '.join(worse)}.")
    else:
        print("In every line kernimpute is better than IterativeImputer or within that error.")


if __name__ == "__main__":
    sys.exit(main())
