"""Learners on the fillings of a panel, their settings chosen with the filler inside the folds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.svm import SVC

from experiments.panel_a.fillers import FILLERS, WAYS, coding_of, cpu_seconds, filling_by
from experiments.panel_a.problems import Labels, Targets, Task, unrounded
from experiments.panel_runs import Row
from kernimpute import KernelImputationClassifier

FloatArray = NDArray[np.float64]
Sets = list[FloatArray]
"""Rows to learn from, then sets of rows to predict, as z-scores; or predictions of these."""
Fold = tuple[Sets, Targets, NDArray[np.intp]]
Folds = list[Fold]
Learner = Callable[[Sets, Targets, Folds], Sets]

FOLDS = 5
LEAST = 1e-3
"""Every method's probabilities are raised to this before the log loss: a forest's may be zero."""

LOGISTIC_C = tuple(np.logspace(-2.5, 2.0, 10))
SVM_C = (0.5, 2.0, 8.0, 32.0)
SVM_GAMMA = (0.15, 0.5, 1.5)
"""Times 1 / number of columns."""

INDICATORS = "means + indicators"
BOOSTING = "gradient boosting"
TREES = "extra trees on means"


SCORES = ("log_loss", "auc", "accuracy")


def predicted(problem: Task, method: str) -> list[Row]:
    """Return the rows of a method: by a learner, for each kind of new rows."""
    if method in (BOOSTING, TREES):
        machines = HistGradientBoostingClassifier, ExtraTreesClassifier
        return whole(problem, "trees", lambda: by_trees(problem, method, *machines), scores)
    if method in ESTIMATORS:
        return whole(problem, "own", lambda: by_estimator(problem, ESTIMATORS[method]), scores)
    return chosen(problem, method, LEARNERS, scores)


def chosen(
    problem: Task,
    method: str,
    learners: Mapping[str, Learner],
    scores: Callable[[Task, Sets], list[Row]],
) -> list[Row]:
    """Return the rows of learners that choose their settings, after a filler."""
    frames = list(problem.asked.values())
    began = cpu_seconds()
    sets = _sets(method, problem.train, problem.y_train, problem.seed_for("filler"), frames)
    folds = list(_folds(problem, method))
    seconds_fit = cpu_seconds() - began
    rows = []
    for learner, predict in learners.items():
        began = cpu_seconds()
        found = predict(sets, problem.y_train, folds)
        seconds = {"seconds_fit": seconds_fit, "seconds_fill": cpu_seconds() - began}
        rows += [{"learner": learner, **row, **seconds} for row in scores(problem, found)]
    return rows


def whole(
    problem: Task,
    learner: str,
    predict: Callable[[], Sets],
    scores: Callable[[Task, Sets], list[Row]],
) -> list[Row]:
    """Return the rows of a method with nothing to choose."""
    began = cpu_seconds()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = predict()
    seconds = {"seconds_fit": cpu_seconds() - began}
    return [{"learner": learner, **row, **seconds} for row in scores(problem, found)]


def _sets(
    method: str, train: pd.DataFrame, y: Targets, seed: int, frames: list[pd.DataFrame]
) -> Sets:
    """Return training rows and other rows filled, then as z-scores of the filled training rows."""
    filler = {**FILLERS, **WAYS}["means" if method == INDICATORS else method]
    filling = filling_by(filler, train, y, seed, frames)
    if method != INDICATORS:
        return z_scores(filling.train, *filling.others)
    return z_scores(filling.train, *filling.others, gaps=(train, *frames))


def z_scores(*filled: pd.DataFrame, gaps: Sequence[pd.DataFrame] = ()) -> Sets:
    """Return filled rows as z-scores of the first frame, with indicators of the gaps if given."""
    coding = coding_of(filled[0])
    matrices = [coding.matrix(frame) for frame in filled]
    if gaps:
        indicators = [frame.isna().to_numpy(float) for frame in gaps]
        matrices = [np.hstack(pair) for pair in zip(matrices, indicators, strict=True)]
    center, deviation = matrices[0].mean(axis=0), matrices[0].std(axis=0)
    deviation[deviation < 1e-9] = 1.0
    return [(matrix - center) / deviation for matrix in matrices]


def _folds(problem: Task, method: str) -> Iterator[Fold]:
    """Yield each fold: its sets, the targets to learn from, and which rows are held out."""
    kind = KFold if problem.y_train.dtype.kind == "f" else StratifiedKFold
    cut = kind(FOLDS, shuffle=True, random_state=problem.seed_for("folds") % 2**31)
    for fold, (kept, held_out) in enumerate(cut.split(problem.train, problem.y_train)):
        y = problem.y_train[kept]
        inner, outer = problem.train.iloc[kept], problem.train.iloc[held_out]
        yield _sets(method, inner, y, problem.seed_for("fold", fold), [outer]), y, held_out


def logistic(sets: Sets, y: Labels, folds: Folds) -> Sets:
    """Return the probabilities of a logistic regression, C chosen by the folds' log loss."""

    def machine(C: float) -> LogisticRegression:
        return LogisticRegression(C=C, max_iter=1000, tol=1e-4)

    losses = []
    for C in LOGISTIC_C:
        held_out = np.empty((len(y), len(np.unique(y))))
        for (inner, outer), y_inner, rows in folds:
            held_out[rows] = machine(C).fit(inner, y_inner).predict_proba(outer)
        losses.append(loss(y, held_out))
    fitted = machine(LOGISTIC_C[int(np.argmin(losses))]).fit(sets[0], y)
    return [fitted.predict_proba(Z) for Z in sets[1:]]


def svm(sets: Sets, y: Labels, folds: Folds) -> Sets:
    """Return the probabilities of a gaussian SVM, C and gamma chosen by the folds' log loss.

    A logistic regression on the decision values of all held-out rows makes probabilities of
    decision values, for each setting anew; that of the chosen setting serves the new rows.
    """

    def machine(C: float, gamma: float) -> SVC:
        return SVC(C=C, gamma=gamma / sets[0].shape[1], cache_size=50)

    n_classes = len(np.unique(y))
    width = 1 if n_classes == 2 else n_classes
    tried = []
    for setting in product(SVM_C, SVM_GAMMA):
        held_out = np.empty((len(y), width))
        for (inner, outer), y_inner, rows in folds:
            held_out[rows] = _decisions(machine(*setting).fit(inner, y_inner), outer)
        calibrator = LogisticRegression(max_iter=1000).fit(held_out, y)
        tried.append((loss(y, calibrator.predict_proba(held_out)), setting, calibrator))
    _, setting, calibrator = min(tried, key=lambda one: one[0])
    fitted = machine(*setting).fit(sets[0], y)
    return [calibrator.predict_proba(_decisions(fitted, Z)) for Z in sets[1:]]


def _decisions(machine: SVC, Z: FloatArray) -> FloatArray:
    values = machine.decision_function(Z)
    return values[:, None] if values.ndim == 1 else values


LEARNERS: Mapping[str, Learner] = {"logistic": logistic, "SVM": svm}
PREDICTORS = (
    *(name for name in FILLERS if not name.endswith("whole")),
    INDICATORS,
    BOOSTING,
    TREES,
)


def calibrated_svm() -> CalibratedClassifierCV:
    """Return the support vector machine, the classifier of release 0.1, with probabilities."""
    return CalibratedClassifierCV(KernelImputationClassifier(machine="svm"), cv=5, ensemble=False)


DRAWS = "kernimpute predictor, 5 draws"

# Each is given the rows as they are.
ESTIMATORS: Mapping[str, Callable[[], Any]] = {
    "kernimpute, machine": calibrated_svm,
    "kernimpute predictor": KernelImputationClassifier,
    DRAWS: partial(KernelImputationClassifier, n_draws=5),
}


def by_estimator(problem: Task, estimator: Callable[[], Any]) -> Sets:
    """Return the predictions of an estimator that takes rows with gaps."""
    return _predictions(estimator().fit(problem.train, problem.y_train), problem.asked.values())


def _predictions(machine: Any, sets: Iterable[Any]) -> Sets:
    """Return probabilities of labels, or quantities."""
    predict = getattr(machine, "predict_proba", machine.predict)
    return [predict(rows) for rows in sets]


def by_trees(
    problem: Task, method: str, boosting: Callable[..., Any], forest: Callable[..., Any]
) -> Sets:
    """Return the predictions of trees."""
    seed = problem.seed_for("trees") % 2**31
    if method == BOOSTING:
        train, *new = _with_categories(problem)
        machine = boosting(categorical_features="from_dtype", random_state=seed)
    else:
        frames = list(problem.asked.values())
        train, *new = _sets("means", problem.train, problem.y_train, seed, frames)
        machine = forest(300, min_samples_leaf=2, random_state=seed)
    return _predictions(machine.fit(train, problem.y_train), new)


def _with_categories(problem: Task) -> list[pd.DataFrame]:
    """Return training rows and each kind of new rows, gaps left, texts as categories."""
    frames = [unrounded(frame) for frame in (problem.train, *problem.asked.values())]
    dtypes = {
        name: pd.CategoricalDtype(sorted(problem.train[name].dropna().unique()))
        for name in problem.categories
    }
    return [frame.astype(dtypes) for frame in frames]


def scores(problem: Task, probabilities: Sets) -> list[Row]:
    """Return the measures on each kind of new rows."""
    y = problem.y_new
    return [
        {
            "rows": rows,
            "log_loss": loss(y, shares),
            "auc": _auc(y, shares),
            "accuracy": float((shares.argmax(axis=1) == y).mean()),
        }
        for rows, shares in zip(problem.asked, probabilities, strict=True)
    ]


def loss(y: Labels, probabilities: FloatArray) -> float:
    """Return the log loss of probabilities of the labels 0 to n_classes - 1."""
    raised = np.maximum(probabilities, LEAST)
    raised /= raised.sum(axis=1, keepdims=True)
    return float(log_loss(y, raised, labels=np.arange(raised.shape[1])))


def _auc(y: Labels, probabilities: FloatArray) -> float:
    """Return the area under the curve, for several classes one against the rest, averaged."""
    if probabilities.shape[1] == 2:
        return float(roc_auc_score(y, probabilities[:, 1]))
    return float(roc_auc_score(y, probabilities, multi_class="ovr", average="macro"))
