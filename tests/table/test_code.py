"""Tables as matrices and back: nothing is written but gaps, and every fill lies in its domain."""

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from kernimpute import KernelImputer
from kernimpute.table.code import learn_code, unknown_cells
from kernimpute.table.columns import TableError

NAN = np.nan
NUMBERS = [1.5, None, 3.0, 2.0, None, 5.0]
WHOLE = [1, None, 3, 2, None, 5]
TEXT = ["a", None, "b", "a", None, "b"]
FLAGS = [True, None, False, True, None, True]
ARROW_TEXT = pd.Series(TEXT, dtype=pd.ArrowDtype(pa.string()))
SMALL_DICTIONARY = pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))

FLOAT_DTYPES = ("float16", "float32", "float64", "Float32", "Float64", "float[pyarrow]")
INTEGER_DTYPES = ("Int8", "Int16", "Int64", "UInt8", "UInt64", "int8[pyarrow]", "int64[pyarrow]")
TEXT_DTYPES = ("str", "string[python]", "string[pyarrow]", "object")
COLUMNS = {
    **{name: pd.Series(NUMBERS, dtype=name) for name in FLOAT_DTYPES},
    **{name: pd.Series(WHOLE, dtype=name) for name in INTEGER_DTYPES},
    **{name: pd.Series(TEXT, dtype=name) for name in TEXT_DTYPES},
    **{name: pd.Series(FLAGS, dtype=name) for name in ("boolean", "bool[pyarrow]")},
    "float64 of whole numbers": pd.Series(WHOLE, dtype="float64"),
    "object of booleans": pd.Series(FLAGS, dtype=object),
    "object of numbers": pd.Series([1, None, 2.5, 1, pd.NA, 2], dtype=object),
    "object of integers": pd.Series([1, None, 2, 1, NAN, 2], dtype=object),
    "category": pd.Series(pd.Categorical(TEXT, categories=["z", "b", "a"])),
    "ordered": pd.Series(pd.Categorical(TEXT, categories=["b", "z", "a"], ordered=True)),
    "category of numbers": pd.Series(pd.Categorical(WHOLE, categories=[9, 5, 3, 2, 1])),
    "category of intervals": pd.Series(pd.cut([1.0, NAN, 3.0, 4.0, NAN, 5.0], 3)),
    "dictionary": ARROW_TEXT.astype(SMALL_DICTIONARY),
    "constant float32": pd.Series([7.1, None, 7.1, 7.1, None, 7.1], dtype="float32"),
    "constant text": pd.Series(["x", None, "x", "x", None, "x"], dtype=object),
}


def encode_table(frame):
    return learn_code(frame).encode(frame)


def somehow(encoded, number=0.3):
    """Return the matrix with a number or a code at each gap."""
    fills = np.where(encoded.code.categorical, 1.0, number)
    return np.where(np.isnan(encoded.matrix), fills, encoded.matrix)


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("rows", [slice(None), slice(1, 2), slice(0, 0)])
def test_any_rows_come_back_in_their_dtype_with_only_their_gaps_written(name, rows):
    code = learn_code(COLUMNS[name].to_frame(name), whole="dtype")
    frame = COLUMNS[name].to_frame(name).iloc[rows]
    untouched = frame.copy(deep=True)
    encoded = code.encode(frame)
    filled = encoded.decode(somehow(encoded))
    before, after = frame[name], filled[name]
    assert after.dtype == before.dtype and not after.isna().any()
    seen = before.notna()
    pd.testing.assert_series_equal(after[seen], before[seen], check_exact=True)
    assert list(map(type, after[seen])) == list(map(type, before[seen]))
    known = COLUMNS[name].dropna()
    if code.columns[0].categorical:
        assert set(after[~seen]) <= set(known)
    else:
        assert all(known.min() <= value <= known.max() for value in after[~seen])
    pd.testing.assert_frame_equal(frame, untouched)


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("dtype", [object, "datetime64[ns]", "category", "null"])
def test_rows_of_gaps_only_are_filled_whatever_their_dtype(name, dtype):
    code = learn_code(COLUMNS[name].to_frame("c"))
    column = code.columns[0]
    dtype = pd.ArrowDtype(pa.null()) if dtype == "null" else dtype
    encoded = code.encode(pd.DataFrame({"c": pd.Series([None] * 2, dtype=dtype)}))
    filled = encoded.decode(somehow(encoded))["c"]
    if column.categorical:
        assert filled.tolist() == [column.values[:2][-1]] * 2
    else:
        assert ((filled >= column.values[0]) & (filled <= column.values[-1])).all()


def test_columns_and_index_come_back_as_they_are():
    frame = pd.DataFrame({("b", 1): NUMBERS[:3], ("a", 2): TEXT[:3]}, index=[7, 7, NAN])
    frame.columns.names = ["first", "second"]
    encoded = encode_table(frame)
    filled = encoded.decode(somehow(encoded))
    assert filled.columns.equals(frame.columns) and filled.columns.names == ["first", "second"]
    assert filled.index.equals(frame.index)


def test_what_a_column_of_constants_or_gaps_holds_is_no_part_of_the_matrix():
    frame = pd.DataFrame({"n": [1.5, NAN, 3.0], "k": [7.1, NAN, 7.1], "e": [NAN] * 3})
    frame["t"] = pd.Series([pd.NaT] * 3)
    encoded = encode_table(frame)
    assert [column.name for column in encoded.code.features] == ["n"]
    assert encoded.code.left_missing == ("e", "t")
    filled = encoded.decode(np.array([[0.0], [0.5], [1.0]]))
    assert filled["n"].tolist() == [1.5, 2.25, 3.0] and filled["k"].tolist() == [7.1] * 3
    pd.testing.assert_frame_equal(filled[["e", "t"]], frame[["e", "t"]])
    dates = encoded.decode(np.zeros((3, 1)), fill_empty=True)["t"]
    pd.testing.assert_series_equal(dates, frame["t"])


EMPTY = {
    "float": (pd.Series([NAN] * 2), 0.0),
    "Int64": (pd.Series([None] * 2, dtype="Int64"), 0),
    "boolean": (pd.Series([None] * 2, dtype="boolean"), False),
    "string": (pd.Series([None] * 2, dtype="string"), "missing"),
    "object": (pd.Series([None] * 2, dtype=object), "missing"),
    "category": (pd.Series(pd.Categorical([None] * 2, categories=["z", "a"])), "z"),
    "dictionary": (pd.Series([None] * 2, dtype=SMALL_DICTIONARY), "missing"),
    "category of none": (pd.Series([None] * 2, dtype="category"), "missing"),
    "null": (pd.Series([None] * 2, dtype=pd.ArrowDtype(pa.null())), 0.0),
}


@pytest.mark.parametrize("name", EMPTY)
def test_an_empty_column_is_left_or_gets_the_constant_of_its_dtype(name):
    series, constant = EMPTY[name]
    frame = pd.DataFrame({"e": series, "n": [0.0, 1.0]})
    encoded = encode_table(frame)
    pd.testing.assert_frame_equal(encoded.decode(encoded.matrix), frame)
    filled = encoded.decode(encoded.matrix, fill_empty=True)["e"]
    assert filled.tolist() == [constant] * 2 and isinstance(filled.tolist()[0], type(constant))
    if name not in ("category of none", "null"):
        assert filled.dtype == series.dtype


def test_numbers_are_scaled_by_their_observed_range_and_categories_are_codes():
    table = pd.DataFrame({"n": [10, 20, None, 15], "c": ["x", "z", "y", None]})
    encoded = encode_table(table)
    np.testing.assert_array_equal(encoded.matrix, [[0, 0], [1, 2], [NAN, 1], [0.5, NAN]])
    np.testing.assert_array_equal(encoded.code.categorical, [False, True])
    np.testing.assert_array_equal(encoded.observed, table.notna())
    later = encoded.code.encode(pd.DataFrame({"n": [30.0, None], "c": [None, "z"]}))
    np.testing.assert_array_equal(later.matrix, [[2, NAN], [NAN, 2]])
    assert later.decode(np.array([[2.0, 1.0], [0.5, 2.0]]))["n"].tolist() == [30.0, 15.0]
    with pytest.raises(ValueError, match="no NaN at a gap"):
        later.decode(later.matrix)


def test_codes_may_come_in_any_dtype_of_numbers():
    code = learn_code(pd.DataFrame({"c": [1, 2, 5]}), categorical=["c"])
    for dtype in ("float64", "Int8", "int64[pyarrow]", object, "category"):
        assert code.encode(pd.DataFrame({"c": [5, 1]}, dtype=dtype)).matrix.tolist() == [[2], [0]]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"n": ["x"]}, "'n' column.*must hold numbers, as it did before"),
        ({"t": [1.0]}, "'t' column.*must hold categories, as it did before"),
        ({"n": [-np.inf]}, "'n' column.*finite numbers. Got -inf"),
        ({"t": ["y"]}, r"'t' column.*before \('x'\). Got 'y' besides, in 1 cell: .*='keep'"),
        ({"t": pd.Series([True], dtype="boolean")}, "'t' column.*must hold categories, as it did"),
        ({"more": [1]}, "must have the columns .* in this order. Got .*'more'"),
    ],
)
def test_rows_that_do_not_fit_are_refused_by_the_column(rows, message):
    table = {"n": [0.0, 1.0], "k": [7.0, 7.0], "t": ["x", "x"], "c": ["a", "b"]}
    code = learn_code(pd.DataFrame(table))
    given = pd.DataFrame({"n": [0.5], "k": [7.0], "t": ["x"], "c": ["a"], **rows})
    with pytest.raises(TableError, match=message):
        code.encode(given, handle_unknown="error")


def test_unknown_categories_are_gaps_of_the_matrix_alone():
    code = learn_code(pd.DataFrame({"c": ["a", "b"], "k": ["x", "x"], "n": [0.0, 1.0]}))
    rows = pd.DataFrame({"c": ["q", "a", "r", "q"], "k": ["x", "y", "x", None], "n": [0.5] * 4})
    encoded = code.encode(rows)
    assert encoded.unknown == (("c", ("q", "r"), 3), ("k", ("y",), 1))
    np.testing.assert_array_equal(encoded.matrix[:, 0], [NAN, 0.0, NAN, NAN])
    assert encoded.observed[:, 0].all()
    assert unknown_cells(encoded.unknown) == (
        "4 cells of 2 columns ('c': 'q', 'r' in 3 cells; 'k': 'y' in 1 cell)"
    )
    many = unknown_cells([(f"c{k}", tuple(f"u{row}" for row in range(9)), 9) for k in range(8)])
    assert many.startswith("72 cells of 8 columns ('c0': 'u0', ")
    assert " and 4 more in 9 cells; " in many and many.endswith("; and 3 more columns)")
    filled = encoded.decode(np.nan_to_num(encoded.matrix, nan=1.0))
    assert filled["c"].tolist() == ["q", "a", "r", "q"]
    assert filled["k"].tolist() == ["x", "y", "x", "x"]


def test_text_beside_booleans_is_unknown_and_kept():
    code = learn_code(pd.DataFrame({"c": [True, False, None]}))
    encoded = code.encode(pd.DataFrame({"c": pd.Series(["maybe", False, None], dtype=object)}))
    np.testing.assert_array_equal(encoded.matrix[:, 0], [NAN, 0.0, NAN])
    assert encoded.decode(np.ones((3, 1)))["c"].tolist() == ["maybe", False, True]


def test_whole_numbers_are_rounded_inside_their_observed_domain():
    frame = pd.DataFrame(
        {
            "float": [0.0, 10.0, NAN],
            "UInt8": pd.array([3, 5, None], dtype="UInt8"),
            "large": pd.array([2**62, 2**63 - 1, None], dtype="Int64"),
            "int16": np.array([5, 9, -1], dtype="int16"),
        }
    )
    code = learn_code(frame, missing_values=[-1])
    encoded = code.encode(frame, missing_values=[-1])
    filled = encoded.decode(np.array([[0] * 4, [1] * 4, [0.26, 0.9, 1.0, 0.4]], dtype=float))
    assert [filled[name].iloc[2] for name in frame] == [3.0, 5, 2**63 - 1, 7]
    assert (filled.dtypes == frame.dtypes).all()


def test_integer_rows_of_a_float_column_get_whole_numbers_in_its_range():
    code = learn_code(pd.DataFrame({"a": [0.5, 5.4], "b": [-3.5, 1000.5]}))
    rows = pd.DataFrame({"a": np.array([3, -1], "int16"), "b": pd.array([1, None], dtype="UInt8")})
    encoded = code.encode(rows, missing_values=[-1])
    for share, expected in ((1.0, [5, 255]), (0.0, [1, 0]), (0.5, [3, 255])):
        filled = encoded.decode(np.full((2, 2), share))
        assert filled.iloc[1].tolist() == expected
        assert (filled.dtypes == rows.dtypes).all()


@pytest.mark.parametrize("dtype", ["Int8", "object", "float"])
def test_a_declared_range_scales_and_clips(dtype):
    frame = pd.DataFrame({"a": pd.Series([2, 4, None], dtype=dtype), "k": [2.0, NAN, 2.0]})
    encoded = learn_code(frame, ranges={"a": (0.5, 9.5), "k": (0, 10)}, whole="dtype").encode(frame)
    low, high = (0.5, 9.5) if dtype == "float" else (1, 9)
    assert encoded.matrix[0, 0] == (2 - low) / (high - low)
    for share, expected in ((-0.2, low), (1.2, high)):
        filled = encoded.decode(np.full((3, 1), share))
        assert filled["a"].iloc[2] == expected and filled["k"].tolist() == [2.0] * 3


NO_RANGES = [(2, 1), (1, 1), (0, np.inf), (NAN, 1), (-1.7e308, 1.7e308), (0, 1, 2), (0, None)]
NO_RANGE = "'ranges' parameter of learn_code must hold pairs of finite numbers low < high"


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        *(({"a": pair}, NO_RANGE) for pair in NO_RANGES),
        ({"a": (0, 1)}, r"'a' column.*declared range \[0, 1\]. Got 2.0"),
        ({"k": (0, 1)}, r"'k' column.*declared range \[0, 1\]. Got 5.0"),
        ({"c": (0, 1)}, "'c' column.*must hold numbers for its range"),
        ({"z": (0, 1)}, "feature_range: there is no column 'z'"),
    ],
)
def test_a_range_that_is_none_or_does_not_fit_its_column_is_refused(ranges, message):
    frame = pd.DataFrame({"a": [0.0, 2.0], "c": ["x", "y"], "k": [5.0, 5.0]})
    with pytest.raises(TableError, match=message):
        learn_code(frame, ranges=ranges)


@pytest.mark.parametrize(
    ("fitted", "rows", "categories"),
    [
        (pd.Categorical(["b", "a"], ["b", "z", "a"], ordered=True), ["own", "a"], "b z a own"),
        (["b", "a"], ["z", "a"], "z a b"),
    ],
    ids=["of a categorical dtype", "of text"],
)
def test_new_rows_have_the_codes_categories_and_their_own(fitted, rows, categories):
    code = learn_code(pd.DataFrame({"c": fitted}))
    frame = pd.DataFrame({"c": pd.Categorical(["a", None], categories=rows)})
    filled = code.encode(frame).decode(np.array([[0.0], [code.columns[0].values.index("b")]]))
    assert filled["c"].tolist() == ["a", "b"]
    assert list(filled["c"].cat.categories) == categories.split()
    assert filled["c"].cat.ordered == code.columns[0].ordered
    # Also where there is nothing to fill, so that all rows have one dtype.
    again = code.encode(frame[:1]).decode(np.array([[1.0]]))
    assert again["c"].dtype == filled["c"].dtype


def test_a_dictionary_gains_what_it_lacks_even_beyond_its_index():
    many = [f"c{k:03d}" for k in range(200)]
    code = learn_code(pd.DataFrame({"c": [*many, *many]}))
    wide = pd.DataFrame({"c": pd.Series([*many[:127], None]).astype("string[pyarrow]")})
    rows = wide.astype(SMALL_DICTIONARY)
    encoded = code.encode(rows)
    filled = encoded.decode(np.nan_to_num(encoded.matrix, nan=199.0))
    assert filled["c"].tolist() == [*many[:127], "c199"]


def test_a_dictionarys_unused_values_are_not_unknown():
    values = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array(["a", "b", "z"]))
    frame = pd.DataFrame({"c": pd.Series(pd.array(values, dtype=SMALL_DICTIONARY))})
    code = learn_code(frame)
    assert code.columns[0].levels == ("a", "b", "z")
    np.testing.assert_array_equal(code.encode(frame).matrix, [[0.0], [1.0]])


def code_of(*sizes):
    """Return the code of columns with so many categories; of numbers where 0."""
    columns = ([f"c{k % size}" if size else k / 9 for k in range(10)] for size in sizes)
    return learn_code(pd.DataFrame(dict(enumerate(columns))))


def test_a_category_has_an_indicator_and_two_share_one():
    code = code_of(0, 3, 2)
    assert code.indicator_columns == ((0, None), (1, 0), (1, 1), (1, 2), (2, 1))
    matrix = np.array([[0.5, 2.0, 1.0], [NAN, NAN, 0.0], [1.0, 0.0, NAN]])
    matrix.flags.writeable = False
    expected = [[0.5, 0, 0, 1, 1], [NAN, NAN, NAN, NAN, 0], [1, 1, 0, 0, NAN]]
    np.testing.assert_array_equal(code.to_indicators(matrix), expected)
    filled = np.array([[0.0, 1, 0, 0, 0], [0.25, 0.2, 0.4, 0.4, 1], [0, 0, 1, 0, 0.5]])
    expected = [[0.5, 2, 1], [0.25, 1, 0], [1, 0, 0]]
    np.testing.assert_array_equal(code.to_codes(filled, matrix), expected)


def test_only_the_most_frequent_of_many_categories_have_an_indicator():
    texts = [f"t{row}" for row in range(5000)] + ["t7", "t4999"] * 5 + [None] * 10
    table = pd.DataFrame({name: texts for name in "abc"})
    with pytest.warns(UserWarning, match="look like an identifier"):
        imputer = KernelImputer().fit(table)
    assert len(imputer._code.indicator_columns) == 3 * 50
    one = imputer._code.features[0]
    assert {"t7", "t4999"} < {one.values[code] for code in one.indicated}
    filled = imputer.transform(table)
    pd.testing.assert_frame_equal(filled[:-10], table[:-10])
    assert filled[-10:].isin(["t7", "t4999"]).all(axis=None)


@pytest.mark.parametrize(
    ("reference", "now", "code"),
    [
        ([0.5, 0.3, 0.2], [0.5, 0.3, 0.2], 0),
        # Largest now, but moved by less than half the range against the reference's own.
        ([0.5, 0.3, 0.2], [0.26, 0.54, 0.2], 0),
        ([0.5, 0.3, 0.2], [0.2, 0.51, 0.2], 1),
        ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], 2),
        # Of two categories each loses what the other gains.
        ([0.4], [0.4], 0),
        ([0.4], [0.64], 0),
        ([0.4], [0.66], 1),
    ],
)
def test_a_category_leaves_the_references_for_a_gain_of_more_than_half_the_range(
    reference, now, code
):
    coded = code_of(len(now) if len(now) > 1 else 2)
    filled = coded.to_codes(np.array([now]), np.array([[NAN]]), np.array([reference]))
    assert filled == [[code]]


def test_a_code_holds_no_rows():
    frame = pd.DataFrame({"n": np.linspace(0.0, 1.0, 5000), "c": ["a", "b"] * 2500})
    assert len(pickle.dumps(learn_code(frame))) < 2000
