"""The candidates, as scikit-learn estimators that anyone can run."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

from kernimpute.core.checks import Task, refusal
from kernimpute.estimators import (
    KernelImputationClassifier,
    KernelImputationRegressor,
    KernelImputer,
)

BASELINE = "means"
"""The simplest filling: column means, and the most frequent category."""

FILLINGS = ("means", "means+indicators", "knn", "iterative", "joint", "joint+indicators", "guided")
"""The fillings, the simplest first."""
LEARNERS = ("linear", "svm", "boosting")
"""The learners, the simplest first: logistic or ridge regression, gaussian SVM, boosted trees."""
WHOLE = ("unfilled", "kernimpute", "catboost", "lightgbm")
"""Candidates that take a table with its gaps."""

WORDS = {
    "means": "means",
    "means+indicators": "means with indicators of gaps",
    "knn": "nearest neighbours",
    "iterative": "chained regressions (IterativeImputer)",
    "joint": "the joint normal of kernimpute",
    "joint+indicators": "the joint normal of kernimpute with indicators of gaps",
    "guided": "the joint normal of kernimpute guided by labels",
    "linear": "logistic regression",
    "svm": "a gaussian SVM",
    "boosting": "gradient boosting",
    "unfilled": "gradient boosting without filling",
    "kernimpute": "kernimpute's own predictor, which sees gaps by indicators",
    "catboost": "CatBoost without filling",
    "lightgbm": "LightGBM without filling",
}
"""What the names stand for, in a sentence."""

MOST_ROWS_OF_KERNELS = 2000
"""Above so many rows a tuned SVM and guidance are left out: their time grows with the square."""


@dataclass(frozen=True)
class Candidate:
    """What is compared: a filling with a learner, or one estimator that takes gaps."""

    name: str
    estimator: Any  # Learns from a table with gaps.
    filling: str | None = None
    learner: str | None = None
    is_own: bool = False  # Given by the user: it gets the table as the user gave it.


def candidates_of(
    task: Task,
    methods: Sequence[str] | None,
    own: Mapping[str, Any],
    n_rows: int,
    n_classes: int,
    n_categories: int,  # Columns of categories.
    seed: int,
) -> tuple[list[Candidate], list[str]]:
    """Return the candidates, the simplest first, and cautions about those that are left out."""
    known = FILLINGS + LEARNERS + WHOLE
    chosen = list(known if methods is None else methods)
    for name in chosen:
        if name not in known:
            must_be = "made of " + ", ".join(map(repr, known))
            raise ValueError(refusal("compare", "methods", must_be, name))
    needed = "predict_proba" if task == "classification" else "predict"
    for estimator in own.values():
        if not (hasattr(estimator, "fit") and hasattr(estimator, needed)):
            must_be = f"made of estimators with fit and {needed}"
            raise ValueError(refusal("compare", "candidates", must_be, estimator))
    cautions = []
    slow = [name for name in ("svm", "guided") if name in chosen]
    if n_rows > MOST_ROWS_OF_KERNELS and slow:
        chosen = [name for name in chosen if name not in slow]
        cautions.append(
            f"{' and '.join(slow)} left out, because the table has more than "
            f"{MOST_ROWS_OF_KERNELS} rows and their time grows with the square of the rows"
        )
    for package in ("catboost", "lightgbm"):
        if package in chosen and find_spec(package) is None:
            chosen.remove(package)
            if methods is not None:
                cautions.append(f"{package} left out, because it is not installed")
    # To stop early takes a tenth of the rows, with a row of each class.
    how: dict[str, Any] = {"n_categories": n_categories, "stops_early": n_rows >= 20 * n_classes}
    candidates = [
        Candidate(
            f"{filling}, {learner}",
            make_pipeline(
                *make_filling(filling, task, seed), make_model(learner, task, seed, **how)
            ),
            filling,
            learner,
        )
        for learner in LEARNERS
        if learner in chosen or learner == LEARNERS[0]
        for filling in FILLINGS
        if filling in chosen or filling == BASELINE
    ]
    whole = [name for name in WHOLE if name in chosen]
    candidates += [Candidate(name, make_model(name, task, seed, **how)) for name in whole]
    for name in own:
        if name in known or name in [one.name for one in candidates]:
            raise ValueError(refusal("compare", "candidates", "named otherwise", name))
    candidates += [Candidate(name, estimator, is_own=True) for name, estimator in own.items()]
    return candidates, cautions


def coding(numbers: Any, categories: Any) -> ColumnTransformer:
    """Return what makes a matrix of a table: standardised numbers, then indicators."""
    encoder = OneHotEncoder(handle_unknown="ignore", max_categories=50, sparse_output=False)
    texts = make_pipeline(categories, encoder)
    return ColumnTransformer(
        [
            ("numbers", numbers, make_column_selector(dtype_include="number")),
            ("categories", texts, make_column_selector(dtype_exclude=["number", "bool"])),
            # Indicators of gaps.
            ("booleans", "passthrough", make_column_selector(dtype_include="bool")),
        ]
    )


def make_filling(name: str, task: Task, seed: int) -> Pipeline:
    """Return the estimator that fills a table and codes it as a matrix."""
    modes = SimpleImputer(strategy="most_frequent")
    # A gap among categories becomes a category, which says as much as an indicator.
    named = SimpleImputer(strategy="constant", fill_value="missing")
    with_means = coding(make_pipeline(SimpleImputer(), StandardScaler()), modes)
    with_indicators = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    scaled = coding(StandardScaler(), modes)
    # The joint normal fills every column; means are for those in which nothing is observed.
    steps: dict[str, tuple[Any, ...]] = {
        "means": (with_means,),
        "means+indicators": (coding(with_indicators, named),),
        "knn": (scaled, KNNImputer()),
        "iterative": (scaled, IterativeImputer(random_state=seed)),
        "joint": (KernelImputer(), with_means),
        "joint+indicators": (KernelImputer(add_indicator=True), with_means),
        "guided": (KernelImputer(guidance="direct", task=task), with_means),
    }
    return make_pipeline(*steps[name])


def make_model(name: str, task: Task, seed: int, *, n_categories: int, stops_early: bool) -> Any:
    """Return a learner, tuned by cross-validation inside, or what takes a table with its gaps."""
    is_classes = task == "classification"
    if name == "linear" and is_classes:
        strengths = {"C": [0.003, 0.03, 0.3, 3.0, 30.0]}
        logistic = LogisticRegression(max_iter=1000)
        return GridSearchCV(logistic, strengths, scoring="neg_log_loss", cv=3)
    if name == "linear":
        return RidgeCV(alphas=[0.01, 0.1, 1.0, 10.0, 100.0, 1000.0])
    if name == "svm" and is_classes:
        machine = GridSearchCV(SVC(), {"C": [1.0, 10.0], "gamma": [0.003, 0.03, 0.3]}, cv=3)
        return CalibratedClassifierCV(machine, cv=3)
    if name == "svm":
        grid = {"C": [0.1, 1.0, 10.0], "gamma": [0.003, 0.03, 0.3]}
        machine = GridSearchCV(SVR(), grid, cv=3)
        return TransformedTargetRegressor(machine, transformer=StandardScaler())
    if name in ("boosting", "unfilled"):
        make = HistGradientBoostingClassifier if is_classes else HistGradientBoostingRegressor
        if stops_early:
            return make(early_stopping=True, learning_rate=0.05, max_iter=300, random_state=seed)
        return make(early_stopping=False, learning_rate=0.05, max_iter=50)
    if name == "kernimpute":
        return KernelImputationClassifier() if is_classes else KernelImputationRegressor()
    package = import_module(name)
    if name == "lightgbm":
        kind = package.LGBMClassifier if is_classes else package.LGBMRegressor
        return kind(random_state=seed, n_jobs=1, verbose=-1)
    kind = package.CatBoostClassifier if is_classes else package.CatBoostRegressor
    quiet = {"allow_writing_files": False, "thread_count": 1, "verbose": 0}
    # CatBoost takes gaps of numbers, and of categories those that have a name.
    named = SimpleImputer(strategy="constant", fill_value="missing")
    categories = [("categories", named, make_column_selector(dtype_exclude="number"))]
    return make_pipeline(
        ColumnTransformer(categories, remainder="passthrough"),
        kind(cat_features=list(range(n_categories)), random_seed=seed, **quiet),
    )


def python_of(estimator: Any) -> str:
    """Return Python that makes an estimator as it is: its imports, and `model = ...`."""
    imports: dict[str, set[str]] = {}
    text = _call(estimator, imports, 0)
    lines = [f"from {module} import {', '.join(sorted(imports[module]))}" for module in imports]
    if "IterativeImputer" in text:
        lines.append("from sklearn.experimental import enable_iterative_imputer  # noqa: F401")
    # The experimental import must come first; other lines are in any order.
    lines.sort(key=lambda line: ("experimental" not in line, line))
    return "\n".join([*lines, "", f"model = {text}", ""])


def _call(value: Any, imports: dict[str, set[str]], depth: int) -> str:
    """Return a value as Python, indented, with the parameters that differ from their defaults."""

    def inner(one: Any) -> str:
        return _call(one, imports, depth + 1)

    if isinstance(value, list):
        open_, close, parts = "[", "]", [inner(one) for one in value]
    elif isinstance(value, tuple):
        # A tuple of one needs its comma.
        close = ",)" if len(value) == 1 else ")"
        open_, parts = "(", [inner(one) for one in value]
    elif isinstance(value, dict):
        open_, close, parts = "{", "}", [f"{key!r}: {inner(one)}" for key, one in value.items()]
    elif isinstance(value, Pipeline):
        imports.setdefault("sklearn.pipeline", set()).add("make_pipeline")
        open_, close, parts = "make_pipeline(", ")", [inner(step) for _, step in value.steps]
    elif hasattr(value, "get_params") or isinstance(value, make_column_selector):
        kind = type(value)
        imports.setdefault(kind.__module__.partition("._")[0], set()).add(kind.__name__)
        open_, close, parts = f"{kind.__name__}(", ")", []
        given = value.get_params(deep=False) if hasattr(value, "get_params") else vars(value)
        signature = inspect.signature(kind.__init__).parameters
        for name, own in given.items():
            # What some estimators take by keyword only, without a name, is None by default.
            default = signature[name].default if name in signature else None
            if own is not default and not (type(own) is type(default) and own == default):
                parts.append(f"{name}={inner(own)}")
    else:
        return repr(value)
    flat = open_ + ", ".join(parts) + close
    if len(flat) + 4 * depth <= 88 and "\n" not in flat:
        return flat
    lines = "".join(f"\n{'    ' * (depth + 1)}{part}," for part in parts)
    return f"{open_}{lines}\n{'    ' * depth}{close.lstrip(',')}"
