"""Names with options, ``wine[threshold=7]``, as datasets and methods have them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Option = bool | int | float | str

_FORM = re.compile(r"(?P<base>[A-Za-z_][A-Za-z_0-9]*)(?:\[(?P<options>[^\[\]]*)\])?")


@dataclass(frozen=True)
class Name:
    """A name and its options."""

    base: str  # The name itself
    # The options in the order they were given; empty without any
    options: Mapping[str, Option] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return the name as it is written."""
        if not self.options:
            return self.base
        return f"{self.base}[{','.join(f'{key}={written(v)}' for key, v in self.options.items())}]"

    def with_defaults(self, known: Mapping[str, Option]) -> dict[str, Option]:
        """Return the options, the defaults where none is given."""
        for key in self.options:
            if key not in known:
                if not known:
                    raise ValueError(f"{self.base} has no options; got {key!r}.")
                raise ValueError(
                    f"An option of {self.base} must be one of: {', '.join(known)}; got {key!r}."
                )
        return {**known, **self.options}


def parse_name(text: str) -> Name:
    """Return a name and its options from ``base[key=value,...]``."""
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"A name must read base or base[key=value,...]; got {text!r}.")
    options: dict[str, Option] = {}
    for part in filter(None, (match["options"] or "").split(",")):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not (key and equals and value) or key in options:
            raise ValueError(f"Options must read key=value, each key once; got {text!r}.")
        options[key] = _value(value)
    return Name(match["base"], options)


def _value(text: str) -> Option:
    if text in ("yes", "no"):
        return text == "yes"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def written(value: Option) -> str:
    """Return the value of an option as it is written in a name."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


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
    given = name.with_defaults(dict.fromkeys(known, ""))
    for key in name.options:
        if not known[key].holds(given[key]):
            raise ValueError(
                f"The {key} of {name.base} must be {known[key].must_be}; got {written(given[key])}."
            )
    return {key: name.options.get(key, values.default) for key, values in known.items()}
