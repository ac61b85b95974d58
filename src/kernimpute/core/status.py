"""How a loop ends and what it leaves behind; solvers neither print nor warn."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from kernimpute.core.arrays import FloatArray


class Status(Enum):
    """How a solver ended; the value of each member is the message for the user."""

    CONVERGED = "Converged: the stop rule is met."
    NOTHING_MISSING = "Nothing to solve for: there is no gap in a column of more than one value."
    NOT_PSD = (
        "Converged, but the kernel is not positive semidefinite in general: its matrices were made "
        "so, by projection or by a multiple of the identity."
    )
    RAISED = (
        "Converged, on kernel matrices raised by a thousandth of the identity: complete rows "
        "repeat or depend on each other linearly, so no matrix between the bounds is definite."
    )
    INFEASIBLE = "The sets do not meet: there is nothing to project on."
    MAX_ITER = (
        "Stopped at max_iter before the stop rule was met. Causes: (a) max_iter is too small; "
        "(b) tol is below what rounding allows; (c) eta is so small that the kernel is nearly free."
    )
    STALLED = (
        "Stopped where no step lowers the objective any more, before the stop rule was met. "
        "Causes: (a) tol is below what rounding allows; (b) the objective has a kink there."
    )
    DIVERGED = (
        "Stopped because the iterates run away: the result depends on rounding. Causes: "
        "(a) the released recursion at gamma >= 1 on a few hundred rows; (b) a radius too large. "
        "Use another variant."
    )
    INTERRUPTED = "Stopped by the callback; the best result so far is returned."

    @property
    def success(self) -> bool:
        """Whether the stop rule was met (or there was nothing to do)."""
        return self in (Status.CONVERGED, Status.NOTHING_MISSING, Status.NOT_PSD, Status.RAISED)

    @classmethod
    def _missing_(cls, value: object) -> Status | None:
        # A status is saved by its name, so a file opens even if the message was reworded.
        return cls.__members__.get(value) if isinstance(value, str) else None

    def __reduce__(self) -> tuple[type[Status], tuple[str]]:
        """Return how to make the member again, for pickle and skops."""
        return type(self), (self.name,)

    def __reduce_ex__(self, protocol: object) -> tuple[type[Status], tuple[str]]:
        """Return the same, because the method of `Enum` would save the message."""
        return self.__reduce__()


def overall(statuses: Iterable[Status]) -> Status:
    """Return how the parts of a table ended: the first that failed, else the most frequent."""
    counts = Counter(statuses)
    failed = next((status for status in counts if not status.success), None)
    # It counts only if all parts were complete.
    del counts[Status.NOTHING_MISSING]
    return failed or max(counts, key=counts.__getitem__, default=Status.NOTHING_MISSING)


@dataclass(frozen=True)
class Record:
    """What one round of a loop did.

    Parameters
    ----------
    iteration : int
        Number of the round, from 1; 0 is the start.
    objective : float
        Objective after the round; NaN if it was not evaluated.
    gap : float
        Relative saddle gap, or norm of the projected gradient relative to that at the start; NaN
        if there is none, or in a round that did not evaluate it.
    step_norms : mapping of str to float
        Norm of the change of each moving variable, by its name. Not to be written to.
    inner_iterations : int
        Inner iterations of the round (eigendecompositions, sweeps, evaluations).
    seconds : float
        Wall-clock time since the loop began.
    note : str
        What else the user should know of the round, such as a fallback.
    stage : {"Stage I", "Stage II", "direct"}
        The loop that it belongs to.
    """

    iteration: int
    objective: float = math.nan
    gap: float = math.nan
    step_norms: Mapping[str, float] = field(default_factory=dict)
    inner_iterations: int = 0
    seconds: float = 0.0
    note: str = ""
    stage: str = ""


Callback = Callable[[Record], object]
"""Gets the record of every round; a true answer stops the loop after that round. Before numba
compiles it gets a record with the note `COMPILING`, which is in no trace."""


@dataclass(frozen=True)
class Trace:
    """The records of a run, in order.

    Parameters
    ----------
    records : tuple of Record
        One record a round.
    """

    records: tuple[Record, ...] = ()

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.records)

    def column(self, name: str) -> FloatArray:
        """Return one numeric field of every record.

        Parameters
        ----------
        name : {"iteration", "objective", "gap", "inner_iterations", "seconds"} or str
            A field of `Record`, or the name of a moving variable, for its step norms.

        Returns
        -------
        ndarray of shape (n_records,)
            The values; NaN if a record has none.
        """
        if name in ("iteration", "objective", "gap", "inner_iterations", "seconds"):
            return np.array([getattr(record, name) for record in self.records], dtype=float)
        return np.array([record.step_norms.get(name, math.nan) for record in self.records])

    @property
    def notes(self) -> tuple[str, ...]:
        """The distinct notes, in order of first appearance."""
        return tuple(dict.fromkeys(record.note for record in self.records if record.note))


COMPILING = "compiling"


class Rounds:
    """The records of a loop so far, its clock and its callback."""

    def __init__(self, stage: str, callback: Callback | None, tol: float = 0.0) -> None:
        self.records: list[Record] = []
        self._stage, self._callback, self._began = stage, callback, time.perf_counter()
        self.tol = tol

    def add(self, iteration: int, **fields: Any) -> bool:
        """Record a round, and return whether the callback asks to stop."""
        self.records.append(self._record(iteration, **fields))
        return self._callback is not None and bool(self._callback(self.records[-1]))

    def tell(self, note: str) -> None:
        """Tell the callback of what takes a while and is no round, such as compiling."""
        if self._callback is not None:
            self._callback(self._record(0, note=note))

    def _record(self, iteration: int, **fields: Any) -> Record:
        seconds = time.perf_counter() - self._began
        return Record(iteration, seconds=seconds, stage=self._stage, **fields)


@dataclass(frozen=True)
class StopRule:
    """When a loop may end: once what it watches is at most `tol`, or after `max_iter` rounds."""

    tol: float
    max_iter: int
