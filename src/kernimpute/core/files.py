"""Writing files so that each is there whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

__all__ = ["replacing", "replacing_folder"]


@contextlib.contextmanager
def replacing(*paths: Path) -> Iterator[tuple[Path, ...]]:
    """Give a temporary file beside each path, and put them in place together at the end.

    Parameters
    ----------
    *paths : Path
        The files to write or replace.

    Yields
    ------
    tuple of Path
        The temporary files; they are removed if the block does not end well.
    """
    finals = [Path(os.path.realpath(path)) for path in paths]
    temporary = tuple(
        final.with_name(f".{final.name}.{secrets.token_hex(4)}.tmp") for final in finals
    )
    try:
        yield temporary
        for place, final in zip(temporary, finals, strict=True):
            if final.exists():
                shutil.copymode(final, place)
        for place, final in zip(temporary, finals, strict=True):
            os.replace(place, final)
    except OSError as error:
        # Nobody knows the temporary file.
        for place, path in zip(temporary, paths, strict=True):
            if error.filename is not None and os.fspath(error.filename) == str(place):
                error.filename = str(path)
        raise
    finally:
        for place in temporary:
            place.unlink(missing_ok=True)


@contextlib.contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Give a temporary folder beside a path, and put it in place at the end.

    Parameters
    ----------
    path : Path
        The folder to write or replace.

    Yields
    ------
    Path
        The temporary folder, which is empty; it is removed if the block does not end well, and
        what was there before stays.
    """
    final = Path(os.path.realpath(path))
    temporary = final.with_name(f".{final.name}.{secrets.token_hex(4)}.tmp")
    former = final.with_name(f".{final.name}.{secrets.token_hex(4)}.old")
    temporary.mkdir()
    try:
        yield temporary
        # No call replaces a folder that holds something.
        if final.exists():
            os.replace(final, former)
        os.replace(temporary, final)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        # Whatever stopped the second call, or came between the two, must not cost the former.
        if former.exists() and not final.exists():
            os.replace(former, final)
        shutil.rmtree(former, ignore_errors=True)
