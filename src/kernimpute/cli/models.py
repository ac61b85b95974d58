"""Model files, and the commands that write and use them: `fit`, `apply` and `predict`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from kernimpute.cli import files
from kernimpute.cli.files import TableFile
from kernimpute.cli.messages import Progress, RefusedError, Summary, refusals
from kernimpute.cli.options import Columns, Format, Label, Method, Output, Reading, Use
from kernimpute.cli.text import TextTable, read_values_as
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
from kernimpute.stream import BlockWriter, Filler, Found, checked_output, write_blocks
from kernimpute.table.code import TableCode, table_labels
from kernimpute.table.columns import Column, listed
from kernimpute.table.frames import BLOCK_ROWS, ParquetSource, as_frame

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
    if files.is_table_name(path):
        raise RefusedError(
            f"{path} has the extension of a table: give the model another, such as "
            f"{path.with_name(path.name.partition('.')[0])}.skops."
        )
    return path if path.suffix else path.with_name(f"{path.name}.skops")


def read_model(path: Path, *, trust: bool) -> Model:
    """Return the model in a file of `kernimpute fit`, or around a saved `KernelImputer`."""
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
    imputer = parts.get("imputer")
    if not (
        isinstance(imputer, KernelImputer)
        and hasattr(imputer, "feature_names_in_")
        and isinstance(getattr(imputer, "_code", None), TableCode)
    ):
        raise RefusedError(
            f"{path} must hold a model of `kernimpute fit`, or a KernelImputer that was fitted to "
            f"a table with names of columns. Got {type(loaded).__name__}."
        )
    if imputer is not loaded:
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


def fit_model(
    table: Path,
    output: Path,
    label: Label,
    columns: Columns,
    reading: Reading,
    method: Method,
    predict: bool,
    how: Output,
) -> Summary:
    """Fit an imputer to a table, on request a predictor of its label too, and write the model."""
    path, target, task, given = model_path(output), label.target, label.task.value, method.given()
    file = files.open_table(table, reading)
    files.check_outputs([table], [], {"model": path, "JSON": how.json}, force=how.force)
    is_guided = method.guidance is not None
    # A label that is not used is kept as it is, and never refused for what it holds.
    read_as = task if is_guided or predict else "classification"
    values, roles = files.read_with_roles(file, target, read_as, columns, reading)
    # Without guidance the imputer has no use for the task, and says so.
    given |= {"task": task if is_guided or not predict else "auto", **roles}
    start, predictor = time.perf_counter(), None
    with Progress(quiet=how.quiet) as progress, refusals():
        progress.hint(len(values.frame), given)
        fitted = fit_table(values.frame, target, **given, callback=progress.callback)
        if predict:
            task = "classification" if target in roles["categorical"] else task
            predictor = _fit_predictor(file, values.frame, fitted, task, given)
    model = Model(
        fitted.imputer,
        target=target,
        ignored=(*map(str, fitted.roles.ignored), *map(str, fitted.unseen)),
        dropped=tuple(map(str, fitted.roles.dropped)),
        missing_values=tuple(reading.missing_values),
        keep_values=tuple(reading.keep_values),
        decimal=reading.decimal,
        decimals={
            name: digits
            for name, digits in values.decimals.items()
            if name in fitted.roles.features and digits is not None
        },
        version=version("kernimpute"),
        predictor=predictor,
    )
    facts = dict(fitted.facts)
    if predictor is not None:
        facts["label"] = _label_text(model)
    facts["seconds"] = f"{time.perf_counter() - start:.2f}"
    cautions = [*values.cautions, *fitted.warnings, *progress.warnings_but(TableWarning)]
    notes = [*values.notes, *fitted.notes]
    save({_KEY: MODEL_FORMAT} | {name: v for name, v in vars(model).items() if v is not None}, path)
    return Summary([*facts.items()], [path], len(values.frame), notes, cautions, {})


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
    is_class = labels.numbers is None
    y = labels.values if labels.numbers is None else labels.numbers
    if is_class and isinstance(file.cells, TextTable):
        # Classes are called as the table spells them, such as +1 or 1.0.
        texts = [text.strip() for text in file.cells.cells(file.names.index(target))]
        spelled = dict(zip(y.tolist(), np.array(texts)[labelled].tolist(), strict=True))
        y = np.array([spelled[value] for value in y.tolist()])
    predictor = (KernelImputationClassifier if is_class else KernelImputationRegressor)(**chosen)
    predictor.fit(features, y)
    return predictor


def _label_text(model: Model) -> str:
    """Return what the predictor of a model predicts."""
    if isinstance(model.predictor, KernelImputationRegressor):
        return f"{model.target} (regression)"
    assert model.predictor is not None
    return f"{model.target} (classification, {model.predictor.classes_.size} classes)"


def use_model(use: Use, form: Format, how: Output, *, predict: bool) -> Summary:
    """Fill new rows by a model, or write the label that it predicts beside them."""
    # 1. What can't be done is refused before the work.
    path, new, output = use.model, use.new, use.output
    model = read_model(path, trust=use.trust)
    if predict and model.predictor is None:
        raise RefusedError(
            f"{path} holds no predictor: write one by `kernimpute fit TABLE --target COLUMN "
            "--predict`."
        )
    markers = files.missing_by_column(model.missing_values, model.features) or float("nan")
    for part in filter(None, (model.imputer, model.predictor)):
        part.set_params(missing_values=markers, handle_unknown=use.unknown.value)
    decimal, texts = form.decimal or model.decimal, (model.missing_values, model.keep_values)
    reading = Reading(form.delimiter, decimal, form.encoding, *map(list, texts))
    file = None
    if not files.streams(new, output):
        extension = files.table_extension(output)
        file = files.open_table(new, reading)
    read, is_folder = [new, path, Path(f"{path}.skops")], new.is_dir()
    files.check_outputs(read, [output], {"JSON": how.json}, force=how.force, is_folder=is_folder)
    with refusals(OSError):
        names = ParquetSource(new).names if file is None else [*file.names]
    lacking = [name for name in model.features if name not in names]
    if lacking:
        raise RefusedError(
            f"{new} must have the columns that the model was fitted to. Got a table without "
            f"{listed(lacking)}."
        )
    dropped = [name for name in names if name in model.dropped]
    kept = [name for name in names if name not in dropped]
    added = _predicted_names(model) if predict else []
    taken = [name for name in added if name in kept]
    if taken:
        raise RefusedError(f"{new} must not have columns that are to be written: {listed(taken)}.")
    # 2. The rows are filled or predicted: by blocks, or at once.
    ignored = [name for name in model.ignored if name in kept]
    written: tuple[Any, ...] = ()
    start = time.perf_counter()
    with Progress(quiet=how.quiet) as progress, refusals(OSError):
        if file is None:
            filler: BlockWriter = Filler(model.imputer, kept, ignored)
            if predict:
                filler = _Predictor(model, kept)
            source = ParquetSource(new)
            place = checked_output("kernimpute", output, source, force=how.force)
            found = write_blocks(source, place, filler, BLOCK_ROWS, None, progress.rows)
        else:
            if isinstance(file.cells, TextTable):
                values = read_values_as(file.cells, model.kinds, model.decimals, reading)
            else:
                values = files.arrow_values(file, reading, set(names) - set(model.kinds))
            files.check_storable(output, file, values.frame, dropped)
            table = values.frame[kept]
            if predict:
                predicted, found = _predicted(model, values.frame)
                written = pd.concat([table, predicted], axis=1), {}, {}
            else:
                rows = fill_rows(model.imputer, values.frame)
                found = Found.of(rows, n_empty(table[ignored]))
                fills = {str(name): rows.table[name] for name in rows.cells}
                written = table.assign(**fills), rows.cells, values.decimals
    # 3. What was done is told, and, where it is not yet, written: last, because an interrupt says
    # that no output was.
    by = f", of kernimpute {model.version}" if model.version else ""
    if model.target is not None and model.imputer._uses_labels:
        by += f", fitted to the label {model.target}"
    facts = {"table": size_text(found.n_rows, len(kept)), "model": f"{path}{by}"}
    notes = [] if predict else ignored_note(found.empty)
    if predict:
        facts["label"] = _label_text(model)
        facts["added"] = ", ".join(added)
    else:
        n_filled = sum(found.filled.values())
        facts["filled"] = share_of_cells(n_filled, found.n_rows * len(kept))
    if model.target in names:
        notes.append(f"the label column {model.target} is kept as it is and not used")
    if dropped:
        notes.append(f"left out, as the model says: {', '.join(dropped)}")
    cautions = cautions_of_rows([*found.unknown.values()], found.n_far)
    others = [name for name in kept if name not in {*model.features, *ignored, model.target}]
    if others:
        what = "columns that the model does not know are kept as they are"
        cautions.append(f"{what}: {listed(others)}")
    if not predict:
        # The predictor warns of each block's cells, which are counted above.
        cautions += progress.warnings_but(TableWarning)
    facts["seconds"] = f"{time.perf_counter() - start:.2f}"
    if file is not None:
        with files.replacing_outputs(output) as (temporary,):
            files.write_table(temporary, extension, file, *written)
    return Summary([*facts.items()], [output], found.n_rows, notes, cautions, found.filled)


def _predicted_names(model: Model) -> list[str]:
    """Return the columns that predictions are written to."""
    classes = getattr(model.predictor, "classes_", ())
    return [f"predicted_{model.target}", *(f"probability_{model.target}_{one}" for one in classes)]


def _predicted(model: Model, frame: pd.DataFrame) -> tuple[pd.DataFrame, Found]:
    """Return the predictions of rows, and what the predictor does not know of them."""
    predictor, features = model.predictor, frame[[*model.features]]
    assert predictor is not None
    rows = predictor._coded(predictor._code, features)
    found = Found(
        n_rows=len(frame),
        n_far=count_far(predictor._coding.matrix(rows.matrix)),
        unknown={each[0]: each for each in rows.unknown},
    )
    if isinstance(predictor, KernelImputationRegressor):
        columns = [predictor.predict(features)]
    else:
        probabilities = predictor.predict_proba(features)
        columns = [predictor.classes_[probabilities.argmax(axis=1)], *probabilities.T]
    named = zip(_predicted_names(model), columns, strict=True)
    return pd.DataFrame(dict(named), index=frame.index), found


@dataclass(frozen=True)
class _Predictor(BlockWriter):
    """What writes predictions beside blocks of rows."""

    model: Model
    kept: list[str]

    def fill(self, block: pa.Table) -> tuple[pa.Table, Found]:
        """Return a block of rows with predictions, and what was found in it."""
        predicted, found = _predicted(self.model, as_frame(block))
        return files.with_columns(block.select(self.kept), predicted), found

    def schema(self, source: pa.Schema) -> pa.Schema:
        """Return the columns of a file without rows."""
        label = pa.array(getattr(self.model.predictor, "classes_", np.empty(0))).type
        first, *others = _predicted_names(self.model)
        added = [pa.field(first, label), *(pa.field(name, pa.float64()) for name in others)]
        return pa.schema([*map(source.field, self.kept), *added], source.metadata)
