"""Folds, scores and tests: everything that is learnt is learnt inside a fold."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
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
from kernimpute.core.arrays import FloatArray
from kernimpute.core.checks import Task

LEVEL = 0.05
"""The level of the tests, and of the intervals."""
SCORES = {"classification": ("log_loss", "auc", "accuracy"), "regression": ("r2", "mae")}
"""The scores of a fold; the first decides."""
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


def run_fold(
    data: Data, candidates: Sequence[Candidate], fold: Fold, *, permuted: bool, seed: int
) -> dict[str, Any]:
    """Return the scores of every candidate in a fold, and in the first repeat errors of fills."""
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
            # Nothing can predict these.
            mixed = np.random.default_rng([seed, fold.repeat]).permutation(data.y)
            result["permuted"] = _scores_of_all(data, mixed, candidates, fold)
        if fold.repeat == 0:
            result["fill_errors"] = _fill_errors(data, candidates, fold, seed)
    return result


def _scores_of_all(
    data: Data, y: NDArray[Any], candidates: Sequence[Candidate], fold: Fold
) -> dict[str, dict[str, Any]]:
    """Return the scores of every candidate; each filling is fitted once, for all its learners."""
    scores: dict[str, dict[str, Any]] = {}
    filled: dict[str, tuple[Any, Any, float]] = {}
    for candidate in candidates:
        start = time.perf_counter()
        table = data.given if candidate.is_own else data.table
        train, test, before = table.iloc[fold.train], table.iloc[fold.test], 0.0
        learner, name = candidate.estimator, candidate.filling
        try:
            if name is not None:
                learner = learner[-1]
                if name not in filled:
                    filling = clone(candidate.estimator[:-1])
                    train = filling.fit_transform(train, y[fold.train])
                    test = filling.transform(test)
                    filled[name] = train, test, time.perf_counter() - start
                train, test, before = filled[name]
                start = time.perf_counter()
            learner = clone(learner)
            learner.fit(train, y[fold.train])
            one = _scores(learner, test, y[fold.test], data.task)
            one["seconds"] = before + time.perf_counter() - start
        except Exception as error:  # A candidate that fails is a row with a reason.
            one = {"error": f"{type(error).__name__}: {error}"}
        scores[candidate.name] = one
    return scores


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


def _fill_errors(
    data: Data, candidates: Sequence[Candidate], fold: Fold, seed: int
) -> dict[str, dict[str, float]]:
    """Return each filling's error on hidden observed cells of the training rows, by column."""
    table = data.table.iloc[fold.train].reset_index(drop=True)
    observed = table.notna().to_numpy()
    rng = np.random.default_rng([seed, fold.number])
    hidden = pd.DataFrame(observed & (rng.random(observed.shape) < HIDDEN), columns=table.columns)
    incomplete = table.mask(hidden).dropna(axis="columns", how="all")
    fillings = {one.filling: one.estimator[:-1] for one in candidates if one.filling is not None}
    errors: dict[str, dict[str, float]] = {}
    for name, filling in fillings.items():
        # Indicators change no fill.
        if not name.endswith("indicators"):
            try:
                filled = _filled_table(clone(filling), incomplete, data.y[fold.train])
            except Exception:  # The scores of this candidate carry the reason.
                errors[name] = {}
                continue
            found = {one: _error(filled[one], table[one], hidden[one]) for one in filled}
            errors[name] = {str(one): error for one, error in found.items() if error is not None}
    return errors


def _filled_table(filling: Pipeline, incomplete: pd.DataFrame, y: NDArray[Any]) -> pd.DataFrame:
    """Return a table with its fills, which are read from the coded matrix."""
    matrix = filling.fit_transform(incomplete, y)
    coding = next(step for _, step in filling.steps if isinstance(step, ColumnTransformer))
    kinds = {"numbers": incomplete.select_dtypes("number")}
    kinds["categories"] = incomplete.drop(columns=kinds["numbers"])
    filled = []
    for kind, part in kinds.items():
        if part.shape[1]:
            coder = coding.named_transformers_[kind]
            coder = coder[-1] if isinstance(coder, Pipeline) else coder
            values = coder.inverse_transform(matrix[:, coding.output_indices_[kind]])
            filled.append(pd.DataFrame(values, columns=part.columns))
    return pd.concat(filled, axis=1)[incomplete.columns]


def _error(filled: pd.Series, truth: pd.Series, hidden: pd.Series) -> float | None:
    """Return the error in hidden cells: share wrong, or RMSE in standard deviations, or None."""
    own, known = filled[hidden].to_numpy(), truth[hidden].to_numpy()
    if not len(known):
        return None
    if truth.dtype.kind != "f":
        return float((own != known).mean())
    spread = float(truth.std())
    return float(np.sqrt(((own - known) ** 2).mean()) / spread) if spread > 0.0 else None


def mean_fill_errors(
    folds: Sequence[dict[str, Any]], columns: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the errors of the fills in the facts' columns, averaged over folds."""
    found = [pd.DataFrame(fold.get("fill_errors", {}), dtype=float) for fold in folds]
    means = pd.concat(found).groupby(level=0).mean() if found else pd.DataFrame()
    units = {"number": "standard deviations", "category": "share wrong"}
    return [
        {"column": one["column"], "unit": units[one["kind"]]}
        | means.loc[one["column"]].dropna().to_dict()
        for one in columns
        if one["column"] in means.index
    ]


def corrected_difference(differences: FloatArray, test_to_train: float) -> dict[str, float]:
    """Return the mean difference over J folds, with its interval and p-value.

    Training rows of the folds overlap, so the variance of the mean is (1/J + n_test/n_train) times
    that of the differences (Nadeau and Bengio, Machine Learning 52, 2003), with J - 1 degrees of
    freedom.
    """
    n = differences.size
    mean = float(differences.mean())
    error = float(np.sqrt(differences.var(ddof=1) * (1.0 / n + test_to_train)))
    width, p = 0.0, 1.0 if abs(mean) <= 1e-12 else 0.0
    if error > 1e-12:
        width = error * float(stats.t.ppf(1.0 - LEVEL / 2.0, n - 1))
        p = float(2.0 * stats.t.sf(abs(mean) / error, n - 1))
    return {"difference": mean, "lower": mean - width, "upper": mean + width, "p": p}


def gains_by_fold(
    folds: Sequence[dict[str, Any]], name: str, score: str, labels: str = "scores"
) -> FloatArray:
    """Return a candidate's score in each fold, the loss negated, NaN where it has none."""
    values = np.array([fold[labels].get(name, {}).get(score) for fold in folds], dtype=float)
    return -values if score == "log_loss" else values


def _tests(
    folds: Sequence[dict[str, Any]], differences: Mapping[Any, FloatArray]
) -> Iterator[tuple[Any, dict[str, float]]]:
    """Yield the tests of differences by fold, with p-values corrected by Holm over all."""
    ratio = float(np.mean([fold["n_test"] / fold["n_train"] for fold in folds]))
    tests = {
        key: corrected_difference(values, ratio)
        for key, values in differences.items()
        # A candidate that failed in a fold is not judged by the others.
        if not np.isnan(values).any()
    }
    corrected = holm(np.array([test["p"] for test in tests.values()]))
    for (key, test), p in zip(tests.items(), corrected.tolist(), strict=True):
        yield key, test | {"p_holm": p}


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
    differences = {
        (name, against): gains_by_fold(folds, name, primary)
        - gains_by_fold(folds, against, primary)
        for name, against in pairs
    }
    found = []
    for (name, against), test in _tests(folds, differences):
        if test["p_holm"] < LEVEL and abs(test["difference"]) > margin:
            finding = "better" if test["difference"] > 0.0 else "worse"
        else:
            is_inside = max(abs(test["lower"]), abs(test["upper"])) <= margin
            finding = "equivalent" if is_inside else "undecided"
        found.append({"candidate": name, "against": against, **test, "finding": finding})
    return found


def beyond_chance(folds: Sequence[dict[str, Any]], names: Sequence[str], task: Task) -> list[str]:
    """Return the candidates whose scores with permuted labels are better than chance."""
    score, chance = ("auc", 0.5) if task == "classification" else ("r2", 0.0)
    gains = {name: gains_by_fold(folds, name, score, "permuted") - chance for name in names}
    return [
        name
        for name, test in _tests(folds, gains)
        if test["difference"] > 0.0 and test["p_holm"] < LEVEL
    ]
