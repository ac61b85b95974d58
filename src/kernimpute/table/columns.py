"""Families of dtypes: which kinds of values a column's dtype holds, whoever made it."""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pandas.api.types import (
    is_bool_dtype,
    is_float_dtype,
    is_integer_dtype,
    is_object_dtype,
    is_string_dtype,
)

from kernimpute.table.stored import as_given, as_stored

__all__ = [
    "Column",
    "REMEDY",
    "Source",
    "TableError",
    "TableTypeError",
    "Whole",
    "check_column_names",
    "check_distinct_names",
    "check_table",
    "column_codes",
    "counted",
    "dictionary_values",
    "finite_numbers",
    "is_category",
    "listed",
    "observed_in_table",
    "read_column",
    "refused_column",
    "source_of",
    "suggestion",
    "the_column",
]

Source = Literal[
    "integer", "float", "boolean", "text", "object", "category", "dictionary", "null", "other"
]


def source_of(dtype: object) -> Source:
    """Return the family of a column's dtype.

    Parameters
    ----------
    dtype : dtype
        A dtype of pandas or NumPy.

    Returns
    -------
    str
        One of `Source`; "other" is never coded.
    """
    if isinstance(dtype, pd.CategoricalDtype):
        return "category"
    if isinstance(dtype, pd.ArrowDtype):
        if pa.types.is_dictionary(dtype.pyarrow_dtype):
            return "dictionary"
        if pa.types.is_null(dtype.pyarrow_dtype):
            return "null"
    if isinstance(dtype, pd.SparseDtype):
        return "other"
    families: tuple[tuple[Source, object], ...] = (
        ("boolean", is_bool_dtype),
        ("integer", is_integer_dtype),
        ("float", is_float_dtype),
        ("object", is_object_dtype),
        ("text", is_string_dtype),
    )
    return next((family for family, is_it in families if is_it(dtype)), "other")  # type: ignore[operator]


def dictionary_values(series: pd.Series) -> tuple[object, ...]:
    """Return every value of an arrow dictionary column's dictionary, used or not.

    Parameters
    ----------
    series : Series of shape (n_rows,)
        A column of an arrow dictionary dtype.

    Returns
    -------
    tuple
        The values, in the dictionary's order.
    """
    chunks = series.array.__arrow_array__().unify_dictionaries().chunks
    return tuple(chunks[0].dictionary.to_pylist()) if chunks else ()


REMEDY = "Drop it, or ignore it to keep it unused (--drop, --ignore)."
"""What can be done about a column that cannot be imputed."""


class TableError(ValueError):
    """A table, or one of its columns, that cannot be imputed as it is."""


class TableTypeError(TableError, TypeError):
    """A column whose cells are no values of a table, such as lists."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural where it needs it.

    Parameters
    ----------
    number : int
        The number.
    noun : str
        The noun, in the singular.

    Returns
    -------
    str
        For people.

    Examples
    --------
    >>> counted(1, "cell"), counted(2, "cell")
    ('1 cell', '2 cells')
    """
    return f"{number} {noun}" + ("" if number == 1 else "s")


def the_column(name: Hashable) -> str:
    """Return the start of a sentence about a column.

    Parameters
    ----------
    name : hashable
        Its name; an integer is taken for its index.

    Returns
    -------
    str
        The column, called by its name.

    Examples
    --------
    >>> the_column("age")
    "The 'age' column of the table"
    >>> the_column(2)
    "The table's column 2"
    """
    if isinstance(name, Integral):
        return f"The table's column {name}"
    return f"The {name!r} column of the table"


def refused_column(name: Hashable, got: str, remedy: str) -> str:
    """Return the sentences on a column of a kind that cannot be imputed.

    Parameters
    ----------
    name : hashable
        Its name.
    got : str
        What it holds.
    remedy : str
        What can be done about it.

    Returns
    -------
    str
        What the column is, must hold and holds, and the remedy.
    """
    return (
        f"{the_column(name)} must hold numbers, text, booleans or categories. "
        f"Got {got} instead. {remedy}"
    )


def listed(values: Collection[object] | pd.Index, most: int = 5) -> str:
    """Return values as a list for a message, cut where it gets long.

    Parameters
    ----------
    values : collection
        The values.
    most : int, default=5
        How many are shown.

    Returns
    -------
    str
        Their ``repr``, separated by commas.
    """
    shown = [repr(value) for value in list(values)[:most]]
    more = len(values) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def suggestion(name: Hashable, columns: Sequence[Hashable]) -> str:
    """Return the end of the sentence on a column that does not exist.

    Parameters
    ----------
    name : hashable
        The name that no column has.
    columns : sequence of hashable
        The names of the table's columns.

    Returns
    -------
    str
        Close names, else all names.
    """
    by_text = {str(column): column for column in columns}
    folded = {text.casefold(): column for text, column in by_text.items()}
    close = difflib.get_close_matches(str(name).casefold(), list(folded), n=3, cutoff=0.6)
    if close:
        return "Did you mean " + " or ".join(repr(folded[text]) for text in close) + "?"
    return f"The columns are: {listed(columns, most=12)}."


BoolArray = NDArray[np.bool_]


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


def _missing(series: pd.Series, missing_values: Sequence[object]) -> BoolArray:
    """Return where a column is missing, of shape (n_rows,)."""
    missing = np.array(series.isna(), dtype=bool)
    if source_of(series.dtype) == "float" and not isinstance(series.dtype, np.dtype):
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
    source = source_of(series.dtype)
    if isinstance(series.dtype, pd.CategoricalDtype):
        matches = np.array([_same(value, marker) for value in series.dtype.categories], dtype=bool)
        codes = np.asarray(series.cat.codes)
        equal[~missing] = matches[codes[~missing]]
    elif source in ("integer", "float"):
        if isinstance(marker, Real):
            equal[~missing] = np.asarray(series.array[~missing], dtype=float) == float(marker)
    elif source == "text":
        # Each text once: a column may hold millions of cells.
        codes, texts = pd.factorize(series.array[~missing])
        equal[~missing] = np.array([_same(text, marker) for text in texts], dtype=bool)[codes]
    elif source != "boolean":
        equal[~missing] = [_same(value, marker) for value in series.array[~missing]]
    return equal


def _same(value: object, marker: object) -> bool:
    """Return whether two values are equal text or equal numbers; booleans are neither."""
    if isinstance(value, (bool, np.bool_)) or isinstance(value, str) != isinstance(marker, str):
        return False
    return isinstance(value, (str, Real)) and bool(value == marker)


FloatArray = NDArray[np.float64]

_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}.*)?)?$")


def is_category(
    series: pd.Series,
    present: pd.Series,
    name: Hashable,
    as_category: bool = False,
    dates_pass: bool = False,
) -> bool:
    """Return whether a column holds categories rather than numbers.

    Parameters
    ----------
    series : Series of shape (n_rows,)
        The column.
    present : Series of shape (n_observed,)
        Its observed cells; at least one.
    name : hashable
        Its name.
    as_category : bool, default=False
        Whether numbers are categories in it.
    dates_pass : bool, default=False
        Whether text that is all dates is text like any other.

    Returns
    -------
    bool
        True for categories, False for numbers.

    Raises
    ------
    TableError
        If it holds neither.
    """
    dtype, source = series.dtype, source_of(series.dtype)
    if source in ("category", "boolean"):
        return True
    if source in ("integer", "float"):
        return as_category
    if source == "object":
        return _objects_are_categories(present, name, as_category, dates_pass)
    if source in ("text", "dictionary"):
        if not (as_category or dates_pass):
            _refuse_dates(present, name)
        return True
    if isinstance(dtype, pd.SparseDtype):
        remedy = "Make it dense with `.sparse.to_dense()`."
        raise TableError(refused_column(name, f"{dtype} values", remedy))
    raise TableError(refused_column(name, f"{dtype} values", REMEDY))


def _refuse_dates(present: pd.Series, name: Hashable) -> None:
    """Refuse a column of text whose every cell is a date: a most frequent one fills no gap."""
    if not all(_ISO_DATE.match(str(text).strip()) for text in present):
        return
    remedy = f"{REMEDY[:-1]}; or name it as categorical if its dates are classes."
    raise TableError(refused_column(name, f"dates such as {present.iloc[0]!r}", remedy))


def _objects_are_categories(
    present: pd.Series, name: Hashable, as_category: bool, dates_pass: bool
) -> bool:
    kinds = set(map(type, present))
    booleans = {kind for kind in kinds if issubclass(kind, (bool, np.bool_))}
    text = {kind for kind in kinds if issubclass(kind, str)}
    numbers = {kind for kind in kinds if issubclass(kind, Real)} - booleans
    if kinds == text and not (as_category or dates_pass):
        _refuse_dates(present, name)
    if kinds in (booleans, text):
        return True
    if kinds == numbers:
        return as_category
    if as_category and kinds == booleans | text | numbers:
        return True
    got = " and ".join(sorted(kind.__name__ for kind in kinds)) + " values"
    if kinds == booleans | text | numbers:
        remedy = "Name it as categorical, or list the stray values as missing_values."
        raise TableError(refused_column(name, got, remedy))
    # The clause is the one by which scikit-learn's checks know this refusal.
    got = f"{got}, where the argument must be a string or a real number,"
    raise TableTypeError(refused_column(name, got, REMEDY))


def finite_numbers(present: pd.Series, name: Hashable) -> FloatArray:
    """Return the observed numbers of a column as floats.

    Parameters
    ----------
    present : Series of shape (n_observed,)
        The numbers.
    name : hashable
        The column's name.

    Returns
    -------
    ndarray of shape (n_observed,)
        The same numbers.

    Raises
    ------
    TableError
        If one is infinite.
    """
    try:
        numbers = np.asarray(present, dtype=float)
    except OverflowError:
        numbers = np.array([np.inf])
    infinite = np.isinf(numbers)
    if infinite.any():
        raise TableError(
            f"{the_column(name)} must hold finite numbers. Got "
            f"{float(numbers[infinite][0])!r} in {int(infinite.sum())} of its cells: is it a gap? "
            "List it in missing_values (--missing-values)."
        )
    return numbers


Kind = Literal["number", "whole", "category", "constant", "empty"]
Whole = Literal["values", "dtype"]


@dataclass(frozen=True)
class Column:
    """How one column of a table is coded.

    Parameters
    ----------
    name : hashable
        Its name.
    kind : {"number", "whole", "category", "constant", "empty"}
        What it holds; "whole" is a number whose fills are whole numbers.
    values : tuple
        By kind: the smallest and the largest number that may be filled; the categories, in the
        order of their codes; the one observed value; nothing.
    source : {"integer", "float", "boolean", "text", "object", "category", "dictionary", \
            "null", "other"}, default="object"
        The family of its dtype.
    categorical : bool, default=False
        Whether its values are categories, which a constant's may be too.
    levels : tuple, default=()
        Every category of a category or dictionary dtype, observed or not, in its order.
    ordered : bool, default=False
        Whether these are ordered.
    """

    name: Hashable
    kind: Kind
    values: tuple[object, ...] = ()
    source: Source = "object"
    categorical: bool = False
    levels: tuple[object, ...] = ()
    ordered: bool = False

    @property
    def in_matrix(self) -> bool:
        """Whether the column is one of the matrix's."""
        return self.kind not in ("constant", "empty")

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields as files can hold them: categories may be pandas' own scalars."""
        return as_stored(dict(self.__dict__))  # type: ignore[no-any-return]

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the fields of a saved column."""
        self.__dict__.update(as_given(state))


def read_column(
    series: pd.Series,
    observed: BoolArray,
    name: Hashable,
    *,
    as_category: bool = False,
    bounds: tuple[float, float] | None = None,
    whole: Whole = "values",
) -> Column:
    """Return how a column is coded.

    Parameters
    ----------
    series : Series of shape (n_rows,)
        The column.
    observed : ndarray of bool of shape (n_rows,)
        True where it is observed.
    name : hashable
        Its name.
    as_category : bool, default=False
        Whether its values are categories although they are numbers.
    bounds : (float, float), default=None
        The range of its fills; None means the observed one.
    whole : {"values", "dtype"}, default="values"
        Which fills are rounded: where every observed value is whole, or where the dtype is of
        integers or the objects all are.

    Returns
    -------
    Column
        The column.

    Raises
    ------
    TableError
        If its kind cannot be imputed, it holds an infinite value, its range is beyond floats,
        or `bounds` is given for categories or does not hold its values.
    """
    source, levels, ordered = source_of(series.dtype), *_levels(series)
    if not observed.any():
        return Column(name, "empty", (), source, False, levels, ordered)
    present = series[observed]
    if is_category(series, present, name, as_category):
        if bounds is not None:
            raise TableError(
                f"{the_column(name)} must hold numbers for its range to be declared. Got "
                f"{series.dtype} values."
            )
        values = _categories(present, levels if _is_ranked(series) else ())
        kind: Kind = "constant" if len(values) == 1 else "category"
        return Column(name, kind, values, source, True, levels, ordered)
    numbers = finite_numbers(present, name)
    low, high = int(numbers.argmin()), int(numbers.argmax())
    smallest, largest = _scalar(present.iloc[low]), _scalar(present.iloc[high])
    if bounds is not None:
        _refuse_outside(name, bounds, float(numbers[low]), float(numbers[high]))
    if numbers[low] == numbers[high]:
        return Column(name, "constant", (smallest,), source)
    if np.isinf(float(numbers[high]) - float(numbers[low])):
        raise TableError(
            f"{the_column(name)} must span a range that a float can hold. Got "
            f"{float(numbers[low])!r} to {float(numbers[high])!r}. {REMEDY}"
        )
    integers = source == "integer" or (
        source == "object" and all(isinstance(value, Integral) for value in present)
    )
    is_whole = integers or (whole == "values" and bool(np.all(numbers == np.rint(numbers))))
    if bounds is not None:
        smallest, largest = bounds
        if integers:
            # A range of whole numbers, of which the fills are to be.
            smallest, largest = math.ceil(bounds[0]), math.floor(bounds[1])
    return Column(name, "whole" if is_whole else "number", (smallest, largest), source)


def _levels(series: pd.Series) -> tuple[tuple[object, ...], bool]:
    """Return all categories of a column's dtype, and whether they are ordered."""
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return tuple(dtype.categories), bool(dtype.ordered)
    if source_of(dtype) == "dictionary":
        return dictionary_values(series), bool(dtype.pyarrow_dtype.ordered)  # type: ignore[union-attr]
    return (), False


def _is_ranked(series: pd.Series) -> bool:
    """Return whether a column's dtype, rather than its values, says which category is first."""
    return isinstance(series.dtype, pd.CategoricalDtype) or _levels(series)[1]


def _refuse_outside(
    name: Hashable, bounds: tuple[float, float], smallest: float, largest: float
) -> None:
    if smallest < bounds[0] or largest > bounds[1]:
        outside = smallest if smallest < bounds[0] else largest
        raise TableError(
            f"{the_column(name)} must hold numbers in its declared range "
            f"[{bounds[0]}, {bounds[1]}]. Got {outside!r}."
        )


def _scalar(value: object) -> object:
    """Return a number as one of Python's or NumPy's own, so that it can be stored anywhere."""
    if isinstance(value, (int, float, np.generic)):
        return value
    return float(value)  # type: ignore[arg-type]


def _categories(present: pd.Series, levels: tuple[object, ...]) -> tuple[object, ...]:
    """Return the observed categories: in the order of the dtype's levels, else sorted."""
    unique = list(present.unique())
    if levels:
        seen = set(unique)
        return tuple(value for value in levels if value in seen)
    try:
        return tuple(sorted(unique))
    except TypeError:
        return tuple(sorted(unique, key=lambda value: (type(value).__name__, str(value))))


def column_codes(
    series: pd.Series, observed: BoolArray, column: Column, *, unknown_is_gap: bool = False
) -> tuple[FloatArray, tuple[object, ...]]:
    """Return the numbers or the category codes of a column's cells.

    Parameters
    ----------
    series : Series of shape (n_rows,)
        The cells.
    observed : ndarray of bool of shape (n_rows,)
        True where they are observed.
    column : Column
        How the column is coded; the one of these cells or of earlier rows.
    unknown_is_gap : bool, default=False
        Whether a category that the column does not know is a gap; else it is refused.

    Returns
    -------
    codes : ndarray of shape (n_rows,)
        Numbers, or codes 0, 1, …; NaN at gaps and at unknown categories.
    unknown : tuple
        The unknown categories.

    Raises
    ------
    TableError
        If the cells are of another kind than the column, infinite, or of an unknown category.
    """
    codes = np.full(len(series), np.nan)
    if not observed.any():
        return codes, ()
    present = series if observed.all() else series[observed]
    if column.kind == "empty":
        if source_of(series.dtype) == "float":
            finite_numbers(present, column.name)
        return codes, ()
    numbers_too = column.categorical and any(map(_is_number, column.values))
    if is_category(series, present, column.name, numbers_too, True) != column.categorical:
        must_be = "categories" if column.categorical else "numbers"
        raise TableError(
            f"{the_column(column.name)} must hold {must_be}, as it did before. "
            f"Got {series.dtype} values."
        )
    if not column.categorical:
        codes[observed] = finite_numbers(present, column.name)
        return codes, ()
    if source_of(series.dtype) == "dictionary":
        # Else every value of the dictionary is taken for one of the column.
        present = present.astype(pd.ArrowDtype(series.dtype.pyarrow_dtype.value_type))  # type: ignore[union-attr]
    inverse, unique = pd.factorize(present)
    code_of = {value: float(code) for code, value in enumerate(column.values)}
    unknown = tuple(value for value in unique if value not in code_of)
    if unknown and not unknown_is_gap:
        raise TableError(
            f"{the_column(column.name)} must hold the categories it held before "
            f"({listed(column.values)}). Got {listed(unknown)} besides: correct it, or pass "
            "handle_unknown='missing' (--unknown missing) to fill such cells like gaps."
        )
    codes[observed] = np.array([code_of.get(value, np.nan) for value in unique])[inverse]
    return codes, unknown


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


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
    check_distinct_names(frame.columns)
    if not may_be_empty and len(frame) == 0:
        raise TableError("The table must have at least one row. Got a table without rows.")


def check_distinct_names(names: Iterable[Hashable], owner: str | None = None) -> None:
    """Refuse a table of which two columns have one name.

    Parameters
    ----------
    names : iterable of hashable
        The names of its columns.
    owner : str, default=None
        What got the table, for the message.

    Raises
    ------
    TableError
        If a name repeats.
    """
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        whose = "the table" if owner is None else f"the table that {owner} got"
        raise TableError(
            f"The columns of {whose} must have distinct names. Got {listed(repeated)} more "
            "than once: rename the copies."
        )


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
            raise TableError(f"{option}: there is no column {name!r}. {suggestion(name, columns)}")
    return chosen
