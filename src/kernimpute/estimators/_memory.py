"""How much memory a fit needs, and how much there is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import psutil

from kernimpute.dual import CACHE_MB
from kernimpute.kernel_gram import HELD_ROWS
from kernimpute.kernels import Gaussian, Kernel
from kernimpute.parameters import SMALLEST_SUBSET

__all__ = ["check_memory", "estimated_peak", "free_memory"]

MATRICES = {"direct": 6, "anchored": 12, "paper": 28, "appendix": 28, "released": 24}
"""Matrices of rows x rows that a variant holds at its peak, rounded up from the largest that
tracemalloc saw in a fit: 25.6, 25.6 and 22.2 for the last three at 400 rows, two and four classes.
`anchored` held 9.7, and 11.3 with the laplacian kernel, whose sums take more. `direct` held 4.6,
and libsvm half a matrix besides."""

PROJECTED = 15
"""The same for `direct` with a kernel that is not positive semidefinite: 13.9."""

BLOCKS = 2
"""Matrices for `direct` where no matrix is held: blocks of the free coefficients, three of them at
the most, which makes 2 where four fifths of the rows are free. A twentieth is the rule."""

TABLES = 36
"""Matrices of rows x columns that it holds besides: gradients, the history of the descent, copies
of the table; 33.6 at 200 rows and 3000 columns."""

FLOAT = 8
GIB = 2**30


def estimated_peak(
    n_samples: int, n_columns: int, variant: str, kernel: type[Kernel] = Gaussian
) -> int:
    """Return the bytes that a fit holds at its peak.

    Parameters
    ----------
    n_samples : int
        Rows that are imputed at once.
    n_columns : int
        Columns of the coded table.
    variant : str
        The variant.
    kernel : type of Kernel, default=Gaussian
        The kernel's class.

    Returns
    -------
    int
        The estimate: so many matrices of rows x rows, and of rows x columns.
    """
    matrices, cache = MATRICES[variant], 0
    if variant == "direct" and not kernel.is_positive_semidefinite:
        matrices = PROJECTED
    elif variant == "direct" and n_samples > HELD_ROWS:
        # libsvm has no such kernel where this is the base class's own method: then it is held.
        is_held = kernel.libsvm_form is Kernel.libsvm_form
        matrices, cache = (matrices, 0) if is_held else (BLOCKS, CACHE_MB * 2**20)
    return FLOAT * n_samples * (matrices * n_samples + TABLES * n_columns) + cache


def free_memory() -> int:
    """Return the bytes that this process may still take: of the machine, and of its group."""
    free = int(psutil.virtual_memory().available)
    limit, used = (
        _group_bytes("memory.max", "memory/memory.limit_in_bytes"),
        _group_bytes("memory.current", "memory/memory.usage_in_bytes"),
    )
    if limit is not None and used is not None:
        free = min(free, max(0, limit - used))
    return free


def _group_bytes(*names: str) -> int | None:
    """Return a figure of the control group, which a container is limited by; None without one."""
    for name in names:
        try:
            return int(Path("/sys/fs/cgroup", name).read_text())
        except (OSError, ValueError):
            continue
    return None


def check_memory(
    owner: str,
    n_samples: int,
    n_columns: int,
    variant: str,
    max_memory: float,
    fits: Sequence[tuple[int, int]],
    kernels: Sequence[type[Kernel]] = (Gaussian,),
) -> None:
    """Refuse a fit that would not fit into memory, before anything large is allocated.

    Parameters
    ----------
    owner : str
        The estimator's name, for the message.
    n_samples : int
        Rows of the table.
    n_columns : int
        Columns of the coded table.
    variant : str
        The variant.
    max_memory : float or int
        Share of the free memory in (0, 1], or bytes.
    fits : sequence of (int, int)
        Of each phase, how many fits run at the same time, and of how many rows.
    kernels : sequence of type of Kernel, default=(Gaussian,)
        The classes of the kernels that fits may have.

    Raises
    ------
    ValueError
        If the estimate is larger; it names the rows, the estimate and what to do.
    """

    def peak(rows: int) -> int:
        return max(estimated_peak(rows, n_columns, variant, kernel) for kernel in kernels)

    need, count, rows = max((count * peak(rows), count, rows) for count, rows in fits)
    is_share = isinstance(max_memory, float)
    allowed = int(max_memory * free_memory()) if is_share else int(max_memory)
    if need <= allowed:
        return
    at_once = f"{rows} at once" + (f" in each of {count} jobs" if count > 1 else "")
    size = rows // 2
    while size >= SMALLEST_SUBSET and count * peak(size) > allowed:
        size //= 2
    advice = (
        f"Impute by subsets, such as subset_size={size}, or raise max_memory."
        if size >= SMALLEST_SUBSET
        else "Raise max_memory: no subset_size would do."
    )
    raise ValueError(
        f"{owner}.fit with N = {n_samples} rows, {at_once}, needs about {need / GIB:.3g} GiB, and "
        f"max_memory={max_memory!r} allows {allowed / GIB:.3g} GiB. {advice}"
    )
