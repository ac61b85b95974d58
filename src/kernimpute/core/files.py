"""Write files and folders so that each is there whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(*paths: Path) -> Iterator[tuple[Path, ...]]:
    """Give a temporary file beside each path, and put all in place if the block ends well."""
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
        # The caller knows only the final path.
        for place, path in zip(temporary, paths, strict=True):
            if error.filename is not None and os.fspath(error.filename) == str(place):
                error.filename = str(path)
        raise
    finally:
        for place in temporary:
            place.unlink(missing_ok=True)


@contextlib.contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Give an empty folder beside a path, and put it in place if the block ends well."""
    final = Path(os.path.realpath(path))
    temporary = final.with_name(f".{final.name}.{secrets.token_hex(4)}.tmp")
    former = final.with_name(f".{final.name}.{secrets.token_hex(4)}.old")
    temporary.mkdir()
    try:
        yield temporary
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
