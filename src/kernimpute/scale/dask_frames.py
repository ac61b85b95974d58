"""Dask DataFrames, filled by way of Parquet."""

from __future__ import annotations

import contextlib
import tempfile
from inspect import signature
from pathlib import Path
from typing import Any

import pandas as pd
from joblib import parallel_config

from kernimpute.core.checks import refusal_in_words
from kernimpute.scale.parquet import (
    check_output,
    check_work_place,
    impute_parquet,
    imputer_with,
)
from kernimpute.scale.schedulers import check_scheduler, import_distributed
from kernimpute.scale.source import ParquetSource
from kernimpute.table.columns import check_column_names

__all__ = ["impute_dask"]

OWNER = "impute_dask"


def impute_dask(frame: Any, target: str, output: str | Path, **options: Any) -> Any:
    """Fill the gaps of a labelled Dask DataFrame.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        The table.
    target : str
        Name of the label column.
    output : str or Path
        The folder to write, of Parquet files, one for each partition. Every worker must see the
        folder that it lies in.
    **options : object
        As in `impute_parquet`. The frame is written anew each time, so no run is continued.
        Without `scheduler` and `n_jobs` the run uses the current client of Dask, if there is
        one, else joblib's backend.

    Returns
    -------
    dask.dataframe.DataFrame
        The filled table, read from `output`: partitions, order, index and types as in `frame`,
        and divisions, where they were known. The categories are known in any case.

    Raises
    ------
    ImportError
        If Dask is not installed.
    TypeError, ValueError, OSError, TableError
        As `impute_parquet`.

    Warns
    -----
    TableWarning
        As `impute_parquet`.
    """
    import_distributed()
    import dask.dataframe as dd

    asked = signature(impute_parquet).bind(frame, target, output, **options)
    asked.apply_defaults()
    given = asked.arguments
    if not isinstance(frame, dd.DataFrame):
        raise TypeError(refusal_in_words(OWNER, "frame", "a Dask DataFrame", repr(type(frame))))
    imputer_with(OWNER, given["subset_size"], given["task"], (), given["parameters"])
    place = check_output(OWNER, output, is_folder=True, force=given["force"])
    check_work_place(OWNER, given["work_dir"], place)
    check_column_names("target", [target], list(frame.columns))
    check_scheduler(OWNER, given["scheduler"])
    with tempfile.TemporaryDirectory(prefix=f".{place.name}.", dir=place.parent) as folder:
        source = Path(folder, "source")
        frame.to_parquet(  # type: ignore[no-untyped-call]
            source, name_function=lambda part: f"part-{part:06d}.parquet"
        )
        with _on_current_client(options):
            impute_parquet(source, target, place, **{"work_dir": Path(folder, "work"), **options})
    filled = dd.read_parquet(place, calculate_divisions=bool(frame.known_divisions))
    return _with_known_categories(filled, frame, place)


def _with_known_categories(filled: Any, frame: Any, place: Path) -> Any:
    """Return a Dask DataFrame whose categories are known before it is computed.

    Each file lists its own categories, so Dask takes those of the whole for unknown.
    """
    written = ParquetSource(place)
    dtypes = {}
    for name, dtype in filled.dtypes.items():
        if isinstance(dtype, pd.CategoricalDtype):
            is_known = isinstance(frame.dtypes[name], pd.CategoricalDtype) and frame[name].cat.known
            known = frame if is_known else written.column(name)
            dtypes[name] = known.dtypes[name]
    return filled.astype(dtypes) if dtypes else filled


def _on_current_client(options: dict[str, Any]) -> Any:
    """Let joblib use the current client of Dask where the options name no other workers."""
    if options.get("scheduler") is not None or options.get("n_jobs") is not None:
        return contextlib.nullcontext()
    try:
        client = import_distributed().get_client()
    except ValueError:
        return contextlib.nullcontext()
    return parallel_config(backend="dask", client=client, n_jobs=-1)
