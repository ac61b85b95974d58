"""The kinds of experiment: what a unit of work is, and which rows a method leaves."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, cast

from experiments.config import Config
from experiments.problem import Setting


class Kind(Protocol):
    """What a module of `experiments.kinds` offers."""

    columns: Sequence[str]
    """The names of what it measures."""

    def units(self, config: Any) -> list[dict[str, Any]]:
        """Return the axes of each unit of work: all that its rows depend on.

        Raises ValueError if the config names a method that there is not.
        """

    def setting(self, config: Any, unit: dict[str, Any]) -> Setting | None:
        """Return the problem that a unit is of; None where the unit needs no dataset."""

    def rows(
        self, config: Any, unit: dict[str, Any], method: str, data_dir: Path | None
    ) -> list[dict[str, Any]]:
        """Return what one method measures in a unit."""


def kind_of(config: Config) -> Kind:
    """Return the module of a config's kind."""
    return cast(Kind, importlib.import_module(f"experiments.kinds.{config.kind}"))


def units_of(config: Config) -> list[dict[str, Any]]:
    """Return the axes of each unit of work of an experiment."""
    try:
        units = kind_of(config).units(config)
        _check_limits(config, units)
    except ValueError as error:
        raise ValueError(f"{config.name}: {error}") from None
    return units


def _check_limits(config: Config, units: Sequence[dict[str, Any]]) -> None:
    for axis in ("dataset", "missing_rate"):
        there = list(dict.fromkeys(unit[axis] for unit in units if axis in unit))
        for entry in config.methods:
            for value in getattr(entry, f"{axis}s") or ():
                if value not in there:
                    choices = ", ".join(map(str, there)) or "none"
                    raise ValueError(
                        f"The {axis}s of the method {entry.name!r} must be among the config's: "
                        f"{choices}; got {value}."
                    )
