"""KARMA: a linear machine over paths of observed features (Hazan, Livni and Mansour, 2015).

Rows that lie in a low-dimensional subspace can be completed by a linear map of what is observed.
Powers of such a map, cut off at the order beta, are linear in these features of an incomplete row
x with observed features o, one for each sequence p_1, ..., p_l of at most beta columns:

    phi(x)_(p_1, ..., p_l) = x_(p_l) if all of p_1, ..., p_l are in o, else 0.

Their inner product is the kernel

    k_beta(x, z) = (1 + n + ... + n^(beta - 1)) sum over p in o_x and o_z of x_p z_p,
    n = |o_x and o_z|,

because a sequence of length l that ends in p counts once for each of its n^(l - 1) beginnings. The
kernel is positive semidefinite, being an inner product.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np
from numpy.typing import NDArray

from experiments.methods.candidates import GRIDS, Candidate, Decider, candidate
from experiments.naming import Option
from experiments.problem import Problem
from kernimpute.core.dual import make_dual

FloatArray = NDArray[np.float64]


def karma_kernel(X: FloatArray, Z: FloatArray, beta: int) -> FloatArray:
    """Return the kernel k_beta between incomplete rows, (n_rows, n_other_rows)."""
    shared = (~np.isnan(X)).astype(float) @ (~np.isnan(Z)).astype(float).T
    factor = np.ones(shared.shape)
    for _ in range(beta - 1):  # Horner's rule
        factor = factor * shared + 1.0
    return (np.nan_to_num(X) @ np.nan_to_num(Z).T) * factor


def fit_karma(X: FloatArray, y: NDArray[np.int64], C: float, beta: int) -> Decider:
    """Return the machine with the kernel k_beta; more than two classes go one against the rest.

    The library's exact dual solves it, because libsvm takes long on this kernel where C is large.
    """
    K = karma_kernel(X, X, beta)
    dual = make_dual(y, len(y), C=C, owner="KARMA")
    dual_coef = dual.solve(K)
    intercept = dual.intercept(K, dual_coef)

    def decision(rows: FloatArray) -> FloatArray:
        values = karma_kernel(rows, X, beta) @ dual_coef + intercept
        return values[:, 0] if values.shape[1] == 1 else values

    return Decider(np.unique(y), decision)


def candidates(problem: Problem, options: Mapping[str, Option]) -> Iterator[Candidate]:
    """Yield KARMA over C and the paper's beta."""
    X, y = problem.train.X, problem.train.y
    for C, beta in product(GRIDS[str(options["grid"])], (1, 2, 3, 4)):
        yield candidate(problem, fit_karma(X, y, C, beta), {"C": C, "beta": beta})
