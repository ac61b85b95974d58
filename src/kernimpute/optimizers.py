"""Adam as a pure function (Kingma and Ba, 2015), on arrays of any namespace."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernimpute.arrays import namespace

__all__ = ["AdamMoments", "adam_step"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class AdamMoments:
    """Running means of the gradient and of its square.

    Parameters
    ----------
    mean, square : ndarray
        The two moments, in the shape of the variable.
    t : int
        Steps taken so far.
    """

    mean: FloatArray
    square: FloatArray
    t: int = 0

    @classmethod
    def zeros(cls, like: FloatArray) -> AdamMoments:
        """Return the moments before the first step, in the shape of a variable."""
        zeros = namespace(like).zeros_like(like)
        return cls(zeros, zeros)


def adam_step(
    gradient: FloatArray,
    moments: AdamMoments,
    learning_rate: float,
    *,
    beta_mean: float = 0.9,
    beta_square: float = 0.999,
    guard: float = 1e-8,
) -> tuple[FloatArray, AdamMoments]:
    """Return the step of one Adam update and the moments after it.

    Parameters
    ----------
    gradient : ndarray
        Gradient at the current point.
    moments : AdamMoments
        Moments after the previous step.
    learning_rate : float
        Length scale of the step.
    beta_mean, beta_square : float, default=0.9, 0.999
        Decay of the two moments.
    guard : float, default=1e-8
        Added to the root of the second moment.

    Returns
    -------
    step : ndarray
        What to add to the variable in order to ascend (subtract to descend).
    moments : AdamMoments
        The moments after the step.
    """
    t = moments.t + 1
    mean = beta_mean * moments.mean + (1.0 - beta_mean) * gradient
    square = beta_square * moments.square + (1.0 - beta_square) * gradient**2
    unbiased_mean = mean / (1.0 - beta_mean**t)
    unbiased_square = square / (1.0 - beta_square**t)
    step = learning_rate * unbiased_mean / (namespace(gradient).sqrt(unbiased_square) + guard)
    return step, AdamMoments(mean, square, t)
