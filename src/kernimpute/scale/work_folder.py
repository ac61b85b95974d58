"""The folder in which a long run keeps what is finished, so that the same call can continue.

A marker file says that the folder belongs to a run, a lock that the run is at work.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from kernimpute.core.files import replacing
from kernimpute.scale.source import ParquetSource
from kernimpute.table.columns import TableError

__all__ = ["WorkFolder", "check_continued", "check_work_folder", "fingerprint", "work_folder"]

FloatArray = NDArray[np.float64]

_MARKER = ".kernimpute-work.json"
_LOCK = ".kernimpute-work.lock"
_WORKERS = ".kernimpute-workers"
_OWN = (_MARKER, "matrix.npy", "block-*.npz", "block-*.partial")
"""The files that a run leaves. No other file is ever removed."""

_LIBRARIES = ("kernimpute", "numpy", "scipy", "scikit-learn", "numba", "pandas", "pyarrow")
"""What the last bits of a fill may depend on."""


@dataclass(frozen=True)
class WorkFolder:
    """A folder of finished blocks."""

    path: Path
    started_over: bool = False  # whether it held blocks of another run, which were removed

    @property
    def workers(self) -> Path:
        """Where worker processes put their files."""
        return self.path / _WORKERS

    @property
    def has_blocks(self) -> bool:
        """Whether a block is finished."""
        return any(self.path.glob("block-*.npz"))

    def block(self, place: int) -> Path:
        """Return the file of a block."""
        return self.path / f"block-{place:06d}.npz"

    def matrix(self, shape: tuple[int, int]) -> FloatArray:
        """Return a new matrix that lies in a file of the folder."""
        return np.lib.format.open_memmap(
            self.path / "matrix.npy", mode="w+", dtype=np.float64, shape=shape
        )

    def clear(self) -> None:
        """Remove what runs left in the folder, and nothing else."""
        for pattern in _OWN:
            for file in self.path.glob(pattern):
                file.unlink(missing_ok=True)
        shutil.rmtree(self.workers, ignore_errors=True)


def fingerprint(source: ParquetSource, options: Mapping[str, Any]) -> str:
    """Return, as JSON, what finished blocks depend on: files, options and library versions."""
    files = [
        [file.name, status.st_size, status.st_mtime_ns]
        for file in source.files
        for status in [file.stat()]
    ]
    parts = {
        "files": files,
        "options": {name: repr(value) for name, value in options.items()},
        "versions": {library: version(library) for library in _LIBRARIES},
    }
    return json.dumps(parts, indent=1, sort_keys=True)


def check_work_folder(path: Path) -> None:
    """Refuse a folder that holds what no run left there; it need not exist yet."""
    if path.exists() and not path.is_dir():
        raise TableError(f"{path} must be a folder of its own for the work. Got a file.")
    if path.exists() and any(each.name != _LOCK for each in path.iterdir()):
        _read_marker(path)


def check_continued(path: Path, run: str) -> None:
    """Refuse a folder that holds finished blocks of a run with another fingerprint."""
    if not (path / _MARKER).exists() or not WorkFolder(path).has_blocks:
        return
    with _locked(path):
        before = _read_marker(path)["of"]
    if before != run:
        raise FileExistsError(
            f"{path} holds finished blocks of {_differences(before, run)}: repeat that call to "
            "continue it, delete the folder, or pass force (--force) to fill everything anew."
        )


def _differences(before: str, now: str) -> str:
    """Return what two fingerprints differ in, for people."""
    one, other = json.loads(before), json.loads(now)
    found = ["another table"] if one["files"] != other["files"] else []
    for part in ("options", "versions"):
        names = [name for name in other[part] if one[part].get(name) != other[part][name]]
        if names:
            found.append(f"other {part} ({', '.join(names)})")
    return " and ".join(found) or "another version"


@contextlib.contextmanager
def work_folder(path: Path, run: str) -> Iterator[WorkFolder]:
    """Lock a folder for the run of a fingerprint, and remove what it holds of another run.

    A folder that is made here is removed at the end if nothing is left in it.
    """
    check_work_folder(path)
    is_made = not path.exists()
    path.mkdir(parents=True, exist_ok=True)
    try:
        with _locked(path):
            work = WorkFolder(path)
            if (path / _MARKER).exists():
                before = _read_marker(path)
                is_made = before["is_made"]
                if before["of"] != run:
                    work = WorkFolder(path, started_over=work.has_blocks)
                    work.clear()
            with replacing(path / _MARKER) as (temporary,), temporary.open("w") as file:
                json.dump({"of": run, "is_made": is_made}, file)
                file.flush()
                # After a power cut a torn marker would make the folder anyone's.
                os.fsync(file.fileno())
            yield work
    finally:
        if is_made:
            # A folder that still holds something is not removed.
            with contextlib.suppress(OSError):
                path.rmdir()


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Lock a folder against other runs, or refuse it; the lock ends with the process."""
    lock = FileLock(path / _LOCK, timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise TableError(
            f"{path} must be free for the work. Got one that another run is at work in."
        ) from error
    try:
        yield
    finally:
        # While it is locked, so that it is no other run's. Windows does not allow that.
        with contextlib.suppress(PermissionError):
            (path / _LOCK).unlink(missing_ok=True)
        lock.release()


def _read_marker(path: Path) -> dict[str, Any]:
    """Return what a run wrote of itself, or refuse the folder."""
    try:
        found = json.loads((path / _MARKER).read_text())
    except (OSError, ValueError):
        found = None
    if not (isinstance(found, dict) and found.keys() == {"of", "is_made"}):
        raise TableError(
            f"{path} must be a folder of its own for the work. Got one that holds other things."
        )
    return found
