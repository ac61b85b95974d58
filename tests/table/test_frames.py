"""Tables of every library and arrays, to pandas and back."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from kernimpute.table.code import learn_code
from kernimpute.table.columns import TableError
from kernimpute.table.frames import as_library, check_names, is_frame, like, to_pandas

POLARS = pl.DataFrame(
    {
        "Int8": pl.Series([1, None, 100], dtype=pl.Int8),
        "UInt64": pl.Series([1, None, 2**64 - 1], dtype=pl.UInt64),
        "Float32": pl.Series([0.1, None, 0.3], dtype=pl.Float32),
        "Float64": pl.Series([0.1, float("nan"), 0.3], dtype=pl.Float64),
        "Boolean": [True, None, False],
        "String": ["a", None, "b"],
        "Categorical": pl.Series(["a", None, "b"], dtype=pl.Categorical),
        "Enum": pl.Series(["a", None, "z"], dtype=pl.Enum(["z", "q", "a"])),
        "Null": [None, None, None],
        "Date": pl.Series([None, None, None], dtype=pl.Date),
        "whole": pl.Series([3, 1, 2], dtype=pl.Int16),
        "constant": pl.Series(["x", "x", None], dtype=pl.Enum(["y", "x"])),
    }
)
ARROW = {
    "oldest": POLARS.to_arrow(compat_level=pl.CompatLevel.oldest()),
    "newest": POLARS.to_arrow(compat_level=pl.CompatLevel.newest()),
    "chunks": pa.concat_tables([POLARS[:1].to_arrow(), POLARS[1:].to_arrow()]),
}
TABLES = {"polars": POLARS, **ARROW}


def filled_like(X, changed=True, fill_empty=False):
    """Return X with its gaps filled, and where it was observed."""
    frame = to_pandas(X)
    encoded = learn_code(frame, whole="dtype").encode(frame)
    matrix = np.where(np.isnan(encoded.matrix), 1.0, encoded.matrix)
    filled = encoded.decode(matrix, fill_empty=fill_empty)
    return like(X, filled, ~encoded.observed if changed else None), encoded.observed


def test_tables_are_frames_and_arrays_are_none():
    for table in (POLARS, *ARROW.values(), pd.DataFrame()):
        assert is_frame(table)
    for other in (np.zeros((2, 2)), [[1.0]], POLARS["Int8"], POLARS.lazy(), None, "text"):
        assert not is_frame(other)


def test_pandas_passes_as_it_is():
    frame = pd.DataFrame([[1.0, "a"]], columns=["x", "x"])
    assert is_frame(frame)
    assert to_pandas(frame) is frame
    assert like(frame, frame) is frame


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("changed", [True, False])
def test_a_table_comes_back_with_its_schema_and_its_observed_cells(name, changed):
    X = TABLES[name]
    filled, observed = filled_like(X, changed)
    assert type(filled) is type(X)
    assert filled.schema == X.schema
    before, after = X.to_pydict() if isinstance(X, pa.Table) else X.to_dict(as_series=False), None
    after = filled.to_pydict() if isinstance(X, pa.Table) else filled.to_dict(as_series=False)
    for position, column in enumerate(before):
        seen = observed[:, position]
        kept = [value for value, known in zip(before[column], seen, strict=True) if known]
        assert [v for v, known in zip(after[column], seen, strict=True) if known] == kept
        gaps = [value for value, known in zip(after[column], seen, strict=True) if not known]
        if column in ("Null", "Date"):
            assert gaps == [None, None, None]
        else:
            assert all(value is not None and value == value for value in gaps)
    assert after["UInt64"][1] == 2**64 - 1
    assert after["constant"] == ["x", "x", "x"]


def test_a_column_without_a_written_cell_is_the_very_one():
    untouched = POLARS["whole"]
    filled, _ = filled_like(POLARS)
    assert filled["whole"].to_numpy().ctypes.data == untouched.to_numpy().ctypes.data
    table = ARROW["oldest"]
    filled, _ = filled_like(table)
    assert filled.column("whole").chunk(0).buffers()[1].address == (
        table.column("whole").chunk(0).buffers()[1].address
    )


def test_columns_may_be_dropped_and_indicators_may_follow():
    for X in (POLARS, ARROW["oldest"]):
        filled = to_pandas(X).drop(columns=["Null", "Int8"])
        filled["missingindicator_Int8"] = np.array([False, True, False])
        back = like(X, filled)
        names = back.columns if isinstance(X, pl.DataFrame) else back.column_names
        assert list(names) == list(filled.columns)
        last = back["missingindicator_Int8"]
        assert (last.to_list() if isinstance(X, pl.DataFrame) else last.to_pylist()) == [
            False,
            True,
            False,
        ]


def test_an_empty_column_gets_a_dtype_that_holds_its_constant():
    filled, _ = filled_like(POLARS, fill_empty=True)
    assert filled["Null"].to_list() == [0.0, 0.0, 0.0]
    table, _ = filled_like(ARROW["oldest"], fill_empty=True)
    assert table.column("Null").to_pylist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("as_table", [lambda frame: frame, pl.DataFrame.to_arrow])
def test_new_rows_may_lack_a_category_that_is_filled(as_table):
    code = learn_code(to_pandas(as_table(POLARS[["Enum", "Categorical"]])))
    new = as_table(
        pl.DataFrame(
            {
                "Enum": pl.Series(["z", None], dtype=pl.Enum(["z"])),
                "Categorical": pl.Series(["b", None], dtype=pl.Categorical),
            }
        )
    )
    encoded = code.encode(to_pandas(new))
    # "a" of both: behind "z" in the enum, first among the sorted.
    matrix = np.array([[encoded.matrix[0, 0], 1.0], [1 - encoded.matrix[0, 0], 0.0]])
    filled = like(new, encoded.decode(matrix), ~encoded.observed)
    pairs = filled.to_pydict() if isinstance(filled, pa.Table) else filled.to_dict(as_series=False)
    assert pairs == {"Enum": ["z", "a"], "Categorical": ["b", "a"]}


def test_rows_of_gaps_only_in_another_dtype_are_filled():
    code = learn_code(to_pandas(POLARS[["String", "Float64", "Enum"]]))
    new = pl.DataFrame(
        {"String": [None], "Float64": [None], "Enum": [None]},
        schema={"String": pl.Float64, "Float64": pl.String, "Enum": pl.Null},
    )
    encoded = code.encode(to_pandas(new))
    assert np.isnan(encoded.matrix).all()
    filled = like(new, encoded.decode(np.array([[1.0, 0.0, 1.0]])), ~encoded.observed)
    assert filled["String"].to_list() == ["b"]
    assert filled["Float64"].to_list() == [0.1]
    assert filled["Enum"].to_list() in (["a"], ["z"])


ARRAYS = {
    "float64": np.array([[1.5, np.nan], [2.5, 3.0]]),
    "float32": np.array([[1.5, np.nan], [2.5, 3.0]], dtype="float32"),
    "float16": np.array([[1.5, np.nan], [2.5, 3.0]], dtype="float16"),
    "object": np.array([["a", 1.5], [None, np.nan]], dtype=object),
    "bool": np.array([[True, False], [False, True]]),
    "int32": np.array([[1, 2], [3, 4]], dtype="int32"),
    "uint8": np.array([[1, 2], [3, 4]], dtype="uint8"),
    "text": np.array([["a", "b"], ["b", "b"]]),
}


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_comes_back_as_an_array_and_is_never_written(name, order):
    X = np.array(ARRAYS[name], order=order)
    X.flags.writeable = False
    untouched = X.copy()
    assert not is_frame(X)
    filled, observed = filled_like(X)
    becomes = {"int32": "float64", "uint8": "float64", "text": "object"}
    assert filled.dtype == becomes.get(name, name)
    assert (filled[observed] == X[observed]).all()
    assert not pd.isna(filled).any()
    assert X.tobytes() == untouched.tobytes()


def test_columns_of_arrays_are_numbered():
    frame = to_pandas(np.array([[1, 2]]))
    assert frame.columns.equals(pd.RangeIndex(2))
    assert (frame.dtypes == "float64").all()
    with pytest.raises(TableError, match="column 1 must hold finite numbers. Got inf"):
        learn_code(to_pandas(np.array([[1.0, np.inf]])))


def test_lists_of_mixed_cells_stay_what_they_are():
    assert to_pandas([[1, "a"], [2.5, "b"]])[0].tolist() == [1, 2.5]
    assert like([[1, 2]], pd.DataFrame([[1.0, 2.0]])).dtype == "float64"


def test_an_array_may_gain_indicators():
    filled = pd.DataFrame({0: np.array([1.5], "float32"), "gap": [True]})
    back = like(ARRAYS["float32"], filled)
    assert back.dtype == "float32"
    assert back.tolist() == [[1.5, 1.0]]
    flags = like(ARRAYS["bool"], pd.DataFrame({0: [True], "gap": [False]}))
    assert flags.dtype == bool


def test_what_is_no_table_is_refused():
    with pytest.raises(TypeError, match="must be in memory. Got a lazy polars LazyFrame"):
        to_pandas(POLARS.lazy())
    with pytest.raises(ValueError, match=r"two dimensions. Got an array of shape \(3,\)"):
        to_pandas(np.zeros(3))


def test_repeated_names_of_a_pyarrow_table_are_refused_by_name():
    table = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(TableError, match="distinct names. Got 'a' more than once"):
        learn_code(to_pandas(table))


def test_repeated_names_are_refused_by_name_and_by_who_got_them():
    cells = pa.array([1])
    for table in (
        pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]),
        pa.table([cells, cells, cells], names=["a", "b", "a"]),
    ):
        with pytest.raises(TableError, match="that Machine got must have distinct names. Got 'a'"):
            check_names(table, "Machine")
    for table in (POLARS, ARROW["chunks"], pd.DataFrame({"a": [1], 0: [2]})):
        check_names(table, "Machine")


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_integers_that_no_float_holds_are_refused_in_arrays_and_kept_in_tables(dtype):
    X = np.array([[1, 2**53], [2, 2**53 + 1], [3, 2**60]], dtype=dtype)
    with pytest.raises(TableError, match=r"column 1 must hold integers.*Got 9007199254740993: pas"):
        to_pandas(X)
    # A float holds these, and a power of two that stands for a gap.
    held = X[[0, 2]]
    np.testing.assert_array_equal(to_pandas(held).to_numpy().astype(dtype), held)
    sentinel = np.array([[np.iinfo("int64").min], [1]])
    assert to_pandas(sentinel)[0].tolist() == [float(np.iinfo("int64").min), 1.0]
    if dtype == "int64":
        with pytest.raises(TableError, match="Got -9007199254740993"):
            to_pandas(-X)


def test_tables_keep_integers_that_no_float_holds_and_fill_near_them():
    low, high = 2**53 + 1, 2**53 + 7
    cells = [low, None, high, None, low + 2]
    for X in (
        pd.DataFrame({"a": pd.array(cells, dtype="Int64"), "b": np.array([low] * 4 + [high])}),
        pl.DataFrame({"a": cells, "b": [low] * 4 + [high]}),
    ):
        frame = to_pandas(X)
        encoded = learn_code(frame, whole="dtype").encode(frame)
        for share in (0.0, 0.4, 1.0):
            matrix = np.where(np.isnan(encoded.matrix), share, encoded.matrix)
            filled = like(X, encoded.decode(matrix))
            values = [int(value) for value in filled["a"]]
            assert [values[row] for row in (0, 2, 4)] == [low, high, low + 2]
            assert all(low <= value <= high for value in values)
            assert [int(value) for value in filled["b"]] == [low] * 4 + [high]


@pytest.mark.parametrize("name", TABLES)
def test_numbers_beside_text_are_numbers_in_another_library(name):
    columns = ["Float32", "Float64", "String", "Enum", "whole"]
    X = TABLES[name].select(columns)
    as_pandas = as_library(X, "pandas")
    assert isinstance(as_pandas, pd.DataFrame)
    assert as_pandas.dtypes[["Float32", "Float64", "whole"]].astype(str).tolist() == [
        "float32",
        "float64",
        "int16",
    ]
    assert as_pandas["String"].tolist()[::2] == ["a", "b"]
    assert isinstance(as_pandas["Enum"].dtype, pd.CategoricalDtype)
    as_polars = as_library(X, "polars")
    assert as_polars.schema == POLARS.select(columns).schema
    assert as_library(as_pandas, "polars").schema["whole"] == pl.Int16
    assert as_library(X, "default") is X


def test_arrays_have_no_library_to_leave():
    X = np.zeros((2, 2))
    assert as_library(X, "pandas") is X
