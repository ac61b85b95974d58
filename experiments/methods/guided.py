"""Fillings by the library's variants at a given C and gamma, with the machine that guided them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from experiments.methods.filling import Filling, decided
from experiments.methods.kept import kept
from experiments.methods.options import (
    ETA,
    SWITCH,
    Values,
    checked_options,
    one_of,
    positive_number,
    whole_number,
)
from experiments.naming import Name
from experiments.problem import Problem
from kernimpute import ImputationResult, impute, recover_features
from kernimpute.kernels import Gaussian
from kernimpute.methods.new_rows import fill_from_similar

__all__ = ["GUIDED", "GuidedFilling", "Guidance", "OwnMachine", "guidance", "guided_filling"]

FloatArray = NDArray[np.float64]

GUIDED = ("direct", "anchored", "expected", "paper", "appendix", "released", "K_o")
"""Names of the fillings. "expected" is `anchored` at the expected kernel, "K_o" Stage II alone."""

PERTURBED = ("paper", "appendix", "released")
"""The paper's variants and the authors': they have a perturbation, and at most 150 rounds here."""

SLOW = (*PERTURBED, "expected")
"""Those that take minutes over nine settings, and so have one."""

SELECTED_ETAS = (1.0, 4.0, 16.0, math.inf)
"""What eta is selected among, in units of C; with the last, `direct` is mean imputation."""


@dataclass(frozen=True)
class Guidance:
    """How the library fills, beside C and gamma.

    Parameters
    ----------
    name : str
        One of `GUIDED`.
    etas : tuple of float or None
        Weights of the anchor in units of C, ascending; None is the variant's default. More than
        one are selected among on the holdout rows.
    shuffled : bool
        Whether the filling sees the training labels permuted.
    perturbed : bool
        Whether a variant that has a perturbation of the kernel uses it.
    max_iter : int or None
        Rounds at the most; None is the variant's default.
    C, gamma : float or None
        Fixed settings; None takes them from mean imputation's choice.
    """

    name: str
    etas: tuple[float | None, ...]
    shuffled: bool
    perturbed: bool
    max_iter: int | None
    C: float | None
    gamma: float | None

    @property
    def one_setting(self) -> bool:
        """Whether only mean imputation's own choice of C and gamma is tried."""
        return self.name in SLOW

    def parameters(self, guided: GuidedFilling) -> dict[str, float]:
        """Return what was set, and selected, for a filling."""
        chosen = {"C": guided.C, "gamma": guided.gamma}
        return chosen if len(self.etas) == 1 else {**chosen, "eta": guided.eta}

    @property
    def has_machine(self) -> bool:
        """Whether the filling has a machine of its own that learned from the true labels."""
        return self.name != "K_o" and not self.shuffled


def guidance(name: Name) -> Guidance:
    """Return what a name with options says of the filling.

    Parameters
    ----------
    name : Name
        One of `GUIDED`, with the options eta (units of C, inf or select), labels (true or
        shuffled), perturbation (yes or no), max_iter, C and gamma.

    Returns
    -------
    Guidance
        The same, checked.

    Raises
    ------
    ValueError
        If an option is not there for this filling, or has another value.
    """
    perturbed = name.base in PERTURBED
    known: dict[str, Values] = {"C": positive_number(), "gamma": positive_number()}
    if name.base != "K_o":
        known |= {"eta": ETA, "labels": one_of("true", "shuffled")}
        known |= {"max_iter": whole_number(150 if perturbed else None)}
    if perturbed:
        known |= {"perturbation": SWITCH}
    options = checked_options(name, known)
    select = options.get("eta") == "select"
    return Guidance(
        name=name.base,
        etas=SELECTED_ETAS if select else (options.get("eta"),),
        shuffled=options.get("labels") == "shuffled",
        perturbed=options.get("perturbation", True),
        max_iter=options.get("max_iter"),
        C=options["C"],
        gamma=options["gamma"],
    )


@dataclass(frozen=True, eq=False)
class OwnMachine:
    """The machine that guided a filling.

    Parameters
    ----------
    kernel : Gaussian
        Its kernel.
    train : ndarray of shape (n_rows, n_features)
        The filled training rows.
    dual_coef : ndarray of shape (n_rows,) or (n_rows, n_classes)
        Signed coefficients.
    intercept : float or ndarray of shape (n_classes,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    """

    kernel: Gaussian
    train: FloatArray
    dual_coef: FloatArray
    intercept: float | FloatArray
    classes_: NDArray[np.int64]

    def decision_function(self, rows: FloatArray) -> FloatArray:
        """Return the decision values of filled rows, one column a class beyond two classes."""
        return self.kernel(rows, self.train) @ self.dual_coef + self.intercept

    def predict(self, rows: FloatArray) -> NDArray[np.int64]:
        """Return the labels of filled rows."""
        return decided(self.classes_, self.decision_function(rows))


@dataclass(frozen=True, eq=False)
class GuidedFilling:
    """A filling at one C and gamma.

    Parameters
    ----------
    C, gamma : float
        Where it was filled.
    eta : float or None
        With which weight of the anchor, in units of C; None is the variant's default.
    filling : Filling
        The filled rows.
    machine : OwnMachine or None
        What guided it; None for Stage II alone.
    """

    C: float
    gamma: float
    eta: float | None
    filling: Filling
    machine: OwnMachine | None


@lru_cache(maxsize=64)
def guided_filling(
    problem: Problem, how: Guidance, C: float, gamma: float, eta: float | None
) -> GuidedFilling:
    """Return a filling by the library, the same for every classifier of a problem.

    New rows are filled as `KernelImputer` fills them, by similar filled training rows.

    Parameters
    ----------
    problem : Problem
        The problem.
    how : Guidance
        The variant and its options.
    C, gamma : float
        The machine's penalty and the kernel's gamma.
    eta : float or None
        The anchor's weight in units of C; None is the variant's default.

    Returns
    -------
    GuidedFilling
        The filling and its machine.
    """
    kernel = Gaussian(gamma=gamma)
    if how.name == "K_o":
        return GuidedFilling(C, gamma, eta, _stage_two_alone(problem), None)
    X, y = problem.train.X, problem.train.y
    if how.shuffled:
        y = np.random.default_rng(problem.seed("shuffled labels")).permutation(y)
    result = _impute(X, y, how, kernel, C, eta)
    filling = _filling(result.X, result.status.name)
    machine = OwnMachine(kernel, result.X, result.dual_coef, result.intercept, result.classes)
    return GuidedFilling(C, gamma, eta, filling, machine)


def _impute(
    X: FloatArray,
    y: NDArray[np.int64],
    how: Guidance,
    kernel: Gaussian,
    C: float,
    eta: float | None,
) -> ImputationResult:
    # Without a perturbation: the ball of `released` has no radius, the weight of the others' no
    # bound.
    by_radius = how.name == "released"
    return impute(
        X,
        y,
        variant="anchored" if how.name == "expected" else how.name,
        kernel=kernel,
        C=C,
        eta=None if eta is None else eta * C,
        rho=None if how.perturbed or by_radius else math.inf,
        radius=None if how.perturbed or not by_radius else 0.0,
        reference="expected" if how.name == "expected" else None,
        max_iter=how.max_iter,
    )


@lru_cache(maxsize=4)
def _stage_two_alone(problem: Problem) -> Filling:
    """Return the rows recovered from the sums over the features that both rows have.

    For the gaussian kernel these sums, and so the rows, are the same at every gamma.
    """
    X = problem.train.X
    kernel = Gaussian()
    observed = ~np.isnan(X)
    target = kernel.observed_sums(np.where(observed, X, 0.0), observed)
    recovered = recover_features(X, target, kernel=kernel)
    return _filling(recovered.X, recovered.status.name)


def _filling(filled: FloatArray, status: str) -> Filling:
    new_rows = kept(lambda X: fill_from_similar(X, filled, Gaussian()))
    return Filling(filled, new_rows, filled, status)
