"""Whether `KernelImputer()` with no argument is ever worse than mean imputation.

``python -m benchmarks.defaults --data-dir FOLDER``: seven tables, 40 and 80 % of the training
cells missing, ten splits each (`benchmarks.real_tables`); test rows complete (as they come) and
amputed at the same rate ("life"). Every method fills the training rows, and the test rows from
what it learned there; logistic regression and SVC at scikit-learn's defaults are trained on the
filled rows. Nothing is tuned. A category that no training row shows is a gap in the test rows, for
every method. `KernelImputationClassifier()` takes the rows with their gaps, and
is held against mean imputation with SVC.

A setting is table x rate x test x classifier; a method is flagged worse where its mean difference
to mean imputation over the ten splits is below minus its standard error. Rows are written as they
come; what is there is not run again. A method that does not apply leaves a row with the reason.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from rich.progress import track
from scipy.stats import t as student
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_transformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import KNNImputer, SimpleImputer

from benchmarks.downstream import downstream_accuracies
from benchmarks.real_tables import RATES, TABLES, Split, split_table
from benchmarks.setting import GUIDED, GUIDED_SVM, RESULTS, one_thread, write_results
from kernimpute import KernelImputationClassifier, KernelImputer

REPETITIONS = range(10)
N_DRAWS = 10_000
KEYS = ["dataset", "missing_rate", "test", "classifier"]
Row = dict[str, object]


class NotApplicableError(Exception):
    """A method does not take this table; the message is the reason."""


@dataclass(frozen=True)
class Filled:
    """A split with its gaps filled by one method.

    Parameters
    ----------
    train : DataFrame of shape (n_train, n_features)
        Training rows.
    tests : dict of str to DataFrame of shape (n_test, n_features)
        Test rows by the kind of test.
    seconds, seconds_test : float
        Time for the training rows, and for both kinds of test rows.
    """

    train: pd.DataFrame
    tests: dict[str, pd.DataFrame]
    seconds: float
    seconds_test: float


def mean_imputer(split: Split) -> BaseEstimator:
    """Return mean imputation, most frequent for categories, DataFrames in and out."""
    imputer = make_column_transformer(
        (SimpleImputer(), split.numeric),
        (SimpleImputer(missing_values=None, strategy="most_frequent"), split.categorical),
        verbose_feature_names_out=False,
    )
    return imputer.set_output(transform="pandas")


def knn_imputer(split: Split) -> BaseEstimator:
    """Return scikit-learn's nearest neighbours, on numbers scaled by their observed range."""
    if split.categorical:
        raise NotApplicableError("KNNImputer takes no categories")
    return KNNImputer().set_output(transform="pandas")


FILLERS: dict[str, Callable[[Split], BaseEstimator]] = {
    "mean": mean_imputer,
    "KernelImputer()": lambda split: KernelImputer(**GUIDED),
    "KernelImputer(eta=inf)": lambda split: KernelImputer(**GUIDED, eta=np.inf),
    "KNNImputer()": knn_imputer,
}
CLASSIFIER = "KernelImputationClassifier()"


def in_unit_range(split: Split) -> Split:
    """Return the split with numbers scaled by the range of the observed training cells.

    KNNImputer's distances need it; the others do it themselves or don't care.
    """
    low, high = split.train[split.numeric].min(), split.train[split.numeric].max()
    width = (high - low).where(high > low, 1.0)

    def scaled(rows: pd.DataFrame) -> pd.DataFrame:
        return rows.assign(**((rows[split.numeric] - low) / width))

    return Split(
        train=scaled(split.train),
        train_truth=scaled(split.train_truth),
        y_train=split.y_train,
        test=scaled(split.test),
        test_life=scaled(split.test_life),
        y_test=split.y_test,
    )


def fill(make: Callable[[Split], BaseEstimator], split: Split) -> Filled:
    """Fill a split by one method."""
    imputer = make(split)
    began = time.perf_counter()
    train = imputer.fit_transform(split.train, split.y_train)
    between = time.perf_counter()
    tests = {"complete": imputer.transform(split.test), "life": imputer.transform(split.test_life)}
    seconds_test = time.perf_counter() - between
    return Filled(train, tests, between - began, seconds_test)


def readings(name: str, split: Split) -> Iterator[Row]:
    """Yield a method's accuracies on one split."""
    if name == CLASSIFIER:
        classifier = KernelImputationClassifier(**GUIDED_SVM)
        began = time.perf_counter()
        classifier.fit(split.train, split.y_train)
        seconds = time.perf_counter() - began
        for test, rows in {"complete": split.test, "life": split.test_life}.items():
            began = time.perf_counter()
            accuracy = float(classifier.score(rows, split.y_test))
            yield {
                "test": test,
                "classifier": "own",
                "accuracy": accuracy,
                "seconds": seconds,
                "seconds_test": time.perf_counter() - began,
            }
        return
    filled = fill(FILLERS[name], split)
    scores = downstream_accuracies(
        filled.train, split.y_train, filled.tests, split.y_test, split.categorical
    )
    for (test, classifier), accuracy in scores.items():
        yield {
            "test": test,
            "classifier": classifier,
            "accuracy": accuracy,
            "seconds": filled.seconds,
            "seconds_test": filled.seconds_test,
        }


def one_method(name: str, split: Split, where: Row) -> list[Row]:
    """Return a method's rows on one split; where it failed, one row with the reason."""
    try:
        with warnings.catch_warnings():
            # Unmet stop rules are part of the game.
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = [{**where, "method": name, **reading} for reading in readings(name, split)]
        # Rounded here, so that a row is the same whether it was just found or read again.
        return [
            {key: round(cell, 6) if isinstance(cell, float) else cell for key, cell in row.items()}
            for row in found
        ]
    except (NotApplicableError, ValueError, FloatingPointError) as error:
        return [{**where, "method": name, "reason": f"{type(error).__name__}: {error}"}]


def paired(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the readings of the methods with the difference to mean imputation on the split."""
    rows = rows[rows["accuracy"].notna()]
    base = rows[rows["method"] == "mean"].drop(columns="method")
    # Our own classifier is a support vector machine: its rival is SVC.
    own = base[base["classifier"] == "svc"].assign(classifier="own")
    pairs = rows.merge(
        pd.concat([base, own])[[*KEYS, "repetition", "accuracy"]],
        on=[*KEYS, "repetition"],
        suffixes=("", "_of_mean"),
    )
    pairs["difference"] = pairs["accuracy"] - pairs["accuracy_of_mean"]
    return pairs[pairs["method"] != "mean"]


def flags(rows: pd.DataFrame) -> pd.DataFrame:
    """Return each method's difference to mean imputation by setting, and what it means.

    Returns
    -------
    DataFrame
        Accuracy, difference, its standard error, whether it is below minus that, the p-value of a
        one-sided paired t-test of "worse", and the same after Holm's correction over the
        settings of the method.
    """
    pairs = paired(rows)
    grouped = pairs.groupby(["method", *KEYS])
    table = grouped["difference"].agg(difference="mean", standard_error="sem", n="count")
    table.insert(0, "accuracy", grouped["accuracy"].mean())
    table["worse"] = table["difference"] < -table["standard_error"]
    with np.errstate(invalid="ignore", divide="ignore"):
        statistic = table["difference"] / table["standard_error"]
    p = student.cdf(statistic.where(table["standard_error"] > 0.0, 0.0), table["n"] - 1)
    table["p_worse"] = p
    table["p_holm"] = table.groupby("method")["p_worse"].transform(holm)
    return table.reset_index()


def holm(p: pd.Series) -> pd.Series:
    """Return Holm's adjusted p-values."""
    order = p.sort_values().index
    factors = np.arange(len(p), 0, -1)
    return np.minimum((p[order] * factors).cummax(), 1.0).reindex(p.index)


def flags_by_chance(rows: pd.DataFrame, method: str) -> dict[str, float]:
    """Return how many flags a method would have that differed from mean imputation by luck alone.

    The differences of a split change their signs together, at random, which leaves alone how they
    vary and how the settings of a split go together.

    Returns
    -------
    dict of str to float
        Mean, and 5th and 95th percentile, of the number of flags.
    """
    pairs = paired(rows)
    pairs = pairs[pairs["method"] == method]
    table = pairs.set_index([*KEYS, "repetition"])["difference"].unstack("repetition")
    blocks = table.groupby(["dataset", "missing_rate"]).ngroup().to_numpy()
    generator = np.random.default_rng(0)
    found = []
    for _ in range(N_DRAWS):
        signs = generator.choice([-1.0, 1.0], (blocks.max() + 1, table.shape[1]))
        drawn = table.to_numpy() * signs[blocks]
        errors = drawn.std(axis=1, ddof=1) / np.sqrt(table.shape[1])
        found.append(int((drawn.mean(axis=1) < -errors).sum()))
    low, high = np.percentile(found, [5, 95])
    return {"mean": float(np.mean(found)), "5 %": float(low), "95 %": float(high)}


def counts(table: pd.DataFrame) -> dict[str, dict[str, float | int]]:
    """Return by method the number of settings, of flags, and the mean difference."""
    return {
        str(method): {
            "settings": len(part),
            "worse": int(part["worse"].sum()),
            "better": int((part["difference"] > part["standard_error"]).sum()),
            "worse after Holm, 5 %": int((part["p_holm"] < 0.05).sum()),
            "mean difference": float(part["difference"].mean()),
            "smallest difference": float(part["difference"].min()),
        }
        for method, part in table.groupby("method")
    }


def markdown(table: pd.DataFrame, method: str) -> str:
    """Return a method's differences as the table of the README."""
    part = table[table["method"] == method]
    heads = [f"{test}, {name}" for test, name in product(("complete", "life"), ("LR", "SVC"))]
    lines = ["| | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    for (dataset, rate), rows in part.groupby(["dataset", "missing_rate"], sort=False):
        cells = []
        for test, name in product(("complete", "life"), ("logistic", "svc")):
            cell = rows[(rows["test"] == test) & (rows["classifier"] == name)].iloc[0]
            shown = f"{cell['difference']:+.3f} ± {cell['standard_error']:.3f}".replace("-", "−")
            cells.append(f"**{shown}**" if cell["worse"] else shown)
        lines.append(f"| {dataset}, {rate:.0%} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run what is not there yet, print the table and write rows and summary."""
    path = RESULTS / "defaults.csv"
    columns = ["dataset", "missing_rate", "repetition", "method"]
    rows = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=columns)
    known = set(rows[columns].itertuples(index=False, name=None))
    splits = list(product(TABLES, RATES, REPETITIONS))
    for dataset, rate, repetition in track(splits, description="splits"):
        todo = [
            name
            for name in (*FILLERS, CLASSIFIER)
            if (dataset, rate, repetition, name) not in known
        ]
        if not todo:
            continue
        split = in_unit_range(split_table(dataset, rate, repetition))
        where = {"dataset": dataset, "missing_rate": rate, "repetition": repetition}
        with one_thread():
            found = [row for name in todo for row in one_method(name, split, where)]
        rows = pd.concat([rows, pd.DataFrame(found)], ignore_index=True)
        rows.to_csv(path, index=False)
    table = flags(rows)
    summary = counts(table)
    print(markdown(table, "KernelImputer()"))
    print(pd.DataFrame(summary).T.to_string())
    chance = flags_by_chance(rows, "KernelImputer()")
    print("flags of KernelImputer() by chance:", chance)
    seconds = rows.groupby(["method", "dataset", "missing_rate"])[["seconds", "seconds_test"]]
    write_results(
        "defaults",
        {
            "counts": summary,
            "flags by chance": chance,
            "settings": table.round(5).to_dict(orient="records"),
            "seconds": seconds.mean().round(4).reset_index().to_dict(orient="records"),
            "reasons": sorted(set(rows.get("reason", pd.Series(dtype=str)).dropna())),
        },
    )


if __name__ == "__main__":
    main()
