"""How much memory a fit needs, and how much there is."""

from __future__ import annotations

from pathlib import Path

import psutil

__all__ = ["check_memory", "estimated_peak", "free_memory"]

MATRICES = {"direct": 17, "anchored": 18, "paper": 28, "appendix": 28, "released": 24}
"""Matrices of rows x rows that a variant holds at its peak, rounded up from the largest that
tracemalloc saw in a fit: 15.3, 16.2, 25.6, 25.6 and 22.2 at 400 rows, two and four classes."""

FLOAT = 8
GIB = 2**30


def estimated_peak(n_samples: int, variant: str) -> int:
    """Return the bytes that a fit holds at its peak.

    Parameters
    ----------
    n_samples : int
        Rows of the largest subset.
    variant : str
        The variant.

    Returns
    -------
    int
        The estimate: so many matrices of n_samples x n_samples.
    """
    return MATRICES[variant] * n_samples**2 * FLOAT


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


def check_memory(owner: str, n_samples: int, variant: str, max_memory: float, n_jobs: int) -> None:
    """Refuse a fit that would not fit into memory, before anything is allocated.

    Parameters
    ----------
    owner : str
        The estimator's name, for the message.
    n_samples : int
        Rows that are imputed at once.
    variant : str
        The variant.
    max_memory : float or int
        Share of the free memory in (0, 1], or bytes.
    n_jobs : int
        How many are fitted at the same time.

    Raises
    ------
    ValueError
        If the estimate is larger; it names the rows, the estimate and what to do.
    """
    need = n_jobs * estimated_peak(n_samples, variant)
    is_share = isinstance(max_memory, float)
    allowed = int(max_memory * free_memory()) if is_share else int(max_memory)
    if need <= allowed:
        return
    size = 100
    while n_jobs * estimated_peak(2 * size, variant) <= allowed:
        size *= 2
    at_once = f" in each of {n_jobs} jobs" if n_jobs > 1 else ""
    raise ValueError(
        f"{owner}.fit with N = {n_samples} rows at once{at_once} needs about {need / GIB:.3g} GiB "
        f"(matrices of {n_samples} x {n_samples}), and max_memory={max_memory!r} allows "
        f"{allowed / GIB:.3g} GiB. Impute by subsets, such as subset_size={min(size, n_samples)}, "
        "or raise max_memory."
    )
