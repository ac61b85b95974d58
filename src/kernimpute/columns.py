"""Mixed-type tables as numeric matrices with categorical columns marked, and back.

`encode_table` turns a DataFrame into the matrix that the solvers take: numbers scaled to
[0, 1] by their observed range, the categories of a column as codes, NaN at the gaps.
`EncodedTable.decode` writes a filled matrix back into a copy of the table. Only gaps are
written: every observed cell, and every column without a gap, is the one that came in.

How a column is read:

- **number**: integer and float dtypes (NumPy's, nullable, pyarrow's) and object columns of
  numbers. Filled values stay inside the observed range. Where every observed value is a whole
  number, filled values are rounded to whole numbers, whatever the dtype: an integer column
  with gaps is a float column in pandas.
- **category**: category dtypes (ordered or not), strings, booleans, object columns of strings
  or of booleans, and any column that the caller names. Filled values are observed categories.
- **constant**: one observed value, of either kind. It says nothing about a label, so it never
  reaches the matrix; its gaps become that value exactly.
- **empty**: nothing observed. It never reaches the matrix and is left as it is.

Everything else (dates, durations, periods, complex numbers, lists, numbers mixed with text) is
refused with the column's name and the remedy.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import (
    is_bool_dtype,
    is_float_dtype,
    is_integer_dtype,
    is_object_dtype,
    is_string_dtype,
)

from kernimpute.missing import ObservedRange, observed_range
from kernimpute.parameters import refusal

__all__ = [
    "Column",
    "EncodedTable",
    "TableError",
    "check_column_names",
    "check_table",
    "encode_table",
    "observed_in_table",
]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Kind = Literal["number", "whole", "category", "constant", "empty"]

_REMEDY = "Drop it, or ignore it to keep it unused (--drop, --ignore)."
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}.*)?)?$")
_MANY_CATEGORIES = 20
"""A column with more categories than this, most of them seen once, looks like an identifier."""


class TableError(ValueError):
    """A table, or one of its columns, that cannot be imputed as it is."""


@dataclass(frozen=True)
class Column:
    """How one column of a table is coded.

    Parameters
    ----------
    name : hashable
        Its name.
    kind : {"number", "whole", "category", "constant", "empty"}
        What it holds; "whole" is a number whose observed values are all whole.
    values : tuple
        By kind: the smallest and the largest observed number; the categories, in the order of
        their codes; the one observed value; nothing.
    """

    name: Hashable
    kind: Kind
    values: tuple[object, ...] = ()

    @property
    def in_matrix(self) -> bool:
        """Whether the column is one of the matrix's."""
        return self.kind not in ("constant", "empty")


@dataclass(frozen=True)
class EncodedTable:
    """A table and the matrix that stands for it.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
        The table as it came.
    columns : tuple of Column
        How each of its columns is coded, in the table's order.
    observed : ndarray of bool of shape (n_rows, n_columns)
        True where a cell of the table is observed.
    matrix : ndarray of shape (n_rows, n_features)
        One column for each column of the table that is neither constant nor empty, in the
        table's order: numbers in [0, 1] (rows encoded later may leave it), category codes
        0, 1, …, NaN at the gaps.
    scale : ObservedRange
        The map between the matrix's columns and [0, 1]; the identity for category codes.
    cautions : tuple of str
        What the user should know about the table before trusting the result.
    """

    frame: pd.DataFrame
    columns: tuple[Column, ...]
    observed: BoolArray
    matrix: FloatArray
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
        """The names of the columns in which nothing is observed, so that gaps stay gaps."""
        return tuple(column.name for column in self.columns if column.kind == "empty")

    def decode(self, X: FloatArray) -> pd.DataFrame:
        """Return the table with its gaps filled from a matrix.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            The matrix with its gaps filled; what stands at observed cells is not read.

        Returns
        -------
        DataFrame of shape (n_rows, n_columns)
            A copy of the table with the same columns, order, index and dtypes. Gaps are left
            only in the columns that `left_missing` names.

        Raises
        ------
        ValueError
            If X has another shape than the matrix, or holds NaN or no category's code at a
            gap.
        """
        X = np.asarray(X, dtype=float)
        if X.shape != self.matrix.shape:
            must_be = f"an array of shape {self.matrix.shape}"
            raise ValueError(refusal("EncodedTable.decode", "X", must_be, X.shape))
        filled = self.frame.copy()
        values = self.scale.from_unit(X)
        feature = 0
        for position, column in enumerate(self.columns):
            gaps = ~self.observed[:, position]
            if column.kind != "empty" and gaps.any():
                cells = _cells(column, values[gaps, feature] if column.in_matrix else gaps)
                series = _with_cells(self.frame.iloc[:, position], gaps, cells)
                filled.isetitem(position, series)  # type: ignore[arg-type]
            feature += column.in_matrix
        return filled

    def encode_rows(self, frame: pd.DataFrame) -> EncodedTable:
        """Return other rows of the same table, coded as this one is.

        Parameters
        ----------
        frame : DataFrame of shape (n_other_rows, n_columns)
            Rows with the same columns in the same order; gaps where pandas says so.

        Returns
        -------
        EncodedTable
            The rows; numbers outside the range of this table land outside [0, 1].

        Raises
        ------
        TableError
            If the columns differ, a column holds another kind of values, or a category is not
            one of this table's.
        """
        check_table(frame, may_be_empty=True)
        names, own = list(frame.columns), [column.name for column in self.columns]
        if names != own:
            raise TableError(_different_columns(names, own))
        observed = observed_in_table(frame)
        return _encoded(frame, self.columns, observed, self.scale)


def check_table(frame: pd.DataFrame, *, may_be_empty: bool = False) -> None:
    """Refuse what is not a table with rows and distinct column names.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
        The table.
    may_be_empty : bool, default=False
        Whether a table without rows passes.

    Raises
    ------
    TypeError
        If it is not a DataFrame.
    TableError
        If it has no rows, or two columns of one name.
    """
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"The table must be a pandas DataFrame. Got {type(frame).__name__}.")
    repeated = frame.columns[frame.columns.duplicated()].unique()
    if len(repeated):
        raise TableError(
            f"The columns of the table must have distinct names. Got {_listed(repeated)} more "
            "than once: rename the copies."
        )
    if not may_be_empty and len(frame) == 0:
        raise TableError("The table must have at least one row. Got a table without rows.")


def check_column_names(
    option: str, names: Iterable[Hashable], columns: Sequence[Hashable]
) -> tuple[Hashable, ...]:
    """Return the names, each of which must be a column of the table.

    Parameters
    ----------
    option : str
        The option that names them, for the message.
    names : iterable of hashable, or str
        The names; a string is one name.
    columns : sequence of hashable
        The names of the table's columns.

    Returns
    -------
    tuple of hashable
        The names, each once.

    Raises
    ------
    TableError
        If the table has no such column; close names are suggested.
    """
    chosen = tuple(dict.fromkeys([names] if isinstance(names, str) else names))
    for name in chosen:
        if name not in columns:
            raise TableError(f"{option}: there is no column {name!r}. {_suggestion(name, columns)}")
    return chosen


def observed_in_table(frame: pd.DataFrame, missing_values: Sequence[object] = ()) -> BoolArray:
    """Return the mask of observed cells of a table.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
        The table.
    missing_values : sequence of str or number, default=()
        Values that stand for a gap besides None, NaN, NaT and NA. Text matches text, numbers
        match numbers.

    Returns
    -------
    ndarray of bool of shape (n_rows, n_columns)
        True where a cell is observed.
    """
    observed = np.empty(frame.shape, dtype=bool)
    for position in range(frame.shape[1]):
        observed[:, position] = ~_missing(frame.iloc[:, position], missing_values)
    return observed


def encode_table(
    frame: pd.DataFrame,
    *,
    categorical: Iterable[Hashable] = (),
    missing_values: Sequence[object] = (),
) -> EncodedTable:
    """Return a table with the matrix that stands for it.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
        The table, without the label; it is never changed.
    categorical : iterable of hashable, default=()
        Names of columns whose values are categories although they are numbers.
    missing_values : sequence of str or number, default=()
        Values that stand for a gap besides None, NaN, NaT and NA.

    Returns
    -------
    EncodedTable
        The table, its matrix and how to get back.

    Raises
    ------
    TypeError
        If `frame` is not a DataFrame.
    TableError
        If it has no rows, column names that repeat, an infinite value or a column of a kind
        that cannot be imputed; the message names the column.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [20, 40, None], "pet": ["cat", None, "dog"]})
    >>> encoded = encode_table(table)
    >>> encoded.matrix
    array([[ 0.,  0.],
           [ 1., nan],
           [nan,  1.]])
    >>> encoded.decode(np.array([[0.0, 0.0], [1.0, 1.0], [0.26, 1.0]]))
        age  pet
    0  20.0  cat
    1  40.0  dog
    2  25.0  dog
    """
    check_table(frame)
    as_category = set(check_column_names("categorical", categorical, list(frame.columns)))
    observed = observed_in_table(frame, missing_values)
    columns = tuple(
        _column(frame.iloc[:, position], observed[:, position], name, name in as_category)
        for position, name in enumerate(frame.columns)
    )
    cautions = _cautions(columns, observed)
    return _encoded(frame, columns, observed, None, cautions)


# ---------------------------------------------------------------------- from table to matrix


def _encoded(
    frame: pd.DataFrame,
    columns: tuple[Column, ...],
    observed: BoolArray,
    scale: ObservedRange | None,
    cautions: tuple[str, ...] = (),
) -> EncodedTable:
    """Return the coded table; the scale is taken from it where there is none yet."""
    coded = [
        _codes(frame.iloc[:, position], observed[:, position], column)
        for position, column in enumerate(columns)
        if column.in_matrix
    ]
    raw = np.column_stack(coded) if coded else np.empty((len(frame), 0))
    if scale is None:
        scale = _scale(raw, [column for column in columns if column.in_matrix])
    return EncodedTable(frame, columns, observed, scale.to_unit(raw), scale, cautions)


def _scale(raw: FloatArray, features: list[Column]) -> ObservedRange:
    """Return the observed range of the numbers, and the identity for category codes."""
    codes = np.array([column.kind == "category" for column in features], dtype=bool)
    found = observed_range(raw)
    return ObservedRange(
        minimum=np.where(codes, 0.0, found.minimum), width=np.where(codes, 1.0, found.width)
    )


def _missing(series: pd.Series, missing_values: Sequence[object]) -> BoolArray:
    """Return where a column is missing, of shape (n_rows,)."""
    missing = np.array(series.isna(), dtype=bool)
    dtype = series.dtype
    if is_float_dtype(dtype) and not isinstance(dtype, pd.SparseDtype):
        # A NaN inside a nullable or pyarrow float is a value to pandas and a gap to us.
        missing |= np.isnan(series.to_numpy(dtype=float, na_value=np.nan))
    for marker in missing_values:
        missing |= _equal(series, missing, marker)
    return missing


def _equal(series: pd.Series, missing: BoolArray, marker: object) -> BoolArray:
    """Return where a column equals a value of its own kind, of shape (n_rows,)."""
    equal = np.zeros(len(series), dtype=bool)
    if not isinstance(marker, (str, Real)) or isinstance(marker, (bool, np.bool_)):
        return equal
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        matches = np.array([_same(value, marker) for value in dtype.categories], dtype=bool)
        codes = np.asarray(series.cat.codes)
        equal[~missing] = matches[codes[~missing]]
    elif _holds_numbers(series):
        if isinstance(marker, Real):
            equal[~missing] = np.asarray(series.array[~missing], dtype=float) == float(marker)
    elif not is_bool_dtype(dtype):
        equal[~missing] = [_same(value, marker) for value in series.array[~missing]]
    return equal


def _same(value: object, marker: object) -> bool:
    """Return whether two values are equal text or equal numbers; booleans are neither."""
    if isinstance(value, (bool, np.bool_)) or isinstance(value, str) != isinstance(marker, str):
        return False
    return isinstance(value, (str, Real)) and bool(value == marker)


def _holds_numbers(series: pd.Series) -> bool:
    dtype = series.dtype
    return bool(is_integer_dtype(dtype) or is_float_dtype(dtype)) and not isinstance(
        dtype, pd.SparseDtype
    )


def _column(series: pd.Series, observed: BoolArray, name: Hashable, as_category: bool) -> Column:
    """Return how a column is coded; refuse what cannot be."""
    if not observed.any():
        return Column(name, "empty")
    present = series[observed]
    is_category = _is_category(series, present, name, as_category)
    if is_category:
        categories = _categories(series, present)
        if len(categories) == 1:
            return Column(name, "constant", categories)
        return Column(name, "category", categories)
    numbers = _numbers(present, name)
    low, high = int(numbers.argmin()), int(numbers.argmax())
    if numbers[low] == numbers[high]:
        return Column(name, "constant", (present.iloc[low],))
    if np.isinf(float(numbers[high]) - float(numbers[low])):
        raise TableError(
            f"The {name!r} column of the table must span a range that a float can hold. Got "
            f"{float(numbers[low])!r} to {float(numbers[high])!r}. {_REMEDY}"
        )
    whole = bool(np.all(numbers == np.rint(numbers)))
    return Column(name, "whole" if whole else "number", (present.iloc[low], present.iloc[high]))


def _is_category(series: pd.Series, present: pd.Series, name: Hashable, as_category: bool) -> bool:
    """Return whether a column holds categories rather than numbers; refuse what is neither."""
    dtype = series.dtype
    if isinstance(dtype, pd.SparseDtype):
        remedy = "Make it dense with `.sparse.to_dense()`."
        raise TableError(_refused_column(name, f"{dtype} values", remedy))
    if isinstance(dtype, pd.CategoricalDtype) or is_bool_dtype(dtype):
        return True
    if is_integer_dtype(dtype) or is_float_dtype(dtype):
        return as_category
    if is_object_dtype(dtype):
        return _objects_are_categories(present, name, as_category)
    is_dictionary = isinstance(dtype, pd.ArrowDtype) and str(dtype).startswith("dictionary")
    if is_string_dtype(dtype) or is_dictionary:
        _refuse_dates(present, name, as_category)
        return True
    raise TableError(_refused_column(name, f"{dtype} values", _REMEDY))


def _refuse_dates(present: pd.Series, name: Hashable, as_category: bool) -> None:
    """Refuse a column of text whose every cell is a date: a most frequent one fills no gap."""
    if as_category or not all(_ISO_DATE.match(str(text).strip()) for text in present):
        return
    remedy = f"{_REMEDY[:-1]}; or name it as categorical if its dates are classes."
    raise TableError(_refused_column(name, f"dates such as {present.iloc[0]!r}", remedy))


def _objects_are_categories(present: pd.Series, name: Hashable, as_category: bool) -> bool:
    kinds = set(map(type, present))
    booleans = {kind for kind in kinds if issubclass(kind, (bool, np.bool_))}
    text = {kind for kind in kinds if issubclass(kind, str)}
    numbers = {kind for kind in kinds if issubclass(kind, Real)} - booleans
    if kinds == text:
        _refuse_dates(present, name, as_category)
    if kinds in (booleans, text):
        return True
    if kinds == numbers:
        return as_category
    if as_category and kinds == booleans | text | numbers:
        return True
    got = " and ".join(sorted(kind.__name__ for kind in kinds)) + " values"
    if kinds == booleans | text | numbers:
        remedy = "Name it as categorical, or list the stray values as missing_values."
        raise TableError(_refused_column(name, got, remedy))
    raise TableError(_refused_column(name, got, _REMEDY))


def _categories(series: pd.Series, present: pd.Series) -> tuple[object, ...]:
    """Return the observed categories: in the dtype's order, else sorted."""
    unique = list(present.unique())
    if isinstance(series.dtype, pd.CategoricalDtype):
        seen = set(unique)
        return tuple(value for value in series.dtype.categories if value in seen)
    try:
        return tuple(sorted(unique))
    except TypeError:
        return tuple(sorted(unique, key=lambda value: (type(value).__name__, str(value))))


def _numbers(present: pd.Series, name: Hashable) -> FloatArray:
    """Return the observed numbers of a column as floats; refuse infinite ones."""
    try:
        numbers = np.asarray(present, dtype=float)
    except OverflowError:
        numbers = np.array([np.inf])
    infinite = np.isinf(numbers)
    if infinite.any():
        raise TableError(
            f"The {name!r} column of the table must hold finite numbers. Got "
            f"{float(numbers[infinite][0])!r} in {int(infinite.sum())} of its cells: is it a gap? "
            "List it in missing_values (--missing-values)."
        )
    return numbers


def _codes(series: pd.Series, observed: BoolArray, column: Column) -> FloatArray:
    """Return a column's numbers or category codes, NaN at the gaps, of shape (n_rows,)."""
    codes = np.full(len(series), np.nan)
    if not observed.any():
        return codes
    present = series[observed]
    is_category = column.kind == "category"
    if _is_category(series, present, column.name, is_category) != is_category:
        must_be = "categories" if is_category else "numbers"
        raise TableError(
            f"The {column.name!r} column of the table must hold {must_be}, as it did before. "
            f"Got {series.dtype} values."
        )
    if not is_category:
        codes[observed] = _numbers(present, column.name)
        return codes
    inverse, unique = pd.factorize(present)
    code_of = {value: code for code, value in enumerate(column.values)}
    unseen = [value for value in unique if value not in code_of]
    if unseen:
        raise TableError(
            f"The {column.name!r} column of the table must hold the categories it held before "
            f"({_listed(column.values)}). Got {_listed(unseen)} besides."
        )
    codes[observed] = np.array([code_of[value] for value in unique], dtype=float)[inverse]
    return codes


# ---------------------------------------------------------------------- from matrix to table


def _cells(column: Column, values: FloatArray | BoolArray) -> list[object]:
    """Return what to write into the gaps of a column.

    Parameters
    ----------
    column : Column
        The column.
    values : ndarray of shape (n_gaps,), or ndarray of bool of shape (n_rows,)
        Numbers or codes at its gaps; for a constant column, the mask of its gaps.
    """
    if column.kind == "constant":
        return [column.values[0]] * int(values.sum())
    if np.isnan(values).any():
        raise ValueError(
            f"The 'X' parameter of EncodedTable.decode must hold no NaN at a gap. Got NaN in the "
            f"{column.name!r} column."
        )
    if column.kind == "category":
        codes = np.rint(values)
        inside = (codes >= 0) & (codes < len(column.values))
        if not (inside & (np.abs(values - codes) < 1e-6)).all():
            raise ValueError(
                f"The 'X' parameter of EncodedTable.decode must hold codes in 0 … "
                f"{len(column.values) - 1} in the {column.name!r} column. "
                f"Got {float(values[~inside][0] if (~inside).any() else values[0])!r} instead."
            )
        return [column.values[code] for code in codes.astype(int)]
    low, high = column.values
    if column.kind == "whole":
        # Python's integers, for a float does not hold every one of 64 bits.
        smallest, largest = int(low), int(high)  # type: ignore[call-overload]
        whole = [min(max(int(value), smallest), largest) for value in np.rint(values)]
        return [*whole] if isinstance(low, Integral) else [float(value) for value in whole]
    cells: list[object] = np.clip(values, float(low), float(high)).tolist()  # type: ignore[arg-type]
    return cells


def _with_cells(series: pd.Series, gaps: BoolArray, cells: list[object]) -> pd.Series:
    """Return a copy of a column with its gaps written; dtype, index and other cells as before."""
    if isinstance(series.dtype, np.dtype):
        # pandas' wrapper of a NumPy array refuses Python's integers for its narrow ones.
        array = series.to_numpy(copy=True)
    else:
        array = series.array.copy()
    array[gaps] = cells
    return pd.Series(array, index=series.index, dtype=series.dtype, name=series.name)


# ---------------------------------------------------------------------- what the user is told


def _cautions(columns: Sequence[Column], observed: BoolArray) -> tuple[str, ...]:
    """Return what looks like a mistake in columns of categories."""
    identifiers, alike = [], []
    for position, column in enumerate(columns):
        if column.kind != "category":
            continue
        n_categories, n_observed = len(column.values), int(observed[:, position].sum())
        if n_categories > _MANY_CATEGORIES and 2 * n_categories > n_observed:
            identifiers.append(f"{column.name} ({n_categories} in {n_observed} observed cells)")
            continue
        groups = ["/".join(group) for group in _alike(column.values)]
        if groups:
            alike.append(f"{column.name} ({', '.join(groups)})")
    found = []
    if identifiers:
        found.append(
            "so many categories look like an identifier, to be dropped or ignored: "
            + ", ".join(identifiers)
        )
    if alike:
        found.append(
            "categories that differ only in letter case or blanks count as different: "
            + ", ".join(alike)
        )
    return tuple(found)


def _alike(categories: Sequence[object]) -> list[list[str]]:
    """Return the groups of categories that differ only in letter case or outer blanks."""
    groups: dict[str, list[str]] = {}
    for value in categories:
        if isinstance(value, str):
            groups.setdefault(value.strip().casefold(), []).append(value)
    return [group for group in groups.values() if len(group) > 1]


def _refused_column(name: Hashable, got: str, remedy: str) -> str:
    return (
        f"The {name!r} column of the table must hold numbers, text, booleans or categories. "
        f"Got {got} instead. {remedy}"
    )


def _different_columns(names: Sequence[Hashable], own: Sequence[Hashable]) -> str:
    lacking = [name for name in own if name not in names]
    extra = [name for name in names if name not in own]
    if lacking:
        got = f"Got a table without {_listed(lacking)}."
    elif extra:
        got = f"Got {_listed(extra)} besides."
    else:
        got = "Got them in another order."
    return f"The rows must have the columns of the table that was encoded. {got}"


def _suggestion(name: Hashable, columns: Sequence[Hashable]) -> str:
    """Return the end of the sentence on a column that does not exist."""
    by_text = {str(column): column for column in columns}
    folded = {text.casefold(): column for text, column in by_text.items()}
    close = difflib.get_close_matches(str(name).casefold(), list(folded), n=3, cutoff=0.6)
    if close:
        return "Did you mean " + " or ".join(repr(folded[text]) for text in close) + "?"
    return f"The columns are: {_listed(columns, most=12)}."


def _listed(values: Collection[object] | pd.Index, most: int = 5) -> str:
    """Return values as a list for a message, cut where it gets long."""
    shown = [repr(value) for value in list(values)[:most]]
    more = len(values) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
