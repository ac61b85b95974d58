"""How much memory there is."""

from __future__ import annotations

from pathlib import Path

import psutil

__all__ = ["free_memory"]


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
