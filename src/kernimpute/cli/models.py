"""Model files: a fitted imputer, and what the columns of its table were there for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kernimpute.cli.errors import RefusedError, refusals
from kernimpute.estimators import KernelImputer, load, save
from kernimpute.table.code import TableCode
from kernimpute.table.columns import Column

MODEL_FORMAT = 2
"""Number of the layout of these files; raised whenever older ones cannot be used any more."""

_KEY = "kernimpute_model"


@dataclass(frozen=True)
class Model:
    """What `kernimpute fit` keeps of a table."""

    imputer: KernelImputer  # Fitted to a DataFrame.
    target: str | None = None
    ignored: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    # How a text is read, as in `options.Reading`.
    missing_values: tuple[str, ...] = ()
    keep_values: tuple[str, ...] = ()
    decimal: str = "."
    # With how many decimals the columns of numbers were written; those in full are not listed.
    decimals: Mapping[str, int] = field(default_factory=dict)
    version: str = ""

    @property
    def features(self) -> tuple[str, ...]:
        """The columns that new rows must have, in order."""
        return tuple(str(name) for name in self.imputer.feature_names_in_)

    @property
    def kinds(self) -> dict[str, Column]:
        """What each column holds that can be filled: those with anything observed in fit."""
        columns: tuple[Column, ...] = self.imputer._code.columns
        return {str(column.name): column for column in columns if column.kind != "empty"}


def model_path(path: Path) -> Path:
    """Return the file of a model: a name without an extension gets ``.skops``."""
    return path if path.suffix else path.with_name(f"{path.name}.skops")


def write_model(model: Model, path: Path) -> None:
    """Write a model in the format of skops; the file is there whole, or not at all."""
    parts: dict[str, Any] = {part.name: getattr(model, part.name) for part in fields(model)}
    parts |= {"decimals": dict(model.decimals), "version": version("kernimpute")}
    save({_KEY: MODEL_FORMAT, **parts}, path)


def read_model(path: Path, *, trust: bool) -> Model:
    """Return the model in a file of `write_model`, or around a saved `KernelImputer`."""
    if not path.exists() and model_path(path).exists():
        path = model_path(path)
    if not path.exists():
        raise RefusedError(f"{path}: there is no such file.")
    if path.is_dir():
        raise RefusedError(f"{path} is a directory, not a model.")
    with refusals():
        loaded = load(path, trust=trust)
    parts = {"imputer": loaded}
    if isinstance(loaded, dict) and _KEY in loaded:
        parts = dict(loaded)
        number = parts.pop(_KEY)
        if number != MODEL_FORMAT:
            raise RefusedError(
                f"{path} must be a model of format {MODEL_FORMAT}, which kernimpute "
                f"{version('kernimpute')} reads. Got format {number!r}, written by kernimpute "
                f"{parts.get('version')}: fit again, or install that version."
            )
    if not _is_fitted_to_names(parts.get("imputer")):
        raise RefusedError(
            f"{path} must hold a model of `kernimpute fit`, or a KernelImputer that was fitted to "
            f"a table with names of columns. Got {type(loaded).__name__}."
        )
    if parts["imputer"] is not loaded:
        return Model(**parts)
    given = loaded.missing_values
    by_name = given if isinstance(given, dict) else {"": given}
    texts = [
        f"{name}={one}" if name else str(one)
        for name, markers in by_name.items()
        for one in (markers if isinstance(markers, (list, tuple)) else [markers])
        if isinstance(one, (str, int, float)) and one == one
    ]
    return Model(loaded, missing_values=tuple(texts))


def _is_fitted_to_names(imputer: object) -> bool:
    return (
        isinstance(imputer, KernelImputer)
        and hasattr(imputer, "feature_names_in_")
        and isinstance(getattr(imputer, "_code", None), TableCode)
    )
