"""What is left of an experiment: units of work, and the methods that have no rows in them yet."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

from experiments.config import Config, MethodEntry
from experiments.records import Key, clean, status_of_parts

__all__ = [
    "Everything",
    "Kind",
    "Part",
    "Plan",
    "Work",
    "key_of",
    "keys_of",
    "kind_of",
    "make_plan",
]


class Kind(Protocol):
    """What a module of `experiments.kinds` offers."""

    columns: Sequence[str]
    """The names of what it measures."""

    def units(self, config: Any) -> list[dict[str, Any]]:
        """Return the axes of each unit of work: all that its rows depend on.

        Raises ValueError if the config names a method or a dataset that there is not.
        """

    def rows(
        self, config: Any, unit: dict[str, Any], method: str, data_dir: Path | None
    ) -> list[dict[str, Any]]:
        """Return what one method measures in a unit."""


@dataclass(frozen=True)
class Part:
    """The part of an experiment that is to be run.

    Parameters
    ----------
    methods : tuple of str or None, default=None
        Only these methods; None is all.
    datasets : tuple of str or None, default=None
        Only these datasets; None is all.
    repetitions : int or None, default=None
        Only so many of the first repetitions; None is all.
    """

    methods: tuple[str, ...] | None = None
    datasets: tuple[str, ...] | None = None
    repetitions: int | None = None

    def has_unit(self, unit: Mapping[str, Any]) -> bool:
        """Return whether a unit of work belongs to the part.

        Parameters
        ----------
        unit : mapping of str to object
            Its axes.

        Returns
        -------
        bool
            Whether it does.
        """
        in_time = self.repetitions is None or unit["repetition"] < self.repetitions
        return in_time and (self.datasets is None or unit["dataset"] in self.datasets)

    def has_method(self, name: str) -> bool:
        """Return whether a method belongs to the part.

        Parameters
        ----------
        name : str
            The method.

        Returns
        -------
        bool
            Whether it does.
        """
        return self.methods is None or name in self.methods


Everything = Part()
"""All of an experiment."""


@dataclass(frozen=True)
class Work:
    """What is left of a unit.

    Parameters
    ----------
    unit : dict of str to object
        Its axes.
    methods : tuple of MethodEntry
        The methods without rows, in the config's order.
    """

    unit: dict[str, Any]
    methods: tuple[MethodEntry, ...]


@dataclass(frozen=True)
class Plan:
    """What a run has to do.

    Parameters
    ----------
    config : Config
        The experiment.
    folder : Path
        Where its parts are written.
    work : tuple of Work
        The units that aren't done.
    n_known : int
        Methods of units that have rows already.
    """

    config: Config
    folder: Path
    work: tuple[Work, ...]
    n_known: int

    @property
    def n_left(self) -> int:
        """Methods of units that have no rows yet."""
        return sum(len(work.methods) for work in self.work)

    def files_of(self, work: Work) -> frozenset[str]:
        """Return the names of the parts to come of a unit.

        Parameters
        ----------
        work : Work
            What is left of the unit.

        Returns
        -------
        frozenset of str
            File names in the plan's folder.
        """
        return frozenset(key_of(self.config, work.unit, entry).file_name for entry in work.methods)


def kind_of(config: Config) -> Kind:
    """Return the module of a config's kind.

    Parameters
    ----------
    config : Config
        The experiment.

    Returns
    -------
    module
        ``experiments.kinds.KIND``.
    """
    return cast(Kind, importlib.import_module(f"experiments.kinds.{config.kind}"))


def key_of(config: Config, unit: Mapping[str, Any], entry: MethodEntry) -> Key:
    """Return the key of a method's rows in a unit.

    Parameters
    ----------
    config : Config
        The experiment.
    unit : mapping of str to object
        The unit's axes.
    entry : MethodEntry
        The method.

    Returns
    -------
    Key
        What its part is named by.
    """
    return Key(config.name, tuple(unit.items()), entry.name)


def keys_of(config: Config) -> list[Key]:
    """Return the keys of all parts that an experiment consists of.

    Parameters
    ----------
    config : Config
        The experiment.

    Returns
    -------
    list of Key
        Unit by unit, each with the methods in the config's order.
    """
    units = kind_of(config).units(config)
    return [key_of(config, unit, entry) for unit in units for entry in config.methods]


def make_plan(
    config: Config, folder: Path, *, part: Part = Everything, retry_failed: bool = False
) -> Plan:
    """Return what is left to do.

    Parameters
    ----------
    config : Config
        The experiment.
    folder : Path
        Where its parts are; what is half-written there is removed.
    part : Part, default=Everything
        What of it is to be run.
    retry_failed : bool, default=False
        Whether methods that failed count as not done.

    Returns
    -------
    Plan
        The work that is left.

    Raises
    ------
    ValueError
        If the config names a method that there is not, or the part names a method or a dataset
        that the config hasn't.
    """
    units = kind_of(config).units(config)
    _check_names("method", part.methods, [entry.name for entry in config.methods])
    _check_names("dataset", part.datasets, list(dict.fromkeys(u.get("dataset") for u in units)))
    clean(folder)
    statuses = status_of_parts(folder)
    n_known, left = 0, []
    for unit in filter(part.has_unit, units):
        entries = [entry for entry in config.methods if part.has_method(entry.name)]
        open_entries = tuple(
            entry
            for entry in entries
            if _is_open(
                statuses.get(key_of(config, unit, entry).file_name),
                limited=entry.reason_to_skip(unit) is not None,
                retry_failed=retry_failed,
            )
        )
        n_known += len(entries) - len(open_entries)
        if open_entries:
            left.append(Work(unit, open_entries))
    return Plan(config, folder, tuple(left), n_known)


def _check_names(what: str, asked: Iterable[str] | None, there: Sequence[Any]) -> None:
    for name in asked or ():
        if name not in there:
            choices = ", ".join(map(str, there))
            raise ValueError(f"A {what} to run must be one of: {choices}; got {name!r}.")


def _is_open(status: str | None, *, limited: bool, retry_failed: bool) -> bool:
    """Return whether a method is to be run that has or hasn't ended before."""
    if status == "failed":
        return retry_failed
    # A limit of the config may have been lifted since.
    return status is None or (status == "skipped" and not limited)
