"""The facts of a run, as the summary and the report state them."""

from __future__ import annotations

from kernimpute.estimators.impute_table import kernel_text
from kernimpute.table.columns import counted

__all__ = ["kernel_text", "rounds"]


def rounds(n_iter: int) -> str:
    """Return how many rounds a solver took, of a trace whose first record is the start.

    >>> rounds(1), rounds(2)
    ('0 rounds', '1 round')
    """
    return counted(n_iter - 1, "round")
