"""Folds, scores and tests: everything that is learnt is learnt inside a fold."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.metrics import mean_absolute_error, r2_score, roc_auc_score
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from kernimpute.comparison.candidates import Candidate
from kernimpute.comparison.facts import holm
from kernimpute.core.arrays import BoolArray, FloatArray
from kernimpute.core.checks import Task

LEVEL = 0.05
"""The level of the tests, and of the intervals."""
SCORES = {
    "classification": ("log_loss", "auc", "accuracy"),
    "regression": ("r2", "mae"),
}
"""The scores of a fold; the first decides."""
HIGHER_IS_BETTER = ("auc", "accuracy", "r2")
HIDDEN = 0.1
"""Share of the observed cells that are hidden to measure the error of the fills."""
SMALLEST_PROBABILITY = 1e-15


@dataclass(frozen=True)
class Fold:
    """The rows of one fold of one repeat."""

    number: int
    repeat: int
    train: NDArray[np.intp]
    test: NDArray[np.intp]


@dataclass(frozen=True)
class Data:
    """What the candidates learn from."""

    table: pd.DataFrame  # Numbers as floats, the rest as categories; gaps are NaN.
    given: pd.DataFrame  # The same rows as the user gave them, for candidates of the user's.
    y: NDArray[Any]
    task: Task
    groups: NDArray[Any] | None = None


def make_folds(data: Data, n_folds: int, n_repeats: int, seed: int) -> list[Fold]:
    """Return the folds of repeated cross-validation, stratified by class, whole groups apart."""
    folds: list[Fold] = []
    for repeat in range(n_repeats):
        is_classes = data.task == "classification"
        if data.groups is None:
            kind = StratifiedKFold if is_classes else KFold
        else:
            kind = StratifiedGroupKFold if is_classes else GroupKFold
        splitter = kind(n_folds, shuffle=True, random_state=seed + repeat)
        for train, test in splitter.split(data.table, data.y, data.groups):
            # Folds inside folds are cut in the order of the rows, which may be sorted.
            mixed = np.random.default_rng([seed, len(folds)]).permutation(train)
            folds.append(Fold(len(folds), repeat, mixed, test))
    return folds


# ------------------------------------------------------------------------- one fold


def run_fold(
    data: Data, candidates: Sequence[Candidate], fold: Fold, *, permuted: bool, seed: int
) -> dict[str, Any]:
    """Return the scores of every candidate in a fold, and errors of the fills in the first repeat.

    With `permuted` the candidates also learn permuted labels, which nothing can predict.
    """
    with threadpool_limits(1), warnings.catch_warnings():
        # Of rivals that stop early and the like, in every fold; the scores say what it costs.
        warnings.simplefilter("ignore")
        result: dict[str, Any] = {
            "number": fold.number,
            "n_train": int(fold.train.size),
            "n_test": int(fold.test.size),
            "scores": _scores_of_all(data, data.y, candidates, fold),
        }
        if permuted:
            mixed = np.random.default_rng([seed, fold.repeat]).permutation(data.y)
            result["permuted"] = _scores_of_all(data, mixed, candidates, fold)
        if fold.repeat == 0:
            result["fill_errors"] = _fill_errors(data, candidates, fold, seed)
    return result


def _scores_of_all(
    data: Data, y: NDArray[Any], candidates: Sequence[Candidate], fold: Fold
) -> dict[str, dict[str, Any]]:
    """Return the scores of every candidate; each filling is fitted once, for all its learners."""
    scores = {}
    filled: dict[str, tuple[Any, Any, float] | Exception] = {}
    for candidate in candidates:
        start = time.perf_counter()
        try:
            if candidate.filling is None:
                table = data.given if candidate.is_own else data.table
                train, test, before = table.iloc[fold.train], table.iloc[fold.test], 0.0
                learner = clone(candidate.estimator)
            else:
                if candidate.filling not in filled:
                    filled[candidate.filling] = _filled(data, y, candidate, fold)
                found = filled[candidate.filling]
                if isinstance(found, Exception):
                    raise found
                train, test, before = found
                learner = clone(candidate.estimator[-1])
                start = time.perf_counter()
            learner.fit(train, y[fold.train])
            one = _scores(learner, test, y[fold.test], data.task)
            one["seconds"] = before + time.perf_counter() - start
        except Exception as error:  # A candidate that fails is a row with a reason.
            one = {"error": f"{type(error).__name__}: {error}"}
        scores[candidate.name] = one
    return scores


def _filled(
    data: Data, y: NDArray[Any], candidate: Candidate, fold: Fold
) -> tuple[Any, Any, float] | Exception:
    """Return the matrices of the training and the test rows, and the seconds that they took."""
    start = time.perf_counter()
    try:
        filling = clone(candidate.estimator[0])
        train = filling.fit_transform(data.table.iloc[fold.train], y[fold.train])
        return train, filling.transform(data.table.iloc[fold.test]), time.perf_counter() - start
    except Exception as error:  # Every learner on this filling fails for this reason.
        return error


def _scores(learner: Any, rows: Any, y: NDArray[Any], task: Task) -> dict[str, Any]:
    """Return the scores of a fitted learner on the test rows."""
    if task == "regression":
        predicted = np.asarray(learner.predict(rows), dtype=float)
        return {
            "r2": float(r2_score(y, predicted)),
            "mae": float(mean_absolute_error(y, predicted)),
        }
    classes = np.asarray(learner.classes_)
    p = np.asarray(learner.predict_proba(rows), dtype=float)
    is_own = y[:, None] == classes[None, :]
    own = np.where(is_own, p, 0.0).sum(axis=1)
    # One class against the others, averaged; of two classes the second.
    columns = range(1, 2) if classes.size == 2 else range(classes.size)
    areas = [
        roc_auc_score(is_own[:, k], p[:, k]) for k in columns if 0 < is_own[:, k].sum() < len(y)
    ]
    return {
        "log_loss": float(-np.log(np.clip(own, SMALLEST_PROBABILITY, 1.0)).mean()),
        "auc": float(np.mean(areas)) if areas else None,
        "accuracy": float((classes[p.argmax(axis=1)] == y).mean()),
    }


# ------------------------------------------------------------------------- errors of fills


def _fill_errors(
    data: Data, candidates: Sequence[Candidate], fold: Fold, seed: int
) -> dict[str, dict[str, float]]:
    """Return each filling's error on hidden observed cells of the training rows, by column.

    For numbers the root mean squared error in standard deviations of the observed cells, for
    categories the share of wrong fills. Indicators change no fill, so they are left out.
    """
    table = data.table.iloc[fold.train].reset_index(drop=True)
    observed = table.notna().to_numpy()
    rng = np.random.default_rng([seed, fold.number])
    hidden = observed & (rng.random(observed.shape) < HIDDEN)
    incomplete = table.mask(hidden)
    errors: dict[str, dict[str, float]] = {}
    for candidate in candidates:
        name = candidate.filling
        if name is None or name in errors or name.endswith("indicators"):
            continue
        filling = clone(candidate.estimator[0])
        try:
            matrix = filling.fit_transform(incomplete, data.y[fold.train])
            errors[name] = _errors_by_column(filling, matrix, table, incomplete, hidden)
        except Exception:  # The scores of this candidate carry the reason.
            errors[name] = {}
    return errors


def _errors_by_column(
    filling: Pipeline,
    matrix: FloatArray,
    table: pd.DataFrame,
    incomplete: pd.DataFrame,
    hidden: BoolArray,
) -> dict[str, float]:
    """Return the errors in the columns of a filled matrix: numbers first, then indicators."""
    coding = next(step for _, step in filling.steps if isinstance(step, ColumnTransformer))
    has_values = incomplete.notna().any().to_numpy()
    is_number = np.array([dtype.kind == "f" for dtype in table.dtypes])
    numbers = np.flatnonzero(is_number & has_values)
    errors = {}
    if numbers.size:
        scaler = coding.named_transformers_["numbers"]
        scaler = scaler[-1] if isinstance(scaler, Pipeline) else scaler
        # Where imputers leave columns without values out, the scaler may still have them.
        places = slice(None) if scaler.mean_.size == numbers.size else has_values[is_number]
        filled = matrix[:, : numbers.size] * scaler.scale_[places] + scaler.mean_[places]
        for place, own in zip(numbers.tolist(), filled.T, strict=True):
            cells, name = hidden[:, place], table.columns[place]
            spread = float(table.iloc[:, place].std())
            if cells.any() and spread > 0.0:
                left = own[cells] - table.iloc[:, place].to_numpy()[cells]
                errors[str(name)] = float(np.sqrt((left**2).mean()) / spread)
    categories = np.flatnonzero(~is_number & has_values)
    if categories.size:
        encoder = coding.named_transformers_["categories"][-1]
        width = len(encoder.get_feature_names_out())
        values = encoder.inverse_transform(matrix[:, numbers.size : numbers.size + width])
        for place, own in zip(categories.tolist(), values.T, strict=True):
            cells = hidden[:, place]
            if cells.any():
                truth = table.iloc[:, place].astype(object).to_numpy()[cells]
                errors[str(table.columns[place])] = float((own[cells] != truth).mean())
    return errors


def mean_fill_errors(folds: Sequence[dict[str, Any]], table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the errors of the fills by column, averaged over folds."""
    rows = []
    for name in table.columns:
        found: dict[str, list[float]] = {}
        for fold in folds:
            for filling, errors in fold.get("fill_errors", {}).items():
                if str(name) in errors:
                    found.setdefault(filling, []).append(errors[str(name)])
        if found:
            is_number = table[name].dtype.kind == "f"
            rows.append(
                {
                    "column": str(name),
                    "unit": "standard deviations" if is_number else "share wrong",
                    **{filling: float(np.mean(values)) for filling, values in found.items()},
                }
            )
    return rows


# ------------------------------------------------------------------------- tests


@dataclass(frozen=True)
class Difference:
    """A mean difference of scores between two candidates over folds; positive is better."""

    mean: float
    lower: float
    upper: float
    p: float


def corrected_difference(differences: FloatArray, test_to_train: float) -> Difference:
    """Return the mean difference over J folds, with its interval and p-value.

    Training rows of the folds overlap, so the variance of the mean is (1/J + n_test/n_train) times
    that of the differences (Nadeau and Bengio, Machine Learning 52, 2003), with J - 1 degrees of
    freedom.
    """
    n = differences.size
    mean = float(differences.mean())
    error = float(np.sqrt(differences.var(ddof=1) * (1.0 / n + test_to_train)))
    if error <= 1e-12:
        return Difference(mean, mean, mean, 1.0 if abs(mean) <= 1e-12 else 0.0)
    width = error * float(stats.t.ppf(1.0 - LEVEL / 2.0, n - 1))
    p = float(2.0 * stats.t.sf(abs(mean) / error, n - 1))
    return Difference(mean, mean - width, mean + width, p)


def scores_by_fold(folds: Sequence[dict[str, Any]], name: str, score: str) -> FloatArray:
    """Return a candidate's score in each fold, NaN where it has none."""
    values = (fold["scores"].get(name, {}).get(score) for fold in folds)
    return np.array([np.nan if value is None else value for value in values], dtype=float)


def compared(
    folds: Sequence[dict[str, Any]],
    pairs: Sequence[tuple[str, str]],
    primary: str,
    margin: float,
) -> list[dict[str, Any]]:
    """Return the test of each pair (candidate, against) by the primary score, Holm over all.

    A finding is "better" or "worse" where the corrected p-value is below the level and the
    difference beyond the margin, "equivalent" where the whole interval lies inside the margin, and
    else "undecided".
    """
    sign = 1.0 if primary in HIGHER_IS_BETTER else -1.0
    ratio = float(np.mean([fold["n_test"] / fold["n_train"] for fold in folds]))
    tests: list[tuple[str, str, Difference]] = []
    for name, against in pairs:
        own = scores_by_fold(folds, name, primary) - scores_by_fold(folds, against, primary)
        # A candidate that failed in a fold is not judged by the others.
        if not np.isnan(own).any():
            tests.append((name, against, corrected_difference(sign * own, ratio)))
    p = holm(np.array([test.p for *_, test in tests]))
    return [
        {
            "candidate": name,
            "against": against,
            "difference": test.mean,
            "lower": test.lower,
            "upper": test.upper,
            "p": test.p,
            "p_holm": float(p_holm),
            "finding": _finding(test, float(p_holm), margin),
        }
        for (name, against, test), p_holm in zip(tests, p, strict=True)
    ]


def _finding(test: Difference, p_holm: float, margin: float) -> str:
    """Return what a test found."""
    if p_holm < LEVEL and abs(test.mean) > margin:
        return "better" if test.mean > 0.0 else "worse"
    return "equivalent" if max(abs(test.lower), abs(test.upper)) <= margin else "undecided"


def beyond_chance(
    folds: Sequence[dict[str, Any]], names: Sequence[str], task: Task
) -> Iterator[str]:
    """Yield the candidates whose scores with permuted labels are better than chance."""
    score, chance = ("auc", 0.5) if task == "classification" else ("r2", 0.0)
    ratio = float(np.mean([fold["n_test"] / fold["n_train"] for fold in folds]))
    found = []
    for name in names:
        values = [fold["permuted"].get(name, {}).get(score) for fold in folds]
        own = np.array([value for value in values if value is not None], dtype=float)
        if own.size == len(folds):
            found.append((name, corrected_difference(own - chance, ratio)))
    p = holm(np.array([test.p for _, test in found]))
    for (name, test), p_holm in zip(found, p, strict=True):
        if test.mean > 0.0 and p_holm < LEVEL:
            yield name
