"""What a method offers to the selection: fitted models, in the order that ties are broken in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from experiments.problem import Problem

FloatArray = NDArray[np.float64]
Family = Literal["rival", "field", "ours", "ablation"]
Rule = Literal["plain", "released"]


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


class Method(Protocol):
    """A method to compare."""

    name: str
    label: str
    family: Family
    rules: tuple[Rule, ...]

    def candidates(self, problem: Problem) -> Iterator[Candidate]:
        """Yield the fitted settings: smallest C first, then smallest gamma."""
