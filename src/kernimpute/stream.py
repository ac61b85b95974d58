"""Parquet tables of any size: an imputer is fitted to a sample of the rows, and blocks stream by.

1. A sample of the rows is drawn in one pass, and fitted as `impute_table` fits a table.
2. Each block of rows is filled on its own, as new rows are, and written in order.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import resource_tracker
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from joblib import cpu_count, effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from kernimpute.core.checks import check_integer, refusal, refusal_in_words
from kernimpute.core.files import replacing, replacing_folder
from kernimpute.estimators._base import seed_of
from kernimpute.estimators._imputer import KernelImputer
from kernimpute.estimators.impute_table import (
    FilledRows,
    TableWarning,
    cautions_of_rows,
    fill_rows,
    fit_table,
    ignored_note,
    notes_of_filling,
    refuse_decided,
    share_of_cells,
    size_text,
)
from kernimpute.table import frames
from kernimpute.table.code import Unknown, table_labels
from kernimpute.table.columns import (
    GapValues,
    TableError,
    check_column_names,
    column_roles,
    listed,
    observed_in_table,
)

__all__ = ["ParquetImputation", "impute_dask", "impute_parquet", "transform_parquet"]

SAMPLE_ROWS = 20_000  # rows that are fitted at the most, by default
PATIENCE = 10  # seconds in which a scheduler of Dask's must answer, and have a worker
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
    missing_values: GapValues = (),
    task: Literal["auto", "classification", "regression"] = "auto",
    max_fit_rows: int = SAMPLE_ROWS,
    batch_rows: int = frames.BLOCK_ROWS,
    scheduler: str | None = None,
    force: bool = False,
    callback: Progress | None = None,
    **parameters: Any,
) -> ParquetImputation:
    """Fill the missing cells of a Parquet table that need not fit into the memory.

    The imputer is fitted to a sample of the rows. Every row is filled as a new row, block by block.

    Parameters
    ----------
    source : str or Path
        A Parquet file, or a folder of such files with the same columns, sorted by name; names that
        begin with a dot or an underscore do not count.
    output : str or Path
        The file to write; for a folder, a folder of files of the same names and types.
    target : str or None, default=None
        Name of the label column, which is never filled.
    drop, ignore, categorical, missing_values, task
        As in `kernimpute.impute_table`. The index that pandas wrote is ignored.
    max_fit_rows : int, default=20_000
        Rows of the sample, in [2, inf), drawn by `random_state`; evenly over labels that are used.
    batch_rows : int, default=32_768
        Rows that are filled at once, in [1, inf).
    scheduler : str or None, default=None
        None fills in this process. With the extra ``dask``, "local" starts `n_jobs` processes (a
        script needs ``if __name__ == "__main__":``), and an address such as "tcp://host:8786" uses
        the workers there, which must see the files. Each file is a task.
    force : bool, default=False
        Whether an existing output may be replaced: a file, or a folder of Parquet files alone.
    callback : callable or None, default=None
        Called with the rows that are written so far, and the rows there are.
    **parameters : object
        Further parameters of `KernelImputer`, without guidance.

    Returns
    -------
    ParquetImputation
        Counts, notes and warnings, each also a `TableWarning`, and the fitted imputer.

    Raises
    ------
    TypeError, ValueError, TableError
        If an option is out of its range, or the table cannot be imputed as it is.
    OSError, ImportError
        If the output exists, a file or folder doesn't, no worker answers, or Dask is lacking.

    Notes
    -----
    A table of at most `max_fit_rows` rows is filled as in memory. Of a larger one, ranges and
    categories are those of the sample; numbers beyond and categories that it does not hold stay.
    For a column that the sample never observes, the first 20 rows that do are added. Memory holds
    the sample, its fit, a few blocks, and labels that are used. An interrupt leaves no output.
    """
    start, owner = time.perf_counter(), "impute_parquet"
    # 1. What can't be done is refused before a row is read.
    check_integer(owner, "batch_rows", batch_rows, 1)
    imputer = _checked_imputer(owner, max_fit_rows, parameters)
    table = frames.ParquetSource(Path(source))
    place = checked_output(owner, output, table, force=force)
    roles = column_roles(table.names, target, drop, ignore, categorical, table.index)
    used = [name for name in table.names if name == target or name in roles.features]
    with _engine(owner, scheduler, imputer.n_jobs) as client:
        # 2. A sample is drawn in one pass, and fitted as a table.
        rows, labels = np.arange(table.n_rows), None
        if table.n_rows > max_fit_rows:
            if imputer._uses_labels and target is not None:
                labels = table.take(rows, [target])
            seed = seed_of(imputer.random_state)
            rows = _sampled(labels, rows, max_fit_rows, seed, missing_values, task)
        sample = table.take(rows, used)
        more = _observing(table, sample, roles.features, labels, missing_values)
        if more.size:
            sample = table.take(np.union1d(rows, more), used)
        parameters |= {"missing_values": missing_values, "task": task}
        codes = [name for name in roles.categorical if name in used]
        fitted = fit_table(sample, target, categorical=codes, **parameters)
        # 3. The blocks are filled and written.
        kept = [name for name in table.names if name not in roles.dropped]
        filler = Filler(fitted.imputer, kept, [*map(str, roles.ignored)], target)
        found = write_blocks(table, place, filler, batch_rows, client, callback)
    share, cautions = "all rows", fitted.warnings
    if len(rows) < table.n_rows:
        share = f"{len(rows)} rows, drawn at random"
        cautions = tuple(one.replace("no cell", "no cell of the sample") for one in cautions)
    if labels is not None:
        # The sample has no other rows.
        seen = "is observed in the rows that have a label:"
        cautions = tuple(one.replace("is observed:", seen) for one in cautions)
    if more.size:
        share += ", and the first rows that observe a column which these do not"
    index = [name for name in table.index if name in roles.ignored]
    notes = [f"kept and not used, because it is the index: {name}" for name in index]
    notes += notes_of_filling(sample, fitted, found.filled, found.empty, found.n_unlabelled)
    facts = dict(fitted.facts)
    label = {"label": facts["label"]} if target is not None else {}
    facts = {"table": "", **label, "fitted": share, "filled": "", "method": facts["method"]}
    return _imputation(place, filler, found, facts, notes, cautions, start)


def transform_parquet(
    imputer: KernelImputer,
    source: str | Path,
    output: str | Path,
    *,
    drop: Iterable[Hashable] = (),
    batch_rows: int = frames.BLOCK_ROWS,
    scheduler: str | None = None,
    force: bool = False,
    callback: Progress | None = None,
) -> ParquetImputation:
    """Fill a Parquet table by an imputer that is fitted to the names of its columns.

    Parameters
    ----------
    imputer : KernelImputer
        The imputer. Its `missing_values` and `handle_unknown` hold here, too.
    source, output, batch_rows, scheduler, force, callback
        As in `impute_parquet`. Columns that the imputer does not know are kept as they are.
    drop : iterable of hashable, default=()
        Columns to leave out of what is written.

    Returns
    -------
    ParquetImputation
        Counts, notes and warnings, each also a `TableWarning`.

    Raises
    ------
    TypeError, ValueError, OSError, ImportError, TableError
        As `impute_parquet`, and if the imputer is not fitted or the table lacks a column of it.
    """
    start, owner = time.perf_counter(), "transform_parquet"
    check_is_fitted(imputer)
    for name in ("keep_empty_features", "add_indicator"):
        if getattr(imputer, name):
            must_be = f"False for {owner}, which writes the columns of the source"
            raise ValueError(refusal("KernelImputer", name, must_be, True))
    check_integer(owner, "batch_rows", batch_rows, 1)
    table = frames.ParquetSource(Path(source))
    place = checked_output(owner, output, table, force=force)
    dropped = check_column_names("drop", drop, table.names)
    known = [column.name for column in imputer._code.columns]
    lacking = [name for name in known if name not in table.names]
    if lacking:
        raise TableError(
            f"{table.path} must have the columns that the imputer was fitted to. Got a table "
            f"without {listed(lacking)}."
        )
    kept = [name for name in table.names if name not in dropped]
    filler = Filler(imputer, kept, [name for name in kept if name not in known])
    with _engine(owner, scheduler, imputer.n_jobs) as client:
        found = write_blocks(table, place, filler, batch_rows, client, callback)
    notes = ignored_note(found.empty)
    return _imputation(place, filler, found, {"table": "", "filled": ""}, notes, (), start)


def impute_dask(
    frame: Any,
    target: Hashable | None = None,
    *,
    drop: Iterable[Hashable] = (),
    ignore: Iterable[Hashable] = (),
    categorical: Iterable[Hashable] = (),
    missing_values: GapValues = (),
    task: Literal["auto", "classification", "regression"] = "auto",
    max_fit_rows: int = SAMPLE_ROWS,
    **parameters: Any,
) -> Any:
    """Return a Dask DataFrame with its gaps filled, to be computed or written by Dask.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        The table, such as what ``dask.dataframe.read_parquet`` returns.
    target, drop, ignore, categorical, missing_values, task, max_fit_rows, **parameters
        As in `impute_parquet`. The sample has about `max_fit_rows` rows, drawn at random.

    Returns
    -------
    dask.dataframe.DataFrame
        The same rows, partitions and types. The sample is drawn and fitted at once, with a
        `TableWarning` for what to look at; a partition is filled on a worker when Dask asks for it.

    Raises
    ------
    TypeError, ValueError, TableError
        As `impute_parquet`.
    """
    if not hasattr(frame, "map_partitions"):
        got = f"a {type(frame).__name__} of {type(frame).__module__.partition('.')[0]}"
        raise TypeError(refusal_in_words("impute_dask", "frame", "a DataFrame of Dask", got))
    imputer = _checked_imputer("impute_dask", max_fit_rows, parameters)
    names = list(frame.columns)
    roles = column_roles(names, target, drop, ignore, categorical)
    used = [name for name in names if name == target or name in roles.features]
    sample, n_rows, seed = frame[used], len(frame), seed_of(imputer.random_state)
    if n_rows > max_fit_rows:
        sample = sample.sample(frac=max_fit_rows / n_rows, random_state=seed)
    parameters |= {"missing_values": missing_values, "task": task}
    codes = [name for name in roles.categorical if name in used]
    fitted = fit_table(sample.compute(), target, categorical=codes, **parameters)
    for caution in fitted.warnings:
        if n_rows > max_fit_rows:
            caution = caution.replace("is observed", "is observed in the sample")
        warnings.warn(caution, TableWarning, stacklevel=2)
    kept = frame[[name for name in names if name not in roles.dropped]]
    return kept.map_partitions(_filled_partition, fitted.imputer, meta=kept._meta)


def _filled_partition(frame: pd.DataFrame, imputer: KernelImputer) -> pd.DataFrame:
    """Return a partition with its gaps filled."""
    rows = fill_rows(imputer, frame)
    for caution in cautions_of_rows((), rows.n_far):
        warnings.warn(caution, TableWarning, stacklevel=2)
    filled = frame.copy(deep=False)
    for name in rows.cells:
        filled[name] = rows.table[name]
    return filled


# ------------------------------------------------------------------------------ the sample


def _checked_imputer(owner: str, max_fit_rows: Any, parameters: dict[str, Any]) -> KernelImputer:
    """Return an imputer with checked parameters, or refuse what no stream can do."""
    check_integer(owner, "max_fit_rows", max_fit_rows, 2)
    refuse_decided(owner, parameters)
    imputer = KernelImputer(**parameters)
    imputer._validate_params()
    if imputer.guidance is not None:
        must_be = "None, because each row is filled as a new row, without guidance"
        raise ValueError(refusal(owner, "guidance", must_be, imputer.guidance))
    if imputer.use_labels == "own":
        must_be = "None or 'posterior', because each row is filled as if it had no label"
        raise ValueError(refusal(owner, "use_labels", must_be, "own"))
    return imputer


def _sampled(
    labels: pd.DataFrame | None,
    rows: NDArray[np.intp],
    most: int,
    seed: int,
    missing_values: GapValues,
    task: str,
) -> NDArray[np.intp]:
    """Return the rows to fit, in order: at random, or evenly over the labels, (n_rows, 1)."""
    generator = np.random.default_rng(seed)
    if labels is None:
        return np.sort(generator.choice(rows, most, replace=False))
    labelled = observed_in_table(labels, missing_values)[:, 0]
    codes = pd.factorize(table_labels(labels, labelled, task).values, sort=True)[0]
    order = generator.permutation(codes.size)
    order = order[np.argsort(codes[order], kind="stable")]
    spread = np.linspace(0, order.size - 1, min(most, order.size)).round().astype(np.intp)
    return np.sort(rows[labelled][order[spread]])


def _observing(
    table: frames.ParquetSource,
    sample: pd.DataFrame,
    names: Iterable[Hashable],
    labels: pd.DataFrame | None,
    missing_values: GapValues,
) -> NDArray[np.intp]:
    """Return the first 20 rows, labelled if labels are used, of each column a sample never sees."""
    n_seen = np.count_nonzero(observed_in_table(sample, missing_values), axis=0)
    lacking = [str(name) for name in sample.columns[n_seen == 0] if name in names]
    counts, found = np.zeros(len(lacking), dtype=int), [np.empty(0, dtype=np.intp)]
    for first, block in table.blocks(lacking) if len(sample) < table.n_rows else ():
        if (counts >= 20).all():
            break
        observed = observed_in_table(frames.as_frame(block), missing_values)
        if labels is not None:
            own = labels.iloc[first : first + block.num_rows]
            observed &= observed_in_table(own, missing_values)
        ranks = counts + observed.cumsum(axis=0)
        found.append(first + np.flatnonzero((observed & (ranks <= 20)).any(axis=1)))
        counts = ranks[-1]
    return np.concatenate(found)


# ------------------------------------------------------------------------------ the blocks


@dataclass
class Found:
    """What was found in blocks of rows."""

    n_rows: int = 0
    n_unlabelled: int = 0
    n_far: int = 0  # rows with a number too far from the training range
    filled: Counter[Hashable] = field(default_factory=Counter)  # cells, by column
    empty: Counter[Hashable] = field(default_factory=Counter)  # cells of ignored columns
    unknown: dict[Hashable, Unknown] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: FilledRows, empty: Mapping[Hashable, int]) -> Found:
        """Return what was found in rows that are filled, and the empty cells of the others."""
        unknown, counts = {one[0]: one for one in rows.encoded.unknown}, Counter(rows.counts)
        return cls(len(rows.table), 0, rows.n_far, counts, Counter(empty), unknown)

    def add(self, more: Found) -> None:
        """Add what was found in further rows."""
        self.n_rows += more.n_rows
        self.n_unlabelled += more.n_unlabelled
        self.n_far += more.n_far
        self.filled.update(more.filled)
        self.empty.update(more.empty)
        for name, (_, categories, n_cells) in more.unknown.items():
            _, before, n_before = self.unknown.get(name, (name, (), 0))
            both = dict.fromkeys([*before, *categories])
            # Bounded, because an identifier has a category in each row.
            self.unknown[name] = name, tuple(both)[:1000], n_before + n_cells


class BlockWriter:
    """What makes the output of a block of rows, wherever that is done."""

    def fill(self, block: pa.Table) -> tuple[pa.Table, Found]:
        """Return what is written for a block of rows, and what was found in it."""
        raise NotImplementedError

    def schema(self, source: pa.Schema) -> pa.Schema:
        """Return the columns that are written for a file without rows."""
        raise NotImplementedError

    def fill_file(self, source: Path, output: Path, batch_rows: int) -> Iterator[Found]:
        """Fill a file, and yield what was found in each block that is written."""
        file = frames.opened(source)
        filled = map(self.fill, frames.blocks(file, batch_rows))
        # The first block decides the type of a column of nulls.
        begun = [*itertools.islice(filled, 1)]
        schema = begun[0][0].schema if begun else self.schema(file.schema_arrow)
        with pq.ParquetWriter(output, schema, compression=frames.compression(file)) as writer:
            for table, found in itertools.chain(begun, filled):
                writer.write_table(table.cast(schema))
                yield found

    def fill_whole_file(self, source: Path, output: Path, batch_rows: int) -> Found:
        """Fill a file, and return what was found in it: the task of a worker."""
        total = Found()
        # A worker that is taken for lost may still be writing.
        with replacing(output) as (temporary,):
            for found in self.fill_file(source, temporary, batch_rows):
                total.add(found)
        return total


@dataclass(frozen=True)
class Filler(BlockWriter):
    """What fills a block of rows."""

    imputer: KernelImputer
    kept: list[str]  # the columns to write
    ignored: list[str]  # columns of which empty cells are counted
    target: str | None = None

    def fill(self, block: pa.Table) -> tuple[pa.Table, Found]:
        """Return a block of rows with its gaps filled, and what was found in it."""
        names = [column.name for column in self.imputer._code.columns]
        rows = fill_rows(self.imputer, frames.as_frame(block.select(names)))
        empty = {name: pc.is_null(block[name], nan_is_null=True) for name in self.ignored}
        found = Found.of(rows, {name: pc.sum(cells).as_py() for name, cells in empty.items()})
        if self.target is not None:
            label = frames.as_frame(block.select([self.target]))
            observed = observed_in_table(label, self.imputer._markers())
            found.n_unlabelled = int((~observed).sum())
        written = [name for name in rows.cells if name in self.kept]
        return frames.with_filled_columns(block.select(self.kept), rows.table, written), found

    def schema(self, source: pa.Schema) -> pa.Schema:
        """Return the columns of a file without rows."""
        return source.empty_table().select(self.kept).schema


def write_blocks(
    table: frames.ParquetSource,
    output: Path,
    filler: BlockWriter,
    batch_rows: int,
    client: Any,
    callback: Progress | None,
) -> Found:
    """Write a table with its gaps filled, whole or not at all, and return what was found."""
    total = Found()
    with contextlib.ExitStack() as stack:
        if table.is_folder:
            folder = stack.enter_context(replacing_folder(output))
            places = [folder / file.name for file in table.files]
        else:
            places = [*stack.enter_context(replacing(output))]
        found: Iterator[Found]
        if client is None:
            pairs = zip(table.files, places, strict=True)
            found = (one for pair in pairs for one in filler.fill_file(*pair, batch_rows))
        else:
            from distributed import as_completed

            sides = [[path.absolute() for path in side] for side in (table.files, places)]
            fill = partial(filler.fill_whole_file, batch_rows=batch_rows)
            tasks = client.map(fill, *sides, pure=False)
            stack.enter_context(client.as_current())
            found = (task.result() for task in as_completed(tasks))
        for one in found:
            total.add(one)
            if callback is not None:
                callback(total.n_rows, table.n_rows)
    return total


def _imputation(
    output: Path,
    filler: Filler,
    found: Found,
    facts: dict[str, str],
    notes: Sequence[str],
    cautions: Iterable[str],
    start: float,
) -> ParquetImputation:
    """Return what was written and how it came about, with its warnings."""
    n_columns, seconds = len(filler.kept), time.perf_counter() - start
    filled: dict[Hashable, int] = {n: found.filled[n] for n in filler.kept if found.filled[n]}
    facts |= {
        "table": size_text(found.n_rows, n_columns),
        "filled": share_of_cells(found.filled.total(), found.n_rows * n_columns),
        "seconds": f"{seconds:.2f}",
    }
    of_rows = cautions_of_rows([*found.unknown.values()], found.n_far)
    cautions = tuple(dict.fromkeys([*cautions, *of_rows]))
    for caution in cautions:
        warnings.warn(caution, TableWarning, stacklevel=3)
    counts = found.n_rows, n_columns, MappingProxyType(filled)
    said = tuple(facts.items()), tuple(notes), cautions
    return ParquetImputation(output, *counts, filler.imputer, *said, seconds)


# ------------------------------------------------------------------------------ Dask


@contextlib.contextmanager
def _engine(owner: str, scheduler: str | None, n_jobs: int | None) -> Iterator[Any]:
    """Yield a client of Dask's, or None where no scheduler is asked for."""
    if scheduler is None:
        yield None
        return
    if not isinstance(scheduler, str) or (scheduler != "local" and "://" not in scheduler):
        must_be = "None, 'local' or an address such as 'tcp://host:8786'"
        raise ValueError(refusal(owner, "scheduler", must_be, scheduler))
    try:
        import distributed
    except ImportError as error:
        raise ImportError(
            "Dask is not installed. It comes with the extra 'dask': pip install 'kernimpute[dask]'."
        ) from error
    with contextlib.ExitStack() as stack:
        address: Any = scheduler
        if scheduler == "local":
            with _interrupts_blocked():
                address = distributed.LocalCluster(
                    n_workers=cpu_count() if n_jobs is None else effective_n_jobs(n_jobs),
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,
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


def checked_output(owner: str, output: Any, table: frames.ParquetSource, *, force: bool) -> Path:
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
        own, got = ("folder", "file") if table.is_folder else ("file", "folder")
        raise ValueError(f"{place}: the output must be a {own}, as the source. Got a {got}.")
    final, source = place.resolve(), table.path.resolve()
    if source in (final, *final.parents) or final in source.parents:
        raise ValueError(f"{place}: the output must lie outside of the source, and not hold it.")
    for file in sorted(place.iterdir()) if place.is_dir() else ():
        if not file.is_file() or pa.OSFile(str(file)).read(4) != b"PAR1":
            only = f"{place}: only a folder of Parquet files is replaced."
            raise ValueError(f"{only} Got {file.name!r} in it.")
    return place
