"""Tables of every library and arrays, to pandas and back."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from kernimpute.table.code import learn_code
from kernimpute.table.columns import TableError
from kernimpute.table.frames import check_in_memory, is_frame, like, to_pandas

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
TEXT = POLARS.select("String", "Int8").to_arrow()
TABLES = {
    "polars": POLARS,
    "arrow": POLARS.to_arrow(compat_level=pl.CompatLevel.oldest()),
    "arrow with views": POLARS.to_arrow(compat_level=pl.CompatLevel.newest()),
    "arrow in chunks": pa.concat_tables([POLARS[:1].to_arrow(), POLARS[1:].to_arrow()]),
    "arrow with small text": TEXT.cast(pa.schema({"String": pa.string(), "Int8": pa.int8()})),
}


def filled_like(X, code=None, fill_empty=False):
    """Return X with its gaps filled, and where it was observed."""
    frame = to_pandas(X)
    encoded = (code or learn_code(frame, whole="dtype")).encode(frame)
    matrix = np.where(np.isnan(encoded.matrix), 1.0, encoded.matrix)
    filled = encoded.decode(matrix, fill_empty=fill_empty)
    return like(X, filled, ~encoded.observed.all(axis=0)), encoded.observed


def cells(table):
    if isinstance(table, pa.Table):
        return table.to_pydict()
    return table.to_dict(as_series=False)


def test_tables_are_frames_and_arrays_are_none():
    for table in (*TABLES.values(), pd.DataFrame()):
        assert is_frame(table)
    for other in (np.zeros((2, 2)), [[1.0]], POLARS["Int8"], POLARS.lazy(), None, "text"):
        assert not is_frame(other)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_comes_back_with_its_schema_and_its_observed_cells(name):
    X = TABLES[name]
    filled, observed = filled_like(X)
    assert type(filled) is type(X) and filled.schema == X.schema
    before, after = cells(X), cells(filled)
    for column, seen in zip(before, observed.T, strict=True):
        for old, new, is_seen in zip(before[column], after[column], seen, strict=True):
            if is_seen:
                assert new == old
            else:
                assert (new is None) == (column in ("Null", "Date"))
    assert after["Int8"][1] == 100
    if "constant" in after:
        assert after["constant"] == ["x", "x", "x"]
        assert after["UInt64"][1] == 2**64 - 1


@pytest.mark.parametrize("name", ["polars", "arrow"])
def test_columns_may_be_dropped_and_indicators_may_follow(name):
    X = TABLES[name]
    filled = to_pandas(X).drop(columns=["Null", "Int8"])
    filled["gap"] = np.array([False, True, False])
    for changed in (np.zeros(12, dtype=bool), np.ones(12, dtype=bool)):
        back = cells(like(X, filled, changed))
        assert list(back) == list(filled.columns)
        assert back["gap"] == [False, True, False]
    # An empty column gets a dtype that holds its constant.
    assert cells(filled_like(X, fill_empty=True)[0])["Null"] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("as_table", [lambda frame: frame, pl.DataFrame.to_arrow])
def test_new_rows_may_lack_a_category_that_is_filled(as_table):
    code = learn_code(to_pandas(as_table(POLARS[["Enum", "Categorical"]])))
    new = pl.DataFrame(
        {
            "Enum": pl.Series(["z", None], dtype=pl.Enum(["z"])),
            "Categorical": pl.Series(["a", None], dtype=pl.Categorical),
        }
    )
    filled, _ = filled_like(as_table(new), code)
    assert cells(filled) == {"Enum": ["z", "a"], "Categorical": ["a", "b"]}


ARRAYS = {
    "float64": (np.array([[1.5, np.nan], [2.5, 3.0]]), "float64"),
    "float16": (np.array([[1.5, np.nan], [2.5, 3.0]], dtype="float16"), "float16"),
    "object": (np.array([["a", 1.5], [None, np.nan]], dtype=object), "object"),
    "bool": (np.array([[True, False], [False, True]]), "bool"),
    "uint8": (np.array([[1, 2], [3, 4]], dtype="uint8"), "float64"),
    "text": (np.array([["a", "b"], ["b", "b"]]), "object"),
}


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_comes_back_as_an_array_and_is_never_written(name, order):
    given, becomes = ARRAYS[name]
    X = np.array(given, order=order)
    X.flags.writeable = False
    filled, observed = filled_like(X)
    assert filled.dtype == becomes
    assert (filled[observed] == X[observed]).all() and not pd.isna(filled).any()
    assert X.tobytes() == np.array(given, order=order).tobytes()


def test_columns_of_arrays_are_numbered_and_lists_keep_their_cells():
    frame = to_pandas(np.array([[1, 2]]))
    assert frame.columns.equals(pd.RangeIndex(2))
    assert to_pandas([[1, "a"], [2.5, "b"]])[0].tolist() == [1, 2.5]
    with pytest.raises(TableError, match="column 1 must hold finite numbers. Got inf"):
        learn_code(to_pandas(np.array([[1.0, np.inf]])))


@pytest.mark.parametrize(
    ("table", "error", "message"),
    [
        (POLARS.lazy(), TypeError, "'X' .* in memory: pass .* Got a lazy LazyFrame of polars"),
        (np.zeros(3), ValueError, r"two dimensions. Got an array of shape \(3,\)"),
        (np.array([[1, -(2**53) - 1]]), TableError, "column 1 must.*integers.*-9007199254740993"),
        (np.array([[2**53 + 1]], "uint64"), TableError, "pass a DataFrame"),
    ],
)
def test_what_is_no_table_is_refused(table, error, message):
    with pytest.raises(error, match=message):
        check_in_memory(table, "X", "fit")
        to_pandas(table)
