"""What a saved estimator says about itself, and how its state is kept."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from kernimpute.table.stored import as_given, as_stored

__all__ = ["FORMAT", "Persistent"]

FORMAT = 2
"""Number of the layout of fitted state; raised whenever an older one can't be used as it is."""

KEY = "_kernimpute_format"
REQUESTS = "_metadata_request"
"""Where scikit-learn keeps what metadata routing was asked for."""


class Persistent:
    """An estimator whose state, pickled or saved by skops, carries its format and version.

    A state of the same format loads whatever version wrote it; another format, or none, is
    refused.
    """

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes, with the format and the version that wrote them."""
        attributes: dict[str, Any] = dict(super().__getstate__())  # type: ignore[call-overload]
        if REQUESTS in attributes:
            # scikit-learn's record of requests refers back to the estimator, which skops can't
            # follow: their names and values are kept.
            attributes[REQUESTS] = {
                method: dict(requested._requests)
                for method, requested in vars(attributes[REQUESTS]).items()
                if hasattr(requested, "_requests")
            }
        return {**as_stored(attributes), KEY: (FORMAT, version("kernimpute"))}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Take the attributes of a saved estimator.

        Raises
        ------
        ValueError
            If they have another format, or none.
        """
        own = as_given(dict(state))
        number, writer = own.pop(KEY, (None, "an unknown version"))
        if number != FORMAT:
            got = "a state without a format" if number is None else f"format {number!r}"
            raise ValueError(
                f"The saved {type(self).__name__} must have format {FORMAT}, which kernimpute "
                f"{version('kernimpute')} reads. Got {got}, written by kernimpute {writer} "
                "instead: fit again, or install that version."
            )
        requests = own.pop(REQUESTS, None)
        super().__setstate__(own)  # type: ignore[misc]
        if requests is not None:
            self._take_requests(requests)

    def _take_requests(self, requests: Mapping[str, Mapping[str, Any]]) -> None:
        """Ask metadata routing for what the saved estimator had asked for."""
        record = self._get_metadata_request()  # type: ignore[attr-defined]
        for method, requested in requests.items():
            getattr(record, method)._requests.update(requested)
        setattr(self, REQUESTS, record)
