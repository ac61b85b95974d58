"""ARFF: read as SciPy reads it where SciPy can, and what SciPy cannot."""

from __future__ import annotations

import io
import re

import numpy as np
import pandas as pd
import pytest
from scipy.io import arff

from kernimpute.cli.arff_tables import arff_quoted, parse_arff, read_attributes, unquoted
from kernimpute.cli.errors import RefusedError

TEXT = """% A comment
@RELATION 'some cells'

@ATTRIBUTE 'a b' NUMERIC
@attribute n INTEGER
@Attribute c {red, 'light blue', unused}
@DATA
% another
1.50, 3, 'light blue'
?,?,?
2e1,4,red
"""


def test_it_reads_what_scipy_reads():
    rows, meta = arff.loadarff(io.StringIO(TEXT))
    table = parse_arff(TEXT, "t.arff")
    columns, cautions = read_attributes(table, "t.arff")
    assert list(columns) == meta.names()
    assert cautions == []
    np.testing.assert_array_equal(columns["a b"].values, rows["a b"])
    np.testing.assert_array_equal(columns["n"].values.astype(float), rows["n"])
    ours = columns["c"].values
    theirs = [value.decode() for value in rows["c"]]
    assert ours.astype(object).where(ours.notna(), "?").tolist() == theirs
    assert list(ours.cat.categories) == list(meta["c"][1])
    assert table.lines == [9, 10, 11]


def test_it_reads_what_scipy_does_not():
    text = (
        "@relation r\n@attribute 'it\\'s' {'a,b', 'it\\'s', \"say \\\"x\\\"\", '?', é}\n"
        "@attribute s string\n@attribute d date 'yyyy-MM-dd'\n@data\n"
        "'a,b', 'free, text', 2020-01-01\r\n'it\\'s',?,?\n\"say \\\"x\\\"\",x,?\n'?',y,?\né,z,?\n"
    )
    columns, _ = read_attributes(parse_arff(text, "t.arff"), "t.arff", unused=["d"])
    assert columns["it's"].values.tolist() == ["a,b", "it's", 'say "x"', "?", "é"]
    assert columns["s"].values.tolist() == ["free, text", None, "x", "y", "z"]
    assert columns["d"].values.tolist()[:2] == ["2020-01-01", None]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no line @data"),
        ("a,b\n1,2\n", "line 1: 'a,b' has no place in a header"),
        ("@relation r\n@attribute a numeric\n@data\n", "has a header and no rows"),
        ("@relation r\n@attribute a\n@data\n1\n", "line 2: '@attribute a' declares no attribute"),
        ("@relation r\n@attribute a relational\n@data\n1\n", "'a' must be numeric, nominal"),
        ("@attribute a numeric\n@attribute a numeric\n@data\n1,2\n", "names 'a' more than once"),
        ("@attribute a numeric\n@data\n1,2\n", "line 3 has 2 cells where the header declares 1"),
        ("@attribute a numeric\n@data\n{0 1}\n", "line 3: sparse rows are not read"),
        ("@attribute a numeric\n@data\n'1\n", "line 3: a quote is not closed"),
    ],
)
def test_malformed_text_is_refused_with_its_line(text, message):
    with pytest.raises(RefusedError, match=re.escape(message)):
        parse_arff(text, "t.arff")


def test_cells_that_break_their_declaration_are_refused_with_their_line():
    text = "@attribute a numeric\n@attribute c {x,y}\n@data\n1,x\nzz,y\n"
    with pytest.raises(RefusedError, match="t.arff, line 5, attribute 'a': 'zz' is not a finite"):
        read_attributes(parse_arff(text, "t.arff"), "t.arff")
    text = "@attribute a numeric\n@attribute c {x,y}\n@data\n1,z\n"
    with pytest.raises(RefusedError, match="line 4, attribute 'c': 'z' is not one of the declared"):
        read_attributes(parse_arff(text, "t.arff"), "t.arff")
    columns, _ = read_attributes(parse_arff(text, "t.arff"), "t.arff", missing_values=["z"])
    assert columns["c"].values.isna().all()


def test_dates_are_refused_with_the_remedy():
    text = "@attribute d date\n@data\n2020-01-01\n"
    with pytest.raises(RefusedError, match="'d' is a date.*--drop 'd', --ignore 'd'"):
        read_attributes(parse_arff(text, "t.arff"), "t.arff")


def test_numbers_can_be_codes():
    text = "@attribute a numeric\n@data\n1\n2\n?\n"
    columns, _ = read_attributes(parse_arff(text, "t.arff"), "t.arff", categorical=["a"])
    assert columns["a"].values.tolist() == ["1", "2", None]
    columns, _ = read_attributes(parse_arff(text, "t.arff"), "t.arff")
    assert columns["a"].values.tolist() == [1, 2, pd.NA]


@pytest.mark.parametrize(
    "value",
    ["plain", "a b", "a,b", "it's", 'say "x"', "?", "", "%x", "{x}", "back\\slash", "é", "a\nb"],
)
def test_a_quoted_value_is_read_back(value):
    cell = arff_quoted(value)
    assert unquoted(cell) == value
    text = f"@attribute {cell} {{{cell},other}}\n@data\n{cell}\n"
    columns, _ = read_attributes(parse_arff(text, "t.arff"), "t.arff")
    assert columns[value].values.tolist() == [value]
