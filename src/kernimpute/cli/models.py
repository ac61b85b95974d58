"""Model files, and the commands that write and use them: `fit`, `apply` and `predict`."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from kernimpute.cli.files import (
    Columns,
    TableFile,
    check_new_file,
    check_storable,
    check_stream_output,
    is_table_name,
    missing_by_column,
    open_table,
    read_as_fitted,
    read_with_roles,
    replacing_outputs,
    streams,
    table_extension,
    write_table,
)
from kernimpute.cli.messages import Progress, RefusedError, Summary, refusals
from kernimpute.cli.options import Reading
from kernimpute.cli.text import TextTable
from kernimpute.core.files import replacing, replacing_folder
from kernimpute.estimators import (
    KernelImputationClassifier,
    KernelImputationRegressor,
    KernelImputer,
    load,
    save,
)
from kernimpute.estimators._base import count_far
from kernimpute.estimators.impute_table import (
    FittedTable,
    TableWarning,
    cautions_of_rows,
    fill_rows,
    fit_table,
    ignored_note,
    n_empty,
    share_of_cells,
    size_text,
    whole_as_integers,
)
from kernimpute.stream import Found, checked_output, transform_parquet
from kernimpute.table.code import TableCode, table_labels
from kernimpute.table.columns import Column, listed
from kernimpute.table.frames import BLOCK_ROWS, ParquetSource, as_frame, blocks, compression, opened

Predictor = KernelImputationClassifier | KernelImputationRegressor

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
    missing_values: tuple[str, ...] = ()  # With the next two, as in `options.Reading`.
    keep_values: tuple[str, ...] = ()
    decimal: str | None = None
    # With how many decimals the columns of numbers were written; those in full are not listed.
    decimals: Mapping[str, int] = field(default_factory=dict)
    version: str = ""
    predictor: Predictor | None = None  # Of the label, from the same columns.

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
    if is_table_name(path):
        raise RefusedError(
            f"{path} has the extension of a table: give the model another, such as "
            f"{path.with_name(path.name.partition('.')[0])}.skops."
        )
    return path if path.suffix else path.with_name(f"{path.name}.skops")


def write_model(model: Model, path: Path) -> None:
    """Write a model in the format of skops; the file is there whole, or not at all."""
    parts: dict[str, Any] = {part.name: getattr(model, part.name) for part in fields(model)}
    parts |= {"decimals": dict(model.decimals), "version": version("kernimpute")}
    if model.predictor is None:
        del parts["predictor"]
    save({_KEY: MODEL_FORMAT, **parts}, path)


def read_model(path: Path, *, trust: bool) -> Model:
    """Return the model in a file of `write_model`, or around a saved `KernelImputer`."""
    bare = Path(f"{path}.skops")
    if not path.exists() and bare.exists():
        path = bare
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


# ------------------------------------------------------------------------- fit


def fit_model(
    table: Path,
    output: Path,
    target: str | None,
    task: str,
    columns: Columns,
    reading: Reading,
    method: Mapping[str, Any],
    *,
    predict: bool,
    force: bool,
    quiet: bool,
) -> Summary:
    """Fit an imputer to a table, on request a predictor of its label too, and write the model."""
    path = model_path(output)
    if path.absolute() == table.absolute():
        raise RefusedError(f"{path}: the model must be a file of its own.")
    file = open_table(table, reading)
    check_new_file(path, force=force)
    is_guided = "guidance" in method
    # A label that is not used is kept as it is, and never refused for what it holds.
    read_as = task if is_guided or predict else "classification"
    values, roles = read_with_roles(file, target, read_as, columns, reading)
    # Without guidance the imputer has no use for the task, and says so.
    given = task if is_guided or not predict else "auto"
    with Progress(quiet=quiet) as progress, refusals():
        progress.hint(len(values.frame), method)
        fitted = fit_table(
            values.frame, target, **roles, task=given, **method, callback=progress.callback
        )
        start = time.perf_counter()
        predictor = None
        if predict:
            task = "classification" if target in roles["categorical"] else task
            predictor = _fit_predictor(file, values.frame, fitted, task, method)
        seconds = time.perf_counter() - start
    model = Model(
        fitted.imputer,
        target=target,
        ignored=(*map(str, fitted.roles.ignored), *map(str, fitted.unseen)),
        dropped=tuple(map(str, fitted.roles.dropped)),
        missing_values=reading.missing_values,
        keep_values=reading.keep_values,
        decimal=reading.decimal,
        decimals={
            name: digits
            for name, digits in values.decimals.items()
            if name in fitted.roles.features and digits is not None
        },
        predictor=predictor,
    )
    facts = dict(fitted.facts)
    if predictor is not None:
        facts["label"] = f"{target} ({_task_text(predictor)})"
        facts |= {"seconds": f"{float(facts['seconds']) + seconds:.2f}"}
    done = Summary(
        facts=[*facts.items()],
        outputs=[path],
        n_rows=len(values.frame),
        notes=[*values.notes, *fitted.notes],
        warnings=[*values.cautions, *fitted.warnings, *progress.warnings_but(TableWarning)],
    )
    write_model(model, path)
    return done


def _fit_predictor(
    file: TableFile, frame: pd.DataFrame, fitted: FittedTable, task: str, method: Mapping[str, Any]
) -> Predictor:
    """Return what predicts the label, learnt from the rows that have one."""
    target, labelled = str(fitted.target), fitted.labelled
    labels = table_labels(frame[[target]], labelled, task)
    rows = frame[labelled]
    features = pd.DataFrame({name: whole_as_integers(rows[name]) for name in fitted.roles.features})
    chosen = {name: method[name] for name in ("reference", "random_state") if name in method}
    chosen["categorical_features"] = [*fitted.roles.categorical] or "from_dtype"
    if labels.numbers is not None:
        regressor = KernelImputationRegressor(**chosen)
        regressor.fit(features, labels.numbers)
        return regressor
    y = labels.values
    if isinstance(file.cells, TextTable):
        # Classes are called as the table spells them, such as +1 or 1.0.
        texts = [text.strip() for text in file.cells.cells(file.names.index(target))]
        spelled = dict(zip(y.tolist(), np.array(texts)[labelled].tolist(), strict=True))
        y = np.array([spelled[value] for value in y.tolist()])
    classifier = KernelImputationClassifier(**chosen)
    classifier.fit(features, y)
    return classifier


def _task_text(predictor: Predictor) -> str:
    """Return what a predictor predicts."""
    if isinstance(predictor, KernelImputationRegressor):
        return "regression"
    return f"classification, {predictor.classes_.size} classes"


# ------------------------------------------------------------------------- apply


def apply_model(
    path: Path,
    new: Path,
    output: Path,
    reading: Reading,
    unknown: str,
    trust: bool,
    force: bool,
    quiet: bool,
) -> Summary:
    """Fill the gaps of new rows by a model, and write them."""
    model = read_model(path, trust=trust)
    reading = _as_fitted(reading, model)
    if streams(new, output):
        return _apply_blocks(path, model, new, output, unknown, force=force, quiet=quiet)
    extension = table_extension(output)
    file = open_table(new, reading)
    check_new_file(output, force=force)
    dropped = _check_columns(model, new, file.names)
    values = read_as_fitted(file, model.kinds, model.decimals, reading)
    check_storable(output, file, values.frame, dropped)
    start = time.perf_counter()
    with Progress(quiet=quiet) as progress, refusals():
        table = values.frame.drop(columns=dropped)
        rows = fill_rows(model.imputer, table, handle_unknown=unknown)
        written = {str(name): rows.table[name] for name in rows.cells}
        for name, *_ in rows.unknown:
            if rows.table[name].dtype == object:
                # Of a text file: Parquet holds no text beside booleans or numbers.
                written[str(name)] = rows.table[name].map(str)
        table = table.assign(**written)
    seconds = time.perf_counter() - start
    n_rows, n_columns = table.shape
    ignored = [name for name in model.ignored if name in table.columns]
    done = Summary(
        facts=[
            ("table", size_text(n_rows, n_columns)),
            _model_fact(path, model),
            ("filled", share_of_cells(sum(rows.counts.values()), n_rows * n_columns)),
            ("seconds", f"{seconds:.2f}"),
        ],
        outputs=[output],
        n_rows=n_rows,
        notes=[*ignored_note(n_empty(table[ignored])), *_notes_of_roles(model, file.names)],
        warnings=[
            *cautions_of_rows(rows.unknown, rows.n_far),
            *_not_known(model, file.names),
            *progress.warnings_but(),
        ],
        filled=rows.counts,
    )
    # Last, because an interrupt says that no output was written.
    with replacing_outputs(output) as (temporary,):
        write_table(temporary, extension, file, table, rows.cells, values.decimals)
    return done


def _apply_blocks(
    path: Path, model: Model, new: Path, output: Path, unknown: str, *, force: bool, quiet: bool
) -> Summary:
    """Fill a Parquet file, or a folder of such, block by block by a model."""
    check_stream_output(new, output, force=force)
    imputer = model.imputer.set_params(
        missing_values=_markers(model) or float("nan"), handle_unknown=unknown
    )
    with Progress(quiet=quiet) as progress, refusals(OSError):
        names = ParquetSource(new).names
        done = transform_parquet(
            imputer,
            new,
            output,
            drop=_check_columns(model, new, names),
            force=force,
            callback=progress.rows,
        )
    return Summary(
        facts=[done.facts[0], _model_fact(path, model), *done.facts[1:]],
        outputs=[output],
        n_rows=done.n_rows,
        notes=[*done.notes, *_notes_of_roles(model, names)],
        warnings=[
            *done.warnings,
            *_not_known(model, names),
            *progress.warnings_but(TableWarning),
        ],
        filled=done.filled,
    )


# ------------------------------------------------------------------------- predict


def predict_by_model(
    path: Path,
    new: Path,
    output: Path,
    reading: Reading,
    unknown: str,
    trust: bool,
    force: bool,
    quiet: bool,
) -> Summary:
    """Write the label that a model predicts, and the probabilities of classes, beside new rows."""
    model = read_model(path, trust=trust)
    reading = _as_fitted(reading, model)
    if model.predictor is None:
        raise RefusedError(
            f"{path} holds no predictor: write one by `kernimpute fit TABLE --target COLUMN "
            "--predict`."
        )
    file = None
    if streams(new, output):
        check_stream_output(new, output, force=force)
    else:
        extension = table_extension(output)
        file = open_table(new, reading)
        check_new_file(output, force=force)
    with refusals(OSError):
        names = ParquetSource(new).names if file is None else [*file.names]
    dropped = _check_columns(model, new, names)
    added = _predicted_names(model)
    taken = [name for name in added if name in names and name not in dropped]
    if taken:
        raise RefusedError(f"{new} must not have columns that are to be written: {listed(taken)}.")
    start = time.perf_counter()
    found = Found()
    with Progress(quiet=quiet) as progress, refusals(OSError):
        if file is None:
            _predict_blocks(model, new, output, dropped, found, progress, unknown, force=force)
        else:
            values = read_as_fitted(file, model.kinds, model.decimals, reading)
            check_storable(output, file, values.frame, dropped)
            predicted = _predicted(model, values.frame, found, unknown)
            beside, frame = _beside(file, values.frame.drop(columns=dropped), predicted)
    done = Summary(
        facts=[
            ("table", size_text(found.n_rows, len(names) - len(dropped))),
            _model_fact(path, model),
            ("label", f"{model.target} ({_task_text(model.predictor)})"),
            ("added", ", ".join(added)),
            ("seconds", f"{time.perf_counter() - start:.2f}"),
        ],
        outputs=[output],
        n_rows=found.n_rows,
        notes=_notes_of_roles(model, names),
        warnings=[
            *cautions_of_rows([*found.unknown.values()], found.n_far),
            *_not_known(model, names),
        ],
    )
    if file is not None:
        with replacing_outputs(output) as (temporary,):
            write_table(temporary, extension, beside, frame, {}, {})
    return done


def _predicted_names(model: Model) -> list[str]:
    """Return the columns that predictions are written to."""
    classes = getattr(model.predictor, "classes_", ())
    return [
        f"predicted_{model.target}",
        *(f"probability_{model.target}_{one}" for one in classes),
    ]


def _predicted(model: Model, frame: pd.DataFrame, found: Found, unknown: str) -> pd.DataFrame:
    """Return the predictions of rows, and count what the predictor does not know of them."""
    predictor, features = model.predictor, frame[[*model.features]]
    assert predictor is not None
    markers = _markers(model) or float("nan")
    predictor.set_params(handle_unknown=unknown, missing_values=markers)
    rows = predictor._coded(predictor._code, features)
    found.add(
        Found(
            n_rows=len(frame),
            n_far=count_far(predictor._coding.matrix(rows.matrix)),
            unknown={each[0]: each for each in rows.unknown},
        )
    )
    if isinstance(predictor, KernelImputationRegressor):
        columns = [predictor.predict(features)]
    else:
        probabilities = predictor.predict_proba(features)
        columns = [predictor.classes_[probabilities.argmax(axis=1)], *probabilities.T]
    named = zip(_predicted_names(model), columns, strict=True)
    return pd.DataFrame(dict(named), index=frame.index)


def _with_columns(cells: pa.Table, added: pd.DataFrame) -> pa.Table:
    """Return the rows of a Parquet file with further columns."""
    for name in added.columns:
        cells = cells.append_column(str(name), pa.array(added[name]))
    return cells


def _beside(
    file: TableFile, frame: pd.DataFrame, predicted: pd.DataFrame
) -> tuple[TableFile, pd.DataFrame]:
    """Return a table file, and its values, with predictions as further columns."""
    cells = file.cells
    if not isinstance(cells, TextTable):
        cells = _with_columns(cells, predicted)
        return replace(file, cells=cells), pd.concat([frame, predicted], axis=1)
    mark = cells.style.decimal
    texts = predicted.map(
        lambda value: f"{value:.8g}".replace(".", mark) if isinstance(value, float) else str(value)
    )
    more = tuple(map(str, texts.columns))
    own = None if cells.values is None else _wider(cells.values, predicted)
    header = (*cells.header, *more)
    cells = replace(cells, header=header, rows=_wider(cells.rows, texts), values=own)
    # Parquet holds no text beside booleans or numbers.
    as_text = {
        str(name): frame[name].map(str, na_action="ignore")
        for name in frame.select_dtypes(object).columns
    }
    return replace(file, cells=cells), pd.concat([frame.assign(**as_text), predicted], axis=1)


def _wider(rows: list[list[Any]], added: pd.DataFrame) -> list[list[Any]]:
    """Return rows with further cells."""
    more = added.astype(object).to_numpy().tolist()
    return [[*row, *own] for row, own in zip(rows, more, strict=True)]


def _predict_blocks(
    model: Model,
    new: Path,
    output: Path,
    dropped: Sequence[str],
    found: Found,
    progress: Progress,
    unknown: str,
    *,
    force: bool,
) -> None:
    """Write predictions beside the rows of a Parquet file, or a folder of such, block by block."""
    source = ParquetSource(new)
    output = checked_output("predict", output, source, force=force)
    label = pa.array(getattr(model.predictor, "classes_", np.empty(0))).type
    first, *others = _predicted_names(model)
    added = [pa.field(first, label), *(pa.field(name, pa.float64()) for name in others)]
    with contextlib.ExitStack() as stack:
        if source.is_folder:
            folder = stack.enter_context(replacing_folder(output))
            places = [folder / file.name for file in source.files]
        else:
            places = [*stack.enter_context(replacing(output))]
        for reader, place in zip(map(opened, source.files), places, strict=True):
            schema = reader.schema_arrow
            kept = [field for field in schema if field.name not in dropped]
            schema = pa.schema([*kept, *added], schema.metadata)
            with pq.ParquetWriter(place, schema, compression=compression(reader)) as writer:
                for block in blocks(reader, BLOCK_ROWS):
                    predicted = _predicted(model, as_frame(block), found, unknown)
                    block = _with_columns(block.drop_columns(dropped), predicted)
                    writer.write_table(block.cast(schema))
                    progress.rows(found.n_rows, source.n_rows)


# ------------------------------------------------------------------------- what they share


def _as_fitted(reading: Reading, model: Model) -> Reading:
    """Return how new rows are read: as the table of the model, where the options do not say."""
    return replace(
        reading,
        decimal=reading.decimal or model.decimal,
        missing_values=model.missing_values,
        keep_values=model.keep_values,
    )


def _markers(model: Model) -> dict[str, list[object]]:
    """Return the values that stand for a gap in the columns of a Parquet table."""
    return missing_by_column(model.missing_values, model.features)


def _check_columns(model: Model, new: Path, names: Sequence[str]) -> list[str]:
    """Return the columns that a model drops; refuse a table that lacks one that it needs."""
    lacking = [name for name in model.features if name not in names]
    if lacking:
        raise RefusedError(
            f"{new} must have the columns that the model was fitted to. Got a table without "
            f"{listed(lacking)}."
        )
    return [name for name in names if name in model.dropped]


def _not_known(model: Model, names: Sequence[str]) -> list[str]:
    """Return a caution on the columns that a model does not know, if there are any."""
    known = {*model.features, *model.ignored, *model.dropped, model.target}
    others = [name for name in names if name not in known]
    if not others:
        return []
    return [f"columns that the model does not know are kept as they are: {listed(others)}"]


def _model_fact(path: Path, model: Model) -> tuple[str, str]:
    """Return which model was used."""
    by = f", of kernimpute {model.version}" if model.version else ""
    is_used = model.target is not None and model.imputer._uses_labels
    return "model", f"{path}{by}{f', fitted to the label {model.target}' if is_used else ''}"


def _notes_of_roles(model: Model, names: Sequence[str]) -> list[str]:
    """Return what was done with the label column and with those that a model drops."""
    notes = []
    if model.target in names:
        notes.append(f"the label column {model.target} is kept as it is and not used")
    dropped = [name for name in names if name in model.dropped]
    if dropped:
        notes.append(f"left out, as the model says: {', '.join(dropped)}")
    return notes
