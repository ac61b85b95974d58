"""Properties of tables under coding and decoding, whatever their dtypes, gaps and sizes."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from kernimpute.core.checks import observed_cells
from kernimpute.table.code import encode_table

NUMBERS = st.floats(-1e6, 1e6, width=32)
INTEGERS = st.integers(-100, 100)
BYTES = st.integers(0, 200)
LETTERS = st.sampled_from("abcd")
FLAGS = st.booleans()

DTYPES = {
    "float64": NUMBERS,
    "float32": NUMBERS,
    "Float64": NUMBERS,
    "Float32": NUMBERS,
    "double[pyarrow]": NUMBERS,
    "float[pyarrow]": NUMBERS,
    "Int64": INTEGERS,
    "UInt8": BYTES,
    "int64[pyarrow]": INTEGERS,
    "boolean": FLAGS,
    "bool[pyarrow]": FLAGS,
    "string": LETTERS,
    "string[pyarrow]": LETTERS,
    "string[python]": LETTERS,
    "category": LETTERS,
    "object": st.one_of(LETTERS),
}


@st.composite
def tables(draw):
    """Return a table with one column of each drawn dtype, gaps anywhere, and any index."""
    n_rows = draw(st.integers(1, 12))
    dtypes = draw(st.lists(st.sampled_from(sorted(DTYPES)), min_size=1, max_size=6))
    columns = {}
    for place, dtype in enumerate(dtypes):
        cell = st.one_of(st.none(), DTYPES[dtype])
        values = draw(st.lists(cell, min_size=n_rows, max_size=n_rows))
        columns[f"{dtype} {place}"] = pd.Series(values, dtype=dtype)
    frame = pd.DataFrame(columns)
    frame.index = draw(st.lists(st.integers(0, 3), min_size=n_rows, max_size=n_rows))
    return frame


@st.composite
def filled_tables(draw):
    """Return a coded table, and its matrix with some number or code at each gap."""
    encoded = encode_table(draw(tables()))
    X = encoded.matrix.copy()
    for feature, column in enumerate(encoded.code.features):
        gaps = np.isnan(X[:, feature])
        if column.kind == "category":
            cells = st.integers(0, len(column.values) - 1)
        else:
            cells = st.floats(0.0, 1.0)
        n_gaps = int(gaps.sum())
        X[gaps, feature] = draw(st.lists(cells, min_size=n_gaps, max_size=n_gaps))
    return encoded, X


@settings(max_examples=60, deadline=None)
@given(tables())
def test_the_matrix_has_numbers_in_the_unit_interval_and_gaps_where_the_table_has_them(frame):
    encoded = encode_table(frame)
    features = [column.in_matrix for column in encoded.code.columns]
    np.testing.assert_array_equal(observed_cells(encoded.matrix), encoded.observed[:, features])
    np.testing.assert_array_equal(encoded.observed, frame.notna())
    numbers = encoded.matrix[:, ~encoded.code.categorical]
    assert np.nanmin(numbers, initial=0.0) >= 0.0
    assert np.nanmax(numbers, initial=1.0) <= 1.0


@settings(max_examples=60, deadline=None)
@given(filled_tables())
def test_decoding_writes_gaps_only_and_keeps_everything_else(case):
    encoded, X = case
    frame = encoded.frame
    untouched = frame.copy(deep=True)
    filled = encoded.decode(X)
    pd.testing.assert_frame_equal(frame, untouched)
    assert filled.columns.equals(frame.columns)
    assert filled.index.equals(frame.index)
    assert (filled.dtypes == frame.dtypes).all()
    for position, column in enumerate(encoded.code.columns):
        before, after = frame.iloc[:, position], filled.iloc[:, position]
        seen = encoded.observed[:, position]
        pd.testing.assert_series_equal(before[seen], after[seen], check_exact=True)
        assert after.isna().any() == (column.kind == "empty")


@settings(max_examples=40, deadline=None)
@given(tables())
def test_a_filled_table_coded_again_has_the_same_matrix(frame):
    encoded = encode_table(frame)
    X = np.where(np.isnan(encoded.matrix), 0.0, encoded.matrix)
    filled = encoded.decode(X)
    again = encoded.code.encode(filled)
    np.testing.assert_array_equal(again.matrix, X)
    pd.testing.assert_frame_equal(again.decode(again.matrix), filled)
