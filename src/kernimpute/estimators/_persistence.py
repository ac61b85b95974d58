"""What a saved estimator says about itself, and who may read it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

__all__ = ["FORMAT", "Persistent"]

FORMAT = 1
"""Number of the layout of fitted state; raised whenever an older one can't be used as it is."""

KEY = "_kernimpute_format"


class Persistent:
    """An estimator whose state, pickled or saved by skops, carries its format and version."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes, with the format and the version that wrote them."""
        attributes: dict[str, Any] = dict(super().__getstate__())  # type: ignore[call-overload]
        return {**attributes, KEY: (FORMAT, version("kernimpute"))}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Take the attributes of a saved estimator.

        Raises
        ------
        ValueError
            If they have another format.
        """
        own = dict(state)
        number, writer = own.pop(KEY, (0, "an unknown version"))
        if number != FORMAT:
            raise ValueError(
                f"The saved {type(self).__name__} must have format {FORMAT}, which kernimpute "
                f"{version('kernimpute')} reads. Got format {number}, written by kernimpute "
                f"{writer} instead: fit again, or install that version."
            )
        super().__setstate__(own)  # type: ignore[misc]
