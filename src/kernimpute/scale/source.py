"""Parquet files as one table, and what is learned from its columns before a row is filled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pandas.api.types import is_float_dtype

from kernimpute.core.checks import Task
from kernimpute.estimators._subsets import Labels, read_labels
from kernimpute.estimators.impute_table import unused_markers, whole_as_integers
from kernimpute.table.code import TableCode, joined_code, learn_code
from kernimpute.table.columns import (
    Column,
    TableError,
    check_distinct_names,
    observed_in_table,
)
from kernimpute.table.frames import as_frame
from kernimpute.table.roles import (
    ColumnRoles,
    column_roles,
    left_as_found,
    table_labels,
)

__all__ = ["ColumnFacts", "ParquetSource", "Plan", "make_plan", "slices"]

BoolArray = NDArray[np.bool_]

SLICE_ROWS = 2**16
"""Rows that are coded at once, because a row group may be larger than memory has copies for."""


def slices(table: pa.Table) -> Iterator[pa.Table]:
    """Yield the rows of a table in order, at most `SLICE_ROWS` at a time."""
    for first in range(0, table.num_rows, SLICE_ROWS):
        yield table.slice(first, SLICE_ROWS)


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
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(self.schema.names)

    @property
    def index(self) -> tuple[str, ...]:
        """The columns that pandas wrote as an index."""
        described = (self.schema.pandas_metadata or {}).get("index_columns", [])
        return tuple(name for name in described if name in self.names)

    @cached_property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(_opened(file).metadata.num_rows for file in self.files)

    def column(self, name: str) -> pd.DataFrame:
        """Return one whole column, of shape (n_rows, 1)."""
        # A name with a dot may be read for that of a nested column too.
        parts = [_opened(file).read(columns=[name]).select([name]) for file in self.files]
        return as_frame(pa.concat_tables(parts))

    def row_groups(self, file: Path, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Yield the row groups of one of the files, with some columns or all."""
        opened = _opened(file)
        for place in range(opened.num_row_groups):
            table = opened.read_row_group(place, columns=columns)
            yield table if columns is None else table.select(columns)


def _opened(file: Path) -> pq.ParquetFile:
    """Return an open Parquet file, or refuse it."""
    try:
        return pq.ParquetFile(file)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise TableError(f"{file} is not a Parquet file that can be read: {reason}.") from error


def _difference(schema: pa.Schema, expected: pa.Schema) -> str:
    """Return the first column in which a schema differs from the one expected, and how."""
    for field in expected:
        if field.name not in schema.names:
            return f"no column {field.name!r}"
        got = schema.field(schema.names.index(field.name))
        if got.type != field.type:
            return f"the column {field.name!r} of type {got.type} where {field.type} is expected"
        if got.nullable != field.nullable:
            which = ("may", "may not") if got.nullable else ("may not", "may")
            return f"a column {field.name!r} that {which[0]} have gaps where it {which[1]}"
    further = Counter(schema.names) - Counter(expected.names)
    if further:
        return f"a further column {next(iter(further))!r}"
    pairs = zip(schema.names, expected.names, strict=False)
    found, wanted = next((got, name) for got, name in pairs if got != name)
    return f"the same in another order, {found!r} in the place of {wanted!r}"


# ------------------------------------------------------------------------------------ the plan


@dataclass(frozen=True)
class ColumnFacts:
    """What the notes of a run say of a column that is used."""

    column: Column
    n_gaps: int
    is_float: bool
    has_few: bool  # whether it holds few whole numbers, which may be codes


@dataclass(frozen=True)
class Plan:
    """The roles of a table's columns, its labels, and the code of the columns that are used."""

    source: ParquetSource
    roles: ColumnRoles
    missing_values: tuple[object, ...]
    labelled: BoolArray  # (n_rows,): True where a row has a label
    task: Task
    labels: Labels  # of the rows that have one
    code: TableCode  # learned from the rows that have a label
    facts: tuple[ColumnFacts, ...]
    unseen: tuple[Hashable, ...]  # columns without an observed value in a row that has a label
    cautions: tuple[str, ...]

    @property
    def used(self) -> list[str]:
        """The names of the columns that are used."""
        return [str(column.name) for column in self.code.columns]

    @property
    def kept(self) -> list[str]:
        """The names of the columns that are written."""
        return [name for name in self.source.names if name not in self.roles.dropped]

    @property
    def n_unlabelled(self) -> int:
        """Number of rows without a label."""
        return int((~self.labelled).sum())

    @property
    def filled(self) -> dict[Hashable, int]:
        """How many cells are filled in each column that has gaps."""
        return {facts.column.name: facts.n_gaps for facts in self.facts if facts.n_gaps}


def make_plan(
    source: ParquetSource,
    target: str,
    *,
    drop: Iterable[Hashable],
    ignore: Iterable[Hashable],
    categorical: Iterable[Hashable],
    missing_values: Sequence[object],
    task: str,
) -> Plan:
    """Read the label and the columns, one whole column at a time; refuse as `impute_table` does.

    The index that pandas wrote is ignored.
    """
    # Roles need the names of the table only.
    names = pd.DataFrame(index=range(1), columns=list(source.names))
    roles = column_roles(names, target, drop, ignore, categorical)
    index = [name for name in source.index if name not in {target, *roles.dropped, *roles.ignored}]
    roles = column_roles(names, target, roles.dropped, [*roles.ignored, *index], categorical)
    if task == "auto" and target in roles.categorical:
        task = "classification"
    column = source.column(target)
    labelled = observed_in_table(column, missing_values)[:, 0]
    labels = table_labels(column, labelled, task)
    y = labels.values if labels.numbers is None else labels.numbers
    # A missing value is unused if no column has it.
    unused = unused_markers(column, missing_values)
    unseen: list[Hashable] = []
    columns, counts, facts = [], [], []
    for name in roles.features:
        frame = source.column(str(name))
        still = unused_markers(frame, missing_values) if unused else []
        unused = [caution for caution in unused if caution in still]
        observed = observed_in_table(frame, missing_values)[:, 0]
        if not observed[labelled].any():
            unseen.append(name)
            continue
        chosen = [name] if name in roles.categorical else []
        series = frame.iloc[:, 0]
        code = learn_code(
            whole_as_integers(series).to_frame()[labelled],
            categorical=chosen,
            missing_values=missing_values,
            whole="dtype",
        )
        columns.append(code.columns[0])
        counts.append(int(observed[labelled].sum()))
        n_gaps = int((~observed).sum())
        has_few = n_gaps > 0 and bool(code.columns[0].few)
        facts.append(ColumnFacts(code.columns[0], n_gaps, is_float_dtype(series.dtype), has_few))
    if not columns:
        raise TableError(
            "The table must have a column, besides the label, with an observed value in a row "
            "that has a label. Got none."
        )
    code = joined_code(columns, counts)
    return Plan(
        source=source,
        roles=roles,
        missing_values=tuple(missing_values),
        labelled=labelled,
        task=labels.task,
        labels=read_labels(y, y, None, task=labels.task, class_weight=None, owner="impute_parquet"),
        code=code,
        facts=tuple(facts),
        unseen=tuple(unseen),
        cautions=(*labels.cautions, *unused, *left_as_found(unseen, labelled), *code.cautions),
    )
