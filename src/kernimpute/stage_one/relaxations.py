"""The bounds of the adjustment: where each variant may look for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernimpute.core.arrays import is_positive_definite
from kernimpute.core.checks import refusal
from kernimpute.core.kernels import Kernel
from kernimpute.joint.reference import mean_kernel_of_completions
from kernimpute.stage_one.problem import ReferenceMachine, Relaxation

__all__ = ["kernel_itself", "printed", "ratio", "union_of_masks"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

ONES = np.ones((1, 1))
"""11', by broadcasting."""
LEAST_ROOM = 1e-7
"""Smallest eigenvalue of an interior matrix, relative to its diagonal, that leaves any room."""
RIDGE = 1e-3
"""What the matrices are raised by where there is less, relative to the diagonal. With a tenth of
it the certificate takes a thousand rounds; ten times as much is no longer small."""


def ratio(
    X: FloatArray, observed: BoolArray, kernel: Kernel, reference: ReferenceMachine
) -> Relaxation:
    """Bound the adjustment ``K / K_observed`` exactly, diagonal included.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Rows with NaN at the gaps.
    observed : ndarray of bool of shape (n_samples, n_features)
        True where a cell is observed.
    kernel : Kernel
        The kernel.
    reference : ReferenceMachine
        Not used: the adjustment is anchored at 11'.

    Returns
    -------
    Relaxation
        Base K_observed, anchor 11'.

    Raises
    ------
    ValueError
        If the observed kernel is not positive for some pair, so that it cannot divide.
    """
    lower, upper = kernel.bounds(X, observed)
    if kernel.is_decreasing:
        # Of an exponential, the ratio needs only the unknown sums and never underflows to 0/0.
        floor = kernel.link(upper - lower)
        return Relaxation(kernel.link(lower), ONES, floor, np.ones_like(floor))
    K_observed = kernel.link(lower)
    _check_divisor(K_observed, kernel, "raise its offset")
    ceiling = kernel.link(upper) / K_observed
    return Relaxation(K_observed, ONES, np.ones_like(ceiling), ceiling)


def _check_divisor(K_observed: FloatArray, kernel: Kernel, remedy: str) -> None:
    if not (K_observed > 0.0).all():
        i, j = (int(index) for index in np.argwhere(~(K_observed > 0.0))[0])
        must_be = f"one whose observed kernel is positive for every pair ({remedy})"
        got = f"{kernel!r}, which gives {K_observed[i, j]:g} for rows {i} and {j}"
        raise ValueError(
            f"The 'kernel' parameter of learn_kernel must be {must_be}. Got {got} instead."
        )


def printed(
    X: FloatArray, observed: BoolArray, kernel: Kernel, reference: ReferenceMachine
) -> Relaxation:
    """Bound the adjustment as the paper prints it.

    As `ratio`, but the printed range of a feature known in neither row is also applied to a row
    against itself, where the unknown value is one number: the diagonal of an exponential kernel
    may then fall to ``link(number of gaps in the row)`` instead of staying at 1.

    Parameters
    ----------
    X, observed, kernel, reference
        As in `ratio`.

    Returns
    -------
    Relaxation
        Base K_observed, anchor 11'.
    """
    exact = ratio(X, observed, kernel, reference)
    if not kernel.is_distance:
        return exact
    gaps = (~observed).sum(axis=1).astype(float)
    lower = np.where(np.eye(X.shape[0], dtype=bool), kernel.link(gaps), exact.lower)
    return Relaxation(exact.base, exact.anchor, lower, exact.upper)


def union_of_masks(
    X: FloatArray, observed: BoolArray, kernel: Kernel, reference: ReferenceMachine
) -> Relaxation:
    """Bound the adjustment as the authors' released code does.

    A mask inverted there makes the lower bound ``link(features observed in either row)`` for
    every pair and the upper one 1; no data value enters.

    Parameters
    ----------
    X, observed, kernel, reference
        As in `ratio`.

    Returns
    -------
    Relaxation
        Base K_observed, anchor 11'.

    Raises
    ------
    ValueError
        If the kernel is no exponential of a distance or has categorical columns: the released
        code has only the gaussian on numbers.
    """
    if not kernel.is_distance or kernel.categorical:
        must_be = "gaussian or laplacian, without categorical columns, for variant='released'"
        raise ValueError(refusal("learn_kernel", "kernel", must_be, kernel))
    missing = (~observed).astype(float)
    in_either = observed.shape[1] - missing @ missing.T
    K_observed = kernel.link(kernel.observed_sums(X, observed))
    _check_divisor(K_observed, kernel, "lower its gamma")
    return Relaxation(K_observed, ONES, kernel.link(in_either), np.ones_like(in_either))


def kernel_itself(
    X: FloatArray, observed: BoolArray, kernel: Kernel, reference: ReferenceMachine
) -> Relaxation:
    """Bound the learned kernel itself: every completion's kernel matrix is in this set.

    Parameters
    ----------
    X, observed, kernel
        As in `ratio`.
    reference : ReferenceMachine
        The anchor is its kernel matrix.

    Returns
    -------
    Relaxation
        Base 11', anchor the reference kernel. Where a matrix of the set that should be inside it
        is not positive definite, everything is raised by a ridge: because the kernel is not
        positive semidefinite in general, or because complete rows repeat or, for some kernels,
        depend on each other linearly; all matrices of the set are then singular.
    """
    lower, upper = kernel.bounds(X, observed)
    # One after the other, so that the sums of both are never held beside both.
    lower = kernel.link(lower)
    upper = kernel.link(upper)
    if kernel.is_decreasing:
        lower, upper = upper, lower
    # A matrix product's rounding may leave the reference outside by the last digits.
    anchor = np.clip(reference.K, lower, upper)
    ridge = _ridge(mean_kernel_of_completions(X, kernel))
    if not kernel.is_positive_semidefinite:
        ridge = max(ridge, -1.01 * float(np.linalg.eigvalsh(anchor)[0]))
    if ridge == 0.0:
        return Relaxation(ONES, anchor, lower, upper)
    raised = ridge * np.eye(X.shape[0])
    return Relaxation(ONES, anchor + raised, lower + raised, upper + raised, ridge)


def _ridge(interior: FloatArray) -> float:
    """Return what matrices are to be raised by, from one that should be inside the set."""
    scale = float(np.diagonal(interior).mean())
    # A factor costs a tenth of the eigenvalues.
    if is_positive_definite(interior, jitter=-LEAST_ROOM * scale):
        return 0.0
    room = float(np.linalg.eigvalsh(interior)[0])
    return RIDGE * scale + max(0.0, -room)
