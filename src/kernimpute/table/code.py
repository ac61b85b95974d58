"""Tables as matrices, and filled matrices as tables.

`learn_code` reads a table into a `TableCode`, which holds ranges and categories and no rows.
`TableCode.encode` makes a matrix of the columns that are neither constant nor empty: numbers in
[0, 1], category codes 0, 1, …, NaN at the gaps. `EncodedTable.decode` writes gaps back. A dtype
stays, but a categorical one gets the code's categories, and one that can't hold the fill gives way.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernimpute.core.arrays import BoolArray, FloatArray
from kernimpute.core.checks import (
    ObservedRange,
    Task,
    classes_recur,
    observed_range,
    task_of_numbers,
)
from kernimpute.table.columns import (
    LARGEST_WHOLE,
    Column,
    Family,
    GapValues,
    TableError,
    Whole,
    check_column_names,
    check_table,
    column_codes,
    counted,
    family_of,
    is_number,
    listed,
    observed_in_table,
    plain_series,
    read_column,
    the_column,
)
from kernimpute.table.frames import arrow_column

Fills = NDArray[Any]
"""What is written into the gaps of a column, of shape (n_gaps,): numbers, or Python's objects."""
Unknown = tuple[Hashable, tuple[object, ...], int]
"""A column's name, the categories that its code does not know, and how many cells held them."""

# ---------------------------------------------------------------------- table to matrix


@dataclass(frozen=True)
class TableCode:
    """How the rows of a table become a matrix; `scale` leaves category codes as they are."""

    columns: tuple[Column, ...]
    scale: ObservedRange
    cautions: tuple[str, ...] = ()

    @property
    def features(self) -> tuple[Column, ...]:
        """The columns of the matrix, in order."""
        return tuple(column for column in self.columns if column.in_matrix)

    @property
    def categorical(self) -> BoolArray:
        """The mask of the matrix's columns that hold category codes, of shape (n_features,)."""
        return np.array([column.kind == "category" for column in self.features], dtype=bool)

    @property
    def left_missing(self) -> tuple[Hashable, ...]:
        """The names of the columns in which nothing is observed."""
        return tuple(column.name for column in self.columns if column.kind == "empty")

    def encode(
        self, frame: pd.DataFrame, *, missing_values: GapValues = (), handle_unknown: str = "keep"
    ) -> EncodedTable:
        """Return rows and their matrix, where an unknown category is a gap or refused ("error")."""
        own = [column.name for column in self.columns]
        if list(frame.columns) != own:
            must_have = f"The rows must have the columns {listed(own)} in this order."
            raise TableError(f"{must_have} Got {listed(frame.columns)}.")
        observed = observed_in_table(frame, missing_values)
        matrix = np.empty((len(frame), len(self.features)))
        features = iter(matrix.T)
        unknown: list[Unknown] = []
        for position, column in enumerate(self.columns):
            seen = observed[:, position]
            codes, unseen = column_codes(frame.iloc[:, position], seen, column)
            if unseen:
                count = int((seen & np.isnan(codes)).sum())
                if handle_unknown == "error":
                    raise TableError(
                        f"{the_column(column.name)} must hold the categories it held before "
                        f"({listed(column.values)}). Got {listed(unseen)} besides, in "
                        f"{counted(count, 'cell')}: correct it, or pass handle_unknown='keep', "
                        "which leaves such cells as they are."
                    )
                unknown.append((column.name, unseen, count))
            if column.in_matrix:
                next(features)[:] = codes
        return EncodedTable(frame, self, observed, self.scale.to_unit(matrix), tuple(unknown))

    # Codes suit the kernels that have a term for categories; indicators suit every kernel and every
    # imputer, and a gap may then be filled softly, with frequencies.

    @property
    def indicator_columns(self) -> tuple[tuple[int, int | None], ...]:
        """The column of the matrix, and the code or None for numbers, of each indicator column."""
        columns: list[tuple[int, int | None]] = []
        for position, column in enumerate(self.features):
            codes: Iterable[int | None] = [None]
            if column.kind == "category":
                first = 1 if len(column.values) == 2 else 0
                codes = column.indicated or range(first, len(column.values))
            columns.extend((position, code) for code in codes)
        return tuple(columns)

    def to_indicators(self, matrix: FloatArray) -> FloatArray:
        """Return a matrix with indicators for its codes, of shape (n_rows, n_indicators)."""
        places = np.array([place for place, _ in self.indicator_columns], dtype=np.intp)
        codes = np.array([code for _, code in self.indicator_columns], dtype=float)
        values = matrix[:, places]
        return np.where(np.isnan(values) | np.isnan(codes), values, values == codes)

    def to_codes(
        self, indicators: FloatArray, matrix: FloatArray, reference: FloatArray | None = None
    ) -> FloatArray:
        """Return a matrix filled from indicators; `reference` has those before labels moved any."""
        filled, owner = matrix.copy(), np.array([place for place, _ in self.indicator_columns])
        for position, column in enumerate(self.features):
            gaps, own = np.isnan(matrix[:, position]), np.flatnonzero(owner == position)
            now = indicators[np.ix_(gaps, own)]
            if column.kind != "category":
                filled[gaps, position] = now[:, 0]
                continue
            now = _one_each(now)
            if reference is not None:
                before = _one_each(reference[np.ix_(gaps, own)])
                # A gap leaves this category for one that gained half the range: less is noise.
                largest = np.eye(before.shape[1])[before.argmax(axis=1)]
                now = largest + 2.0 * (now - before)
            codes = np.array(column.indicated or range(now.shape[1]))
            filled[gaps, position] = codes[now.argmax(axis=1)]
        return filled


def _one_each(indicators: FloatArray) -> FloatArray:
    """Return one indicator for each category where two share one."""
    shared = indicators.shape[1] == 1
    return np.hstack([1.0 - indicators, indicators]) if shared else indicators


def learn_code(
    frame: pd.DataFrame,
    *,
    categorical: Iterable[Hashable] = (),
    missing_values: GapValues = (),
    ranges: Mapping[Hashable, tuple[float, float]] | None = None,
    whole: Whole = "values",
) -> TableCode:
    """Return how a table becomes a matrix.

    Fills are whole where all observed values are ("values"), or where the dtype is of integers or
    the objects all are ("dtype"), or there and where few whole numbers recur ("few").
    """
    check_table(frame)
    names, declared = list(frame.columns), {}
    as_category = check_column_names("categorical", categorical, names)
    for name in check_column_names("feature_range", ranges or {}, names):
        declared[name] = checked_range((ranges or {})[name], "ranges", "learn_code")
    observed = observed_in_table(frame, missing_values)
    columns = [
        read_column(
            frame.iloc[:, position],
            observed[:, position],
            name,
            as_category=name in as_category,
            bounds=declared.get(name),
            whole=whole,
        )
        for position, name in enumerate(names)
    ]
    ends = [
        [0.0, 1.0]
        if column.kind == "category"
        else [float(end - column.origin) for end in column.values]
        for column in columns
        if column.in_matrix
    ]
    scale = observed_range(np.array(ends, dtype=float).reshape(-1, 2).T)
    cautions = _cautions(columns, observed.sum(axis=0).tolist(), as_category)
    return TableCode(tuple(columns), scale, cautions)


def checked_range(pair: Any, parameter: str, owner: str) -> tuple[float, float]:
    """Return the two ends of a declared range; refuse what is not a range."""
    try:
        # Integers stay integers, because a float does not hold every one of 64 bits.
        low, high = (int(end) if isinstance(end, Integral) else float(end) for end in pair)
        width = float(high) - float(low)
    except (TypeError, ValueError, OverflowError):
        width = math.nan
    if not 0.0 < width < math.inf:
        raise TableError(
            f"The {parameter!r} parameter of {owner} must hold pairs of finite numbers "
            f"low < high. Got {pair!r} instead."
        )
    return low, high


# ---------------------------------------------------------------------- labels


@dataclass(frozen=True)
class TableLabels:
    """The labels of the rows that have one, as the solver takes them."""

    values: NDArray[np.generic]  # Classes; or numbers, centred, in standard deviations.
    task: Task
    cautions: tuple[str, ...]
    numbers: FloatArray | None = None  # In their own unit; None for classes.


def table_labels(column: pd.DataFrame, labelled: BoolArray, task: str) -> TableLabels:
    """Return the labels in a column (n_rows, 1) where `labelled`; refuse what guides nothing."""
    name = column.columns[0]
    n_labelled = int(labelled.sum())
    if n_labelled == 0:
        raise TableError(f"The label column {name!r} must hold labels. Got gaps only.")
    rows = column[labelled]
    labels = rows.iloc[:, 0]
    try:
        chosen: Task = "regression" if task == "regression" else "classification"
        if task == "auto" and learn_code(rows).columns[0].kind in ("number", "whole"):
            chosen = task_of_numbers(np.asarray(labels, dtype=float))
        code = learn_code(rows, categorical=[name] if chosen == "classification" else ())
        codes = code.encode(rows).matrix
    except TableError as error:
        # A label, such as a date, cannot be dropped or ignored, as a column may be.
        refused = str(error).partition(" instead.")[0]
        raise TableError(
            f"{refused} instead. Turn this label into numbers, such as days, or into a "
            "categorical column if its values are classes."
        ) from error
    classes = code.columns[0].values
    example = plain(classes[0])
    if not codes.shape[1]:
        what = "two classes" if chosen == "classification" else "two values"
        raise TableError(
            f"The label column {name!r} must hold at least {what}. Got "
            f"{example!r} in all {n_labelled} rows that have a label: a label with one class can "
            "guide nothing."
        )
    if chosen == "regression":
        if code.categorical[0]:
            remedy = "use task='classification'"
            if str(example)[:1].isdigit():
                remedy = f"make numbers of them, with a point before decimals, or {remedy}"
            raise TableError(
                f"The label column {name!r} must hold numbers for regression. Got "
                f"{labels.dtype} values such as {example!r}: {remedy}."
            )
        values = (codes[:, 0] - codes.mean()) / codes.std()
        return TableLabels(values, chosen, code.cautions, labels.to_numpy(dtype=float))
    if len(classes) == n_labelled > 2 or not classes_recur(len(classes), n_labelled):
        raise TableError(
            f"The label column {name!r} must hold classes that recur. Got {len(classes)} distinct "
            f"values in {n_labelled} rows: is it an identifier, or a quantity (task='regression')?"
        )
    names = np.array(classes)
    if names.dtype.kind == "O" or (names.dtype.kind == "f" and (names != np.rint(names)).any()):
        # The solver takes fractions for a quantity and cannot sort objects, but it takes text.
        names = np.array([str(name) for name in classes])
    return TableLabels(names[codes[:, 0].astype(int)], chosen, code.cautions)


# ---------------------------------------------------------------------- matrix to table

_CONSTANTS: dict[Family, object] = {"integer": 0, "float": 0.0, "boolean": False}
_CONSTANTS |= {"text": "missing", "object": "missing", "category": "missing"}
"""What fills a column in which nothing was ever observed."""


@dataclass(frozen=True)
class EncodedTable:
    """Rows of a table, which of their cells are observed, and the matrix that stands for them."""

    frame: pd.DataFrame
    code: TableCode
    observed: BoolArray  # (n_rows, n_columns)
    # (n_rows, n_features), NaN at gaps and at unknown categories; new rows may leave [0, 1].
    matrix: FloatArray
    unknown: tuple[Unknown, ...] = ()

    def decode(self, X: FloatArray, *, fill_empty: bool = False) -> pd.DataFrame:
        """Return a copy of the rows with their gaps, and `fill_empty` columns, filled from X."""
        if np.isnan(X[np.isnan(self.matrix)]).any():
            raise ValueError("A filled matrix must hold no NaN at a gap. Got NaN at one.")
        filled = self.frame.copy()
        matrix = iter(self.code.scale.from_unit(X).T)
        for position, column in enumerate(self.code.columns):
            series = self.frame.iloc[:, position]
            gaps = ~self.observed[:, position]
            values = next(matrix)[gaps] if column.in_matrix else None
            written = _filled(series, gaps, column, values, fill_empty)
            if written is not series:
                filled.isetitem(position, written)  # type: ignore[arg-type]
        return filled


def unknown_cells(unknown: Sequence[Unknown]) -> str:
    """Return the cells whose categories a code does not know, counted and shown."""
    most = 5
    shown = [
        f"{name!r}: {listed(categories)} in {counted(count, 'cell')}"
        for name, categories, count in unknown[:most]
    ]
    if len(unknown) > most:
        shown.append(f"and {counted(len(unknown) - most, 'more column')}")
    cells = counted(sum(count for *_, count in unknown), "cell")
    return f"{cells} of {counted(len(unknown), 'column')} ({'; '.join(shown)})"


def _filled(
    series: pd.Series, gaps: BoolArray, column: Column, values: FloatArray | None, fill_empty: bool
) -> pd.Series:
    """Return a column, with the numbers or codes (n_gaps,) at its gaps; None for a constant."""
    came = series.dtype
    if isinstance(came, pd.CategoricalDtype):
        series = _with_categories(series, column)
    is_left = column.kind == "empty" and (not fill_empty or family_of(came) == "other")
    if is_left or not gaps.any():
        return series
    series = plain_series(series)
    if values is not None:
        fills = _fills(column, values, series.dtype)
    else:
        one = _constant(series, gaps, column) if column.kind == "empty" else column.values[0]
        fills = _repeated(one, int(gaps.sum()))
    series = _written(series, gaps, fills, column)
    if isinstance(came, pd.ArrowDtype) and family_of(came) == family_of(series.dtype) == "category":
        again = arrow_column(series, came.pyarrow_dtype)
        array: Any = pd.array(again, dtype=pd.ArrowDtype(again.type))
        return pd.Series(array, index=series.index, name=series.name)
    return series


def _constant(series: pd.Series, gaps: BoolArray, column: Column) -> object:
    """Return what fills a column in which nothing was observed when its code was learned."""
    family = family_of(series.dtype)
    if family == "object" and any(isinstance(value, str) for value in series[~gaps]):
        return _CONSTANTS["text"]
    own = series.dtype.categories if isinstance(series.dtype, pd.CategoricalDtype) else ()
    families = [one for one in (column.family, family) if one in _CONSTANTS]
    declared = _fills(column, np.zeros(1), series.dtype).tolist() if column.values else []
    constants = [*own[:1], *column.levels[:1], *declared, *(_CONSTANTS[one] for one in families)]
    return next(one for one in constants if _holds(series.dtype, column, _repeated(one, 1)))


def _repeated(value: object, count: int) -> Fills:
    """Return a value so many times, as numbers if it is one and else as objects."""
    fills = np.empty(count, dtype=np.asarray(value).dtype if is_number(value) else object)
    fills.fill(value)
    return fills


def _fills(column: Column, values: FloatArray, dtype: Any) -> Fills:
    """Return what the numbers or codes at the gaps of a column stand for."""
    if column.kind == "category":
        categories = np.empty(len(column.values), dtype=object)
        categories[:] = column.values
        return categories[np.rint(values).astype(np.intp)]
    low, high = column.values
    to_integers = family_of(dtype) == "integer"
    if column.kind != "whole" and not to_integers:
        return np.clip(values, float(low), float(high))
    as_integers = to_integers or isinstance(low, Integral)
    # Between 5.2 and 5.4 lies no whole number: the two next to them are taken.
    smallest, largest = sorted([math.ceil(low), math.floor(high)])
    few = column.few
    if to_integers:
        info = _integer_info(dtype)
        smallest, largest = (min(max(end, info.min), info.max) for end in (smallest, largest))
        few = tuple(value for value in few if smallest <= value <= largest)
    # Python's integers elsewhere, because a float does not hold every one of 64 bits.
    is_exact = max(-smallest, largest) <= LARGEST_WHOLE
    dtype = (np.int64 if is_exact else object) if as_integers else float
    if few:
        numbers = np.array([float(value - column.origin) for value in few])
        nearest = np.searchsorted((numbers[1:] + numbers[:-1]) / 2.0, values)
        return np.array([*map(int, few)], dtype=dtype)[nearest]
    if is_exact:
        return np.clip(np.rint(values), smallest, largest).astype(dtype) + 0
    whole = (int(value) + column.origin for value in np.rint(values))
    return np.array([min(max(value, smallest), largest) for value in whole], dtype=dtype)


def _written(series: pd.Series, gaps: BoolArray, fills: Fills, column: Column) -> pd.Series:
    """Return a copy of a column with its gaps written; index and other cells as before."""
    if not _holds(series.dtype, column, fills):
        if gaps.all():
            dtype = None
            if column.family == "category" and column.levels:
                dtype = pd.CategoricalDtype([*column.levels], ordered=column.ordered)
            return pd.Series(fills.tolist(), index=series.index, dtype=dtype, name=series.name)
        has_numbers = family_of(series.dtype) == "integer" and all(map(is_number, fills.tolist()))
        series = series.astype("float64" if has_numbers else object)
    if isinstance(series.dtype, pd.CategoricalDtype):
        known = series.cat.categories
        lacking = [fill for fill in dict.fromkeys(fills.tolist()) if fill not in known]
        series = series.cat.add_categories(lacking)
    # NumPy's own array, because pandas refuses sequences for objects.
    is_plain = isinstance(series.dtype, np.dtype)
    array: Any = series.to_numpy(copy=True) if is_plain else series.array.copy()
    array[gaps] = fills
    return pd.Series(array, index=series.index, dtype=series.dtype, name=series.name)


def _holds(dtype: Any, column: Column, fills: Fills) -> bool:
    """Return whether a dtype holds the fills of a column as they are."""
    family = family_of(dtype)
    kinds = {*map(type, fills.tolist())} if fills.dtype == object else {fills.dtype.type}
    are_numbers = all(kind is not bool and issubclass(kind, Real) for kind in kinds)
    if family == "integer" and are_numbers:
        info = _integer_info(dtype)
        return bool(info.min <= fills.min() and fills.max() <= info.max and (fills % 1 == 0).all())
    holds: dict[Family, bool] = {
        "category": column.categorical or column.kind == "empty",
        "boolean": kinds <= {bool, np.bool_},
        "text": all(issubclass(kind, str) for kind in kinds),
        "float": are_numbers,
        "object": True,
    }
    return holds.get(family, False)


def _integer_info(dtype: Any) -> Any:
    """Return the limits of a dtype of integers."""
    return np.iinfo(dtype if isinstance(dtype, np.dtype) else dtype.numpy_dtype)


def _with_categories(series: pd.Series, column: Column) -> pd.Series:
    """Return a categorical column with the code's categories, so that all rows have one dtype."""
    own, is_ordered = series.cat.categories, bool(series.cat.ordered)
    known = column.values if column.categorical else ()
    both = [*dict.fromkeys([*column.levels, *own, *known])]
    ordered = column.ordered if column.levels else is_ordered
    if both == [*own] and ordered == is_ordered:
        return series
    return series.cat.set_categories(both, ordered=ordered)


# ---------------------------------------------------------------------- what looks like a mistake

_MANY_CATEGORIES = 20
"""More than these look like an identifier, if most occur once, or like a quantity with a unit."""
_QUANTITY = re.compile(
    r"[<>≤≥~≈]?=? ?[-+−]? ?(?P<currency>[$€£¥]?) ?"
    r"(?!0\d)(?:\d{1,3}(?:[,.' ]\d{3})+|\d+|(?=[.,]\d))(?:[.,]\d+)?"
    r" ?(?P<unit>(?:[^\W\d_]|[%‰°$€£¥])(?:\D|(?<=m)[23])*|)"
)
"""A number with or without a unit and separators of thousands. Leading zeros would make it a code,
and more digits behind the unit a date or a range."""


def _cautions(
    columns: Sequence[Column], counts: Sequence[int], named: Collection[Hashable]
) -> tuple[str, ...]:
    """Return what looks like a mistake in columns of categories; `named` ones the caller chose."""
    found: dict[str, list[str]] = {
        "so many categories look like an identifier, to be dropped or ignored": [],
        "categories look like numbers with a unit, which are read as numbers where they stand "
        "alone": [],
        "text that spells numbers is taken for categories; make it numbers, or name it as "
        "categorical": [],
        "categories that differ only in letter case or blanks count as different": [],
    }
    identifiers, quantities, texts, alike = found.values()
    for column, n_observed in zip(columns, counts, strict=True):
        if column.kind != "category":
            continue
        n_categories = len(column.values)
        has_many = n_categories > _MANY_CATEGORIES
        spelled = _spelled_numbers(column.values) if has_many else None
        such = f"{column.name} ({n_categories} such as {column.values[0]!r})"
        if spelled == "with a unit":
            quantities.append(such)
        if spelled == "bare" and column.family in ("text", "object") and column.name not in named:
            texts.append(such)
        elif has_many and 2 * n_categories > n_observed:
            identifiers.append(f"{column.name} ({n_categories} in {n_observed} observed cells)")
        else:
            folded: dict[str, list[str]] = {}
            for value in column.values:
                if isinstance(value, str):
                    folded.setdefault(value.strip().casefold(), []).append(value)
            groups = ["/".join(group) for group in folded.values() if len(group) > 1]
            alike += [f"{column.name} ({', '.join(groups)})"] if groups else []
    return tuple(f"{what}: {', '.join(names)}" for what, names in found.items() if names)


def _spelled_numbers(categories: Sequence[object]) -> Literal["with a unit", "bare", None]:
    """Return which numbers nearly all categories are, most of them with the same unit, or most."""
    sample = categories[:: -(-len(categories) // 1000)]
    read = [_QUANTITY.fullmatch(" ".join(str(value).split())) for value in sample]
    matches = [match for match in read if match]
    units = Counter(match["currency"] + match["unit"].casefold() for match in matches)
    n_bare = units.pop("", 0)
    if 2 * n_bare > len(sample):
        return "bare"
    have_unit = len(units) == 1 and units.total() > n_bare
    return "with a unit" if have_unit and len(matches) >= 0.9 * len(sample) else None


def left_as_found(names: Sequence[Hashable], labelled: BoolArray) -> list[str]:
    """Return a caution that names the columns in which nothing can be learned, if there are any."""
    where = "" if labelled.all() else " in the rows that have a label"
    left = f"{'column' if len(names) == 1 else 'columns'} left as found"
    because = f"because nothing is observed{where}: {', '.join(map(repr, names))}"
    return [f"{left}, {because}"] if names else []


def codes_note(names: Sequence[Hashable]) -> list[str]:
    """Return a note on columns of few whole numbers, which may be codes."""
    note = "columns of few whole numbers are filled with the nearest of these; name codes as "
    note += "categorical if their order means nothing: "
    return [note + ", ".join(map(str, names))] if names else []


def plain(value: object) -> object:
    """Return a NumPy scalar as Python's own, for messages."""
    return value.item() if isinstance(value, np.generic) else value
