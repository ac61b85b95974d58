"""Which format a file has, by its extension."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kernimpute.cli.errors import RefusedError

__all__ = ["FORMATS", "Format", "is_parquet", "table_format"]


@dataclass(frozen=True)
class Format:
    """A file format.

    Parameters
    ----------
    name : {"csv", "tsv", "parquet", "arff"}
        The format.
    delimiter : str
        What separates the cells of a text format; empty for the others.
    compressed : bool
        Whether the file is compressed by gzip.
    """

    name: str
    delimiter: str = ""
    compressed: bool = False


FORMATS = {
    ".csv": Format("csv", ","),
    ".tsv": Format("tsv", "\t"),
    ".parquet": Format("parquet"),
    ".arff": Format("arff"),
    ".csv.gz": Format("csv", ",", compressed=True),
    ".tsv.gz": Format("tsv", "\t", compressed=True),
}
"""The formats by extension."""


def table_format(path: Path) -> Format:
    """Return the format of a file.

    Parameters
    ----------
    path : Path
        The file, which need not exist.

    Returns
    -------
    Format
        Its format.

    Raises
    ------
    RefusedError
        If the extension is none of ours.
    """
    name = path.name.lower()
    for extension, found in FORMATS.items():
        if name.endswith(extension):
            return found
    listed = ", ".join(FORMATS)
    raise RefusedError(f"{path}: the extension must be one of {listed}.")


def is_parquet(path: Path) -> bool:
    """Return whether a path is a Parquet file by its name, or a folder, which may hold some.

    Parameters
    ----------
    path : Path
        The path.

    Returns
    -------
    bool
        True for a file of Parquet and for a folder.
    """
    return path.is_dir() or path.name.lower().endswith(".parquet")
