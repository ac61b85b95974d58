"""Models in files: a fitted imputer, and what the columns of its table were there for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from kernimpute.cli.errors import RefusedError
from kernimpute.estimators import KernelImputer, KernelImputerCV, load, save
from kernimpute.table.code import TableCode
from kernimpute.table.columns import Column

__all__ = ["Model", "model_path", "read_model", "write_model"]

MODEL_FORMAT = 1
"""Number of the layout of these files; raised whenever an older one can't be used as it is."""

_KEY = "kernimpute_model"


@dataclass(frozen=True)
class Model:
    """What `kernimpute fit` keeps of a table.

    Parameters
    ----------
    imputer : KernelImputer
        The imputer, fitted to a DataFrame.
    target : str or None
        The label column; None where it is not known.
    ignored, dropped : tuple of str
        Columns that are kept as they are, and columns that are left out.
    missing_values : tuple of str
        Texts that stand for a gap besides the usual ones.
    decimals : mapping of str to (int or None)
        With how many decimals the columns of numbers were written, where they were text; None:
        in full.
    version : str
        The version of the package that wrote it.
    """

    imputer: KernelImputer
    target: str | None = None
    ignored: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    missing_values: tuple[str, ...] = ()
    decimals: Mapping[str, int | None] = field(default_factory=dict)
    version: str = ""

    @property
    def features(self) -> tuple[str, ...]:
        """The columns that new rows must have, in order."""
        return tuple(str(name) for name in self.imputer.feature_names_in_)

    @property
    def filled(self) -> dict[str, Column]:
        """What each column holds that is filled: those with anything observed in fit."""
        columns: tuple[Column, ...] = self.imputer._code.columns
        return {str(column.name): column for column in columns if column.kind != "empty"}


def model_path(path: Path) -> Path:
    """Return the file of a model: a name without an extension gets ``.skops``.

    Parameters
    ----------
    path : Path
        What the user calls it.

    Returns
    -------
    Path
        The file.
    """
    return path if path.suffix else path.with_name(f"{path.name}.skops")


def write_model(model: Model, path: Path) -> None:
    """Write a model to a file in skops' format.

    Parameters
    ----------
    model : Model
        The model.
    path : Path
        The file; it is there whole, or not at all.
    """
    parts = {
        _KEY: MODEL_FORMAT,
        "version": version("kernimpute"),
        "imputer": model.imputer,
        "target": model.target,
        "ignored": list(model.ignored),
        "dropped": list(model.dropped),
        "missing_values": list(model.missing_values),
        "decimals": dict(model.decimals),
    }
    save(parts, path)


def read_model(path: Path, *, trust: bool) -> Model:
    """Return the model in a file.

    Parameters
    ----------
    path : Path
        A file of `write_model`, or of a `KernelImputer` or `KernelImputerCV` that was fitted to
        a DataFrame.
    trust : bool
        Whether it may hold types of others, or be a pickle.

    Returns
    -------
    Model
        The model.

    Raises
    ------
    RefusedError
        If there is no such file, it needs trust, or what it holds is not what a model holds.
    """
    if not path.exists() and model_path(path).exists():
        path = model_path(path)
    if not path.exists():
        raise RefusedError(f"{path}: there is no such file.")
    if path.is_dir():
        raise RefusedError(f"{path} is a directory, not a model.")
    try:
        held = load(path, trust=trust)
    except ValueError as error:
        raise RefusedError(str(error)) from error
    if isinstance(held, dict) and _KEY in held:
        return _from_parts(held, path)
    if isinstance(held, KernelImputerCV):
        held = getattr(held, "best_estimator_", None)
    if not _is_fitted_to_names(held):
        raise RefusedError(
            f"{path} must hold a model of `kernimpute fit`, or an imputer that was fitted to a "
            f"table with names of columns. Got {type(held).__name__}."
        )
    given = held.missing_values
    markers = given if isinstance(given, (list, tuple)) else [given]
    texts = [str(one) for one in markers if isinstance(one, (str, int, float)) and one == one]
    return Model(held, missing_values=tuple(texts))


def _is_fitted_to_names(held: object) -> bool:
    """Return whether something is an imputer that was fitted to a table with names of columns."""
    if not isinstance(held, KernelImputer):
        return False
    names, code = getattr(held, "feature_names_in_", None), getattr(held, "_code", None)
    return (
        isinstance(names, np.ndarray)
        and isinstance(code, TableCode)
        and names.shape == (code.n_columns,)
    )


def _is_texts(part: object) -> bool:
    return isinstance(part, (list, tuple)) and all(isinstance(one, str) for one in part)


def _is_decimals(part: object) -> bool:
    return isinstance(part, dict) and all(
        isinstance(name, str) and (digits is None or isinstance(digits, int))
        for name, digits in part.items()
    )


_PARTS: dict[str, tuple[Callable[[object], bool], str]] = {
    "imputer": (_is_fitted_to_names, "a KernelImputer that was fitted to named columns"),
    "target": (lambda part: part is None or isinstance(part, str), "a name, or None"),
    "ignored": (_is_texts, "a list of names"),
    "dropped": (_is_texts, "a list of names"),
    "missing_values": (_is_texts, "a list of texts"),
    "decimals": (_is_decimals, "a mapping from names to counts"),
    "version": (lambda part: isinstance(part, str), "a text"),
}
"""What each part of a model must be: anyone can write a dict into such a file."""


def _from_parts(parts: Mapping[str, Any], path: Path) -> Model:
    number = parts[_KEY]
    if not isinstance(number, int) or number != MODEL_FORMAT:
        raise RefusedError(
            f"{path} must be a model of format {MODEL_FORMAT}, which kernimpute "
            f"{version('kernimpute')} reads. Got format {number!r}, written by kernimpute "
            f"{parts.get('version')}: fit again, or install that version."
        )
    for name, (is_it, must_be) in _PARTS.items():
        if name not in parts:
            raise RefusedError(f"{path} is a model without its part {name!r}: fit again.")
        if not is_it(parts[name]):
            raise RefusedError(
                f"{path} must be a model whose part {name!r} is {must_be}. Got "
                f"{type(parts[name]).__name__}: fit again."
            )
    return Model(
        imputer=parts["imputer"],
        target=parts["target"],
        ignored=tuple(parts["ignored"]),
        dropped=tuple(parts["dropped"]),
        missing_values=tuple(parts["missing_values"]),
        decimals=parts["decimals"],
        version=parts["version"],
    )
