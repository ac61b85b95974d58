"""The files of the tables and of the authors' splits, each known by its checksum."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

CHECKSUMS = {
    "australian.csv": "aa27d75062169688759b06311ab6f26e1645b9948a8cea7839cab920c2f81297",
    "australian_splits.npz": "532735780d7f2ce53f02e88c82b89032e44e68756cced47ba68930da9a79be94",
    "cylinder_bands.csv": "4801d4caa15c9010d94a47316c00495bf1dfb5b8eb54b2bac1644b3cc4214c8c",
    "german.csv": "abe24eba0a69769e093014590ea02f14b6d8c1d409bfb3825f744f5ae7242a13",
    "german_numer.csv": "d4a94f020fd5a84a41af26dcc3d25070ddcdc23e3dcb44d3916e167bedcfa83d",
    "heart.csv": "8b8f84bce3c450f35b531df965f523d030b96a840ce7e730a781d8be5c4ec813",
    "horse_colic.csv": "0bf49228c07c8cb08fabecf0f0029b97fb81b81478de424cd0e7dc7d6fc39a72",
    "pima.csv": "666ed688aff7250bcfbb4eb5aefb7e63b2e42a8a24dbd85949d21fb69260c144",
    "wine_white.csv": "6062f6fa05b900d73f8678ec7f42a036ce28e7e0bf21d7512f2339bdfa77bfb5",
}
"""The sha256 of every file that is read."""


def data_folder(option: Path | None = None) -> Path | None:
    """Return the folder of the files: the option, else ``KERNIMPUTE_DATA``, else None."""
    named = option or os.environ.get("KERNIMPUTE_DATA")
    if not named:
        return None
    folder = Path(named)
    if not folder.is_dir():
        raise ValueError(
            f"The folder of --data-dir or KERNIMPUTE_DATA must be a directory; got '{folder}'."
        )
    return folder


def find_file(name: str, data_dir: Path | None) -> Path | None:
    """Return the path of a file, checked, or None where the folder lacks it."""
    if data_dir is None or not (data_dir / name).is_file():
        return None
    path = data_dir / name
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != CHECKSUMS[name]:
        raise ValueError(f"The sha256 of '{path}' must be {CHECKSUMS[name]}; got {found}.")
    return path
