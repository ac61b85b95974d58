"""Anderson's extrapolation of sweeps: from the last few tables, where they are heading.

A sweep maps the vector x of numeric missing cells to G(x), and the sought table is a fixed
point. From the last pairs (x, G(x)) the combination of the G(x) whose steps G(x) - x nearly
cancel is a guess of it, exact were G affine. The caller keeps the guess only where it lowers
the objective, so the descent stays monotone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["MEMORY", "Extrapolation"]

FloatArray = NDArray[np.float64]

MEMORY = 8
"""Differences of sweeps that are combined at the most."""

_RIDGE = 1e-14
"""Relative ridge of the small least-squares problem: nearly parallel steps add nothing."""


class Extrapolation:
    """The memory of the last sweeps: how the step and the end of each differ from those before.

    Parameters
    ----------
    n_cells : int
        Number of cells.
    """

    def __init__(self, n_cells: int) -> None:
        # Filled in turn, whatever the order, so that nothing is copied from sweep to sweep.
        self._step_changes = np.empty((MEMORY, n_cells))
        self._end_changes = np.empty((MEMORY, n_cells))
        self._n_changes = 0
        self._last: tuple[FloatArray, FloatArray] | None = None

    def forget(self) -> None:
        """Drop what is remembered: the map has changed."""
        self._n_changes = 0
        self._last = None

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
        step = after - before
        if self._last is not None:
            place = self._n_changes % MEMORY
            np.subtract(step, self._last[0], out=self._step_changes[place])
            np.subtract(after, self._last[1], out=self._end_changes[place])
            self._n_changes += 1
        self._last = (step, after)
        if self._n_changes < 2:
            return None
        kept = slice(min(self._n_changes, MEMORY))
        changes = self._step_changes[kept]
        gram = changes @ changes.T
        ridge = _RIDGE * np.trace(gram)
        gram[np.diag_indices_from(gram)] += ridge
        if not ridge > np.finfo(float).tiny:
            return None
        mixture = np.linalg.solve(gram, changes @ step)
        return np.asarray(np.clip(after - mixture @ self._end_changes[kept], 0.0, 1.0))
