"""Anderson's extrapolation of sweeps: from the last few tables, where they are heading.

A sweep maps the vector x of numeric missing cells to G(x), and the sought table is a fixed
point. From the last pairs (x, G(x)) the combination of the G(x) whose steps G(x) - x nearly
cancel is a guess of it, exact were G affine. The caller keeps the guess only where it lowers
the objective, so the descent stays monotone.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["MEMORY", "Extrapolation"]

FloatArray = NDArray[np.float64]

MEMORY = 8
"""Differences of sweeps that are combined at the most."""

_RIDGE = 1e-14
"""Relative ridge of the small least-squares problem: nearly parallel steps add nothing."""


@dataclass
class Extrapolation:
    """The memory of the last sweeps."""

    _steps: deque[FloatArray] = field(default_factory=lambda: deque(maxlen=MEMORY + 1))
    _ends: deque[FloatArray] = field(default_factory=lambda: deque(maxlen=MEMORY + 1))

    def forget(self) -> None:
        """Drop what is remembered: the map has changed."""
        self._steps.clear()
        self._ends.clear()

    def guess(self, before: FloatArray, after: FloatArray) -> FloatArray | None:
        """Remember a sweep and return the guess, in [0, 1].

        Parameters
        ----------
        before, after : ndarray of shape (n_cells,)
            The numeric missing cells before and after the sweep.

        Returns
        -------
        ndarray of shape (n_cells,) or None
            The extrapolated cells; None while too few sweeps are remembered.
        """
        self._steps.append(after - before)
        self._ends.append(after)
        if len(self._steps) < 3:
            return None
        steps = np.array(self._steps)
        ends = np.array(self._ends)
        step_changes = np.diff(steps, axis=0)
        gram = step_changes @ step_changes.T
        gram[np.diag_indices_from(gram)] += _RIDGE * np.trace(gram)
        if not np.trace(gram) > 0.0:
            return None
        mixture = np.linalg.solve(gram, step_changes @ steps[-1])
        return np.asarray(np.clip(after - mixture @ np.diff(ends, axis=0), 0.0, 1.0))
