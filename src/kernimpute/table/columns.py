"""What the columns of a table hold: which cells are gaps, which kind of values, in which domain.

A cell is a **gap** if it is None, NaN, NaT or NA, or one of the caller's `missing_values`; in text
files the empty cell and `GAP_MARKERS` are gaps too. The observed cells decide a column's **kind**:

- "category": text, booleans, a categorical dtype, or numbers that the caller names as categories;
- "number": other numbers. "whole": numbers whose fills are rounded to whole ones;
- "constant": one observed value, up to rounding, which fills the gaps;
- "empty": nothing is observed, so there is nothing to learn.

Dates, lists and other values are refused. A fill is in the observed (or declared) range, or one of
the observed categories or **few whole numbers**, which may be codes, unless a range is declared.
"""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pandas.api import types

from kernimpute.core.arrays import BoolArray, FloatArray
from kernimpute.core.checks import MOST_CLASSES

LARGEST_WHOLE = 2**53  # up to here a float holds every whole number

# ---------------------------------------------------------------------- errors and their words

_REMEDY = "Drop it or ignore it, or turn it into numbers or text."


class TableError(ValueError):
    """A table, or one of its columns, that cannot be imputed as it is."""


class TableTypeError(TableError, TypeError):
    """A column whose cells are no values of a table, such as lists."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def listed(values: Collection[object] | pd.Index, most: int = 5) -> str:
    """Return the first values as a list for a message."""
    shown = [repr(value) for value in list(values)[:most]]
    more = len(values) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def the_column(name: Hashable) -> str:
    """Return the start of a sentence about a column; a number is the place of a nameless one."""
    if isinstance(name, Integral):
        return f"The table's column {name}"
    return f"The {name!r} column of the table"


def _refused_values(name: Hashable, got: str, remedy: str = _REMEDY) -> str:
    must_hold = f"{the_column(name)} must hold numbers, text, booleans or categories."
    return f"{must_hold} Got {got} instead. {remedy}"


# ---------------------------------------------------------------------- families of dtypes

Family = Literal["integer", "float", "boolean", "text", "object", "category", "other"]
"""What a dtype holds, whichever library made it; "other" is never coded."""


def family_of(dtype: Any) -> Family:
    """Return the family of a dtype of pandas, NumPy or Arrow."""
    arrow = dtype.pyarrow_dtype if isinstance(dtype, pd.ArrowDtype) else pa.int8()
    if pa.types.is_string_view(arrow):  # pandas knows no views of text.
        return "text"
    tests: dict[Family, bool] = {
        "other": isinstance(dtype, pd.SparseDtype),
        "category": isinstance(dtype, pd.CategoricalDtype) or pa.types.is_dictionary(arrow),
        "boolean": types.is_bool_dtype(dtype),
        "integer": types.is_integer_dtype(dtype),
        "float": types.is_float_dtype(dtype) or pa.types.is_null(arrow),
        "object": types.is_object_dtype(dtype),
        "text": types.is_string_dtype(dtype),
    }
    return next((family for family, is_it in tests.items() if is_it), "other")


def plain_series(series: pd.Series) -> pd.Series:
    """Return a column with Arrow's dictionaries as categories and Arrow's nulls as NaN."""
    if isinstance(series.dtype, pd.ArrowDtype):
        if pa.types.is_dictionary(arrow := series.dtype.pyarrow_dtype):
            # Before pyarrow 23, unsigned codes, which polars has, cannot become those of pandas.
            signed = pa.dictionary(pa.int64(), arrow.value_type, arrow.ordered)
            categories = series.array.__arrow_array__().cast(signed).to_pandas().array
            return pd.Series(categories, index=series.index, name=series.name)
        if pa.types.is_null(series.dtype.pyarrow_dtype):
            return series.astype("float64")
    return series


# ---------------------------------------------------------------------- gaps

GAP_MARKERS = frozenset(
    "|NA|na|N/A|n/a|#N/A|#n/a|#NA|#N/A N/A|<NA>|<na>|NaN|nan|NAN|-NaN|-nan|1.#IND|-1.#IND|1.#QNAN"
    "|-1.#QNAN|NULL|null|None".split("|")
)
"""Texts that are a gap in every column of a text file: those of `pandas.read_csv`, and more cases
of their letters. "Null" and "none" are names and categories as well, and no gaps."""
POSSIBLE_GAP_MARKERS = ("?", "-", "--", ".", "*", "Na", "N/a", "none", "NONE", "Null")
"""Texts that often mean a gap and may be a category; the user decides."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def as_number(text: str) -> float | None:
    """Return the finite number that a text spells, or None."""
    number = float(text) if _NUMBER.fullmatch(text) else math.inf
    return number if math.isfinite(number) else None


def marker_values(text: str) -> list[object]:
    """Return what a missing value given as text stands for: itself, and the number it spells."""
    number = as_number(text.strip())
    return [text.strip(), *([] if number is None else [number])]


def text_gaps(
    cells: Sequence[str] | NDArray[np.object_],
    missing_values: Collection[str] = (),
    keep_values: Collection[str] = (),
) -> tuple[BoolArray, set[str]]:
    """Return which cells, without outer blanks, are gaps, and which missing values occur."""
    # A number stands for every spelling of itself: -999 is -999.0 too.
    marker_of = {value: marker for marker in missing_values for value in marker_values(marker)}
    # Each text once: a column may hold millions of cells.
    places, texts = pd.factorize(np.asarray(cells, dtype=object))
    named = [marker_of.get(text, marker_of.get(as_number(text))) for text in texts]
    own = GAP_MARKERS.difference(keep_values) | {""}
    is_gap = [text in own or marker is not None for text, marker in zip(texts, named, strict=True)]
    return np.array(is_gap, dtype=bool)[places], {marker for marker in named if marker is not None}


GapValues = Sequence[object] | Mapping[Any, Any]
"""Values that are gaps in every column, or a value or several for each of some columns."""


def markers_of(missing_values: GapValues, name: Hashable) -> Sequence[object]:
    """Return the values that are gaps in one column."""
    if not isinstance(missing_values, Mapping):
        return missing_values
    own = missing_values.get(name, ())
    return own if isinstance(own, (list, tuple)) else (own,)


def observed_in_table(frame: pd.DataFrame, missing_values: GapValues = ()) -> BoolArray:
    """Return the mask of observed cells, of shape (n_rows, n_columns)."""
    observed = np.empty(frame.shape, dtype=bool)
    for position, name in enumerate(frame.columns):
        series = plain_series(frame.iloc[:, position])
        seen = np.array(series.notna(), dtype=bool)
        if family_of(series.dtype) == "float" and not isinstance(series.dtype, np.dtype):
            # A NaN inside a nullable or Arrow float is a value to pandas and a gap to us.
            seen &= ~np.isnan(series.to_numpy(dtype=float, na_value=np.nan))
        for marker in markers_of(missing_values, name):
            if isinstance(marker, str) or (is_number(marker) and marker == marker):
                seen[seen] = ~_equal(series[seen], marker)
        observed[:, position] = seen
    return observed


def _equal(present: pd.Series, marker: Any) -> BoolArray:
    """Return which observed cells equal a value of their own kind, of shape (n_observed,)."""
    family, cells = family_of(present.dtype), present.array
    if family == "integer" and not isinstance(marker, str) and float(marker).is_integer():
        return np.asarray(np.asarray(cells) == int(marker), dtype=bool)
    if family in ("integer", "float") and not isinstance(marker, str):
        return np.asarray(np.asarray(cells, dtype=float) == float(marker))
    if family == "object":
        return np.array([_same(value, marker) for value in cells], dtype=bool)
    if family in ("text", "category"):
        places, values = pd.factorize(cells)
        return np.array([_same(value, marker) for value in values], dtype=bool)[places]
    return np.zeros(len(present), dtype=bool)


def _same(value: object, marker: object) -> bool:
    """Return whether a value is text equal to text, or a number equal to a number."""
    are_alike = isinstance(value, str) if isinstance(marker, str) else is_number(value)
    return are_alike and bool(value == marker)


def is_number(value: object) -> bool:
    """Return whether a value is a number; a boolean is none."""
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


# ---------------------------------------------------------------------- kinds

Kind = Literal["number", "whole", "category", "constant", "empty"]
Whole = Literal["values", "few", "dtype"]
"""Which numbers are filled with whole ones; see `code.learn_code`."""
_MOST_INDICATORS = 50  # of a column's categories: identifiers would have one a row

_MONTH = "(?:jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)[a-zä]*"
_DATE = re.compile(
    # 2020-01-06, 7/3/2020 and 06.01.20 with one mark, 02-Jan-2020 or 3 March 2020, Jan 2, 2020.
    r"(?:\d{4}([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/])\d{1,2}\2(?:\d{4}|\d{2})"
    r"|\d{1,2}\.\d{1,2}\.\d{4}|\d{2}\.\d{2}\.\d{2}"
    rf"|\d{{1,2}}[-/. ]*{_MONTH}[-/., ]*(?:\d{{4}}|\d{{2}})"
    rf"|{_MONTH}[-/. ]*\d{{1,2}}(?:st|nd|rd|th)?[-/, ]+\d{{4}})"
    # A time of the day may follow.
    r"(?:(?:T|,? )\d{1,2}:\d{2}.*)?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Column:
    """How one column of a table is coded."""

    name: Hashable
    kind: Kind
    # The range of the fills; or the categories in the order of their codes; or the one value.
    # The declared range of an empty column, if there is one.
    values: tuple[Any, ...] = ()
    family: Family = "object"
    categorical: bool = False  # A constant may be categorical too.
    # Every category of a categorical dtype, observed or not, and whether they are ordered.
    levels: tuple[object, ...] = ()
    ordered: bool = False
    # The whole numbers, ascending, of a column that has few: its only fills.
    few: tuple[Any, ...] = ()
    # The codes, ascending, of the categories that have an indicator; of few categories, all have.
    indicated: tuple[int, ...] = ()

    @property
    def origin(self) -> int:
        """What is taken off large integers, so that 10^18 + 1 and 10^18 + 2 are two floats."""
        if self.kind != "whole" or not all(isinstance(end, Integral) for end in self.values):
            return 0
        low, high = map(int, self.values)
        return low if max(-low, high) > LARGEST_WHOLE else 0

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
    """Return how a column is coded; `bounds` is the range of its fills, None the observed one."""
    is_dictionary, series = isinstance(series.dtype, pd.ArrowDtype), plain_series(series)
    family, ordered = family_of(series.dtype), False
    levels: tuple[object, ...] = ()
    if isinstance(series.dtype, pd.CategoricalDtype):
        levels, ordered = tuple(series.dtype.categories), bool(series.dtype.ordered)
    present = series[observed]
    is_category = family not in ("integer", "float", "object")
    if not present.empty:
        is_category = _is_category(present, name, as_category)
    if is_category and bounds is not None:
        raise TableError(
            f"{the_column(name)} must hold numbers for its range to be declared. Got "
            f"{series.dtype} values."
        )
    if present.empty:
        return Column(name, "empty", bounds or (), family, False, levels, ordered)
    if is_category:
        # An unordered dictionary lists its values in order of appearance, which means nothing.
        values = _sorted_values(present, levels if ordered or not is_dictionary else ())
        kind: Kind = "constant" if len(values) == 1 else "category"
        indicated: tuple[int, ...] = ()
        if len(values) > _MOST_INDICATORS:
            counts = present.value_counts().to_dict()
            by_count = sorted(range(len(values)), key=lambda code: -counts[values[code]])
            indicated = tuple(sorted(by_count[:_MOST_INDICATORS]))
        return Column(name, kind, values, family, True, levels, ordered, indicated=indicated)
    numbers = _finite_numbers(present, name)
    of_integers = family == "integer" or (
        family == "object" and all(isinstance(value, Integral) for value in present)
    )
    # Python's own integers, because a float does not hold every integer.
    type_: Any = int if of_integers else float
    ends = [present.iloc[int(end)] for end in (numbers.argmin(), numbers.argmax())]
    # Every format can store Python's and NumPy's own numbers.
    ends = [end if isinstance(end, (int, float, np.generic)) else float(end) for end in ends]
    if of_integers:
        ends = [int(present.min()), int(present.max())]
    low, high = map(type_, ends)
    if bounds is not None and not (bounds[0] <= low and high <= bounds[1]):
        raise TableError(
            f"{the_column(name)} must hold numbers in its declared range "
            f"[{bounds[0]}, {bounds[1]}]. Got {low if low < bounds[0] else high!r}."
        )
    are_whole = of_integers or bool((numbers == np.rint(numbers)).all())
    if low == high or (not are_whole and high - low <= _rounding(series.dtype, low, high)):
        return Column(name, "constant", (ends[0],), family)
    if math.isinf(float(high) - float(low)):
        raise TableError(
            f"{the_column(name)} must span a range that a float can hold. Got "
            f"{low!r} to {high!r}. {_REMEDY}"
        )
    domain, few = tuple(ends), ()
    if bounds is not None:
        domain = (math.ceil(bounds[0]), math.floor(bounds[1])) if of_integers else bounds
    elif are_whole and (of_integers or whole != "dtype"):
        distinct = present.unique()
        if len(distinct) <= MOST_CLASSES and 2 * len(distinct) <= len(present):
            few = tuple(sorted(map(type_, distinct)))
    is_whole = of_integers or bool(few) or (are_whole and whole == "values")
    return Column(name, "whole" if is_whole else "number", domain, family, few=few)


def _rounding(dtype: Any, low: float, high: float) -> float:
    """Return how far numbers may lie apart that are one number, rounded a few times."""
    own = dtype if isinstance(dtype, np.dtype) else getattr(dtype, "numpy_dtype", dtype)
    # A unit in the last place of a float16 is no noise.
    precision = np.finfo(np.float32 if own == np.float32 else np.float64)
    return 4.0 * float(precision.eps) * max(abs(low), abs(high))


def _is_category(
    present: pd.Series, name: Hashable, as_category: bool, is_known: bool = False
) -> bool:
    """Return whether observed cells are categories rather than numbers; refuse what is neither."""
    dtype, family = present.dtype, family_of(present.dtype)
    if family in ("category", "boolean"):
        return True
    if family in ("integer", "float"):
        return as_category
    if family == "other":
        is_sparse = isinstance(dtype, pd.SparseDtype)
        remedy = "Make it dense with `.sparse.to_dense()`." if is_sparse else _REMEDY
        raise TableError(_refused_values(name, f"{dtype} values", remedy))
    kinds = {str} if family == "text" else set(map(type, present))
    text = {kind for kind in kinds if issubclass(kind, str)}
    flags = {kind for kind in kinds if issubclass(kind, (bool, np.bool_))}
    numbers = {kind for kind in kinds if issubclass(kind, Real)} - flags
    # New rows of a known column may hold dates, and text beside booleans.
    if kinds == text and not as_category and not is_known:
        spelled = [str(value).strip() for value in present.unique()]
        dates = [value for value in spelled if _DATE.fullmatch(value)]
        # The frequent dates say nothing about the missing one.
        if 2 * len(dates) > len(spelled):
            remedy = "Ignore it or drop it; or name it as categorical if its dates are classes."
            raise TableError(_refused_values(name, f"dates such as {dates[0]!r}", remedy))
    if kinds in (text, flags) or (is_known and kinds == text | flags):
        return True
    if kinds == numbers:
        return as_category
    got = " and ".join(sorted(kind.__name__ for kind in kinds)) + " values"
    if kinds != text | flags | numbers:
        # scikit-learn's own checks recognise this refusal by its clause.
        got = f"{got}, where the argument must be a string or a real number,"
        raise TableTypeError(_refused_values(name, got))
    if as_category:
        return True
    remedy = "Name it as categorical, or list the stray values as missing_values."
    raise TableError(_refused_values(name, got, remedy))


def _finite_numbers(present: pd.Series, name: Hashable, origin: int = 0) -> FloatArray:
    """Return observed numbers, less an origin, as floats; refuse infinite ones."""
    try:
        if origin:
            own = (int(one) if isinstance(one, Integral) else float(one) for one in present)
            numbers = np.array([float(one - origin) for one in own])
        else:
            numbers = np.asarray(present, dtype=float)
    except OverflowError:
        numbers = np.array([np.inf])
    infinite = numbers[np.isinf(numbers)]
    if infinite.size:
        raise TableError(
            f"{the_column(name)} must hold finite numbers. Got {float(infinite[0])!r} "
            f"in {infinite.size} of its cells: is it a gap? List it in missing_values."
        )
    return numbers


def _sorted_values(present: pd.Series, levels: tuple[object, ...]) -> tuple[object, ...]:
    """Return the observed categories, in the order of the levels if there are any, else sorted."""
    unique = dict.fromkeys(present.unique())
    if levels:
        return tuple(value for value in levels if value in unique)
    try:
        return tuple(sorted(unique))
    except TypeError:
        return tuple(sorted(unique, key=lambda value: (type(value).__name__, str(value))))


def column_codes(
    series: pd.Series, observed: BoolArray, column: Column
) -> tuple[FloatArray, tuple[object, ...]]:
    """Return numbers, less the `origin`, or codes, NaN at gaps, and categories that have none."""
    codes = np.full(len(series), np.nan)
    series = plain_series(series)
    present = series[observed]
    family = family_of(series.dtype)
    if column.kind == "empty" and family == "float":
        _finite_numbers(present, column.name)
    if column.kind == "empty" or present.empty:
        return codes, ()
    as_category = column.categorical and any(map(is_number, column.values))
    is_category = _is_category(present, column.name, as_category, is_known=True)
    # A dtype of text, or of booleans, may hold none of the categories.
    own: Any = {"text": str, "boolean": (bool, np.bool_)}.get(family, object)
    may_hold = any(isinstance(value, own) for value in column.values)
    if is_category != column.categorical or not may_hold:
        must_be = "categories" if column.categorical else "numbers"
        raise TableError(
            f"{the_column(column.name)} must hold {must_be}, as it did before. "
            f"Got {series.dtype} values."
        )
    if not column.categorical:
        codes[observed] = _finite_numbers(present, column.name, column.origin)
        return codes, ()
    places, unique = pd.factorize(present)
    code_of = {value: float(code) for code, value in enumerate(column.values)}
    unknown = tuple(value for value in unique if value not in code_of)
    codes[observed] = np.array([code_of.get(value, np.nan) for value in unique])[places]
    return codes, unknown


# ---------------------------------------------------------------------- names and roles


@dataclass(frozen=True)
class ColumnRoles:
    """The names of a table's columns by role: used and filled, left out, or kept and not used."""

    features: tuple[Hashable, ...]
    dropped: tuple[Hashable, ...]
    ignored: tuple[Hashable, ...]
    categorical: tuple[Hashable, ...]  # of any role, and perhaps numbers


def check_table(frame: pd.DataFrame) -> None:
    """Refuse what is not a table with rows and distinct column names."""
    if not isinstance(frame, pd.DataFrame):
        got = f"{type(frame).__module__.split('.')[0]}.{type(frame).__name__}"
        for way in ("collect().to_pandas", "to_pandas"):
            if hasattr(frame, way.partition("(")[0]):
                got += f": pass its .{way}() instead"
                break
        raise TypeError(f"The table must be a pandas DataFrame. Got {got}.")
    check_distinct_names(frame.columns)
    if len(frame) == 0:
        raise TableError("The table must have at least one row. Got a table without rows.")


def check_distinct_names(names: Iterable[Hashable], whose: str = "the table") -> None:
    """Refuse a table of which two columns have one name."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise TableError(
            f"The columns of {whose} must have distinct names. Got {listed(repeated)} more "
            "than once: rename the copies."
        )


def check_column_names(
    option: str, names: Iterable[Hashable], columns: Sequence[Hashable]
) -> tuple[Hashable, ...]:
    """Return the names that an option gives, each once; refuse one that no column has."""
    chosen = tuple(dict.fromkeys([names] if isinstance(names, str) else names))
    for name in chosen:
        if name not in columns:
            raise TableError(f"{option}: there is no column {name!r}. {_suggestion(name, columns)}")
    return chosen


def _suggestion(name: Hashable, columns: Sequence[Hashable]) -> str:
    """Return a sentence with the names that are close to one that no column has, or all names."""
    by_text = {str(column).casefold(): column for column in columns}
    close = difflib.get_close_matches(str(name).casefold(), list(by_text), n=3, cutoff=0.6)
    if close:
        return "Did you mean " + " or ".join(repr(by_text[text]) for text in close) + "?"
    return f"The columns are: {listed(columns, most=12)}."


def column_roles(
    names: Sequence[Hashable],
    target: Hashable | None,
    drop: Iterable[Hashable],
    ignore: Iterable[Hashable],
    categorical: Iterable[Hashable],
    index: Iterable[Hashable] = (),
) -> ColumnRoles:
    """Return the roles of a table's columns; refuse names that do not exist or contradict."""
    labels = [] if target is None else [target]
    check_column_names("target", labels, names)
    dropped = check_column_names("drop", drop, names)
    ignored = check_column_names("ignore", ignore, names)
    for option, chosen in (("drop", dropped), ("ignore", ignored)):
        if {*labels} & {*chosen}:
            raise TableError(f"{option}: the label column {target!r} is needed.")
    both = [name for name in dropped if name in ignored]
    if both:
        raise TableError(f"The column {both[0]!r} is both in drop and in ignore: name it in one.")
    ignored += tuple(name for name in index if name not in {*labels, *dropped, *ignored})
    features = tuple(name for name in names if name not in {*labels, *dropped, *ignored})
    if not features:
        besides = " besides the label" if labels else ""
        raise TableError(f"The table must have a column{besides} to use. Got none.")
    codes = check_column_names("categorical", categorical, names)
    return ColumnRoles(features, dropped, ignored, codes)


# ------------------------------------------------------------------------- values in a file

# skops can't write all values as they are: a table's categories may be pandas' timestamps or
# intervals, and the keys of a parameter may be booleans, which it reads back as text.


@dataclass(frozen=True)
class StoredValue:
    """The name of what makes a value, and the plain arguments that it takes."""

    kind: str
    parts: tuple[Any, ...] = ()


def as_stored(value: Any) -> Any:
    """Return a value as it is written; so are the values in lists, tuples and mappings."""
    if type(value) is dict:
        keys, values = as_stored(tuple(value)), as_stored(tuple(value.values()))
        if all(type(key) is str for key in value):
            return dict(zip(value, values, strict=True))
        return StoredValue("mapping", (keys, values))
    if type(value) in (list, tuple):
        return type(value)(map(as_stored, value))
    if value is pd.NA:
        return StoredValue("NA")
    if isinstance(value, pd.Timestamp):
        zone = None if value.tz is None else str(value.tz)
        return StoredValue("Timestamp", (int(value.asm8.view("i8")), value.unit, zone))
    if isinstance(value, pd.Timedelta):
        return StoredValue("Timedelta", (int(value.asm8.view("i8")), value.unit))
    if isinstance(value, pd.Period):
        return StoredValue("Period", (value.ordinal, value.freqstr))
    if isinstance(value, pd.Interval):
        ends = as_stored(value.left), as_stored(value.right)
        return StoredValue("Interval", (*ends, value.closed))
    return value


def as_given(value: Any) -> Any:
    """Return what `as_stored` was given."""
    if isinstance(value, StoredValue):
        return _MAKERS[value.kind](*map(as_given, value.parts))
    if type(value) is dict:
        return {key: as_given(each) for key, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(as_given, value))
    return value


_MAKERS: dict[str, Callable[..., Any]] = {
    "mapping": lambda keys, values: dict(zip(keys, values, strict=True)),
    "NA": lambda: pd.NA,
    "Timestamp": lambda number, unit, zone: pd.Timestamp(
        np.datetime64(number, unit), tz="UTC"
    ).tz_convert(zone),
    "Timedelta": lambda number, unit: pd.Timedelta(np.timedelta64(number, unit)),
    "Period": lambda ordinal, frequency: pd.Period(ordinal=ordinal, freq=frequency),
    "Interval": pd.Interval,
}
