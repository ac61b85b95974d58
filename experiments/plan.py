"""The plan of a run: units of work, and the methods that have no rows in them yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.config import Config, MethodEntry
from experiments.kinds import units_of
from experiments.records import Key, clean, status_of_parts


@dataclass(frozen=True)
class Part:
    """The part of an experiment to run."""

    methods: tuple[str, ...] | None = None  # Only these methods; None is all
    datasets: tuple[str, ...] | None = None  # Only these datasets; None is all
    repetitions: int | None = None  # Only so many of the first repetitions; None is all

    def has_unit(self, unit: Mapping[str, Any]) -> bool:
        """Return whether a unit of work belongs to the part."""
        in_time = self.repetitions is None or unit["repetition"] < self.repetitions
        return in_time and (self.datasets is None or unit["dataset"] in self.datasets)

    def has_method(self, name: str) -> bool:
        """Return whether a method belongs to the part."""
        return self.methods is None or name in self.methods


Everything = Part()
"""All of an experiment."""


@dataclass(frozen=True)
class Work:
    """A unit of work and the methods still to run in it."""

    unit: dict[str, Any]  # Its axes
    methods: tuple[MethodEntry, ...]  # The methods without rows, in the config's order


@dataclass(frozen=True)
class Plan:
    """The work of a run."""

    config: Config  # The experiment
    folder: Path  # Where its parts are written
    work: tuple[Work, ...]  # The units that aren't done
    n_known: int  # Methods of units that have rows already
    n_failed: int  # Those of them that failed, and are not run again

    @property
    def n_left(self) -> int:
        """Methods of units that have no rows yet."""
        return sum(len(work.methods) for work in self.work)

    @property
    def n_methods(self) -> int:
        """Methods that lack rows in some unit."""
        return len({entry.name for work in self.work for entry in work.methods})

    @property
    def keys(self) -> list[Key]:
        """The keys of everything to run."""
        return [
            key_of(self.config, work.unit, entry) for work in self.work for entry in work.methods
        ]

    def files_of(self, work: Work) -> frozenset[str]:
        """Return the file names of the parts that a unit will write."""
        return frozenset(key_of(self.config, work.unit, entry).file_name for entry in work.methods)


def key_of(config: Config, unit: Mapping[str, Any], entry: MethodEntry) -> Key:
    """Return the key of a method's rows in a unit."""
    return Key(config.name, tuple(unit.items()), entry.name)


def keys_of(config: Config) -> list[Key]:
    """Return the keys of all parts that an experiment consists of."""
    return [key_of(config, unit, entry) for unit in units_of(config) for entry in config.methods]


def make_plan(
    config: Config, folder: Path, *, part: Part = Everything, retry_failed: bool = False
) -> Plan:
    """Return the work that is not done yet."""
    units = units_of(config)
    datasets = list(dict.fromkeys(unit.get("dataset") for unit in units))
    _check_names(config, "method", part.methods, [entry.name for entry in config.methods])
    _check_names(config, "dataset", part.datasets, datasets)
    clean(folder)
    statuses = status_of_parts(folder)
    n_known, n_failed, left = 0, 0, []
    for unit in filter(part.has_unit, units):
        open_entries = []
        for entry in config.methods:
            if not part.has_method(entry.name):
                continue
            status = statuses.get(key_of(config, unit, entry).file_name)
            limited = entry.reason_to_skip(unit) is not None
            if _is_open(status, limited=limited, retry_failed=retry_failed):
                open_entries.append(entry)
            else:
                n_known += 1
                n_failed += status == "failed"
        if open_entries:
            left.append(Work(unit, tuple(open_entries)))
    return Plan(config, folder, tuple(left), n_known, n_failed)


def _check_names(
    config: Config, what: str, asked: Iterable[str] | None, there: Sequence[Any]
) -> None:
    for name in asked or ():
        if name not in there:
            choices = ", ".join(map(str, there))
            raise ValueError(
                f"A {what} of {config.name} to run must be one of: {choices}; got {name!r}."
            )


def _is_open(status: str | None, *, limited: bool, retry_failed: bool) -> bool:
    """Return whether a method must be run."""
    if status == "failed":
        return retry_failed
    # A limit of the config may have been lifted since.
    return status is None or (status == "skipped" and not limited)
