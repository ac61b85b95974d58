"""The library's fillings as methods: C and gamma around what mean imputation chose, as the paper.

Three classifiers follow a filling. "own" is the machine that guided it; "refit" the machine with
the filling's C and gamma learned anew on the filled rows; any other classifier sees the filling at
mean imputation's choice itself and is tried over its own grid.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import product

import numpy as np

from experiments.methods.candidates import Candidate
from experiments.methods.fillers import imputer_filling
from experiments.methods.filling import Filling, FittedBehind
from experiments.methods.guided import Guidance, GuidedFilling, guided_filling
from experiments.methods.machines import gaussian_svc, near
from experiments.methods.selection import choose
from experiments.problem import Problem


@lru_cache(maxsize=4)
def mean_choice(problem: Problem) -> tuple[float, float]:
    """Return C and gamma that mean imputation and the machine after it choose, by the plain rule."""
    candidates = gaussian_svc(problem, imputer_filling(problem, "mean"))
    parameters = choose(candidates, problem, ("plain",))["plain"].candidate.parameters
    return parameters["C"], parameters["gamma"]


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
