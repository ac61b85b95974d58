"""Names with options, ``wine[threshold=7]``, as datasets and methods have them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

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

    def options_among(self, known: Mapping[str, Option]) -> dict[str, Option]:
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
