"""Writing files so that each is there whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

__all__ = ["replacing"]


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
    finally:
        for place in temporary:
            place.unlink(missing_ok=True)
