"""How much memory a fit needs, and whether there is as much."""

from __future__ import annotations

from collections.abc import Sequence

from kernimpute.core.checks import SMALLEST_SUBSET, free_memory
from kernimpute.core.gram import CHUNK_CELLS, HELD_ROWS
from kernimpute.core.kernels import Gaussian, Kernel

__all__ = ["check_memory", "estimated_peak"]

CACHE_MB = 200

MATRICES = {"anchored": 12, "paper": 28, "appendix": 28, "released": 24}
"""Matrices of rows x rows that a variant holds at its peak, rounded up from the largest that
tracemalloc saw in a fit: 25.6, 25.6 and 22.2 for the last three at 400 rows, two and four classes.
`anchored` held 9.7, and 11.3 with the laplacian kernel, whose sums take more; a process grew by
12.2 at 1000 rows."""

PROJECTED = 15
"""The same for `direct` with a kernel that is not positive semidefinite: 13.9."""

INTERIOR = 5
"""The same for `direct` up to `HELD_ROWS`, where an interior-point method takes libsvm's place if
that gets lost: 4.9 with labels that are noise, 2 as a rule. Of more rows the dual asks for itself
whether there is room for that."""

CHUNKS = 3
"""Chunks of the kernel that `direct` makes at a time, with what making one takes."""

FREE = 0.13
"""Share of the coefficients that `direct` is taken to have free at the most, of which the solver
takes a block, and two copies. At 2000 rows it was 0.03 to 0.07 with C = 1, and 0.1 to 0.4 with
C = 10; about 0.13 at 10 000 rows of which 85 % is missing. The solver asks for itself before a
block that is larger than the memory."""

BLOCKS = 3
"""The block of the free coefficients and its copies."""

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
        The estimate. For 5000 to 20 000 rows of 20 columns it was 1.0 to 1.8 times what a process
        grew by, and 2.5 times where the problem is easy and libsvm's cache stays empty.
    """
    tables = FLOAT * TABLES * n_samples * n_columns
    cells = n_samples**2
    if variant != "direct":
        return FLOAT * MATRICES[variant] * cells + tables
    if not kernel.is_positive_semidefinite:
        return FLOAT * PROJECTED * cells + tables
    # libsvm has no such kernel where this is the base class's own method: then it is held.
    is_held = kernel.libsvm_form is Kernel.libsvm_form
    matrices = INTERIOR if n_samples <= HELD_ROWS else int(is_held)
    # It caches entries in single precision.
    cache = min(CACHE_MB * 2**20, FLOAT * cells // 2)
    chunks = CHUNKS * min(CHUNK_CELLS, cells)
    blocks = BLOCKS * int(FREE * n_samples) ** 2
    return FLOAT * (matrices * cells + chunks + blocks) + cache + tables


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
        What fits, for the message.
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
        f"{owner} with N = {n_samples} rows, {at_once}, needs about {need / GIB:.3g} GiB, and "
        f"max_memory={max_memory!r} allows {allowed / GIB:.3g} GiB. {advice}"
    )
