"""The folders and files that a command is given, looked at before any work."""

from __future__ import annotations

import os
from pathlib import Path


def check_folder(option: str, folder: Path) -> None:
    """Refuse a place where a folder neither is nor can be made."""
    there = folder.absolute()
    while not os.path.lexists(there):
        there = there.parent
    if not there.is_dir():
        raise ValueError(
            f"The folder of {option} must be a directory or be makeable; got '{folder}', and "
            f"'{there}' is no directory."
        )
    if not os.access(there, os.W_OK | os.X_OK):
        raise ValueError(
            f"The folder of {option} must be one that can be written to; got '{folder}', and "
            f"'{there}' can't be."
        )


def check_file(option: str, path: Path) -> None:
    """Refuse a place where there is no file to read."""
    if not path.is_file() or not os.access(path, os.R_OK):
        got = "a folder" if path.is_dir() else "a file that can't be read"
        got = got if path.exists() else "nothing there"
        raise ValueError(f"{option} must name a file; got '{path}': {got}.")
