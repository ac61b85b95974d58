"""Tables as matrices and back: every dtype, every refusal, nothing written but gaps."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from kernimpute.table.code import encode_table
from kernimpute.table.columns import (
    TableError,
    check_column_names,
    observed_in_table,
)

NUMBERS = [1.5, None, 3.0, 2.0, None, 5.0]
WHOLE = [1, None, 3, 2, None, 5]
TEXT = ["a", None, "b", "a", None, "b"]
FLAGS = [True, None, False, True, None, True]
STRUCT = pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))

COLUMNS = {
    "float64": pd.Series(NUMBERS, dtype="float64"),
    "float32": pd.Series([0.1, None, 0.3, 0.2, None, 0.5], dtype="float32"),
    "float16": pd.Series(NUMBERS, dtype="float16"),
    "float64 of whole numbers": pd.Series(WHOLE, dtype="float64"),
    "Int64": pd.Series(WHOLE, dtype="Int64"),
    "UInt8": pd.Series(WHOLE, dtype="UInt8"),
    "Float64": pd.Series(NUMBERS, dtype="Float64"),
    "boolean": pd.Series(FLAGS, dtype="boolean"),
    "string": pd.Series(TEXT, dtype="string"),
    "object of text": pd.Series(TEXT, dtype=object),
    "object of booleans": pd.Series(FLAGS, dtype=object),
    "object of numbers": pd.Series([1, None, 2.5, 1, pd.NA, 2], dtype=object),
    "object of integers": pd.Series([1, None, 2, 1, np.nan, 2], dtype=object),
    "category": pd.Series(pd.Categorical(TEXT, categories=["z", "b", "a"])),
    "ordered category": pd.Series(pd.Categorical(TEXT, categories=["b", "z", "a"], ordered=True)),
    "category of numbers": pd.Series(pd.Categorical(WHOLE)),
    "category of intervals": pd.Series(pd.cut([1.0, np.nan, 3.0, 4.0, np.nan, 5.0], 3)),
    "arrow int64": pd.Series(WHOLE, dtype="int64[pyarrow]"),
    "arrow double": pd.Series(NUMBERS, dtype="double[pyarrow]"),
    "arrow string": pd.Series(TEXT, dtype=pd.ArrowDtype(pa.string())),
    "arrow bool": pd.Series(FLAGS, dtype="bool[pyarrow]"),
    "arrow dictionary": pd.Series(TEXT, dtype=pd.ArrowDtype(pa.string())).astype(STRUCT),
    "constant float32": pd.Series([7.1, None, 7.1, 7.1, None, 7.1], dtype="float32"),
    "constant text": pd.Series(["x", None, "x", "x", None, "x"], dtype=object),
}


def filled_somehow(encoded):
    """Return the matrix with a number or a code at each gap."""
    somehow = np.where(encoded.code.categorical, 1.0, 0.3)
    return np.where(np.isnan(encoded.matrix), somehow, encoded.matrix)


@pytest.mark.parametrize("name", COLUMNS)
def test_every_dtype_comes_back_with_only_its_gaps_written(name):
    series = COLUMNS[name]
    frame = series.to_frame("column")
    untouched = frame.copy(deep=True)
    encoded = encode_table(frame)
    filled = encoded.decode(filled_somehow(encoded))["column"]
    gaps = series.isna()
    assert filled.dtype == series.dtype
    assert not filled.isna().any()
    pd.testing.assert_series_equal(filled[~gaps], series[~gaps], check_names=False)
    assert [type(value) for value in filled[~gaps]] == [type(value) for value in series[~gaps]]
    assert set(filled[gaps]) <= set(series[~gaps]) or pd.api.types.is_numeric_dtype(
        filled.infer_objects()
    )
    pd.testing.assert_frame_equal(frame, untouched)


def test_numbers_are_scaled_by_their_observed_range_and_categories_are_codes():
    frame = pd.DataFrame({"n": [10, 20, None, 15], "c": ["x", "z", "y", None]})
    encoded = encode_table(frame)
    np.testing.assert_array_equal(
        encoded.matrix, [[0.0, 0.0], [1.0, 2.0], [np.nan, 1.0], [0.5, np.nan]]
    )
    np.testing.assert_array_equal(encoded.code.categorical, [False, True])
    np.testing.assert_array_equal(encoded.observed, frame.notna())


def test_columns_and_index_come_back_as_they_are():
    frame = pd.DataFrame(
        {("b", 1): [1.5, None, 3.0], ("a", 2): ["x", None, "y"]}, index=[7, 7, np.nan]
    )
    frame.columns.names = ["first", "second"]
    encoded = encode_table(frame)
    filled = encoded.decode(filled_somehow(encoded))
    assert filled.columns.equals(frame.columns)
    assert filled.columns.names == ["first", "second"]
    assert filled.index.equals(frame.index)


def test_whole_numbers_are_rounded_inside_their_observed_domain():
    frame = pd.DataFrame(
        {
            "float": [0.0, 10.0, np.nan],
            "UInt8": pd.array([3, 5, None], dtype="UInt8"),
            "large": pd.array([2**62, 2**63 - 1, None], dtype="Int64"),
        }
    )
    encoded = encode_table(frame)
    filled = encoded.decode(np.array([[0, 0, 0], [1, 1, 1], [0.26, 0.9, 1.0]], dtype=float))
    assert filled["float"].tolist() == [0.0, 10.0, 3.0]
    assert filled["UInt8"].tolist() == [3, 5, 5]
    assert filled["large"].iloc[2] == 2**63 - 1


def test_values_stay_inside_the_observed_range_to_the_last_bit():
    frame = pd.DataFrame({"a": [0.1, 0.3, np.nan, np.nan], "b": [1e-310, 3.0, np.nan, np.nan]})
    filled = encode_table(frame).decode(np.array([[0, 0], [1, 1], [0, 0], [1, 1]], dtype=float))
    assert filled["a"].tolist() == [0.1, 0.3, 0.1, 0.3]
    assert filled["b"].min() == 1e-310
    assert filled["b"].max() == 3.0


def test_a_constant_column_never_reaches_the_matrix_and_is_filled_exactly():
    frame = pd.DataFrame({"a": [1.5, 2.5, 3.0], "b": [7.1, np.nan, 7.1], "c": ["x", "x", None]})
    encoded = encode_table(frame)
    assert [column.name for column in encoded.code.features] == ["a"]
    filled = encoded.decode(encoded.matrix)
    assert filled["b"].tolist() == [7.1, 7.1, 7.1]
    assert filled["c"].tolist() == ["x", "x", "x"]


def test_an_empty_column_never_reaches_the_matrix_and_is_left_as_it_is():
    frame = pd.DataFrame({"a": [1.5, np.nan, 3.0], "b": [np.nan] * 3, "t": [pd.NaT] * 3})
    encoded = encode_table(frame)
    assert encoded.matrix.shape == (3, 1)
    assert encoded.code.left_missing == ("b", "t")
    filled = encoded.decode(np.array([[0.0], [0.5], [1.0]]))
    pd.testing.assert_frame_equal(filled[["b", "t"]], frame[["b", "t"]])
    assert filled["a"].tolist() == [1.5, 2.25, 3.0]


def test_nothing_missing_comes_back_equal():
    frame = pd.DataFrame({"a": np.array([1, 2], dtype="int8"), "b": ["x", "y"]})
    encoded = encode_table(frame)
    pd.testing.assert_frame_equal(encoded.decode(encoded.matrix), frame)


def test_unused_categories_are_kept_and_never_filled():
    frame = pd.DataFrame({"c": pd.Categorical(["b", "a", None], categories=["z", "a", "b"])})
    encoded = encode_table(frame)
    assert encoded.code.columns[0].values == ("a", "b")
    filled = encoded.decode(np.array([[1.0], [0.0], [0.0]]))
    assert list(filled["c"].cat.categories) == ["z", "a", "b"]
    assert filled["c"].tolist() == ["b", "a", "a"]


def test_missing_values_match_text_by_text_and_numbers_by_numbers():
    frame = pd.DataFrame(
        {
            "int": np.array([-1, 5, 7, 9], dtype="int16"),
            "text": ["?", "a", "-1", "a"],
            "category": pd.Categorical(["?", "a", "b", "a"]),
            "object": pd.Series(["?", 1, 2, 3], dtype=object),
            "flag": [True, False, True, False],
        }
    )
    observed = observed_in_table(frame, ["?", -1, 1])
    assert observed.tolist() == [
        [False, False, False, False, True],
        [True, True, True, False, True],
        [True, True, True, True, True],
        [True, True, True, True, True],
    ]
    encoded = encode_table(frame, missing_values=["?", -1, 1])
    filled = encoded.decode(np.nan_to_num(encoded.matrix, nan=0.0))
    assert filled["int"].dtype == np.int16
    assert filled["int"].tolist() == [5, 5, 7, 9]
    assert filled["category"].tolist() == ["a", "a", "b", "a"]
    assert filled["object"].tolist() == [2, 2, 2, 3]


def test_a_nan_inside_a_nullable_float_is_a_gap():
    values = pd.Series([1.5, 2.5, 3.0], dtype="double[pyarrow]")
    values = pd.Series(pd.array(pa.array([1.5, float("nan"), 3.0]), dtype=values.dtype))
    encoded = encode_table(values.to_frame("a"))
    assert encoded.observed[:, 0].tolist() == [True, False, True]
    assert encoded.decode(np.array([[0.0], [1.0], [1.0]]))["a"].tolist() == [1.5, 3.0, 3.0]


def test_numbers_that_the_caller_names_are_categories():
    frame = pd.DataFrame({"code": [3.0, 7.0, np.nan, 3.0], "n": [1.5, 2.5, 3.5, 4.5]})
    encoded = encode_table(frame, categorical=["code"])
    np.testing.assert_array_equal(encoded.code.categorical, [True, False])
    filled = encoded.decode(np.nan_to_num(encoded.matrix, nan=1.0))
    assert filled["code"].tolist() == [3.0, 7.0, 7.0, 3.0]


@pytest.mark.parametrize(
    ("values", "got"),
    [
        (pd.to_datetime(["2020-01-01"] * 3), "datetime64"),
        ([datetime.date(2020, 1, 1)] * 3, "date values"),
        (pd.to_timedelta([1, 2, 3], unit="D"), "timedelta64"),
        (pd.period_range("2020", periods=3, freq="D"), r"period\[D\]"),
        ([1 + 2j] * 3, "complex128"),
        ([[1], [2], [3]], "list values"),
        ([b"a", b"b", b"c"], "bytes values"),
        (pd.array([1, 2, 3], dtype=pd.ArrowDtype(pa.decimal128(5, 2))), "decimal128"),
    ],
)
def test_columns_of_other_kinds_are_refused_with_name_and_remedy(values, got):
    frame = pd.DataFrame({"fine": [1, 2, 3], "when": pd.Series(values)})
    message = rf"The 'when' column .* must hold numbers, .*Got .*{got}.*--drop, --ignore"
    with pytest.raises(TableError, match=message):
        encode_table(frame)


def test_numbers_mixed_with_text_are_refused_with_the_remedy():
    frame = pd.DataFrame({"a": pd.Series(["x", 1, 2], dtype=object)})
    with pytest.raises(TableError, match="'a' column.*int and str values.*missing_values"):
        encode_table(frame)
    encoded = encode_table(frame, categorical=["a"])
    assert encoded.code.columns[0].values == (1, 2, "x")


def test_sparse_columns_are_refused_with_the_remedy():
    frame = pd.DataFrame({"a": pd.arrays.SparseArray([1.0, 0.0, 0.0])})
    with pytest.raises(TableError, match=r"'a' column.*\.sparse\.to_dense\(\)"):
        encode_table(frame)


@pytest.mark.parametrize("value", [np.inf, -np.inf, 10**400])
def test_infinite_values_are_refused_with_the_column(value):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": pd.Series([1, value, 2], dtype=object)})
    with pytest.raises(TableError, match="'b' column.*finite numbers. Got -?inf in 1 of"):
        encode_table(frame)


def test_a_range_beyond_floats_is_refused():
    frame = pd.DataFrame({"a": [-1.7e308, 1.7e308, np.nan]})
    with pytest.raises(TableError, match="'a' column.*span a range"):
        encode_table(frame)


def test_tables_that_are_none_are_refused():
    with pytest.raises(TypeError, match="must be a pandas DataFrame. Got ndarray"):
        encode_table(np.zeros((2, 2)))
    with pytest.raises(TableError, match="at least one row"):
        encode_table(pd.DataFrame({"a": []}))
    twice = pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"])
    with pytest.raises(TableError, match="distinct names. Got 'a' more than once"):
        encode_table(twice)


def test_a_column_that_does_not_exist_gets_suggestions():
    names = ["Outcome", "age", 3]
    with pytest.raises(
        TableError, match="drop: there is no column 'outcom'. Did you mean 'Outcome'"
    ):
        check_column_names("drop", ["outcom"], names)
    with pytest.raises(TableError, match="no column 'xyz'. The columns are: 'Outcome', 'age', 3"):
        check_column_names("drop", ["xyz"], names)
    assert check_column_names("drop", "age", names) == ("age",)


def test_rows_encoded_later_use_the_codes_and_the_range_of_the_table():
    table = pd.DataFrame(
        {"n": [0.0, 10.0, 4.5], "c": ["a", "b", "a"], "k": [1, 1, 1], "e": [None] * 3}
    )
    rows = pd.DataFrame({"n": [20.0, None], "c": [None, "b"], "k": [None, 1], "e": ["x", None]})
    encoded = encode_table(table)
    later = encoded.code.encode(rows)
    np.testing.assert_array_equal(later.matrix, [[2.0, np.nan], [np.nan, 1.0]])
    filled = later.decode(np.array([[2.0, 0.0], [0.5, 1.0]]))
    assert filled["n"].tolist() == [20.0, 5.0]
    assert filled["c"].tolist() == ["a", "b"]
    assert filled["k"].tolist() == [1, 1]
    assert encoded.code.encode(rows.iloc[:0]).matrix.shape == (0, 2)


def test_rows_encoded_later_that_do_not_fit_are_refused():
    encoded = encode_table(pd.DataFrame({"n": [0.0, 1.0], "c": ["a", "b"]}))
    remedy = r"handle_unknown='missing' \(--unknown missing\)"
    with pytest.raises(TableError, match=f"'c' column.*'a', 'b'.*Got 'z' besides.*{remedy}"):
        encoded.code.encode(pd.DataFrame({"n": [0.5], "c": ["z"]}))
    with pytest.raises(TableError, match="'n' column.*must hold numbers, as it did before"):
        encoded.code.encode(pd.DataFrame({"n": ["x"], "c": ["a"]}))
    with pytest.raises(TableError, match="without 'c'"):
        encoded.code.encode(pd.DataFrame({"n": [0.5]}))
    with pytest.raises(TableError, match="'d' besides"):
        encoded.code.encode(pd.DataFrame({"n": [0.5], "c": ["a"], "d": [1]}))
    with pytest.raises(TableError, match="another order"):
        encoded.code.encode(pd.DataFrame({"c": ["a"], "n": [0.5]}))
    with pytest.raises(TableError, match="'n' column.*finite"):
        encoded.code.encode(pd.DataFrame({"n": [np.inf], "c": ["a"]}))


def test_rows_that_lack_a_known_category_are_fine():
    encoded = encode_table(pd.DataFrame({"c": pd.Categorical(["a", "b", None])}))
    rows = encoded.code.encode(pd.DataFrame({"c": ["a", None]}))
    assert rows.decode(np.array([[0.0], [1.0]]))["c"].tolist() == ["a", "b"]


def test_a_matrix_that_does_not_fit_is_refused():
    encoded = encode_table(pd.DataFrame({"n": [0.0, 1.0, None], "c": ["a", "b", None]}))
    with pytest.raises(
        ValueError, match=r"'X' parameter of EncodedTable.decode must be .*\(3, 2\)"
    ):
        encoded.decode(np.zeros((3, 1)))
    with pytest.raises(ValueError, match="no NaN at a gap. Got NaN in the 'n' column"):
        encoded.decode(encoded.matrix)
    with pytest.raises(ValueError, match="codes in 0 … 1 in the 'c' column. Got 2.0"):
        encoded.decode(np.full((3, 2), [0.5, 2.0]))
    with pytest.raises(ValueError, match="codes in 0 … 1 in the 'c' column. Got 0.5"):
        encoded.decode(np.full((3, 2), [0.5, 0.5]))


def test_doubtful_categories_are_named():
    frame = pd.DataFrame(
        {"id": [f"row{k}" for k in range(30)], "answer": ["Yes", "yes", "no"] * 10}
    )
    identifier, alike = encode_table(frame).code.cautions
    assert "identifier" in identifier
    assert "id (30 in 30 observed cells)" in identifier
    assert "answer (Yes/yes)" in alike


QUANTITIES = [
    [f"{k} mg" for k in range(30)],
    [f"{k}%" for k in range(30)],
    [f"{k}.5 kg/m2" for k in range(30)],
    [f"{k},5 °C" for k in range(30)],
    [f"−{k} °C" for k in range(30)],
    [f"< {k} µg" for k in range(30)],
    [f">={k} mm Hg" for k in range(30)],
    [f"${k},200.50" for k in range(1, 30)],
    [f"1 {k} 000 €".replace(" ", "", 1) for k in range(1, 30)],
    [f"{k} {'mg' if k % 3 else 'MG'}" for k in range(30)],
    [f"{k} mg" for k in range(30)] + ["unknown", "7"],
    [f".{k} kg" for k in range(1, 30)],
    [f"1\u202f{k}\u00a0€" for k in range(100, 130)],
]
OTHERS = [
    [f"row{k}" for k in range(30)],
    [str(k) for k in range(30)],
    [f"12:{k}" for k in range(10, 40)],
    [f"{k}u{k}" for k in range(30)],
    [f"{k:04d}N" for k in range(30)],
    [f"{k}{letter}" for k in range(15) for letter in "AB"],
    [f"{k} {half}" for k in range(1, 13) for half in ("am", "pm")],
    [f"{k} {month}" for k in range(1, 15) for month in ("Jan", "Feb")],
    [f"1.4.{k}rc" for k in range(30)],
    [f"{k} {unit}" for k in range(15) for unit in ("mg", "g")],
    [f"2020-01-{k:02d}" for k in range(1, 30)],
    [f"E{k}.{k}" for k in range(30)],
    [f"{hour}:00" for hour in range(24)],
    [f"{year}-01-01" for year in range(1990, 2020)],
    [f"{k}/2020" for k in range(1, 30)],
    [f"{k} of 30" for k in range(1, 31)],
    [f"<{' ' * 5000}x{k}" for k in range(30)],
    [f"{k}" for k in range(20)] + [f"{k} mg" for k in range(15)],
    [f"mg {k}" for k in range(30)],
]


@pytest.mark.parametrize("cells", QUANTITIES, ids=lambda cells: cells[0])
def test_numbers_with_a_unit_are_named_as_such(cells):
    said = encode_table(pd.DataFrame({"dose": pd.Series(cells, dtype=object)})).code.cautions
    assert "identifier" in said[0] and len(said) == 2
    assert said[1] == (
        "categories look like numbers with a unit, which are read as numbers where they stand "
        f"alone: dose ({len(cells)} such as {min(cells)!r})"
    )
    several = pd.DataFrame({"dose": cells * 3})
    assert encode_table(several).code.cautions == said[1:]
    few = several[several["dose"].isin(cells[:20])]
    assert encode_table(few).code.cautions == ()


@pytest.mark.parametrize("cells", OTHERS, ids=lambda cells: cells[0])
def test_codes_are_not_named_as_numbers_with_a_unit(cells):
    frame = pd.DataFrame({"code": pd.Series(cells * 3).astype("category")})
    assert encode_table(frame).code.cautions == ()
