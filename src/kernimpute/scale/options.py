"""The options of a run over Parquet, checked before a column is read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from joblib import Parallel

from kernimpute.core.checks import SMALLEST_SUBSET, check_choice, check_integer, refusal
from kernimpute.estimators._subsets import runs_alone
from kernimpute.scale.rules import check_dealing, check_method
from kernimpute.scale.schedulers import check_scheduler
from kernimpute.scale.work_folder import check_work_folder

__all__ = [
    "check_apart",
    "check_options",
    "check_place",
    "check_replaced",
    "check_work_place",
]


def check_options(owner: str, options: Mapping[str, Any]) -> None:
    """Refuse options outside of their range.

    Parameters
    ----------
    owner : str
        The function whose parameters they are, for the messages.
    options : mapping of str to object
        Those of `kernimpute.scale.impute_parquet`.

    Raises
    ------
    TypeError, ValueError
        If one is refused.
    ImportError
        If the scheduler needs Dask and there is none.
    """
    check_choice(owner, "reference", options["reference"], ("mean", "expected"))
    check_integer(owner, "subset_size", options["subset_size"], SMALLEST_SUBSET)
    check_method(owner, options)
    check_dealing(owner, options)
    scheduler, n_jobs = options["scheduler"], options["n_jobs"]
    check_scheduler(owner, scheduler)
    if scheduler is None and not runs_alone(n_jobs):
        _check_backend(owner, n_jobs)
    if options["callback"] is not None and not callable(options["callback"]):
        raise TypeError(refusal(owner, "callback", "None or a callable", options["callback"]))


def _check_backend(owner: str, n_jobs: int | None) -> None:
    """Refuse a backend of joblib's that returns nothing before everything is done."""
    try:
        Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    except ValueError as error:
        raise ValueError(
            f"The backend of joblib.parallel_config for {owner} must be one that returns results "
            f"as they come, such as 'loky', 'threading' or 'dask'. Got another one: {error}."
        ) from error


def check_place(owner: str, output: Any) -> Path:
    """Return where to write, or refuse a place where nothing can be.

    Parameters
    ----------
    owner : str
        The function whose parameter it is, for the messages.
    output : str or Path
        The file or the folder to write.

    Returns
    -------
    Path
        The place.

    Raises
    ------
    TypeError, OSError
        If it is refused.
    """
    place = _path(owner, "output", output)
    if not place.parent.is_dir():
        raise FileNotFoundError(f"{place}: there is no folder {str(place.parent)!r}.")
    if not os.access(place.parent, os.W_OK):
        raise PermissionError(f"{place}: nothing can be written to {str(place.parent)!r}.")
    return place


def check_replaced(place: Path, *, is_folder: bool, force: bool) -> None:
    """Refuse to replace what is there, but where it is asked for.

    Parameters
    ----------
    place : Path
        The file or the folder to write.
    is_folder : bool
        Which of the two is written.
    force : bool
        Whether an existing one may be replaced.

    Raises
    ------
    FileExistsError, ValueError
        If it may not, or is the other of the two.
    """
    if not place.exists():
        return
    if not force:
        raise FileExistsError(f"{place} exists: give another name, or force to replace it.")
    if place.is_dir() != is_folder:
        kinds = ("folder", "file") if is_folder else ("file", "folder")
        raise ValueError(
            f"{place}: the output must be a {kinds[0]}, as the source. Got a {kinds[1]}."
        )


def check_work_place(owner: str, work_dir: Any, output: Path) -> Path:
    """Return the folder to work in, or refuse it.

    Parameters
    ----------
    owner : str
        The function whose parameter it is, for the messages.
    work_dir : str or Path or None
        The folder; None is one beside the output.
    output : Path
        What is written.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    TypeError, ValueError
        If it is refused.
    """
    if work_dir is None:
        folder = output.with_name(f".{output.name}.work")
    else:
        folder = _path(owner, "work_dir", work_dir)
    if output.resolve() in (folder.resolve(), *folder.resolve().parents):
        raise ValueError(refusal(owner, "work_dir", "a folder outside of the output", work_dir))
    check_work_folder(folder)
    return folder


def check_apart(what: str, place: Path, source: Path) -> None:
    """Refuse a place that is the source, or lies in it.

    Parameters
    ----------
    what : str
        What the place is for, for the message.
    place, source : Path
        The place and the source, a file or a folder.

    Raises
    ------
    ValueError
        If it is refused.
    """
    if place.resolve() == source.resolve():
        raise ValueError(f"{place}: the {what} must be another one than the source.")
    if source.resolve() in place.resolve().parents:
        raise ValueError(f"{place}: the {what} must lie outside of the source.")


def _path(owner: str, name: str, value: Any) -> Path:
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(refusal(owner, name, "a str or a Path", value))
    return Path(value)
