"""The fitted settings of a method, and the selection among them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from experiments.problem import Problem

FloatArray = NDArray[np.float64]
Rule = Literal["plain", "released"]
RowFunction = Callable[[FloatArray], FloatArray]

GRID = tuple(2.0**power for power in range(-5, 6))
"""The paper's grid of C and of gamma, for the machines of every method alike."""
GRIDS: Mapping[str, tuple[float, ...]] = {
    "paper": GRID,
    "wide": tuple(2.0**power for power in range(-12, 6)),
}
"""The same, and with smaller values for methods that choose at its lower edge."""


class Model(Protocol):
    """A fitted classifier of rows with gaps.

    `decision_function` or `predict_proba` may be there.
    """

    classes_: NDArray[np.int64]

    def predict(self, X: FloatArray) -> NDArray[np.int64]:
        """Return the labels of rows."""


@dataclass(frozen=True)
class Candidate:
    """One fitted setting of a method."""

    parameters: Mapping[str, Any]  # What was set, such as C and gamma
    model: Model  # The fitted classifier
    train_accuracy: float  # Its accuracy on the training rows as it sees them, in [0, 1]
    # The filled training rows; None for a method that fills nothing
    filled: FloatArray | None = None
    solver_status: str = ""  # How the solver ended, where it says so


@dataclass(frozen=True, eq=False)
class Decider:
    """A classifier by decision values."""

    classes_: NDArray[np.int64]
    # Positive for the second of two classes; of more, one column a class, the largest decides
    decision_function: RowFunction

    def predict(self, X: FloatArray) -> NDArray[np.int64]:
        """Return the labels of rows."""
        values = self.decision_function(X)
        places = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
        return self.classes_[places]


def candidate(
    problem: Problem, model: Model, parameters: Mapping[str, Any], status: str = ""
) -> Candidate:
    """Return a fitted classifier of rows with gaps as a candidate that fills nothing."""
    right = model.predict(problem.train.X) == problem.train.y
    return Candidate(parameters, model, float(np.mean(right)), solver_status=status)


@dataclass(frozen=True)
class Chosen:
    """The candidate that a rule selects."""

    candidate: Candidate  # The fitted setting
    holdout_accuracy: float  # Its accuracy on the holdout rows, in [0, 1]


def choose(
    candidates: Iterable[Candidate], problem: Problem, rules: Collection[Rule]
) -> dict[Rule, Chosen]:
    """Return what each rule selects, in one pass that keeps only the best so far.

    "plain" takes the best holdout accuracy, the first among equals. "released" does the same among
    the candidates whose training accuracy exceeds their holdout accuracy, as the authors' released
    code does: where training rows have gaps and holdout rows none, that rejects the good settings.
    """
    best: dict[Rule, Chosen] = {}
    for candidate in candidates:
        predicted = candidate.model.predict(problem.holdout.X)
        accuracy = float(np.mean(predicted == problem.holdout.y))
        for rule in rules:
            if rule == "released" and candidate.train_accuracy <= accuracy:
                continue
            if rule not in best or accuracy > best[rule].holdout_accuracy:
                best[rule] = Chosen(candidate, accuracy)
    return best


def memoized(function: RowFunction, size: int = 2) -> RowFunction:
    """Return a function that remembers its last results by the array they came from.

    Every setting of a grid asks for the same holdout rows, so that their fills and their distances
    to the training rows are computed once.
    """
    last: list[tuple[FloatArray, FloatArray]] = []

    def call(X: FloatArray) -> FloatArray:
        for known, value in last:
            if known is X:
                return value
        value = function(X)
        last.insert(0, (X, value))
        del last[size:]
        return value

    return call
