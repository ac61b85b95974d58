"""How rows without labels are best filled: four rules, in accuracy, error, speed and memory.

``python -m benchmarks.new_rows --data-dir FOLDER``: the seven tables of `benchmarks.defaults` at
the same rates; training rows filled by `KernelImputer().fit_transform`, then amputed test rows by
each rule from the filled training rows:

similar
    the mean (most frequent category) of similar rows, which trusts the comparison less where a row
    has fewer cells;
sharp
    the same, with as much trust in few cells as in all;
conditional
    the mean (heaviest category) under the learned kernel's own values on the observed cells;
reference
    the mean (most frequent category) of the observed training cells.

Accuracies are those of logistic regression and SVC trained on the filled training rows, and of
`KernelImputationClassifier` on the filled test rows; errors are those of the filled cells, numbers
in units of the observed range. Speed and memory are those of simulated new rows, half missing.
"""

from __future__ import annotations

import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.progress import track
from sklearn.exceptions import ConvergenceWarning

from benchmarks.defaults import in_unit_range
from benchmarks.downstream import downstream_accuracies
from benchmarks.real_tables import RATES, TABLES, Split, split_table
from benchmarks.setting import GUIDED, GUIDED_SVM, RESULTS, amputed, one_thread, write_results
from kernimpute import KernelImputationClassifier, KernelImputer
from kernimpute.core.rows import scaled_kernel
from kernimpute.joint.reference import fill_from_similar
from kernimpute.kernels import Gaussian, Kernel
from kernimpute.table.code import learn_code

REPETITIONS = range(10)
CHUNK = 256
"""New rows filled at a time."""
SHARPNESS = 8.0
"""As in `fill_from_similar`: how fast similarity falls with relative distance in a whole row."""
N_TRAIN, N_FEATURES = 2000, 20
N_NEW = (5000, 20000)

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Known:
    """What a rule fills from.

    Parameters
    ----------
    X : ndarray of shape (n_train, n_features)
        Filled training rows: numbers in [0, 1], codes of categories.
    kernel : Kernel
        The gaussian kernel of the training rows; says which columns hold codes.
    typical : ndarray of shape (n_features,)
        Mean or most frequent code of the observed cells of each column.
    """

    X: FloatArray
    kernel: Kernel
    typical: FloatArray


def by_similar(rows: FloatArray, known: Known) -> FloatArray:
    """Return rows filled from similar ones."""
    return fill_from_similar(rows, known.X, known.kernel)


def by_sharp(rows: FloatArray, known: Known) -> FloatArray:
    """Return rows filled from similar ones, however few cells say which ones are."""
    return weighted_mean(rows, known, similarities(distances(rows, known), SHARPNESS))


def by_conditional_mean(rows: FloatArray, known: Known) -> FloatArray:
    """Return rows filled with the mean under the kernel's values on the observed cells."""
    return weighted_mean(rows, known, normalised(-known.kernel.gamma * distances(rows, known)))


def weighted_mean(rows: FloatArray, known: Known, weights: FloatArray) -> FloatArray:
    """Return rows filled with the mean (heaviest category) of the training rows."""
    fill = weights @ known.X
    for column in known.kernel.categorical:
        codes = np.unique(known.X[:, column])
        shares = weights @ (known.X[:, column, None] == codes)
        fill[:, column] = codes[shares.argmax(axis=1)]
    return np.where(np.isnan(rows), fill, rows)


def by_reference(rows: FloatArray, known: Known) -> FloatArray:
    """Return rows filled with what is typical of each column."""
    return np.where(np.isnan(rows), known.typical, rows)


def distances(rows: FloatArray, known: Known) -> FloatArray:
    """Return squared distances to the training rows in the cells that the rows have."""
    everywhere = np.ones(known.X.shape, dtype=bool)
    return known.kernel.observed_sums(rows, ~np.isnan(rows), known.X, everywhere)


def similarities(distance: FloatArray, sharpness: FloatArray | float) -> FloatArray:
    """Return weights that fall with the distance relative to its mean, row by row."""
    return normalised(-sharpness * distance / np.maximum(distance.mean(1, keepdims=True), 1e-12))


def normalised(logs: FloatArray) -> FloatArray:
    """Return weights that sum to 1 from their logarithms, row by row."""
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


Rule = Callable[[FloatArray, Known], FloatArray]
RULES: dict[str, Rule] = {
    "similar": by_similar,
    "sharp": by_sharp,
    "conditional": by_conditional_mean,
    "reference": by_reference,
}


def fill(rule: Rule, rows: FloatArray, known: Known) -> FloatArray:
    """Return all rows filled by a rule, chunk by chunk."""
    filled = np.empty_like(rows)
    for first in range(0, rows.shape[0], CHUNK):
        chunk = slice(first, first + CHUNK)
        filled[chunk] = rule(rows[chunk], known)
    return filled


# ------------------------------------------------------------------- accuracy and error


def readings(split: Split) -> Iterator[dict[str, float | str]]:
    """Yield each rule's accuracies and errors on one split."""
    imputer = KernelImputer(**GUIDED)
    train = imputer.fit_transform(split.train, split.y_train)
    classifier = KernelImputationClassifier(**GUIDED_SVM).fit(split.train, split.y_train)
    code = learn_code(split.train, whole="dtype")
    at = [split.train.columns.get_loc(column.name) for column in code.features]
    categorical = code.categorical
    typical = by_column(code.encode(split.train).matrix, categorical)
    kernel = imputer.kernel_.with_categorical(categorical, categorical.size)
    known = Known(code.encode(train).matrix, kernel, typical)
    life = code.encode(split.test_life)
    truth = code.encode(split.test).matrix
    removed = ~life.observed[:, at] & ~np.isnan(truth)
    for name, rule in RULES.items():
        filled = fill(rule, life.matrix, known)
        table = life.decode(filled)
        scores = downstream_accuracies(
            train, split.y_train, {"life": table}, split.y_test, split.categorical
        )
        offset = (filled - truth)[removed & ~categorical]
        differs = (filled != truth)[removed & categorical]
        yield {
            "rule": name,
            "logistic": scores["life", "logistic"],
            "svc": scores["life", "svc"],
            "classifier": float(classifier.score(table, split.y_test)),
            "rmse": float(np.sqrt(np.mean(np.square(offset)))),
            "wrong_categories": float(differs.mean()) if differs.size else float("nan"),
        }


def by_column(matrix: FloatArray, categorical: NDArray[np.bool_]) -> FloatArray:
    """Return the mean, or the most frequent code, of the observed cells of each column."""
    return np.array(
        [
            pd.Series(cells).mode()[0] if codes else np.nanmean(cells)
            for cells, codes in zip(matrix.T, categorical, strict=True)
        ]
    )


def all_readings() -> pd.DataFrame:
    """Return the readings of all tables, rates and repetitions."""
    rows = []
    for name, rate, repetition in track(list(product(TABLES, RATES, REPETITIONS))):
        split = in_unit_range(split_table(name, rate, repetition))
        where = {"dataset": name, "missing_rate": rate, "repetition": repetition}
        with warnings.catch_warnings():
            # Unmet stop rules are part of the game.
            warnings.simplefilter("ignore", ConvergenceWarning)
            rows += [{**where, **reading} for reading in readings(split)]
    return pd.DataFrame(rows)


def gains(rows: pd.DataFrame, over: str = "reference") -> pd.DataFrame:
    """Return each rule's gain in accuracy over another by table, rate and what reads the rows."""
    keys = ["dataset", "missing_rate", "repetition"]
    scores = ["logistic", "svc", "classifier"]
    long = rows.melt([*keys, "rule"], scores, "read by", "accuracy")
    base = long[long["rule"] == over].drop(columns="rule")
    long = long[long["rule"] != over].merge(base, on=[*keys, "read by"], suffixes=("", "_of_other"))
    long["gain"] = long["accuracy"] - long["accuracy_of_other"]
    grouped = long.groupby(["rule", "read by", "missing_rate", "dataset"])["gain"]
    table = grouped.agg(gain="mean", standard_error="sem").reset_index()
    # Where a rule changes nothing, gain and standard error are rounding.
    bound = table["standard_error"] + 1e-9
    return table.assign(worse=table["gain"] < -bound, better=table["gain"] > bound)


def counts(table: pd.DataFrame) -> pd.DataFrame:
    """Return by rule the settings, how many are worse and better, and the gains' mean and least."""
    grouped = table.groupby("rule")
    return grouped.agg(
        settings=("gain", "size"),
        worse=("worse", "sum"),
        better=("better", "sum"),
        mean=("gain", "mean"),
        smallest=("gain", "min"),
    ).reset_index()


# --------------------------------------------------------------------- speed and memory


def measured(work: Callable[[], object]) -> tuple[float, float]:
    """Return CPU seconds and peak MiB, in runs of their own."""
    began = time.process_time()
    work()
    seconds = time.process_time() - began
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return seconds, peak


def speed() -> list[dict[str, float | str]]:
    """Return rows a second and peak memory of each rule, and of `KernelImputer.transform`."""
    generator = np.random.default_rng(0)
    truth = generator.random((N_TRAIN, N_FEATURES))
    y = (truth[:, 0] + truth[:, 1] > 1.0).astype(int)
    training = amputed(truth, 0.3, "speed")
    imputer = KernelImputer(**GUIDED, max_iter=3)
    with warnings.catch_warnings():
        # Three steps are enough for rows to fill from.
        warnings.simplefilter("ignore", ConvergenceWarning)
        filled = imputer.fit_transform(training, y)
    known = Known(filled, scaled_kernel("gaussian", training), np.nanmean(training, axis=0))
    assert isinstance(known.kernel, Gaussian)
    new = amputed(generator.random((max(N_NEW), N_FEATURES)), 0.5, "speed, new rows")
    works: dict[str, Callable[[FloatArray], object]] = {
        "KernelImputer().transform": imputer.transform,
        **{name: lambda rows, rule=rule: fill(rule, rows, known) for name, rule in RULES.items()},
    }
    figures: list[dict[str, float | str]] = []
    for name, work in works.items():
        work(new[:2])
        few, many = (measured(lambda n=n, work=work: work(new[:n])) for n in N_NEW)
        figures.append(
            {
                "rule": name,
                "rows_per_second": N_NEW[1] / many[0],
                f"peak_mib_{N_NEW[0]}": few[1],
                f"peak_mib_{N_NEW[1]}": many[1],
            }
        )
    return figures


def main() -> None:
    """Measure, print and write."""
    with one_thread():
        rows = all_readings()
        figures = speed()
    rows.round(6).to_csv(RESULTS / "new_rows.csv", index=False)
    table = gains(rows)
    summary = counts(table)
    against_sharp = gains(rows[rows["rule"].isin(["similar", "sharp"])], over="sharp")
    overall = table.groupby(["rule", "read by", "missing_rate"])["gain"].mean().unstack([1, 2])
    errors = rows.groupby(["rule", "missing_rate", "dataset"])[["rmse", "wrong_categories"]].mean()
    plain = errors.round(4).reset_index().astype(object)
    print(overall.round(4).to_string())
    print(summary.round(4).to_string(index=False))
    print("similar against sharp:")
    print(counts(against_sharp).round(4).to_string(index=False))
    print(errors.groupby(["rule", "missing_rate"]).mean().unstack().round(3).to_string())
    print(pd.DataFrame(figures).round(1).to_string(index=False))
    write_results(
        "new_rows",
        {
            "repetitions": len(REPETITIONS),
            "counts": summary.to_dict(orient="records"),
            "similar against sharp": against_sharp.round(5).to_dict(orient="records"),
            "gains over reference": table.round(5).to_dict(orient="records"),
            "errors": plain.where(plain.notna(), None).to_dict(orient="records"),
            "speed": figures,
        },
    )


if __name__ == "__main__":
    main()
