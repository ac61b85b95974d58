"""Dask DataFrames, filled by way of Parquet."""

from __future__ import annotations

import contextlib
import tempfile
from inspect import signature
from pathlib import Path
from typing import Any

import pandas as pd

from kernimpute.core.checks import refusal_in_words
from kernimpute.scale.options import (
    check_options,
    check_place,
    check_replaced,
    check_work_place,
)
from kernimpute.scale.parquet import impute_parquet
from kernimpute.scale.schedulers import check_answers, check_scheduler, on_client, the_distributed
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
        As in `impute_parquet`; the frame is written anew each time, so no run is taken up again.
        Without `scheduler` and `n_jobs` it runs on the current client of
        Dask's, if there is one, else as joblib says.

    Returns
    -------
    dask.dataframe.DataFrame
        The filled table, read from `output`: partitions, order, index and types as in `frame`,
        and divisions, where they were known. The categories are known, if they were or not.

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
    check_scheduler(OWNER, "local")
    import dask.dataframe as dd

    asked = signature(impute_parquet).bind(frame, target, output, **options)
    asked.apply_defaults()
    is_dask = isinstance(frame, dd.DataFrame)
    if not is_dask:
        raise TypeError(refusal_in_words(OWNER, "frame", "a Dask DataFrame", repr(type(frame))))
    check_options(OWNER, asked.arguments)
    place = check_place(OWNER, output)
    check_replaced(place, is_folder=True, force=asked.arguments["force"])
    check_work_place(OWNER, asked.arguments["work_dir"], place)
    check_column_names("target", [target], list(frame.columns))
    check_answers(OWNER, asked.arguments["scheduler"])
    with tempfile.TemporaryDirectory(prefix=f".{place.name}.", dir=place.parent) as folder:
        source = Path(folder, "source")
        frame.to_parquet(source, name_function=lambda part: f"part-{part:06d}.parquet")
        given = {"work_dir": Path(folder, "work"), **options}
        with _on_current_client(options):
            impute_parquet(source, target, place, **given)
    filled = dd.read_parquet(place, calculate_divisions=bool(frame.known_divisions))
    return _with_known_categories(filled, frame, place)


def _with_known_categories(filled: Any, frame: Any, place: Path) -> Any:
    """Return a Dask DataFrame whose categories are known before it is computed.

    Each file says which categories it holds, so Dask takes those of all for unknown.
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
    """Return a context in which joblib asks the current client of Dask's, where none is named."""
    if options.get("scheduler") is not None or options.get("n_jobs") is not None:
        return contextlib.nullcontext()
    try:
        client = the_distributed().get_client()
    except ValueError:
        return contextlib.nullcontext()
    return on_client(client)
