"""Random labelled tables of every kind of column that the estimators take."""

import numpy as np
import pandas as pd
from hypothesis import strategies as st

LETTERS = st.sampled_from(["a", "b", "c", ""])
WHOLE = st.integers(-100, 100)
MODEST = st.floats(-1e6, 1e6, width=32)

KINDS = {
    "float64": ("float64", st.floats(-1e6, 1e6)),
    "float32": ("float32", MODEST),
    "wide floats": ("float64", st.floats(allow_nan=False, allow_infinity=False)),
    "Float32": ("Float32", MODEST),
    "Float64": ("Float64", MODEST),
    "int64": ("int64", WHOLE),
    "uint8": ("uint8", st.integers(0, 255)),
    "Int64": ("Int64", WHOLE),
    "Int8": ("Int8", st.integers(-128, 127)),
    "UInt64": ("UInt64", st.integers(0, 2**64 - 1)),
    "bool": ("bool", st.booleans()),
    "boolean": ("boolean", st.booleans()),
    "str": ("str", LETTERS),
    "string": ("string[python]", LETTERS),
    "category": ("category", LETTERS),
    "category of ints": ("category", st.integers(1, 3)),
    "ordered": (pd.CategoricalDtype(["low", "mid", "high"], ordered=True), None),
    "arrow doubles": ("double[pyarrow]", MODEST),
    "arrow floats": ("float[pyarrow]", MODEST),
    "arrow booleans": ("bool[pyarrow]", st.booleans()),
    "arrow ints": ("int64[pyarrow]", WHOLE),
    "arrow strings": ("string[pyarrow]", LETTERS),
    "object strings": (object, LETTERS),
    "object numbers": (object, st.one_of(WHOLE, MODEST)),
    "object booleans": (object, st.booleans()),
    "object mix": (object, st.one_of(LETTERS, WHOLE, st.booleans())),
    "constant": ("float64", st.just(3.7)),
    "empty": ("float64", st.nothing()),
    "empty object": (object, st.nothing()),
}
"""Kinds of columns: dtype and cells."""

WITHOUT_GAPS = ("int64", "uint8", "bool")
"""Dtypes that have no missing value."""


@st.composite
def columns(draw, n_rows):
    """Return a column of some kind, with gaps from nowhere to everywhere."""
    dtype, cells = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    if cells is None:
        cells = st.sampled_from(["low", "mid", "high"])
    gap = None
    if dtype in WITHOUT_GAPS:
        gaps = np.zeros(n_rows, dtype=bool)
    elif cells.is_empty:
        gaps = np.ones(n_rows, dtype=bool)
    else:
        share = draw(st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0]))
        seed = draw(st.integers(0, 99))
        gaps = np.random.default_rng(seed).random(n_rows) < share
    # Few distinct values, repeated, let hypothesis spend its choices on what matters.
    pool = [gap] if gaps.all() else draw(st.lists(cells, min_size=1, max_size=8))
    places = np.random.default_rng(draw(st.integers(0, 99))).integers(len(pool), size=n_rows)
    values = [gap if gaps[row] else pool[places[row]] for row in range(n_rows)]
    return pd.Series(values, dtype=dtype)


@st.composite
def labels(draw, n_rows):
    """Return labels of some kind, balanced or not; at times of one class only."""
    n_classes = draw(st.integers(2, 4))
    names = draw(
        st.sampled_from([("no", "yes", "perhaps", "never"), (3, -1, 0, 7), (False, True, 2, 3)])
    )
    if isinstance(names[0], bool):
        n_classes, names = 2, names[:2]
    shares = draw(st.sampled_from([(1, 1, 1, 1), (9, 1, 1, 1), (30, 1, 1, 1)]))[:n_classes]
    generator = np.random.default_rng(draw(st.integers(0, 99)))
    places = generator.choice(n_classes, size=n_rows, p=np.array(shares) / sum(shares))
    return np.array(names[:n_classes])[places]


@st.composite
def labelled_tables(draw):
    """Return a table of 1 to 60 rows and 1 to 6 columns, some rows twice, and its labels."""
    n_rows = draw(st.one_of(st.integers(1, 8), st.integers(9, 60), st.integers(20, 60)))
    n_columns = draw(st.integers(1, 6))
    frame = pd.DataFrame({f"column {place}": draw(columns(n_rows)) for place in range(n_columns)})
    y = draw(labels(n_rows))
    if draw(st.booleans()):
        order = np.random.default_rng(draw(st.integers(0, 99))).integers(n_rows, size=n_rows)
        frame, y = frame.iloc[order], y[order]
    return frame, y


@st.composite
def gappier(draw, frame):
    """Return rows of a table in another order with some of their cells taken away."""
    generator = np.random.default_rng(draw(st.integers(0, 99)))
    rows = frame.iloc[generator.permutation(len(frame))].reset_index(drop=True)
    for place, dtype in enumerate(rows.dtypes):
        if str(dtype) not in WITHOUT_GAPS:
            column = rows.iloc[:, place].copy()
            column[generator.random(len(rows)) < 0.3] = None
            rows.isetitem(place, column)
    return rows
