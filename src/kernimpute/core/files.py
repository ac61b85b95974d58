"""Write files and folders so that each is there whole, or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
_temporary: set[Path] = set()
"""Files and folders that are not in place yet."""
_last_acts: list[Callable[[], str | None]] = []
_putting = threading.Lock()
"""Held while files are put in place."""


@contextlib.contextmanager
def replacing(*paths: Path) -> Iterator[tuple[Path, ...]]:
    """Give a temporary file beside each path, and put all in place if the block ends well."""
    finals = [Path(os.path.realpath(path)) for path in paths]
    temporary = tuple(_hidden(final, "tmp") for final in finals)
    _temporary.update(temporary)
    try:
        with _final_names(dict(zip(temporary, paths, strict=True))):
            yield temporary
        for place, final in zip(temporary, finals, strict=True):
            if final.exists():
                shutil.copymode(final, place)
        with _putting:
            for place, final in zip(temporary, finals, strict=True):
                os.replace(place, final)
    finally:
        for place in temporary:
            place.unlink(missing_ok=True)
        _temporary.difference_update(temporary)


def _hidden(path: Path, end: str) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.{end}")


@contextlib.contextmanager
def _final_names(places: dict[Path, Path]) -> Iterator[None]:
    """Have errors name final paths, which the caller knows, for temporary ones or none."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None and error.errno in _FULL:
            # Few writers say where: it is the file that was begun last.
            error.filename = str(([*filter(Path.exists, places)] or [*places])[-1])
            error.strerror = os.strerror(error.errno)
        for place, path in places.items():
            if str(error.filename).startswith(str(place)):
                error.filename = str(path)
        raise


@contextlib.contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Give an empty folder beside a path, and put it in place if the block ends well."""
    final = Path(os.path.realpath(path))
    temporary, former = _hidden(final, "tmp"), _hidden(final, "old")
    _temporary.add(temporary)
    temporary.mkdir()
    try:
        with _final_names({temporary: path}):
            yield temporary
        with _putting:
            # No system call replaces a folder that is not empty.
            if final.exists():
                os.replace(final, former)
            os.replace(temporary, final)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        # An error or an interrupt between the two calls must not cost the former folder.
        if former.exists() and not final.exists():
            os.replace(former, final)
        shutil.rmtree(former, ignore_errors=True)
        _temporary.discard(temporary)


# --------------------------------------------------------------- a process that ends in the middle


@contextlib.contextmanager
def before_leaving(act: Callable[[], str | None]) -> Iterator[None]:
    """Have something done, and told of, before another thread ends the process in the block."""
    _last_acts.append(act)
    try:
        yield
    finally:
        _last_acts.remove(act)


def is_putting_in_place() -> bool:
    """Return whether files are being put in place, which an interrupt must not divide."""
    return _putting.locked()


def leave_nothing() -> str | None:
    """Do the last acts, remove temporary files and return what to say; the process must end."""
    said = None
    for act in [*_last_acts]:
        with contextlib.suppress(Exception):
            said = act() or said
    # Kept: nothing is put in place any more.
    _putting.acquire()
    for place in [*_temporary]:
        with contextlib.suppress(OSError):
            place.unlink() if place.is_file() else shutil.rmtree(place, ignore_errors=True)
    return said
