"""Libraries of arrays other than NumPy, for the tests that compare results between them."""

from __future__ import annotations

import array_api_strict
import numpy as np
import torch


def strict(array):
    """Return an array of the strict implementation of the standard, which has nothing beyond it."""
    return array_api_strict.asarray(np.array(array))


def tensor(array):
    """Return a tensor on the CPU, in the dtype of the array."""
    return torch.tensor(np.array(array))


CONVERT = {"array_api_strict": strict, "torch": tensor}
"""How a NumPy array becomes one of another library, by the library's name."""
