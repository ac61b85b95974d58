"""What a step of Stage I returns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernimpute.core.status import Status

__all__ = ["Move"]


class Move(NamedTuple):
    """The outcome of one step: a new value, what the step carries on, and how it went.

    Parameters
    ----------
    value : ndarray
        New value of the step's variable.
    moments : object
        What the step wants back in the next round.
    status : Status
        ``DIVERGED`` stops the loop; anything else is an exact or an inexact step.
    inner_iterations : int
        Inner iterations made.
    note : str
        What the user should know, such as a fallback taken.
    """

    value: NDArray[np.float64]
    moments: Any = None
    status: Status = Status.CONVERGED
    inner_iterations: int = 0
    note: str = ""
