"""What `kernimpute apply` does: new rows, filled by a model, and the file of them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernimpute.cli.errors import RefusedError
from kernimpute.cli.formats import table_format
from kernimpute.cli.models import Model, read_model
from kernimpute.cli.new_tables import read_new_table
from kernimpute.cli.readers import Source, TableFile, read_source, refuse_folder
from kernimpute.cli.summary import print_summary, print_warnings, said_of_done
from kernimpute.cli.writers import check_output, check_writable, write_table
from kernimpute.core.files import replacing
from kernimpute.estimators.impute_table import ignored_note, n_empty
from kernimpute.table.columns import counted, listed, observed_in_table

__all__ = ["apply_model"]


def apply_model(
    model: Path,
    new: Path,
    output: Path,
    *,
    fill_unknown: bool,
    trust: bool,
    force: bool,
    quiet: bool,
) -> None:
    """Fill the gaps of a table by a model, write it, and say what was done.

    Parameters
    ----------
    model, new, output : Path
        The model, the table, and the filled table to write.
    fill_unknown : bool
        Whether categories that the model does not know are filled like gaps, or refused.
    trust : bool
        Whether a model is opened that can run any code.
    force : bool
        Whether an existing file may be replaced.
    quiet : bool
        Whether only warnings are printed.

    Raises
    ------
    RefusedError
        If the model or the table can't be used as it is.
    """
    refuse_folder(new)
    output_format = table_format(output)
    fitted = read_model(model, trust=trust)
    source = read_source(new)
    if output.absolute() == model.absolute():
        raise RefusedError(f"{output}: the filled table must not replace the model.")
    check_output(output, force=force)
    extra = _checked_columns(fitted, source, new)
    file, strange = read_new_table(new, source, fitted)
    dropped = [name for name in source.names if name in fitted.dropped]
    check_writable(output_format, file, dropped)
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        # Unknown categories are told of here.
        warnings.filterwarnings("ignore", ".*categories that were not there in fit", UserWarning)
        rows = _filled_rows(fitted, file, strange, dropped)
    seconds = time.perf_counter() - start
    said = [_said_of(name, file.frame[name][mask]) for name, mask in strange.items()]
    if said and not fill_unknown:
        raise RefusedError(
            f"{new} holds categories that the model does not know ({'; '.join(said)}): correct "
            "them, or pass --unknown missing to fill these cells like gaps."
        )
    with replacing(output) as (temporary,):
        write_table(temporary, output_format, rows, file)
    cautions = [
        f"categories that the model does not know are filled like gaps: {one}" for one in said
    ]
    if extra:
        cautions.append(
            f"columns that the model does not know are kept as they are: {listed(extra)}"
        )
    cautions.extend(str(each.message).removeprefix("KernelImputer: ") for each in caught)

    def say() -> None:
        print_warnings(dict.fromkeys(cautions))
        if not quiet:
            facts = _facts(rows, model, fitted, seconds)
            notes = _notes(fitted, file, dropped)
            print_summary(facts, [output], filled=rows.filled, n_rows=len(rows.table), notes=notes)

    said_of_done(say)


@dataclass(frozen=True)
class _FilledRows:
    """A filled table, as `write_table` takes it.

    Parameters
    ----------
    table : DataFrame of shape (n_rows, n_columns)
        The table without its dropped columns.
    cells : mapping of str to ndarray of bool of shape (n_rows,)
        Where each column was filled that was.
    """

    table: pd.DataFrame
    cells: Mapping[Hashable, NDArray[np.bool_]] = field(default_factory=dict)

    @property
    def filled(self) -> Mapping[Hashable, int]:
        """How many cells were filled in each column that has such."""
        return {name: int(mask.sum()) for name, mask in self.cells.items()}

    def filled_cells(self, name: Hashable) -> NDArray[np.bool_]:
        """Return where a column was filled, of shape (n_rows,)."""
        return self.cells.get(name, np.zeros(len(self.table), dtype=bool))


def _checked_columns(model: Model, source: Source, new: Path) -> list[str]:
    """Return the columns that the model does not know; refuse a table that lacks some it needs."""
    lacking = [name for name in model.features if name not in source.names]
    if lacking:
        raise RefusedError(
            f"{new} must have the columns that the model was fitted to. Got a table without "
            f"{listed(lacking)}."
        )
    known = {*model.features, *model.ignored, *model.dropped, model.target}
    return [name for name in source.names if name not in known]


def _filled_rows(
    model: Model,
    file: TableFile,
    unknown: Mapping[str, NDArray[np.bool_]],
    dropped: Iterable[str],
) -> _FilledRows:
    """Return the table filled; categories that the model does not know count as gaps."""
    frame = file.frame.copy()
    if file.columns:
        for name, mask in unknown.items():
            frame[name] = frame[name].astype(object).mask(mask, None)
    imputer = model.imputer.set_params(handle_unknown="missing").set_output(transform="default")
    try:
        filled = imputer.transform(frame[list(model.features)])
    except ValueError as error:
        raise RefusedError(str(error)) from error
    cells: dict[Hashable, NDArray[np.bool_]] = {}
    for name in model.filled:
        gaps = ~observed_in_table(frame[[name]])[:, 0]
        gaps |= unknown.get(name, np.zeros_like(gaps))
        if gaps.any():
            frame[name] = filled[name]
            cells[name] = gaps
    return _FilledRows(frame.drop(columns=list(dropped)), cells)


def _said_of(name: str, values: pd.Series) -> str:
    """Return a column's unknown categories and how many cells hold them."""
    return f"{name!r}: {listed(list(values.unique()))} in {len(values)} of its cells"


def _facts(rows: _FilledRows, path: Path, model: Model, seconds: float) -> list[tuple[str, str]]:
    n_rows, n_columns = rows.table.shape
    n_filled, n_cells = sum(rows.filled.values()), n_rows * n_columns
    by = f", of kernimpute {model.version}" if model.version else ""
    label = f", fitted to the label {model.target}" if model.target else ""
    return [
        ("table", f"{counted(n_rows, 'row')}, {counted(n_columns, 'column')}"),
        ("model", f"{path}{by}{label}"),
        ("filled", f"{n_filled} of {n_cells} cells ({100.0 * n_filled / n_cells:.3g} %)"),
        ("seconds", f"{seconds:.2f}"),
    ]


def _notes(model: Model, file: TableFile, dropped: Iterable[str]) -> list[str]:
    """Return what was done that one would not expect."""
    ignored = [name for name in model.ignored if name in file.source.names]
    notes = ignored_note(n_empty(file.frame[ignored]))
    if model.target in file.source.names:
        notes.append(f"the label column {model.target} is kept as it is and not used")
    left_out = ", ".join(dropped)
    if left_out:
        notes.append(f"left out, as the model says: {left_out}")
    return notes
