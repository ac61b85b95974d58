"""A lock that one process at a time holds, and that ends with it, however it ends."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["locked"]


@contextlib.contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Hold a lock on a file, which is removed at the end.

    Parameters
    ----------
    path : Path
        The file; it is made if there is none.

    Yields
    ------
    bool
        Whether the lock is held; False where another holds it.
    """
    with path.open("a") as file:
        is_held = _is_locked(file) and _is_same(file, path)
        try:
            yield is_held
        finally:
            # While it is still held, so that it is not another's; Windows does not allow that.
            if is_held:
                with contextlib.suppress(PermissionError):
                    path.unlink(missing_ok=True)
    if is_held and sys.platform == "win32":
        with contextlib.suppress(PermissionError):
            path.unlink(missing_ok=True)


def _is_locked(file: IO[str]) -> bool:
    """Return whether a lock on a file could be had at once."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _is_same(file: IO[str], path: Path) -> bool:
    """Return whether a file is the one of its name still: who held it may have removed it."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
