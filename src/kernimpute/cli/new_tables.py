"""Reading a further table the way a model needs it, whatever its cells look like by themselves."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernimpute.cli.errors import RefusedError
from kernimpute.cli.models import Model
from kernimpute.cli.readers import ArrowTable, Source, TableFile, read_table
from kernimpute.cli.text_columns import (
    TextColumn,
    decimals_of,
    number_column,
    number_spelling,
    reads_as_number,
)
from kernimpute.table.columns import Column, observed_in_table

__all__ = ["read_new_table"]

Masks = dict[str, NDArray[np.bool_]]


def read_new_table(path: Path, source: Source, model: Model) -> tuple[TableFile, Masks]:
    """Return a table as values of the kinds that a model knows, and its unknown categories.

    Parameters
    ----------
    path : Path
        The file, for its format and the messages.
    source : TextTable, ArffTable or ArrowTable
        Its cells.
    model : Model
        The model.

    Returns
    -------
    file : TableFile
        The values; columns that the model does not fill as they are.
    unknown : dict of str to ndarray of bool of shape (n_rows,)
        For each column that holds categories that the model does not know: where.

    Raises
    ------
    RefusedError
        If a cell of a column of numbers is not a number, or one of text is none or the other way
        round; names column and cell.
    """
    expected = model.filled
    file = read_table(
        path,
        source,
        missing_values=model.missing_values,
        # As text, for what the cells of a few rows look like says little about their column.
        categorical=tuple(expected),
        unused=[name for name in source.names if name not in expected],
    )
    if not isinstance(source, ArrowTable):
        columns = dict(file.columns)
        for name, column in expected.items():
            if column.categorical:
                columns[name] = _categories(columns[name], column)
            else:
                where = [f"{path}, line {line}, column {name!r}" for line in source.lines]
                columns[name] = _numbers(columns[name], column, model.decimals, where)
        frame = pd.DataFrame({name: column.values for name, column in columns.items()})
        file = replace(file, frame=frame, columns=columns)
    unknown = _unknown(file.frame, expected)
    if isinstance(source, ArrowTable):
        for name, mask in unknown.items():
            _check_kind(f"{path}, column {name!r}", file.frame[name][mask], expected[name])
    return file, unknown


def _unknown(frame: pd.DataFrame, expected: Mapping[str, Column]) -> Masks:
    found = {}
    for name, column in expected.items():
        if not column.categorical:
            continue
        known = set(column.values)
        observed = observed_in_table(frame[[name]])[:, 0]
        is_known = [
            isinstance(value, Hashable) and value in known for value in frame[name].astype(object)
        ]
        unknown = observed & ~np.array(is_known, dtype=bool)
        if unknown.any():
            found[name] = unknown
    return found


def _check_kind(where: str, unknown: pd.Series, expected: Column) -> None:
    """Refuse text where there was none, and the other way round: it can't be a gap to fill."""
    was_text = isinstance(expected.values[0], str)
    for value in unknown:
        if isinstance(value, str) != was_text:
            raise RefusedError(
                f"{where} must hold {'text' if was_text else 'no text'}, as in the table that the "
                f"model was fitted to. Got {value!r} in it."
            )


def _categories(column: TextColumn, expected: Column) -> TextColumn:
    """Return a column of text with the values that stand for these texts in the model."""
    named = {str(value): value for value in expected.values if not isinstance(value, str)}
    if not named:
        return column
    values = [named.get(text, text) for text in column.values.astype(object)]
    return replace(column, values=pd.Series(values, dtype=object))


def _numbers(
    column: TextColumn, expected: Column, decimals: Mapping[str, int | None], where: list[str]
) -> TextColumn:
    """Return a column of text as numbers, to be filled with whole ones if the model says so."""
    gaps = np.asarray(column.values.isna(), dtype=bool).tolist()
    texts = ["" if gap else str(text) for text, gap in zip(column.values, gaps, strict=True)]
    present = [text for text, gap in zip(texts, gaps, strict=True) if not gap]
    for text, gap, place in zip(texts, gaps, where, strict=True):
        if not gap and not reads_as_number(text):
            raise RefusedError(
                f"{place}: {text!r} is not a finite number, and the column held numbers in the "
                "table that the model was fitted to."
            )
    read = number_column(texts, gaps, present)
    name = str(expected.name)
    is_whole = expected.kind == "whole" or (
        expected.kind == "constant" and float(str(expected.values[0])).is_integer()
    )
    if is_whole:
        # Written like the column's own cells; where there are none, like those of the model.
        digits = read.decimals if present else decimals.get(name, 0)
        return read if digits == 0 else replace(read, spell=number_spelling(digits))
    known, own = decimals.get(name), decimals_of(present)
    digits = None if known is None or own is None else max(known, own)
    floats = pd.Series(read.values.to_numpy(dtype=float, na_value=np.nan))
    return TextColumn(floats, number_spelling(digits), digits)
