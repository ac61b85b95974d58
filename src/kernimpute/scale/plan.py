"""What is learned of a Parquet table before a row is filled: labels and code, by columns."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernimpute.estimators.impute_table import unused_markers
from kernimpute.scale.rules import ColumnFacts, column_facts
from kernimpute.scale.source import ParquetSource
from kernimpute.table.code import TableCode, joined_code, learn_code
from kernimpute.table.columns import TableError, observed_in_table
from kernimpute.table.roles import (
    ColumnRoles,
    TableLabels,
    column_roles,
    left_as_found,
    table_labels,
)

__all__ = ["Plan", "make_plan"]

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class Plan:
    """What the columns of a table are there for, and how they are coded.

    Parameters
    ----------
    source : ParquetSource
        The table.
    roles : ColumnRoles
        What its columns are there for.
    missing_values : tuple
        Values that stand for a gap.
    labelled : ndarray of bool of shape (n_rows,)
        True where a row has a label.
    labels : TableLabels
        The labels of these rows.
    code : TableCode
        How the columns that are used are coded.
    facts : tuple of ColumnFacts
        What is said of them.
    unseen : tuple of hashable
        The columns that are left as found, for nothing is observed in them.
    cautions : tuple of str
        What looks like a mistake.
    """

    source: ParquetSource
    roles: ColumnRoles
    missing_values: tuple[object, ...]
    labelled: BoolArray
    labels: TableLabels
    code: TableCode
    facts: tuple[ColumnFacts, ...]
    unseen: tuple[Hashable, ...]
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
    def n_labelled(self) -> int:
        """Number of rows that have a label."""
        return int(self.labelled.sum())

    @property
    def filled(self) -> Mapping[Hashable, int]:
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
    """Read labels and columns, each whole and one at a time.

    Parameters
    ----------
    source : ParquetSource
        The table.
    target, drop, ignore, categorical, missing_values, task
        As in `kernimpute.impute_table`; the index that pandas wrote is ignored.

    Returns
    -------
    Plan
        What was learned.

    Raises
    ------
    TypeError, TableError
        As `kernimpute.estimators.impute_table.impute_table` does.
    """
    # The roles ask a table for its names alone.
    names = pd.DataFrame(index=range(1), columns=list(source.names))
    roles = column_roles(names, target, drop, ignore, categorical)
    index = [name for name in source.index if name not in {target, *roles.dropped, *roles.ignored}]
    roles = column_roles(names, target, roles.dropped, [*roles.ignored, *index], categorical)
    if task == "auto" and target in roles.categorical:
        task = "classification"
    column = source.column(target)
    labelled = observed_in_table(column, missing_values)[:, 0]
    labels = table_labels(column, labelled, task)
    # A value that is none of the table's is none of any column's.
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
        code = learn_code(frame[labelled], categorical=chosen, missing_values=missing_values)
        n_observed = int(observed.sum())
        columns.append(code.columns[0])
        counts.append(int(observed[labelled].sum()))
        n_gaps = observed.size - n_observed
        facts.append(column_facts(frame.iloc[:, 0], code.columns[0], n_gaps))
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
        labels=labels,
        code=code,
        facts=tuple(facts),
        unseen=tuple(unseen),
        cautions=(*labels.cautions, *unused, *left_as_found(unseen, labelled), *code.cautions),
    )
