"""Parquet tables of any size: an imputer is fitted to a sample of the rows, and blocks stream by.

1. A sample of the rows is drawn in one pass, and fitted as `impute_table` fits a table.
2. Each block of rows is filled on its own, as new rows are, and written in order.

So ranges and categories are those of the sample. A table of no more rows than the sample is filled
as in memory, to the last bit. Observed cells are never changed: a number beyond the sample's range
stays, and so does a category that the sample does not hold; a warning counts such cells.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from multiprocessing import resource_tracker
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from joblib import cpu_count, effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from kernimpute.core.checks import check_integer, refusal
from kernimpute.core.files import replacing, replacing_folder
from kernimpute.estimators._imputer import KernelImputer
from kernimpute.estimators.impute_table import (
    FittedTable,
    TableWarning,
    fill_rows,
    fit_table,
    ignored_note,
    notes_of_filling,
    share_of_cells,
    unknown_caution,
    unused_markers,
)
from kernimpute.table.code import Unknown
from kernimpute.table.columns import (
    TableError,
    check_column_names,
    check_distinct_names,
    counted,
    listed,
    observed_in_table,
)
from kernimpute.table.frames import as_frame, with_filled_columns
from kernimpute.table.roles import ColumnRoles, column_roles, table_labels

__all__ = ["ParquetImputation", "impute_dask", "impute_parquet", "transform_parquet"]

SAMPLE_ROWS = 20_000
"""Rows that are fitted at the most, by default."""
BLOCK_ROWS = 2**15
"""Rows that are filled at once, by default."""
PATIENCE = 10
"""Seconds in which a scheduler of Dask's must answer, and have a worker."""
_MOST_NAMED = 1000
"""Unknown categories of a column that are kept for its warning."""

Rows = NDArray[np.intp]
Progress = Callable[[int, int], object]


@dataclass(frozen=True)
class ParquetImputation:
    """What was written, and how it came about.

    Parameters
    ----------
    output : Path
        The filled table: a file, or a folder of files.
    n_rows, n_columns : int
        Size of what was written.
    filled : mapping of hashable to int
        How many cells were filled in each column that had gaps.
    imputer : KernelImputer
        The imputer that filled them.
    facts : tuple of (str, str)
        Size, rows fitted, cells filled and method, for people.
    notes, warnings : tuple of str
        What was done that one would not expect, and what one should look at.
    seconds : float
        Wall-clock time.
    """

    output: Path
    n_rows: int
    n_columns: int
    filled: Mapping[Hashable, int]
    imputer: KernelImputer
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    seconds: float

    @property
    def n_filled(self) -> int:
        """Number of cells filled."""
        return sum(self.filled.values())


def impute_parquet(
    source: str | Path,
    output: str | Path,
    target: str | None = None,
    *,
    drop: Iterable[Hashable] = (),
    ignore: Iterable[Hashable] = (),
    categorical: Iterable[Hashable] = (),
    missing_values: Sequence[object] = (),
    task: Literal["auto", "classification", "regression"] = "auto",
    max_fit_rows: int = SAMPLE_ROWS,
    batch_rows: int = BLOCK_ROWS,
    scheduler: str | None = None,
    force: bool = False,
    callback: Progress | None = None,
    **parameters: Any,
) -> ParquetImputation:
    """Fill the gaps of a Parquet table that need not fit into the memory.

    Parameters
    ----------
    source : str or Path
        A Parquet file, or a folder of such files with the same columns, which count in the order
        of their names; those that begin with a dot or an underscore do not.
    output : str or Path
        What to write: a file for a file; for a folder, a folder with a file of the same name for
        each. Rows, columns and types are those of the source.
    target : str or None, default=None
        Name of the label column.
    drop, ignore, categorical, missing_values, task
        As in `kernimpute.impute_table`. The index that pandas wrote is ignored.
    max_fit_rows : int, default=20_000
        Rows that are fitted at the most, in [2, inf). They are drawn at random by `random_state`,
        evenly over the labels if there is a target.
    batch_rows : int, default=32_768
        Rows that are filled at once, in [1, inf).
    scheduler : str or None, default=None
        None fills in this process. "local" starts `n_jobs` worker processes of Dask (a script that
        does needs ``if __name__ == "__main__":``), and an address such as "tcp://host:8786" uses
        the workers that run there, which must see source and output. Each file is a task, done
        anew if its worker dies. Both need the extra ``dask``.
    force : bool, default=False
        Whether an existing output may be replaced.
    callback : callable or None, default=None
        Called after each block with the rows that are written so far and the rows there are.
    **parameters : object
        Further parameters of `KernelImputer`, as in `kernimpute.impute_table`.

    Returns
    -------
    ParquetImputation
        Counts, notes and warnings, and the fitted imputer.

    Raises
    ------
    TypeError, ValueError
        If an option is out of its range.
    FileExistsError, FileNotFoundError
        If the output exists, or the source or the folder for the output doesn't.
    ConnectionError, ImportError
        If no scheduler or worker answers, or `scheduler` needs Dask and there is none.
    TableError
        If the table cannot be imputed as it is.

    Warns
    -----
    TableWarning
        For each of the result's `warnings`.

    See Also
    --------
    transform_parquet : Fill a table by an imputer that is fitted.
    impute_dask : The same on a Dask DataFrame.

    Notes
    -----
    Ranges and categories are those of the fitted rows. Every row is filled as a new row. So a table
    of at most `max_fit_rows` rows is filled as in memory, and a larger one as `KernelImputer`,
    fitted to the sample, transforms it. Memory is that of the sample, of its fit and of a few
    blocks. The output is put in place when it is whole. An interrupt leaves nothing, and the same
    call starts anew.

    Examples
    --------
    >>> import pandas as pd, tempfile
    >>> table = pd.DataFrame({"a": [0.0, 0.1, None, 1.0] * 5, "y": ["n", "n", "p", "p"] * 5})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table.to_parquet(f"{folder}/table.parquet")
    ...     done = impute_parquet(f"{folder}/table.parquet", f"{folder}/filled.parquet", "y")
    ...     int(pd.read_parquet(f"{folder}/filled.parquet").isna().sum().sum())
    0
    >>> done.n_filled
    5
    """
    start = time.perf_counter()
    owner = "impute_parquet"
    check_integer(owner, "batch_rows", batch_rows, 1)
    # 1. What can't be done is refused before a row is read.
    imputer = _checked_imputer(owner, max_fit_rows, parameters)
    table = ParquetSource(Path(source))
    place = _checked_output(owner, output, table, force=force)
    roles = _roles(table, target, drop, ignore, categorical)
    with _engine(owner, scheduler, imputer.n_jobs) as client:
        # 2. The sample is drawn and fitted.
        sample, fitted = _fit_sample(
            table, target, roles, max_fit_rows, imputer, missing_values, task, **parameters
        )
        # 3. The blocks are filled and written.
        rare = [one for one in missing_values if unused_markers(sample, [one])]
        filler = _Filler(
            fitted.imputer,
            kept=tuple(name for name in table.names if name not in roles.dropped),
            ignored=tuple(name for name in table.names if name in roles.ignored),
            target=target,
            rare=tuple(rare),
        )
        found = _write(table, place, filler, batch_rows, client, callback)
    share = "all rows" if len(sample) == table.n_rows else f"{len(sample)} rows, drawn at random"
    notes = [
        f"kept and not used, because it is the index: {name}"
        for name in table.index
        if name in roles.ignored
    ]
    notes += notes_of_filling(sample, fitted, found.filled, found.empty, found.n_unlabelled)
    # A missing value that the sample does not hold may be elsewhere.
    held = {*unused_markers(sample, rare)} - {*(found.unused or ())}
    cautions = [caution for caution in fitted.warnings if caution not in held]
    of_sample = dict(fitted.facts)
    label = {"label": of_sample["label"]} if target is not None else {}
    facts = {"table": "", **label, "fitted": share, "filled": "", "method": of_sample["method"]}
    return _imputation(place, filler, found, facts, notes, cautions, start)


def transform_parquet(
    imputer: KernelImputer,
    source: str | Path,
    output: str | Path,
    *,
    drop: Iterable[Hashable] = (),
    batch_rows: int = BLOCK_ROWS,
    scheduler: str | None = None,
    force: bool = False,
    callback: Progress | None = None,
) -> ParquetImputation:
    """Fill the gaps of a Parquet table by an imputer that is fitted.

    Parameters
    ----------
    imputer : KernelImputer
        An imputer that was fitted to a table with names of columns. Its `missing_values` and
        `handle_unknown` hold here, too.
    source, output
        As in `impute_parquet`. Columns that the imputer does not know are kept as they are.
    drop : iterable of hashable, default=()
        Columns to leave out of what is written.
    batch_rows, scheduler, force, callback
        As in `impute_parquet`.

    Returns
    -------
    ParquetImputation
        Counts, notes and warnings.

    Raises
    ------
    NotFittedError
        If the imputer is not fitted.
    TypeError, ValueError, OSError, ImportError, TableError
        As `impute_parquet`, and if the table lacks a column of the imputer.

    Warns
    -----
    TableWarning
        For each of the result's `warnings`.

    Examples
    --------
    >>> import pandas as pd, tempfile
    >>> from kernimpute import KernelImputer
    >>> table = pd.DataFrame({"a": [0.0, 0.1, None, 1.0] * 5, "b": [1.0, 2.0, 3.0, 4.0] * 5})
    >>> imputer = KernelImputer().fit(table, ["n", "n", "p", "p"] * 5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table.to_parquet(f"{folder}/new.parquet")
    ...     done = transform_parquet(imputer, f"{folder}/new.parquet", f"{folder}/filled.parquet")
    >>> done.n_filled
    5
    """
    start = time.perf_counter()
    check_is_fitted(imputer)
    check_integer("transform_parquet", "batch_rows", batch_rows, 1)
    table = ParquetSource(Path(source))
    place = _checked_output("transform_parquet", output, table, force=force)
    dropped = check_column_names("drop", drop, table.names)
    known = [column.name for column in imputer._code.columns]
    lacking = [name for name in known if name not in table.names]
    if lacking:
        raise TableError(
            f"{table.path} must have the columns that the imputer was fitted to. Got a table "
            f"without {listed(lacking)}."
        )
    kept = tuple(name for name in table.names if name not in dropped)
    others = tuple(name for name in kept if name not in known)
    filler = _Filler(imputer, kept, others)
    with _engine("transform_parquet", scheduler, imputer.n_jobs) as client:
        found = _write(table, place, filler, batch_rows, client, callback)
    notes = ignored_note(found.empty)
    return _imputation(place, filler, found, {"table": "", "filled": ""}, notes, [], start)


def impute_dask(
    frame: Any,
    target: Hashable | None = None,
    *,
    drop: Iterable[Hashable] = (),
    ignore: Iterable[Hashable] = (),
    categorical: Iterable[Hashable] = (),
    missing_values: Sequence[object] = (),
    task: Literal["auto", "classification", "regression"] = "auto",
    max_fit_rows: int = SAMPLE_ROWS,
    **parameters: Any,
) -> Any:
    """Return a Dask DataFrame with its gaps filled, to be computed or written by Dask.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        The table, such as what ``dask.dataframe.read_parquet`` returns.
    target : hashable or None, default=None
        Name of the label column.
    drop, ignore, categorical, missing_values, task, max_fit_rows
        As in `impute_parquet`.
    **parameters : object
        Further parameters of `KernelImputer`, as in `kernimpute.impute_table`.

    Returns
    -------
    dask.dataframe.DataFrame
        The same rows, partitions and types. The sample is drawn and fitted at once, and each
        partition is filled when Dask asks for it, so Dask's schedulers, retries and replacement
        of lost workers hold.

    Raises
    ------
    TypeError, ValueError, TableError
        As `impute_parquet`.

    Warns
    -----
    TableWarning
        For what one should look at in the sample.

    Examples
    --------
    A table of a cluster, from Parquet to Parquet::

        frame = dask.dataframe.read_parquet("s3://bucket/big")
        impute_dask(frame).to_parquet("s3://bucket/filled")
    """
    imputer = _checked_imputer("impute_dask", max_fit_rows, parameters)
    table = _DaskSource(frame)
    roles = _roles(table, target, drop, ignore, categorical)
    _, fitted = _fit_sample(
        table, target, roles, max_fit_rows, imputer, missing_values, task, **parameters
    )
    for caution in fitted.warnings:
        warnings.warn(caution, TableWarning, stacklevel=2)
    kept = frame[[name for name in table.names if name not in roles.dropped]]
    return kept.map_partitions(_filled_partition, fitted.imputer, meta=kept._meta)


# ------------------------------------------------------------------------------ the sample


def _checked_imputer(owner: str, max_fit_rows: Any, parameters: dict[str, Any]) -> KernelImputer:
    """Return an imputer with checked parameters, or refuse what no stream can do."""
    check_integer(owner, "max_fit_rows", max_fit_rows, 2)
    imputer = KernelImputer(**parameters)
    imputer._validate_params()
    if imputer.guidance is not None:
        must_be = "None, because each row is filled as a new row, without guidance"
        raise ValueError(refusal(owner, "guidance", must_be, imputer.guidance))
    if imputer.use_labels == "own":
        must_be = "None or 'posterior', because each row is filled as if it had no label"
        raise ValueError(refusal(owner, "use_labels", must_be, "own"))
    return imputer


def _roles(
    table: Any,
    target: Hashable | None,
    drop: Iterable[Hashable],
    ignore: Iterable[Hashable],
    categorical: Iterable[Hashable],
) -> ColumnRoles:
    """Return the roles of a table's columns; the index that pandas wrote is ignored."""
    names = pd.DataFrame(index=range(1), columns=list(table.names))
    roles = column_roles(names, target, drop, ignore, categorical)
    index = [name for name in table.index if name not in {target, *roles.dropped, *roles.ignored}]
    return column_roles(names, target, roles.dropped, [*roles.ignored, *index], categorical)


def _fit_sample(
    table: Any,
    target: Hashable | None,
    roles: ColumnRoles,
    most: int,
    imputer: KernelImputer,
    missing_values: Sequence[object],
    task: str,
    **parameters: Any,
) -> tuple[pd.DataFrame, FittedTable]:
    """Return a sample of a table's rows and what was fitted to it.

    Where labels are used, rows that have one are drawn, evenly over the labels.
    """
    n_rows = table.n_rows
    rows = np.arange(n_rows)
    generator = np.random.default_rng(imputer._seed())
    if n_rows > most and imputer._uses_labels and target is not None:
        column = table.take(rows, [target])
        labelled = observed_in_table(column, missing_values)[:, 0]
        codes = pd.factorize(table_labels(column, labelled, task).values, sort=True)[0]
        order = generator.permutation(codes.size)
        order = order[np.argsort(codes[order], kind="stable")]
        spread = np.linspace(0, order.size - 1, min(most, order.size)).round().astype(np.intp)
        rows = np.sort(np.flatnonzero(labelled)[order[spread]])
    elif n_rows > most:
        rows = np.sort(generator.choice(n_rows, most, replace=False))
    used = [name for name in table.names if name == target or name in roles.features]
    sample = table.take(rows, used)
    fitted = fit_table(
        sample,
        target,
        categorical=[name for name in roles.categorical if name in used],
        missing_values=missing_values,
        task=task,
        **parameters,
    )
    return sample, fitted


# ------------------------------------------------------------------------------ the blocks


@dataclass
class _Found:
    """What was found in blocks of rows."""

    n_rows: int = 0
    n_unlabelled: int = 0
    filled: Counter[Hashable] = field(default_factory=Counter)  # cells, by column
    empty: Counter[Hashable] = field(default_factory=Counter)  # cells of ignored columns
    unknown: dict[Hashable, Unknown] = field(default_factory=dict)
    unused: tuple[str, ...] | None = None  # cautions on missing values that no cell holds

    def add(self, more: _Found) -> None:
        """Add what was found in further rows."""
        self.n_rows += more.n_rows
        self.n_unlabelled += more.n_unlabelled
        self.filled.update(more.filled)
        self.empty.update(more.empty)
        for name, (_, categories, n_cells) in more.unknown.items():
            _, before, n_before = self.unknown.get(name, (name, (), 0))
            both = tuple(dict.fromkeys([*before, *categories]))[:_MOST_NAMED]
            self.unknown[name] = name, both, n_before + n_cells
        unused = more.unused if self.unused is None else self.unused
        self.unused = tuple(caution for caution in unused or () if caution in (more.unused or ()))


@dataclass(frozen=True)
class _Filler:
    """What fills a block of rows, wherever that is done."""

    imputer: KernelImputer
    kept: tuple[str, ...]  # the columns to write
    ignored: tuple[str, ...]
    rare: tuple[object, ...] = ()  # missing values that the sample does not hold
    target: str | None = None

    def fill(self, block: pa.Table) -> tuple[pa.Table, _Found]:
        """Return a block of rows with its gaps filled, and what was found in it."""
        names = [column.name for column in self.imputer._code.columns]
        frame = as_frame(block.select(names))
        rows = fill_rows(self.imputer, frame, handle_unknown=self.imputer.handle_unknown)
        found = _Found(
            n_rows=block.num_rows,
            filled=Counter(rows.counts),
            empty=Counter({name: n for name in self.ignored if (n := _n_empty(block[name]))}),
            unknown={each[0]: each for each in rows.unknown},
            unused=tuple(unused_markers(as_frame(block), self.rare)) if self.rare else (),
        )
        if self.target is not None:
            label = as_frame(block.select([self.target]))
            observed = observed_in_table(label, self.imputer._markers())
            found.n_unlabelled = int((~observed).sum())
        written = [name for name in rows.cells if name in self.kept]
        return with_filled_columns(block.select(self.kept), rows.table, written), found

    def fill_file(self, source: Path, output: Path, batch_rows: int) -> Iterator[_Found]:
        """Fill a file, and yield what was found in each block that is written."""
        opened = pq.ParquetFile(source)
        schema = opened.schema_arrow
        schema = pa.schema([schema.field(name) for name in self.kept], schema.metadata)
        with contextlib.ExitStack() as stack:
            writer = None
            for block in _blocks(opened, batch_rows):
                filled, found = self.fill(block)
                if writer is None:
                    # The first block decides the type of a column of nulls.
                    schema = filled.schema
                    writer = stack.enter_context(
                        pq.ParquetWriter(output, schema, compression=_compression(opened))
                    )
                writer.write_table(filled.cast(schema))
                yield found
            if writer is None:
                stack.enter_context(pq.ParquetWriter(output, schema))

    def fill_whole_file(self, source: Path, output: Path, batch_rows: int) -> _Found:
        """Fill a file, and return what was found in it: the task of a worker."""
        total = _Found()
        # A worker that is taken for lost may still be writing.
        with replacing(output) as (temporary,):
            for found in self.fill_file(source, temporary, batch_rows):
                total.add(found)
        return total


def _write(
    table: ParquetSource,
    output: Path,
    filler: _Filler,
    batch_rows: int,
    client: Any,
    callback: Progress | None,
) -> _Found:
    """Write a table with its gaps filled, whole or not at all, and return what was found."""
    total = _Found()
    with contextlib.ExitStack() as stack:
        if table.is_folder:
            folder = stack.enter_context(replacing_folder(output))
            places = [folder / file.name for file in table.files]
        else:
            places = [*stack.enter_context(replacing(output))]
        found: Iterator[_Found]
        if client is None:
            pairs = zip(table.files, places, strict=True)
            found = (one for pair in pairs for one in filler.fill_file(*pair, batch_rows))
        else:
            tasks = client.map(
                filler.fill_whole_file,
                [file.absolute() for file in table.files],
                [place.absolute() for place in places],
                batch_rows=batch_rows,
                pure=False,
            )
            stack.enter_context(client.as_current())
            found = (task.result() for task in import_distributed().as_completed(tasks))
        for one in found:
            total.add(one)
            if callback is not None:
                callback(total.n_rows, table.n_rows)
    return total


def _blocks(opened: pq.ParquetFile, batch_rows: int, columns: Any = None) -> Iterator[pa.Table]:
    """Yield the rows of a file in order, at least `batch_rows` at a time but for the last."""
    # Batches end where row groups do, which may be small.
    batches: list[pa.RecordBatch] = []
    n_rows = 0
    for batch in opened.iter_batches(batch_rows, columns=columns):
        batches.append(batch)
        n_rows += batch.num_rows
        if n_rows >= batch_rows:
            yield pa.Table.from_batches(batches)
            batches, n_rows = [], 0
    if n_rows:
        yield pa.Table.from_batches(batches)


def _n_empty(column: pa.ChunkedArray) -> int:
    """Return how many cells hold nothing, or NaN."""
    return int(pc.sum(pc.is_null(column, nan_is_null=True)).as_py() or 0)


def _compression(opened: pq.ParquetFile) -> str:
    """Return how a file is compressed, by its first column."""
    metadata = opened.metadata
    if metadata.num_row_groups == 0 or metadata.num_columns == 0:
        return "snappy"
    codec = metadata.row_group(0).column(0).compression
    return "none" if codec == "UNCOMPRESSED" else str(codec)


def _imputation(
    output: Path,
    filler: _Filler,
    found: _Found,
    facts: dict[str, str],
    notes: Sequence[str],
    cautions: Sequence[str],
    start: float,
) -> ParquetImputation:
    """Return what was written and how it came about, with its warnings."""
    n_columns = len(filler.kept)
    seconds = time.perf_counter() - start
    facts |= {
        "table": f"{counted(found.n_rows, 'row')}, {counted(n_columns, 'column')}",
        "filled": share_of_cells(sum(found.filled.values()), found.n_rows * n_columns),
        "seconds": f"{seconds:.2f}",
    }
    cautions = tuple(dict.fromkeys([*cautions, *unknown_caution([*found.unknown.values()])]))
    for caution in cautions:
        warnings.warn(caution, TableWarning, stacklevel=3)
    filled: dict[Hashable, int] = {
        name: found.filled[name] for name in filler.kept if found.filled[name]
    }
    return ParquetImputation(
        output=output,
        n_rows=found.n_rows,
        n_columns=n_columns,
        filled=MappingProxyType(filled),
        imputer=filler.imputer,
        facts=tuple(facts.items()),
        notes=tuple(notes),
        warnings=cautions,
        seconds=seconds,
    )


# ------------------------------------------------------------------------------ Dask


@dataclass(frozen=True)
class _DaskSource:
    """A Dask DataFrame as a source of samples."""

    frame: Any

    @property
    def names(self) -> list[Hashable]:
        """The columns' names."""
        return list(self.frame.columns)

    @property
    def index(self) -> tuple[str, ...]:
        """No column is an index."""
        return ()

    @cached_property
    def sizes(self) -> Rows:
        """How many rows each partition has."""
        return np.asarray(self.frame.map_partitions(len).compute(), dtype=np.intp)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.sizes.sum())

    def take(self, rows: Rows, names: list[Any]) -> pd.DataFrame:
        """Return some rows, in order, with some columns."""
        from dask.base import compute
        from dask.dataframe.methods import concat  # type: ignore[attr-defined]
        from dask.delayed import delayed

        first = np.cumsum(self.sizes) - self.sizes
        shares = np.split(rows, np.searchsorted(rows, first[1:]))
        parts = zip(self.frame[names].to_delayed(), shares, first, strict=True)
        take = delayed(pd.DataFrame.take)
        taken = compute(*(take(part, share - start) for part, share, start in parts))
        return concat(taken)  # type: ignore[no-any-return]


def _filled_partition(frame: pd.DataFrame, imputer: KernelImputer) -> pd.DataFrame:
    """Return a partition with its gaps filled."""
    rows = fill_rows(imputer, frame)
    filled = frame.copy(deep=False)
    for name in rows.cells:
        filled[name] = rows.table[name]
    return filled


def import_distributed() -> ModuleType:
    """Return Dask's distributed, or name the extra that installs it."""
    try:
        import distributed
    except ImportError as error:
        raise ImportError(
            "Dask is not installed. It comes with the extra 'dask': pip install 'kernimpute[dask]'."
        ) from error
    return distributed


@contextlib.contextmanager
def _engine(owner: str, scheduler: str | None, n_jobs: int | None) -> Iterator[Any]:
    """Yield a client of Dask's, or None where no scheduler is asked for."""
    must_be = "None, 'local' or an address such as 'tcp://host:8786'"
    if scheduler is None:
        yield None
        return
    if not isinstance(scheduler, str) or (scheduler != "local" and "://" not in scheduler):
        raise ValueError(refusal(owner, "scheduler", must_be, scheduler))
    distributed = import_distributed()
    with contextlib.ExitStack() as stack:
        address: Any = scheduler
        if scheduler == "local":
            with _interrupts_blocked():
                address = distributed.LocalCluster(
                    n_workers=cpu_count() if n_jobs is None else effective_n_jobs(n_jobs),
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.ERROR,
                )
            stack.enter_context(address)
        try:
            client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
            stack.enter_context(client)
            client.wait_for_workers(1, timeout=PATIENCE)
        except (OSError, ValueError) as error:
            must_be = "the address of a scheduler of Dask's that answers and has a worker"
            raise ConnectionError(refusal(owner, "scheduler", must_be, scheduler)) from error
        yield client


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Start processes that never see Ctrl-C, because workers print a traceback at it."""
    if sys.platform == "win32":
        yield
        return
    # Starting the tracker unblocks interrupts, so start it before they are blocked.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# ------------------------------------------------------------------------------ the files


def _checked_output(owner: str, output: Any, table: ParquetSource, *, force: bool) -> Path:
    """Return where to write, or refuse a place where nothing can be written."""
    if not isinstance(output, (str, os.PathLike)):
        raise TypeError(refusal(owner, "output", "a str or a Path", output))
    place = Path(output)
    if not place.parent.is_dir():
        raise FileNotFoundError(f"{place}: there is no folder {str(place.parent)!r}.")
    if not os.access(place.parent, os.W_OK):
        raise PermissionError(f"{place}: nothing can be written to {str(place.parent)!r}.")
    if place.exists() and not force:
        raise FileExistsError(f"{place} exists: give another name, or force to replace it.")
    if place.exists() and place.is_dir() != table.is_folder:
        kinds = ("folder", "file") if table.is_folder else ("file", "folder")
        raise ValueError(
            f"{place}: the output must be a {kinds[0]}, as the source. Got a {kinds[1]}."
        )
    if table.path.resolve() in (place.resolve(), *place.resolve().parents):
        raise ValueError(f"{place}: the output must lie outside of the source.")
    return place


@dataclass(frozen=True)
class ParquetSource:
    """A Parquet file, or the files of a folder in the order of their names, as one table.

    Files whose names begin with a dot or an underscore do not count.
    """

    path: Path

    def __post_init__(self) -> None:
        """Refuse what is no table."""
        if not self.path.exists():
            raise FileNotFoundError(f"{self.path}: there is no such file or folder.")
        if not self.files:
            raise TableError(f"{self.path} must hold Parquet files. Got a folder without any.")
        check_distinct_names(self.schema.names, str(self.path))
        for file in self.files[1:]:
            schema = _opened(file).schema_arrow
            if not schema.equals(self.schema):
                raise TableError(
                    f"{file} must have the columns and types of {self.files[0].name}. "
                    f"Got {_difference(schema, self.schema)}."
                )
        if self.n_rows == 0:
            raise TableError(f"{self.path} must have at least one row. Got none.")

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return self.path.is_dir()

    @cached_property
    def files(self) -> tuple[Path, ...]:
        """The files, in order."""
        if not self.is_folder:
            return (self.path,)
        visible = (file for file in self.path.iterdir() if not file.name.startswith((".", "_")))
        files = tuple(sorted(visible, key=lambda file: file.name))
        folders = [file for file in files if file.is_dir()]
        if folders:
            raise TableError(
                f"{self.path} must hold Parquet files only. Got the folder {folders[0].name!r} in "
                "it: partitions in folders are not read."
            )
        return files

    @cached_property
    def schema(self) -> pa.Schema:
        """Names, types and metadata of the columns, from the first file."""
        return _opened(self.files[0]).schema_arrow

    @property
    def names(self) -> list[str]:
        """The columns' names."""
        return list(self.schema.names)

    @property
    def index(self) -> list[str]:
        """The columns that pandas wrote as an index."""
        described = (self.schema.pandas_metadata or {}).get("index_columns", [])
        return [name for name in described if name in self.names]

    @cached_property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(_opened(file).metadata.num_rows for file in self.files)

    def take(self, rows: Rows, names: list[str]) -> pd.DataFrame:
        """Return some rows, in order, with some columns."""
        taken = []
        first = 0
        for file in self.files:
            for block in _blocks(_opened(file), BLOCK_ROWS, names):
                last = first + block.num_rows
                chosen = rows[slice(*np.searchsorted(rows, [first, last]))]
                # A name with a dot may be read for that of a nested column too.
                taken.append(block.select(names).take(chosen - first))
                first = last
        return as_frame(pa.concat_tables(taken))


def _opened(file: Path) -> pq.ParquetFile:
    """Return an open Parquet file, or refuse it."""
    try:
        return pq.ParquetFile(file)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise TableError(f"{file} is not a Parquet file that can be read: {reason}.") from error


def _difference(schema: pa.Schema, expected: pa.Schema) -> str:
    """Return the first column in which a schema differs from the one expected, and how."""
    for field_ in expected:
        if field_.name not in schema.names:
            return f"no column {field_.name!r}"
        got = schema.field(schema.names.index(field_.name))
        if not got.equals(field_):
            return f"the column {field_.name!r} as {got} where {field_} is expected"
    further = [name for name in schema.names if name not in expected.names]
    return f"a further column {further[0]!r}" if further else "the same in another order"
