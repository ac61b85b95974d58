"""The folder in which a long run keeps what it has done, so that it can be taken up again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernimpute.columns import TableError
from kernimpute.scale.source import ParquetSource

__all__ = ["WorkFolder", "fingerprint", "open_work_folder"]

FloatArray = NDArray[np.float64]

_FINGERPRINT = "fingerprint.json"
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

    def remove(self) -> None:
        """Remove the folder and all in it, as far as nothing else is busy with it."""
        shutil.rmtree(self.path, ignore_errors=True)


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
        These and the versions of the libraries, as JSON.
    """
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


def open_work_folder(path: Path, of: str) -> WorkFolder:
    """Return a folder to work in; what it holds of another run is removed.

    Parameters
    ----------
    path : Path
        The folder.
    of : str
        The fingerprint of this run.

    Returns
    -------
    WorkFolder
        The folder.

    Raises
    ------
    TableError
        If the folder holds what no run left there.
    """
    marker = path / _FINGERPRINT
    started_over = False
    if path.exists() and any(path.iterdir()):
        if not marker.exists():
            raise TableError(
                f"{path} must be a folder of its own for the work. Got one that holds other things."
            )
        if marker.read_text() != of:
            started_over = any(path.glob("block-*.npz"))
            shutil.rmtree(path)
    path.mkdir(parents=True, exist_ok=True)
    marker.write_text(of)
    return WorkFolder(path, started_over)
