"""Classifiers of filled rows, each over its grid of settings."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

from experiments.methods.candidates import GRID, Candidate, RowFunction, memoized
from experiments.methods.filling import Filling, FittedBehind
from experiments.problem import Problem
from kernimpute.kernels import Gaussian

FloatArray = NDArray[np.float64]
Machine = Callable[[Problem, Filling], Iterator[Candidate]]


def near(value: float) -> tuple[float, float, float]:
    """Return the paper's grid around a value that mean imputation chose: half, same and double."""
    return (value / 2, value, value * 2)


def gaussian_svc(
    problem: Problem, filling: Filling, Cs: Iterable[float] = GRID, gammas: Iterable[float] = GRID
) -> Iterator[Candidate]:
    """Yield support vector machines with the gaussian kernel.

    The squared distances are computed once for all settings, so that a setting costs an
    exponential and libsvm's own work, a quarter of what libsvm takes with a kernel of its own.
    """
    metric = Gaussian()
    among = metric.sums(filling.train, filling.train)
    distances = memoized(lambda X: metric.sums(filling.new_rows(X), filling.train))
    for C, gamma in product(Cs, gammas):
        gram = np.exp(-gamma * among)
        machine = SVC(C=C, kernel="precomputed").fit(gram, problem.train.y)
        yield _candidate(
            problem,
            filling,
            FittedBehind(machine, lambda X, gamma=gamma: np.exp(-gamma * distances(X))),
            {"C": C, "gamma": gamma},
            gram,
        )


def precomputed(
    problem: Problem, gammas: Sequence[float], grams: Sequence[FloatArray], to_train: RowFunction
) -> Iterator[Candidate]:
    """Yield support vector machines on kernel matrices, one of each gamma, over C.

    `to_train` returns the kernel matrices between other rows and the training rows.
    """
    y = problem.train.y
    for C, (which, gamma) in product(GRID, enumerate(gammas)):
        machine = SVC(C=C, kernel="precomputed").fit(grams[which], y)
        right = machine.predict(grams[which]) == y
        model = FittedBehind(machine, lambda rows, which=which: to_train(rows)[which])
        yield Candidate({"C": C, "gamma": gamma}, model, float(np.mean(right)))


def logistic(problem: Problem, filling: Filling, Cs: Iterable[float] = GRID) -> Iterator[Candidate]:
    """Yield logistic regressions, smallest C first."""
    return _over(
        problem, filling, ({"C": C} for C in Cs), lambda C: LogisticRegression(C=C, max_iter=1000)
    )


def perceptron(problem: Problem, filling: Filling) -> Iterator[Candidate]:
    """Yield perceptrons with one hidden layer, strongest penalty first.

    Full-batch L-BFGS for 200 steps at the most: on some hundred rows it takes hundredths of a
    second and needs no part of them to decide when to stop; the penalty is chosen instead, among
    10, 3, 1, 0.3, 0.1 and 0.01, with 32 hidden units.
    """
    seed = problem.seed("mlp")
    return _over(
        problem,
        filling,
        ({"alpha": alpha} for alpha in (10.0, 3.0, 1.0, 0.3, 0.1, 0.01)),
        lambda alpha: MLPClassifier(
            (32,), solver="lbfgs", alpha=alpha, max_iter=200, random_state=seed
        ),
    )


def boosted_trees(problem: Problem, filling: Filling) -> Iterator[Candidate]:
    """Yield histogram-based gradient boosting, fewest trees first, then fewest leaves."""
    return _over(
        problem,
        filling,
        (
            {"max_iter": trees, "max_leaf_nodes": leaves, "min_samples_leaf": rows}
            for trees, leaves, rows in product((20, 50, 100), (2, 4, 15), (20, 5))
        ),
        lambda **setting: HistGradientBoostingClassifier(**setting, early_stopping=False),
    )


def _over(
    problem: Problem,
    filling: Filling,
    settings: Iterable[Mapping[str, Any]],
    make: Callable[..., Any],
) -> Iterator[Candidate]:
    for parameters in settings:
        classifier = make(**parameters)
        with warnings.catch_warnings():
            # A limit of steps is part of the setting; the record says when it was met.
            warnings.simplefilter("ignore", ConvergenceWarning)
            classifier.fit(filling.train, problem.train.y)
        model = FittedBehind(classifier, filling.new_rows)
        yield _candidate(problem, filling, model, parameters, filling.train)


def _candidate(
    problem: Problem,
    filling: Filling,
    model: FittedBehind,
    parameters: Mapping[str, Any],
    train_inputs: FloatArray,
) -> Candidate:
    right = model.classifier.predict(train_inputs) == problem.train.y
    return Candidate(
        parameters,
        model,
        float(np.mean(right)),
        filled=filling.filled,
        solver_status=filling.status,
    )
