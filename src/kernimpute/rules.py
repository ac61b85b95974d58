"""Defaults of the estimators and of tables: gamma, C and eta where no argument says otherwise.

Every machine is smooth, with a quarter of the gamma of `scaled_kernel`. An imputer's fills for a
classifier that is not this machine. A classifier's or a regressor's predicts by itself, and is more
accurate so; a classifier's with a larger penalty than 1, without which it would be too smooth. Of
more than two classes, one against the rest, half of that gamma is taken: a quarter loses there.

The weight of the anchor grows with what is missing, 1 / (observed share): the more gaps a row has,
the more its cells could move together, and the less there is to hold them. With more than two
classes there is a machine for each, and the anchor holds against all of them. A quantity pulls
without end on every row outside its tube, where a class stops at its margin, so a regression is
held sixteen times as strongly.

Chosen on seven real tables, judged on other splits: see "Defaults" in ``benchmarks/README.md``.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from kernimpute.kernels import Gaussian, Kernel, Laplacian
from kernimpute.labelled_rows import scaled_kernel
from kernimpute.labels import Task

__all__ = [
    "CLASSIFIER_C",
    "CLASSIFIER_ETA",
    "SMOOTH",
    "SMOOTH_OF_MANY",
    "anchor_weight",
    "default_kernel",
    "imputer_eta",
    "number_of_machines",
]

FloatArray = NDArray[np.float64]

SMOOTH = 0.25
"""Part of the scaled gamma that gamma="auto" takes."""

SMOOTH_OF_MANY = 0.5
"""The same in a classifier of more than two classes."""

CLASSIFIER_C = 4.0
"""Penalty of a classifier; imputers and regressors have 1."""

CLASSIFIER_ETA = 32.0
"""Weight of a classifier's anchor, in units of C / (observed share), for each of its machines."""

_BLOCK = 2**16
"""Rows that are counted at once."""


def imputer_eta(task: Task) -> float:
    """Return the weight of an imputer's anchor, in units of C / (observed share), a machine.

    Parameters
    ----------
    task : {"classification", "regression"}
        What the labels are.

    Returns
    -------
    float
        16 or 256.
    """
    return 16.0 if task == "classification" else 256.0


def number_of_machines(n_classes: int | None) -> int:
    """Return how many machines share a filling: one for a target or two classes, else one each.

    Parameters
    ----------
    n_classes : int or None
        Number of classes; None for a regression.

    Returns
    -------
    int
        The number.
    """
    return n_classes if n_classes is not None and n_classes > 2 else 1


def anchor_weight(C: float, X: FloatArray, factor: float, weights: FloatArray) -> float:
    """Return the default eta of `direct`: factor C / (observed share).

    Parameters
    ----------
    C : float
        Penalty of the machine.
    X : ndarray of shape (n_samples, n_columns)
        Rows with NaN at the gaps.
    factor : float
        The factor.
    weights : ndarray of shape (n_samples,)
        Weights of the rows.

    Returns
    -------
    float
        In (0, inf]; inf where nothing is observed.
    """
    # By blocks, for X may be larger than the memory.
    blocks = (X[first : first + _BLOCK] for first in range(0, X.shape[0], _BLOCK))
    shares = np.concatenate([(~np.isnan(block)).mean(axis=1) for block in blocks])
    observed = float(weights @ shares) / float(weights.sum())
    return factor * C / observed if observed > 0.0 else math.inf


def default_kernel(
    name: str,
    X: FloatArray,
    categorical: tuple[int, ...],
    weights: FloatArray | None = None,
    *,
    part: float = 1.0,
) -> Kernel:
    """Return a kernel by its name with a part of the gamma that fits the rows.

    Parameters
    ----------
    name : str
        A name of `kernimpute.kernels.KERNELS`.
    X : ndarray of shape (n_samples, n_columns)
        Rows with NaN at the gaps.
    categorical : tuple of int
        Columns of codes.
    weights : ndarray of shape (n_samples,) or None, default=None
        Weights of the rows.
    part : float, default=1.0
        Factor of the gamma of `scaled_kernel`, for the kernels that fit theirs.

    Returns
    -------
    Kernel
        The kernel.
    """
    kernel = scaled_kernel(name, X, categorical, sample_weight=weights)
    if not kernel.is_decreasing:
        return kernel
    fitted = cast("Gaussian | Laplacian", kernel)
    return replace(fitted, gamma=part * fitted.gamma)
