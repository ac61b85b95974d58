"""The values that options of methods may have, checked when a method is resolved by its name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from experiments.naming import Name, Option, written


@dataclass(frozen=True)
class Values:
    """The values of an option."""

    # Its value where a name gives none; None leaves it to what the option is of
    default: Option | None
    must_be: str  # The values in words
    holds: Callable[[Option], bool]  # Whether a given value is among them


def _is_number(value: Option) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_positive(value: Option) -> bool:
    return _is_number(value) and 0.0 < float(value) < math.inf


def _is_whole(value: Option) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def positive_number(default: float | None = None) -> Values:
    """Return the values of an option that is a positive number, infinity left out."""
    return Values(default, "a positive number", _is_positive)


def whole_number(default: int | None = None) -> Values:
    """Return the values of an option that counts something."""
    return Values(default, "a whole number of at least 1", _is_whole)


def one_of(*words: str) -> Values:
    """Return the values of an option that is a word."""
    return Values(words[0], f"one of: {', '.join(words)}", lambda value: value in words)


SWITCH = Values(True, "yes or no", lambda value: isinstance(value, bool))
"""An option that is on unless it is switched off."""

ETA = Values(
    None,
    "a positive number, inf or select",
    lambda value: value in ("select", math.inf) or _is_positive(value),
)
"""The weight of the anchor in units of C."""


def checked_options(name: Name, known: Mapping[str, Values]) -> dict[str, Any]:
    """Return the options of a name, the defaults where none is given."""
    given = name.options_among(dict.fromkeys(known, ""))
    for key in name.options:
        if not known[key].holds(given[key]):
            raise ValueError(
                f"The {key} of {name.base} must be {known[key].must_be}; got {written(given[key])}."
            )
    return {key: name.options.get(key, values.default) for key, values in known.items()}
