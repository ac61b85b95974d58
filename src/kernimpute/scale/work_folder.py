"""The folder in which a long run keeps what it has done, so that it can be taken up again.

A marker says that the folder is a run's, a lock that the run is at it.
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
from numpy.typing import NDArray

from kernimpute.core.files import replacing
from kernimpute.scale import blocks
from kernimpute.scale.locks import locked
from kernimpute.scale.source import ParquetSource
from kernimpute.table.columns import TableError

__all__ = ["WorkFolder", "check_taken_up", "check_work_folder", "fingerprint", "work_folder"]

FloatArray = NDArray[np.float64]

_MARKER = ".kernimpute-work.json"
_LOCK = ".kernimpute-work.lock"
_WORKERS = ".kernimpute-workers"
_OWN = (_MARKER, "matrix.npy", "block-*.npz", "block-*.partial")
"""The files that a run leaves: no other is ever removed."""

_LIBRARIES = ("kernimpute", "numpy", "scipy", "scikit-learn", "numba", "pandas", "pyarrow")
"""What a fill may depend on to the last bits."""


@dataclass(frozen=True)
class WorkFolder:
    """A folder of finished blocks.

    Parameters
    ----------
    path : Path
        The folder.
    started_over : bool
        Whether it held blocks of another run, which were removed.
    """

    path: Path
    started_over: bool

    def block(self, place: int) -> Path:
        """Return the file of a block."""
        return self.path / f"block-{place:06d}.npz"

    @property
    def workers(self) -> Path:
        """Where worker processes may put what they need."""
        return self.path / _WORKERS

    @property
    def has_blocks(self) -> bool:
        """Whether a block is finished."""
        return any(self.path.glob("block-*.npz"))

    def matrix(self, shape: tuple[int, int]) -> FloatArray:
        """Return a matrix that lies in a file of the folder, to be written.

        Parameters
        ----------
        shape : tuple of (int, int)
            Rows and columns.

        Returns
        -------
        ndarray of that shape
            The matrix.
        """
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
    """Return what the finished blocks of a run depend on.

    Parameters
    ----------
    source : ParquetSource
        The table: names, sizes and times of its files.
    options : mapping of str to object
        The options.

    Returns
    -------
    str
        These, the size of a block and the versions of the libraries, as JSON.
    """
    files = [
        [file.name, status.st_size, status.st_mtime_ns]
        for file in source.files
        for status in [file.stat()]
    ]
    parts = {
        "files": files,
        "options": {name: repr(value) for name, value in options.items()},
        "subsets_of_a_block": blocks.SUBSETS,
        "versions": {library: version(library) for library in _LIBRARIES},
    }
    return json.dumps(parts, indent=1, sort_keys=True)


def check_work_folder(path: Path) -> None:
    """Refuse a folder that holds what no run left there.

    Parameters
    ----------
    path : Path
        The folder; there may be none yet.

    Raises
    ------
    TableError
        If it is refused.
    """
    if path.exists() and not path.is_dir():
        raise TableError(f"{path} must be a folder of its own for the work. Got a file.")
    if path.exists() and any(each.name != _LOCK for each in path.iterdir()):
        _read_marker(path)


def check_taken_up(path: Path, of: str, *, force: bool) -> None:
    """Refuse to remove finished blocks of another run, but where it is asked for.

    Parameters
    ----------
    path : Path
        The folder; there may be none yet.
    of : str
        The fingerprint of this run.
    force : bool
        Whether they may be removed.

    Raises
    ------
    FileExistsError
        If they may not.
    TableError
        If another run is at work in the folder.
    """
    if force or not (path / _MARKER).exists() or not WorkFolder(path, False).has_blocks:
        return
    with locked(path / _LOCK) as is_held:
        if not is_held:
            raise _at_work(path)
        before = _read_marker(path)["of"]
    if before != of:
        raise FileExistsError(
            f"{path} holds finished blocks of {_differences(before, of)}: give what they are of to "
            "go on from them, delete the folder, or pass force (--force) to have all filled anew."
        )


def _differences(before: str, now: str) -> str:
    """Return what two fingerprints differ in, for people."""
    one, other = json.loads(before), json.loads(now)
    said = []
    if one["files"] != other["files"]:
        said.append("another table")
    for part, words in (("options", "other options"), ("versions", "other versions")):
        names = [name for name in other[part] if one[part].get(name) != other[part][name]]
        if names:
            said.append(f"{words} ({', '.join(names)})")
    return " and ".join(said) or "another version"


@contextlib.contextmanager
def work_folder(path: Path, of: str) -> Iterator[WorkFolder]:
    """Hold a folder to work in against other runs; what it holds of another run is removed.

    Parameters
    ----------
    path : Path
        The folder. It is made if there is none, and then removed at the end if nothing is left in
        it.
    of : str
        The fingerprint of this run.

    Yields
    ------
    WorkFolder
        The folder.

    Raises
    ------
    TableError
        If the folder holds what no run left there, or another run is at work in it.
    """
    check_work_folder(path)
    is_made = not path.exists()
    path.mkdir(parents=True, exist_ok=True)
    try:
        with locked(path / _LOCK) as is_held:
            if not is_held:
                raise _at_work(path)
            work = WorkFolder(path, False)
            if (path / _MARKER).exists():
                before = _read_marker(path)
                is_made = before["is_made"]
                if before["of"] != of:
                    work = WorkFolder(path, work.has_blocks)
                    work.clear()
            with replacing(path / _MARKER) as (temporary,), temporary.open("w") as file:
                json.dump({"of": of, "is_made": is_made}, file)
                file.flush()
                # A torn marker would make the folder anyone's.
                os.fsync(file.fileno())
            yield work
    finally:
        if is_made:
            # Only where it is empty: a folder that holds something is not removed.
            with contextlib.suppress(OSError):
                path.rmdir()


def _at_work(path: Path) -> TableError:
    return TableError(f"{path} must be free for the work. Got one that another run is at work in.")


def _read_marker(path: Path) -> dict[str, Any]:
    """Return what a run has written of itself, or refuse the folder."""
    try:
        said = json.loads((path / _MARKER).read_text())
    except (OSError, ValueError):
        said = None
    if not (isinstance(said, dict) and said.keys() == {"of", "is_made"}):
        raise TableError(
            f"{path} must be a folder of its own for the work. Got one that holds other things."
        )
    return said
