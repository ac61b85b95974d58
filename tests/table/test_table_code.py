"""A table's code: other rows, declared ranges, unknown categories, constants, storage."""

from __future__ import annotations

import copy
import pickle
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from kernimpute.table.code import TableCode, encode_table, learn_code
from kernimpute.table.columns import TableError, TableTypeError

NUMBERS = [1.5, None, 3.0, 2.0, None, 5.0]
WHOLE = [1, None, 3, 2, None, 5]
TEXT = ["a", None, "b", "a", None, "b"]
FLAGS = [True, None, False, True, None, True]

COLUMNS = {
    **{name: pd.Series(WHOLE, dtype=name) for name in ("Int8", "Int16", "Int32", "Int64")},
    **{name: pd.Series(WHOLE, dtype=name) for name in ("UInt8", "UInt16", "UInt32", "UInt64")},
    **{name: pd.Series(NUMBERS, dtype=name) for name in ("float32", "float64", "Float32")},
    "arrow int8": pd.Series(WHOLE, dtype="int8[pyarrow]"),
    "arrow float": pd.Series(NUMBERS, dtype="float[pyarrow]"),
    "boolean": pd.Series(FLAGS, dtype="boolean"),
    "string[python]": pd.Series(TEXT, dtype="string[python]"),
    "string[pyarrow]": pd.Series(TEXT, dtype="string[pyarrow]"),
    "str": pd.Series(TEXT),
    "category": pd.Series(pd.Categorical(TEXT, categories=["z", "b", "a"])),
    "ordered": pd.Series(pd.Categorical(TEXT, categories=["b", "z", "a"], ordered=True)),
    "category of integers": pd.Series(pd.Categorical(WHOLE, categories=[9, 5, 3, 2, 1])),
    "dictionary": pd.Series(TEXT, dtype=pd.ArrowDtype(pa.string())).astype(
        pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))
    ),
    "object of text": pd.Series(TEXT, dtype=object),
    "object of booleans": pd.Series(FLAGS, dtype=object),
    "object of floats": pd.Series([1.5, None, np.nan, 2.5, 2, pd.NA], dtype=object),
}


def somehow(encoded, number=0.3):
    """Return the matrix with a number or a code at each gap."""
    fills = np.where(encoded.code.categorical, 1.0, number)
    return np.where(np.isnan(encoded.matrix), fills, encoded.matrix)


def table_of_all(rows=slice(None)):
    return pd.DataFrame(COLUMNS).iloc[rows]


# ---------------------------------------------------------------------- other rows


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("rows", [slice(None), slice(1, 2), slice(0, 1), slice(0, 0), slice(1, 5)])
def test_any_rows_come_back_in_their_dtype_with_only_their_gaps_written(name, rows):
    code = learn_code(COLUMNS[name].to_frame(name), whole="dtype")
    frame = COLUMNS[name].to_frame(name).iloc[rows]
    untouched = frame.copy(deep=True)
    encoded = code.encode(frame)
    assert encoded.matrix.shape == (len(frame), 1)
    filled = encoded.decode(somehow(encoded))
    assert filled[name].dtype == frame[name].dtype
    assert not filled[name].isna().any()
    seen = frame[name].notna()
    pd.testing.assert_series_equal(filled[name][seen], frame[name][seen], check_exact=True)
    pd.testing.assert_frame_equal(frame, untouched)


def test_a_multiindex_and_names_that_are_no_text_come_back():
    index = pd.MultiIndex.from_tuples([("x", 1), ("x", 2), ("y", 1)])
    frame = pd.DataFrame({0: [1.5, None, 2.0], (1, 2): ["a", None, "b"]}, index=index)
    encoded = learn_code(frame).encode(frame)
    filled = encoded.decode(somehow(encoded))
    assert filled.index.equals(index)
    assert list(filled.columns) == [0, (1, 2)]


def test_numbers_and_codes_are_those_of_the_table():
    code = learn_code(pd.DataFrame({"n": [0.0, 10.0, 4.5], "c": ["a", "b", "c"]}))
    encoded = code.encode(pd.DataFrame({"n": [20.0, None], "c": ["c", None]}))
    np.testing.assert_array_equal(encoded.matrix, [[2.0, 2.0], [np.nan, np.nan]])


def test_categories_are_the_codes_followed_by_the_rows_own():
    fitted = pd.Categorical(["b", "a"], categories=["b", "unused", "a"], ordered=True)
    code = learn_code(pd.DataFrame({"c": fitted}))
    rows = pd.DataFrame({"c": pd.Categorical(["a", None], categories=["own", "a"])})
    filled = code.encode(rows).decode(np.array([[1.0], [0.0]]))
    assert list(filled["c"].cat.categories) == ["b", "unused", "a", "own"]
    assert filled["c"].cat.ordered
    assert filled["c"].tolist() == ["a", "b"]
    # Also where there is nothing to fill, so that all rows have one dtype.
    again = code.encode(rows[:1]).decode(np.array([[1.0]]))
    assert again["c"].dtype == filled["c"].dtype


def test_categories_of_a_text_column_are_added_to_categorical_rows():
    code = learn_code(pd.DataFrame({"c": ["b", "a", "b"]}))
    rows = pd.DataFrame({"c": pd.Categorical(["a", None], categories=["z", "a"], ordered=True)})
    filled = code.encode(rows).decode(np.array([[0.0], [1.0]]))
    assert list(filled["c"].cat.categories) == ["z", "a", "b"]
    assert filled["c"].tolist() == ["a", "b"]


def test_a_dictionary_gains_what_it_lacks_even_beyond_its_index():
    small = pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))
    many = [f"c{k:03d}" for k in range(200)]
    code = learn_code(pd.DataFrame({"c": [*many, *many]}))
    rows = pd.DataFrame({"c": pd.Series(["c001", None]).astype("string[pyarrow]").astype(small)})
    filled = code.encode(rows).decode(np.array([[1.0], [199.0]]))
    assert filled["c"].tolist() == ["c001", "c199"]


def test_integer_rows_of_a_float_column_get_whole_numbers_in_its_range():
    code = learn_code(pd.DataFrame({"a": [0.5, 5.4], "b": [-3.5, 1000.5]}))
    rows = pd.DataFrame({"a": np.array([3, -1], "int16"), "b": pd.array([1, None], dtype="UInt8")})
    for share, expected in ((1.0, [5, 255]), (0.0, [1, 0]), (0.5, [3, 255])):
        encoded = code.encode(rows, missing_values=[-1])
        filled = encoded.decode(np.full((2, 2), share))
        assert filled.iloc[1].tolist() == expected
        assert (filled.dtypes == rows.dtypes).all()


def test_fractions_that_are_categories_turn_integer_rows_into_floats():
    code = learn_code(pd.DataFrame({"a": [1.5, 2.0, 300.0]}), categorical=["a"])
    rows = pd.DataFrame({"a": np.array([2, -1], "int8")})
    encoded = code.encode(rows, missing_values=[-1])
    assert encoded.decode(np.array([[1.0], [0.0]]))["a"].tolist() == [2.0, 1.5]
    assert encoded.decode(np.array([[1.0], [2.0]]))["a"].tolist() == [2.0, 300.0]


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize(
    "gap",
    [
        pd.Series([None] * 2, dtype=object),
        pd.Series([np.nan] * 2),
        pd.Series([None] * 2, dtype="string"),
        pd.Series([pd.NaT] * 2),
        pd.Series([None] * 2, dtype="category"),
        pd.Series([None] * 2, dtype=pd.ArrowDtype(pa.null())),
    ],
)
def test_rows_of_gaps_only_are_filled_whatever_their_dtype(name, gap):
    code = learn_code(COLUMNS[name].to_frame("c"))
    encoded = code.encode(gap.to_frame("c"))
    assert np.isnan(encoded.matrix).all()
    filled = encoded.decode(somehow(encoded))["c"]
    column = code.columns[0]
    if column.categorical:
        assert filled.tolist() == [column.values[1]] * 2
    else:
        assert ((filled >= column.values[0]) & (filled <= column.values[1])).all()


def test_rows_that_do_not_fit_are_refused():
    code = learn_code(pd.DataFrame({"n": [0.0, 1.0], "k": [7.0, 7.0], "t": ["x", "x"]}))
    with pytest.raises(TableError, match="'k' column.*must hold numbers, as it did before"):
        code.encode(pd.DataFrame({"n": [0.5], "k": ["x"], "t": ["x"]}))
    with pytest.raises(TableError, match="'t' column.*must hold categories, as it did before"):
        code.encode(pd.DataFrame({"n": [0.5], "k": [7.0], "t": [1.0]}))
    with pytest.raises(TableError, match="'k' column.*finite numbers. Got -inf"):
        code.encode(pd.DataFrame({"n": [0.5], "k": [-np.inf], "t": ["x"]}))
    with pytest.raises(TableError, match=r"'t' column.*before \('x'\). Got 'y' besides"):
        code.encode(pd.DataFrame({"n": [0.5], "k": [7.0], "t": ["y"]}))
    with pytest.raises(TypeError, match="pandas DataFrame. Got ndarray"):
        code.encode(np.zeros((1, 3)))
    with pytest.raises(ValueError, match="'handle_unknown' parameter of TableCode.encode"):
        code.encode(pd.DataFrame({"n": [0.5], "k": [7.0], "t": ["x"]}), handle_unknown="ignore")


def test_text_that_looks_like_a_date_is_a_category_where_it_was_one():
    dates = pd.DataFrame({"d": ["2020-01-01", "2021-01-01"]})
    with pytest.raises(TableError, match="'d' column.*dates such as"):
        learn_code(dates)
    code = learn_code(dates, categorical=["d"])
    np.testing.assert_array_equal(code.encode(dates).matrix, [[0.0], [1.0]])
    text = learn_code(pd.DataFrame({"d": ["2020-01-01", "later"]}))
    assert text.encode(dates[:1]).matrix.tolist() == [[0.0]]


def test_codes_may_come_in_any_dtype_of_numbers():
    code = learn_code(pd.DataFrame({"c": [1, 2, 5]}), categorical=["c"])
    for dtype in ("float64", "Int8", "int64[pyarrow]", object, "category"):
        assert code.encode(pd.DataFrame({"c": [5, 1]}, dtype=dtype)).matrix.tolist() == [[2], [0]]
    with pytest.raises(TableError, match="'c' column.*Got 'x' besides"):
        code.encode(pd.DataFrame({"c": ["x"]}))


def test_columns_named_by_index_are_called_by_it():
    code = learn_code(pd.DataFrame(np.array([[0.0, 1.0], [1.0, 2.0]])))
    with pytest.raises(TableError, match="column 1 must hold finite numbers. Got inf"):
        code.encode(pd.DataFrame([[0.0, np.inf]]))
    with pytest.raises(TableError, match="column 0 must hold numbers, as it did before"):
        code.encode(pd.DataFrame([["a", 1.0]]))


@pytest.mark.parametrize("cell", [{"foo": "bar"}, [1.0], object()])
def test_cells_that_are_no_values_are_a_type_error_too(cell):
    values = np.array([[1.0, 2.0], [3.0, 4.0]], dtype=object)
    values[0, 1] = cell
    message = "column 1 .*argument must be a string or a real number"
    with pytest.raises(TypeError, match=message):
        learn_code(pd.DataFrame(values))
    with pytest.raises(TableTypeError, match=message):
        learn_code(pd.DataFrame(np.eye(2))).encode(pd.DataFrame(values))


# ---------------------------------------------------------------------- unknown categories


def test_unknown_categories_are_named_or_count_as_gaps():
    code = learn_code(pd.DataFrame({"c": ["a", "b"], "k": ["x", "x"], "n": [0.0, 1.0]}))
    rows = pd.DataFrame({"c": ["q", "a", "r", "q"], "k": ["x", "y", "x", None], "n": [0.5] * 4})
    with pytest.raises(TableError, match="'c' column.*'a', 'b'.*Got 'q', 'r' besides"):
        code.encode(rows)
    encoded = code.encode(rows, handle_unknown="missing")
    assert encoded.unknown == (("c", ("q", "r"), 3), ("k", ("y",), 1))
    np.testing.assert_array_equal(encoded.matrix[:, 0], [np.nan, 0.0, np.nan, np.nan])
    assert encoded.observed[:, 0].tolist() == [False, True, False, False]
    filled = encoded.decode(np.nan_to_num(encoded.matrix, nan=1.0))
    assert filled["c"].tolist() == ["b", "a", "b", "b"]
    assert filled["k"].tolist() == ["x"] * 4


def test_a_dictionarys_unused_values_are_not_unknown():
    dictionary = pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))
    values = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array(["a", "b", "z"]))
    frame = pd.DataFrame({"c": pd.Series(pd.array(values, dtype=dictionary))})
    code = learn_code(frame)
    assert code.columns[0].levels == ("a", "b", "z")
    assert code.columns[0].values == ("a", "b")
    np.testing.assert_array_equal(code.encode(frame).matrix, [[0.0], [1.0]])


# ---------------------------------------------------------------------- what is learned


def test_gaps_that_are_named_twice_change_nothing():
    frame = pd.DataFrame({"n": [1.0, np.nan, 3.0], "c": ["a", None, "b"]})
    plain = learn_code(frame).encode(frame)
    markers = [None, np.nan, float("nan"), pd.NA]
    named = learn_code(frame, missing_values=markers).encode(frame, missing_values=markers)
    np.testing.assert_array_equal(plain.matrix, named.matrix)


@pytest.mark.parametrize(
    ("values", "by_values", "by_dtype"),
    [
        (pd.Series([1.0, 2.0, np.nan]), "whole", "number"),
        (pd.Series([1, 2, 3]), "whole", "whole"),
        (pd.Series([1, 2, None], dtype="Int8"), "whole", "whole"),
        (pd.Series([1, 2, None], dtype=object), "whole", "whole"),
        (pd.Series([1, 2.0, None], dtype=object), "whole", "number"),
        (pd.Series([1.5, 2.0, np.nan]), "number", "number"),
    ],
)
def test_which_columns_are_whole_is_the_callers_choice(values, by_values, by_dtype):
    frame = values.to_frame("a")
    assert learn_code(frame).columns[0].kind == by_values
    assert learn_code(frame, whole="dtype").columns[0].kind == by_dtype


def test_a_declared_range_scales_and_clips():
    frame = pd.DataFrame({"a": [2.0, 4.0, np.nan], "b": [2.0, 4.0, np.nan]})
    encoded = learn_code(frame, ranges={"a": (0.0, 10.0)}).encode(frame)
    np.testing.assert_allclose(encoded.matrix[:2], [[0.2, 0.0], [0.4, 1.0]])
    filled = encoded.decode(np.array([[0, 0], [0, 0], [1.2, 1.2]], dtype=float))
    assert filled.iloc[2].tolist() == [10.0, 4.0]


def test_a_declared_range_of_integers_is_of_whole_numbers():
    for dtype in ("Int8", object):
        frame = pd.DataFrame({"a": pd.Series([2, 4, None], dtype=dtype)})
        encoded = learn_code(frame, ranges={"a": (0.5, 9.5)}).encode(frame)
        for share, expected in ((0.0, 1), (1.0, 9)):
            filled = encoded.decode(np.full((3, 1), share))["a"]
            assert filled.iloc[2] == expected
            assert isinstance(filled.iloc[2], (int, np.integer))


def test_a_constant_column_stays_constant_in_its_declared_range():
    frame = pd.DataFrame({"a": [2.0, np.nan], "b": [1.0, 2.0]})
    encoded = learn_code(frame, ranges={"a": (0, 10)}).encode(frame)
    assert encoded.code.columns[0].kind == "constant"
    assert encoded.decode(encoded.matrix)["a"].tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    "range_",
    [(2, 1), (1, 1), (0, np.inf), (np.nan, 1), (-1.7e308, 1.7e308), (0, 1, 2), 3, (0, None)],
)
def test_a_range_that_is_none_is_refused(range_):
    message = "'ranges' parameter of learn_code must hold pairs of finite numbers low < high"
    with pytest.raises(TableError, match=message):
        learn_code(pd.DataFrame({"a": [0.5, 1.0]}), ranges={"a": range_})


def test_a_range_that_does_not_fit_its_column_is_refused():
    frame = pd.DataFrame({"a": [0.0, 2.0], "c": ["x", "y"], "k": [5.0, 5.0]})
    with pytest.raises(TableError, match=r"'a' column.*declared range \[0, 1\]. Got 2.0"):
        learn_code(frame, ranges={"a": (0, 1)})
    with pytest.raises(TableError, match=r"'a' column.*declared range \[1, 3\]. Got 0.0"):
        learn_code(frame, ranges={"a": (1, 3)})
    with pytest.raises(TableError, match=r"'k' column.*declared range \[0, 1\]. Got 5.0"):
        learn_code(frame, ranges={"k": (0, 1)})
    with pytest.raises(TableError, match="'c' column.*must hold numbers for its range"):
        learn_code(frame, ranges={"c": (0, 1)})
    with pytest.raises(TableError, match="feature_range: there is no column 'z'"):
        learn_code(frame, ranges={"z": (0, 1)})


# ---------------------------------------------------------------------- empty columns

EMPTY = {
    "float": (pd.Series([np.nan] * 2), 0.0),
    "Int64": (pd.Series([None] * 2, dtype="Int64"), 0),
    "boolean": (pd.Series([None] * 2, dtype="boolean"), False),
    "string": (pd.Series([None] * 2, dtype="string"), "missing"),
    "object": (pd.Series([None] * 2, dtype=object), "missing"),
    "category": (pd.Series(pd.Categorical([None] * 2, categories=["z", "a"])), "z"),
    "category of none": (pd.Series([None] * 2, dtype="category"), "missing"),
    "dictionary": (
        pd.Series([None] * 2, dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))),
        "missing",
    ),
    "null": (pd.Series([None] * 2, dtype=pd.ArrowDtype(pa.null())), 0.0),
}


@pytest.mark.parametrize("name", EMPTY)
def test_an_empty_column_is_left_or_gets_the_constant_of_its_dtype(name):
    series, constant = EMPTY[name]
    frame = pd.DataFrame({"e": series, "n": [0.0, 1.0]})
    encoded = learn_code(frame).encode(frame)
    assert encoded.code.left_missing == ("e",)
    pd.testing.assert_frame_equal(encoded.decode(encoded.matrix), frame)
    filled = encoded.decode(encoded.matrix, fill_empty=True)["e"]
    assert filled.tolist() == [constant] * 2
    assert type(filled.iloc[0]) in (
        type(constant),
        *map(type, [np.float64(), np.int64(), np.True_]),
    )
    if name not in ("category of none", "null"):
        assert filled.dtype == series.dtype


def test_an_empty_column_may_hold_anything_later():
    code = learn_code(pd.DataFrame({"e": [np.nan] * 2, "n": [0.0, 1.0]}))
    rows = pd.DataFrame({"e": pd.Series(["x", None], dtype=object), "n": [0.0, 1.0]})
    encoded = code.encode(rows)
    assert encoded.decode(encoded.matrix, fill_empty=True)["e"].tolist() == ["x", "missing"]
    with pytest.raises(TableError, match="'e' column.*finite"):
        code.encode(pd.DataFrame({"e": [np.inf], "n": [0.0]}))


def test_an_empty_column_of_dates_stays_as_it_is():
    frame = pd.DataFrame({"e": [pd.NaT] * 2, "n": [0.0, 1.0]})
    encoded = learn_code(frame).encode(frame)
    pd.testing.assert_frame_equal(encoded.decode(encoded.matrix, fill_empty=True), frame)


# ---------------------------------------------------------------------- indicators


def test_indicators_are_of_the_columns_of_the_matrix():
    code = learn_code(
        pd.DataFrame({"k": [1.0] * 3, "c": ["a", "b", "c"], "n": [0.0, 0.5, 1.0], "f": [0, 1, 0]}),
        categorical=["f"],
    )
    assert code.indicator_columns == ((0, 0), (0, 1), (0, 2), (1, None), (2, 1))
    matrix = np.array([[np.nan, 0.5, 1.0]])
    indicators = code.to_indicators(matrix)
    np.testing.assert_array_equal(indicators, [[np.nan, np.nan, np.nan, 0.5, 1.0]])
    filled = code.to_codes(np.nan_to_num(indicators, nan=0.3), matrix)
    np.testing.assert_array_equal(filled, [[0.0, 0.5, 1.0]])
    with pytest.raises(ValueError, match="'indicators' parameter of TableCode.to_codes"):
        code.to_codes(indicators, matrix)


# ---------------------------------------------------------------------- storage and speed


@pytest.mark.parametrize("copied", [lambda code: pickle.loads(pickle.dumps(code)), copy.deepcopy])
def test_a_code_survives_being_copied(copied):
    frame = table_of_all()
    code = learn_code(frame)
    again = copied(code)
    assert isinstance(again, TableCode)
    assert again.columns == code.columns
    encoded, twice = code.encode(frame), again.encode(frame)
    np.testing.assert_array_equal(encoded.matrix, twice.matrix)
    pd.testing.assert_frame_equal(encoded.decode(somehow(encoded)), twice.decode(somehow(twice)))


def test_a_code_is_stored_by_skops_with_types_of_this_package_only():
    io = pytest.importorskip("skops.io", reason="skops is an extra")
    frame = table_of_all()
    code = learn_code(frame, ranges={"Int8": (0, 9)})
    stored = io.dumps(code)
    types = io.get_untrusted_types(data=stored)
    assert types
    assert all(name.startswith("kernimpute.") for name in types)
    again = io.loads(stored, trusted=types)
    assert again.columns == code.columns
    np.testing.assert_array_equal(again.encode(frame).matrix, code.encode(frame).matrix)


def test_a_code_holds_no_rows():
    frame = pd.DataFrame({"n": np.linspace(0.0, 1.0, 5000), "c": ["a", "b"] * 2500})
    assert len(pickle.dumps(learn_code(frame))) < 2000


def test_a_large_table_of_numbers_takes_little_time():
    values = np.random.default_rng(0).normal(size=(20_000, 20))
    values[::3, ::2] = np.nan
    frame = pd.DataFrame(values)
    start = time.perf_counter()
    encoded = encode_table(frame)
    filled = encoded.decode(somehow(encoded))
    # Ten times what it takes, for a machine that is busy.
    assert time.perf_counter() - start < 0.6
    assert not filled.isna().any(axis=None)
