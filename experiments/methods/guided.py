"""Fillings by the library's variants at a given C and gamma, with the machine that guided them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from experiments.methods.candidates import Candidate, Decider, choose, memoized
from experiments.methods.fillers import imputer_filling
from experiments.methods.filling import Filling, FittedBehind
from experiments.methods.machines import gaussian_svc, near
from experiments.naming import (
    ETA,
    SWITCH,
    Name,
    Values,
    checked_options,
    one_of,
    positive_number,
    whole_number,
)
from experiments.problem import Problem
from kernimpute import ImputationResult, impute, recover_features
from kernimpute.joint.reference import fill_from_similar
from kernimpute.kernels import Gaussian

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
    """The variant and its options, without C and gamma."""

    name: str  # One of `GUIDED`
    # Weights of the anchor in units of C, ascending; None is the variant's default. More than one
    # are selected among on the holdout rows.
    etas: tuple[float | None, ...]
    shuffled: bool  # Whether the filling sees the training labels permuted
    perturbed: bool  # Whether a variant that has a perturbation of the kernel uses it
    max_iter: int | None  # Rounds at the most; None is the variant's default
    C: float | None  # Fixed settings; None takes them from mean imputation's choice
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
    """Return the guidance that a name with options stands for."""
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
class GuidedFilling:
    """A filling at one C and gamma."""

    C: float  # Where it was filled
    gamma: float
    # With which weight of the anchor, in units of C; None is the variant's default
    eta: float | None
    filling: Filling  # The filled rows
    machine: Decider | None  # What guided it; None for Stage II alone


@lru_cache(maxsize=64)
def guided_filling(
    problem: Problem, how: Guidance, C: float, gamma: float, eta: float | None
) -> GuidedFilling:
    """Return a filling by the library, the same for every classifier of a problem.

    New rows are filled as `KernelImputer` fills them, by similar filled training rows.
    """
    kernel = Gaussian(gamma=gamma)
    if how.name == "K_o":
        return GuidedFilling(C, gamma, eta, _stage_two_alone(problem), None)
    X, y = problem.train.X, problem.train.y
    if how.shuffled:
        y = np.random.default_rng(problem.seed("shuffled labels")).permutation(y)
    result = _impute(X, y, how, kernel, C, eta)
    filling = _filling(result.X, result.status.name)

    def decision(rows: FloatArray) -> FloatArray:
        return kernel(rows, result.X) @ result.dual_coef + result.intercept

    machine = Decider(result.classes, decision)
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
    new_rows = memoized(lambda X: fill_from_similar(X, filled, Gaussian()))
    return Filling(filled, new_rows, filled, status)


@lru_cache(maxsize=4)
def mean_choice(problem: Problem) -> tuple[float, float]:
    """Return the C and gamma that the plain rule selects for mean imputation with an SVM."""
    candidates = gaussian_svc(problem, imputer_filling(problem, "mean"))
    parameters = choose(candidates, problem, ("plain",))["plain"].candidate.parameters
    return parameters["C"], parameters["gamma"]


def svc_near(problem: Problem, filling: Filling) -> Iterator[Candidate]:
    """Yield the machines around mean imputation's choice of C and gamma."""
    C, gamma = mean_choice(problem)
    return gaussian_svc(problem, filling, near(C), near(gamma))


def own(problem: Problem, how: Guidance) -> Iterator[Candidate]:
    """Yield the machines that guided the fillings."""
    for guided in _around_choice(problem, how):
        filling = guided.filling
        right = guided.machine.predict(filling.train) == problem.train.y
        yield Candidate(
            how.parameters(guided),
            FittedBehind(guided.machine, filling.new_rows),
            float(np.mean(right)),
            filled=filling.filled,
            solver_status=filling.status,
        )


def refit(problem: Problem, how: Guidance) -> Iterator[Candidate]:
    """Yield machines learned anew on the filled rows, at the C and gamma they were filled at."""
    for guided in _around_choice(problem, how):
        for candidate in gaussian_svc(problem, guided.filling, (guided.C,), (guided.gamma,)):
            yield replace(candidate, parameters=how.parameters(guided))


def filling_at_choice(problem: Problem, how: Guidance) -> Filling:
    """Return the filling at mean imputation's choice of C and gamma, for any classifier."""
    C, gamma = mean_choice(problem)
    return guided_filling(problem, how, how.C or C, how.gamma or gamma, *how.etas).filling


def _around_choice(problem: Problem, how: Guidance) -> Iterator[GuidedFilling]:
    C, gamma = mean_choice(problem)
    Cs, gammas = ((C,), (gamma,)) if how.one_setting else (near(C), near(gamma))
    Cs = Cs if how.C is None else (how.C,)
    gammas = gammas if how.gamma is None else (how.gamma,)
    for settings in product(Cs, gammas, how.etas):
        yield guided_filling(problem, how, *settings)
