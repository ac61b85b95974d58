"""A problem for a method: training rows with gaps, and rows to select and to test on."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Mechanism = Literal["mcar", "mar", "mnar", "inherent"]


def seed_of(*axes: object) -> int:
    """Return a seed of 32 bits hashed from named axes, never from a method."""
    return int.from_bytes(hashlib.sha256(repr(axes).encode()).digest()[:4], "big")


@dataclass(frozen=True)
class Setting:
    """The axes of a problem."""

    dataset: str  # Name of the dataset with its options, such as ``"wine[threshold=7]"``
    # What decides which cells are missing; "inherent" removes none beyond the table's own gaps
    mechanism: Mechanism
    missing_rate: float  # Share of the training cells that are missing, in [0, 1); 0 for "inherent"
    repetition: int  # Which split and mask, from 0
    # Whether holdout and test rows stay as they come or lose cells as the training rows do
    held_out: Literal["complete", "amputed"] = "complete"
    # Whether a column's range is that of all rows before amputation, or of the observed training
    # cells
    scaling: Literal["paper", "train"] = "paper"
    # Whether the authors' own splits and masks are taken where there are any (australian), or drawn
    # from a hashed seed
    splits: Literal["authors", "hashed"] = "authors"

    @property
    def axes(self) -> dict[str, Any]:
        """The axes by name."""
        return asdict(self)


@dataclass(frozen=True)
class Rows:
    """Rows with gaps, what was there, and their labels."""

    X: FloatArray  # Scaled columns, NaN at the gaps
    truth: FloatArray  # The same before cells were removed; NaN where the table has gaps of its own
    y: NDArray[np.int64]  # Labels 0 to n_classes - 1


@dataclass(frozen=True, eq=False)
class Problem:
    """Training rows, rows to select settings on, and rows to test on.

    Two problems are equal only if they are the same object, so that caches can use them as keys.
    """

    setting: Setting  # Its axes
    train: Rows  # The rows to learn from, to select settings on, and to test on
    holdout: Rows
    test: Rows

    def seed(self, *purpose: object) -> int:
        """Return a seed for a purpose, such as a method's own draws, on this problem."""
        setting = self.setting
        return seed_of(
            *purpose, setting.dataset, setting.mechanism, setting.missing_rate, setting.repetition
        )
