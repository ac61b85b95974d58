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
        free = min(free, max(0, limit - used + _dropped_when_wanted()))
    return free


def _dropped_when_wanted() -> int:
    """Return the bytes of files that the control group holds only as long as nobody wants them."""
    for name in ("memory.stat", "memory/memory.stat"):
        try:
            lines = Path("/sys/fs/cgroup", name).read_text().splitlines()
        except OSError:
            continue
        figures = dict(line.split(maxsplit=1) for line in lines if " " in line)
        return int(figures.get("inactive_file", 0))
    return 0


def _group_bytes(*names: str) -> int | None:
    """Return a figure of the control group, which a container is limited by; None without one."""
    for name in names:
        try:
            return int(Path("/sys/fs/cgroup", name).read_text())
        except (OSError, ValueError):
            continue
    return None
