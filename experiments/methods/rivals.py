"""Methods that need no filling of their own: classifiers that take rows with gaps as they are."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from experiments.baselines import (
    GaussianClassifier,
    GenRBFKernel,
    GEOMClassifier,
    GEOMKernels,
    KARMAClassifier,
)
from experiments.methods.candidates import Candidate, Model
from experiments.methods.filling import (
    NOTHING_KNOWN,
    Filling,
    FittedBehind,
    decided,
    with_indicators,
)
from experiments.methods.kept import RowFunction, kept
from experiments.methods.machines import GRID, WIDE, boosted_trees
from experiments.methods.options import Values, one_of, positive_number
from experiments.naming import Option
from experiments.problem import Problem
from kernimpute import KernelImputationClassifier
from kernimpute.kernels import Gaussian
from kernimpute.reference import expected_kernel

FloatArray = NDArray[np.float64]
Offer = Callable[[Problem, Mapping[str, Option]], Iterator[Candidate]]


@dataclass(frozen=True, eq=False)
class _Round:
    """GEOM after so many rounds."""

    classes_: NDArray[np.int64]
    n_rounds: int
    rounds: RowFunction

    def decision_function(self, X: FloatArray) -> FloatArray:
        return self.rounds(X)[self.n_rounds - 1]

    def predict(self, X: FloatArray) -> NDArray[np.int64]:
        return decided(self.classes_, self.decision_function(X))


def _geom(problem: Problem, options: Mapping[str, Option]) -> Iterator[Candidate]:
    """Yield GEOM over C, gamma and the paper's numbers of rounds.

    What takes long depends on gamma only and fills a quarter of a GiB, so that all C are fitted
    gamma by gamma; the fitted machines are small. One fit has every round.
    """
    X, y = problem.train.X, problem.train.y
    fitted = {}
    for gamma in GRID:
        kernels = GEOMKernels(X, gamma)
        for C in GRID:
            fitted[C, gamma] = GEOMClassifier(C=C, gamma=gamma).fit(X, y, kernels)
    for C, gamma in product(GRID, GRID):
        classifier = fitted[C, gamma]
        rounds = kept(lambda rows, of=classifier: np.stack([*of.staged_decision_function(rows)]))
        for n_rounds in (2, 3, 4, 5):
            model = _Round(classifier.classes_, n_rounds, rounds)
            parameters = {"C": C, "gamma": gamma, "rounds": n_rounds}
            yield Candidate(parameters, model, float(np.mean(model.predict(X) == y)))


def _karma(problem: Problem, options: Mapping[str, Option]) -> Iterator[Candidate]:
    """Yield KARMA over C and the paper's beta."""
    for C, beta in product(_GRIDS[str(options["grid"])], (1, 2, 3, 4)):
        yield _alone(problem, KARMAClassifier(C=C, beta=beta), {"C": C, "beta": beta})


def _genrbf(problem: Problem, options: Mapping[str, Option]) -> Iterator[Candidate]:
    """Yield support vector machines with the expected gaussian kernel over C and gamma."""
    X = problem.train.X
    gammas = _GRIDS[str(options["grid"])]
    kernel = GenRBFKernel().fit(X)
    to_train = kept(lambda rows: kernel.matrices(rows, X, gammas=gammas))
    grams = kernel.matrices(X, gammas=gammas)
    for C, (which, gamma) in product(GRID, enumerate(gammas)):
        yield _precomputed(
            problem,
            C,
            grams[which],
            lambda rows, which=which: to_train(rows)[which],
            {"C": C, "gamma": gamma},
        )


def _gaussian(problem: Problem, options: Mapping[str, Option]) -> Iterator[Candidate]:
    """Yield class-conditional Gaussians with one covariance, then with one for each class."""
    for covariance in ("shared", "class"):
        classifier = GaussianClassifier(covariance=covariance)
        yield _alone(problem, classifier, {"covariance": covariance})


def _boosting(problem: Problem, options: Mapping[str, Option]) -> Iterator[Candidate]:
    """Yield gradient boosting that sends gaps down a branch of their own."""
    return boosted_trees(problem, _unfilled(problem))


def _boosting_with_indicators(
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


def _expected_kernel(problem: Problem, options: Mapping[str, Option]) -> Iterator[Candidate]:
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

    to_train = kept(matrices)
    grams = [expected_kernel(X, Gaussian(gamma)) for gamma in GRID]
    for C, (which, gamma) in product(GRID, enumerate(GRID)):
        yield _precomputed(
            problem,
            C,
            grams[which],
            lambda rows, which=which: to_train(rows)[which],
            {"C": C, "gamma": gamma},
        )


OWN_C, OWN_SMOOTH = 4.0, 0.25
"""The library's own defaults for two classes."""


def _kernel_classifier(problem: Problem, options: Mapping[str, Option]) -> Iterator[Candidate]:
    """Yield the library's classifier as it comes, or with other defaults.

    "smooth" is the part of gamma="scale" that it takes; a quarter is its own default.
    """
    classifier = KernelImputationClassifier(C=float(options["C"]))
    if (smooth := float(options["smooth"])) != OWN_SMOOTH:
        scaled = clone(classifier).set_params(gamma="scale")
        gamma = _alone(problem, scaled, {}).model.kernel_.gamma
        classifier.set_params(gamma=smooth * gamma)
    yield _alone(problem, classifier, {})


_GRIDS: Mapping[str, tuple[float, ...]] = {"paper": GRID, "wide": WIDE}

WHOLE: Mapping[str, tuple[Offer, Mapping[str, Values]]] = {
    "geom": (_geom, {}),
    "karma": (_karma, {"grid": one_of(*_GRIDS)}),
    "genrbf": (_genrbf, {"grid": one_of(*_GRIDS)}),
    "gaussian": (_gaussian, {}),
    "hgb": (_boosting, {}),
    "hgb+indicators": (_boosting_with_indicators, {}),
    "expected_kernel": (_expected_kernel, {}),
    "kernel_classifier": (
        _kernel_classifier,
        {"C": positive_number(OWN_C), "smooth": positive_number(OWN_SMOOTH)},
    ),
}
"""Methods by name: a function of problem and options, and the options with their values."""


def _precomputed(
    problem: Problem, C: float, gram: Any, to_train: Any, parameters: Mapping[str, Any]
) -> Candidate:
    machine = SVC(C=C, kernel="precomputed").fit(gram, problem.train.y)
    right = machine.predict(gram) == problem.train.y
    return Candidate(parameters, FittedBehind(machine, to_train), float(np.mean(right)))


def _alone(problem: Problem, classifier: Any, parameters: Mapping[str, Any]) -> Candidate:
    """Return a classifier that takes gaps itself, fitted."""
    with warnings.catch_warnings():
        # How it ended goes into the record instead.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model: Model = classifier.fit(problem.train.X, problem.train.y)
    right = model.predict(problem.train.X) == problem.train.y
    status = getattr(model, "status_", None)
    return Candidate(
        parameters,
        model,
        float(np.mean(right)),
        solver_status="" if status is None else status.name,
    )
