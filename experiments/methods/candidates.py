"""What a method offers to the selection: fitted models, in the order that ties are broken in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from experiments.problem import Problem

__all__ = ["Candidate", "Family", "Method", "Model", "Rule"]

FloatArray = NDArray[np.float64]
Family = Literal["rival", "field", "ours", "ablation"]
Rule = Literal["plain", "released"]


class Model(Protocol):
    """A fitted classifier of rows with gaps.

    `decision_function` or `predict_proba` may be there.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in ascending order.
    """

    classes_: NDArray[np.int64]

    def predict(self, X: FloatArray) -> NDArray[np.int64]:
        """Return the labels of rows."""


@dataclass(frozen=True)
class Candidate:
    """One fitted setting of a method.

    Parameters
    ----------
    parameters : mapping of str to object
        What was set, such as C and gamma.
    model : Model
        The fitted classifier.
    train_accuracy : float
        Its accuracy on the training rows as it sees them, in [0, 1].
    filled : ndarray of shape (n_train, n_features) or None
        The filled training rows; None for a method that fills nothing.
    solver_status : str, default=""
        How the solver ended, where it says so.
    """

    parameters: Mapping[str, Any]
    model: Model
    train_accuracy: float
    filled: FloatArray | None = None
    solver_status: str = ""


class Method(Protocol):
    """A method to compare.

    Attributes
    ----------
    name : str
        Its name in configs and records.
    label : str
        Its name in tables and figures.
    family : {"rival", "field", "ours", "ablation"}
        The paper's rivals, the strong simple field, the library's variants, or a control.
    rules : tuple of {"plain", "released"}
        The selection rules it is read by.
    """

    name: str
    label: str
    family: Family
    rules: tuple[Rule, ...]

    def candidates(self, problem: Problem) -> Iterator[Candidate]:
        """Yield the fitted settings: smallest C first, then smallest gamma."""
