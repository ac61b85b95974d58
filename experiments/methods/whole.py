"""Methods that take rows with gaps as they are: boosted trees, and the library's classifiers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from experiments.methods.candidates import GRID, Candidate, candidate, memoized
from experiments.methods.filling import NOTHING_KNOWN, Filling, with_indicators
from experiments.methods.machines import boosted_trees, precomputed
from experiments.naming import Option
from experiments.problem import Problem
from experiments.registry import WHOLE
from kernimpute import KernelImputationClassifier
from kernimpute.joint.reference import expected_kernel
from kernimpute.kernels import Gaussian

FloatArray = NDArray[np.float64]


def boosting(problem: Problem, options: Mapping[str, Option]) -> Iterator[Candidate]:
    """Yield gradient boosting that sends gaps down a branch of their own."""
    return boosted_trees(problem, _unfilled(problem))


def boosting_with_indicators(
    problem: Problem, options: Mapping[str, Option]
) -> Iterator[Candidate]:
    """Yield the same with indicators of gaps."""
    return boosted_trees(problem, with_indicators(_unfilled(problem), problem.train.X))


def _unfilled(problem: Problem) -> Filling:
    # scikit-learn's trees find no thresholds in a column without any number.
    empty = np.isnan(problem.train.X).all(axis=0)

    def shown(rows: FloatArray) -> FloatArray:
        return np.where(empty, NOTHING_KNOWN, rows)

    return Filling(shown(problem.train.X), shown, None)


def expected_kernel_svm(problem: Problem, options: Mapping[str, Option]) -> Iterator[Candidate]:
    """Yield support vector machines on the library's expected kernel, over C and gamma.

    Other rows are laid below the training rows with weight 0: they have no say in what a gap of
    theirs may be.
    """
    X = problem.train.X
    n = len(X)

    def matrices(rows: FloatArray) -> list[FloatArray]:
        stacked = np.vstack([X, rows])
        weights = np.repeat([1.0, 0.0], [n, len(rows)])
        return [
            expected_kernel(stacked, Gaussian(gamma), sample_weight=weights)[n:, :n]
            for gamma in GRID
        ]

    grams = [expected_kernel(X, Gaussian(gamma)) for gamma in GRID]
    return precomputed(problem, GRID, grams, memoized(matrices))


def kernel_classifier(problem: Problem, options: Mapping[str, Option]) -> Iterator[Candidate]:
    """Yield the library's guided SVM from column means, at a C and part of "scale"."""
    X, y = problem.train.X, problem.train.y
    classifier = KernelImputationClassifier(
        machine="svm", guidance="direct", reference="mean", C=float(options["C"])
    )
    if options["smooth"] != WHOLE["kernel_classifier"].options["smooth"].default:
        scaled = clone(classifier).set_params(gamma="scale").fit(X, y)
        classifier.set_params(gamma=float(options["smooth"]) * scaled.kernel_.gamma)
    classifier.fit(X, y)
    yield candidate(problem, classifier, {}, classifier.status_.name)


def predictor(problem: Problem, options: Mapping[str, Option]) -> Iterator[Candidate]:
    """Yield the library's classifier at its defaults: the blend of three kinds, without labels."""
    classifier = KernelImputationClassifier(random_state=problem.seed("joint"))
    yield candidate(problem, classifier.fit(problem.train.X, problem.train.y), {})
