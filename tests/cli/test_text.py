"""Text tables: cells, the values they stand for, what is refused, and what comes back unchanged."""

import csv
import io
import re

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas._libs.parsers import STR_NA_VALUES

from kernimpute.cli.messages import RefusedError
from kernimpute.cli.options import Reading
from kernimpute.cli.text import TextStyle, infer_values, parse_text, spelled, write_text


def parse(text, delimiter=None):
    return parse_text(text, "t.csv", delimiter)


def read(text, delimiter=None, *, missing_values=(), keep_values=(), decimal=".", **options):
    reading = Reading(missing_values=tuple(missing_values), keep_values=tuple(keep_values))
    table = parse_text(text, "t.csv", delimiter, decimal=decimal)
    return infer_values(table, reading, **options)


def column(cells, **options):
    """Return values, decimals, notes and cautions of the column `c` with these cells."""
    values = read("c,x\n" + "".join(f"{cell},1\n" for cell in cells), **options)
    return values.frame["c"], values.decimals["c"], values.notes, values.cautions


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a,b\n1,", [["1", ""]]),
        ("a,b\n1,2\n\n\n", [["1", "2"]]),
        ("\ufeffa,b\n1,2\n", [["1", "2"]]),
        ("a,b\r1,2\r", [["1", "2"]]),
        ("a;b\n1;2\n", [["1", "2"]]),
        ('"x, z";b\n1;2\n', [["1", "2"]]),
    ],
)
def test_ends_marks_and_semicolons(text, rows):
    table = parse(text)
    assert (table.names[1], table.rows) == ("b", rows)
    assert table.style.prefix == ("\ufeff" if text.startswith("\ufeff") else "")
    assert table.notes == (("cells are separated by semicolons",) if ";" in text else ())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "t.csv is empty"),
        ("a,b\n", "t.csv has a header and no rows"),
        ("a,b\n1,2,3\n", "t.csv, line 2 has 3 cells where the header has 2"),
        ('a,b\n"x\ny",1\nz\n', "t.csv, line 4 has 1 cell where the header has 2."),
        ("sep=;\na;b\n\n1;2\n", "t.csv, line 3 is empty where the header has 2"),
        ('sep=;\na;b\n1;2\n1;"', "t.csv, line 4: a quote is not closed"),
        (
            "a,b\n1," + "x" * 200_000,
            "t.csv, line 2: a quote is not closed, or a cell has over 131072",
        ),
        ('a,b\n1,"2"x\n', "t.csv, line 2: a quote is not closed, or text follows it"),
        ("a,b,a\n1,2,3\n", "t.csv: the header names 'a' more than once"),
    ],
)
def test_malformed_text_is_refused_with_its_line(text, message):
    with pytest.raises(RefusedError, match=re.escape(message)):
        parse(text)


def test_a_column_without_a_name_is_named_after_its_place():
    table = parse(",b\n0,2\n")
    assert table.names == ("unnamed_1", "b")
    assert "--ignore unnamed_1" in table.cautions[0]


CELLS = st.text(alphabet="ab1 .,;\t\"'\r\n\u00e9", max_size=6)


@given(
    rows=st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=5),
    delimiter=st.sampled_from([",", "\t"]),
    newline=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
)
def test_what_it_writes_is_what_the_csv_module_reads(rows, delimiter, newline, quoting):
    rows = [["x", "y", "z"], *rows]
    written = io.StringIO(newline="")
    csv.writer(written, delimiter=delimiter, lineterminator="\r\n", quoting=quoting).writerows(rows)
    table = parse(written.getvalue(), delimiter)
    assert [list(table.header), *table.rows] == rows
    again = write_text([*zip(*rows, strict=True)], TextStyle(delimiter, newline))
    assert [*csv.reader(io.StringIO(again, newline=""), delimiter=delimiter)] == rows


@pytest.mark.parametrize(
    ("cells", "value", "text"),
    [
        (["38.50", "39.2", "40"], 38.12345, "38.12"),
        (["0.5", "-3"], -0.04, "0.0"),
        (["45.00", "50.00"], 46.0, "46.00"),
        (["1e3", "2.5e3"], 1234.5678901, "1234.5678901"),
        (["0.1234567890123456", "1"], 0.123, "0.123"),
        (["99999999999999999999", "1"], 5.0, "5"),
        (["cat", "dog"], "cow", "cow"),
    ],
)
def test_a_filled_value_is_written_like_its_neighbours(cells, value, text):
    assert spelled(value, column(cells)[1]) == text


@pytest.mark.parametrize(
    ("cells", "options", "dtype", "note"),
    [
        (["00000", "02208"], {}, "object", "read as codes, because they have leading zeros: c"),
        (["012.5", "010"], {}, "float64", None),
        (["1", "2", "1"], {"categorical": ["c"]}, "object", None),
        (["12", "x"], {"unused": ["x"]}, "object", None),
        (
            ["07", "12", "08", *["34"] * 30],
            {},
            "object",
            "read as codes, because they have leading zeros: c",
        ),
    ],
)
def test_codes_are_text(cells, options, dtype, note):
    values, _, notes, _ = column(cells, **options)
    assert str(values.dtype) == dtype
    assert values.astype(str).tolist() == cells or dtype == "float64"
    assert notes == (() if note is None else (note,))


def test_one_leading_zero_among_many_numbers_makes_no_codes():
    cells = ["34", "07", *["56"] * 600]
    values, decimals, notes, cautions = column(cells)
    assert (str(values.dtype), values[1], decimals, notes) == ("Int64", 7, 0, ())
    assert cautions == (
        "t.csv, line 3, column 'c': '07' has a leading zero and is read as a number, like the "
        "other cells: --categorical 'c' if these are codes",
    )
    with pytest.raises(RefusedError, match="line 604, column 'c': 'unknown' is not a finite"):
        column([*cells, "unknown"])


def test_decimal_commas_are_read_where_they_are_said_to_be():
    values = read("c;x\n1,5;1\n-2,25;2\n;3\n1e3;4\n", decimal=",")
    assert values.frame["c"].tolist()[:2] == [1.5, -2.25]
    assert values.decimals == {"c": None, "x": 0}
    with pytest.raises(RefusedError, match="'1.000,5' has a point, in a column of numbers with"):
        read("c;x\n1,5;1\n1.000,5;2\n", decimal=",")


@pytest.mark.parametrize("text", ["12,5", "1,200.5", "inf", "1e999", "1_000", "12 %", "n.a.", "١٢"])
def test_an_unreadable_cell_among_numbers_is_refused_with_line_column_and_text(text):
    cells = "".join(f'"{value}",1\n' for value in [1.5] * 98 + [text, 2.5])
    with pytest.raises(RefusedError) as refusal:
        read("pulse,x\n" + cells)
    message = str(refusal.value)
    assert message.startswith(f"t.csv, line 100, column 'pulse': {text!r} ")
    assert f"--missing-values '{text}'" in message and "\n" not in message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a;b\n1,5;x\n2,5;y\n", "line 2.*'1,5' has a comma, .*decimals with a point"),
        # A share is not rounded up to everything.
        ("a,b\n" + "1.5,1\n" * 9999 + "x,1\n", r"99.9 % of its cells"),
    ],
    ids=["decimal commas", "one in ten thousand"],
)
def test_a_column_of_numbers_that_cannot_be_read_is_refused(text, message):
    with pytest.raises(RefusedError, match=message):
        read(text)


@pytest.mark.parametrize(
    ("cells", "caution"),
    [
        (
            ["1", "2", "A3", "B4"],
            "column 'c' mixes text with numbers (50 % of its cells): all are taken for categories",
        ),
        (
            ["x", "?", "y", "?"],
            "column 'c' holds '?' in 2 cells, as a category: --missing-values '?' makes it a gap",
        ),
    ],
)
def test_what_looks_like_a_mistake_gets_a_caution(cells, caution):
    values, _, _, cautions = column(cells)
    assert values.tolist() == cells and cautions == (caution,)


@pytest.mark.parametrize(
    "text",
    ["", "  ", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", *sorted(STR_NA_VALUES)],
)
def test_texts_that_are_a_gap_in_any_column(text):
    assert column(["1", text, "2"])[0].tolist() == [1, pd.NA, 2]
    assert column(["x", text, "y"])[0].tolist() == ["x", None, "y"]


def test_missing_values_match_text_and_every_spelling_of_a_number():
    cells = ["-999", "-999.0", "-99", "?", "5"]
    values, _, _, cautions = column(cells, missing_values=["-999", "?", "-1"])
    assert values.tolist() == [pd.NA, pd.NA, -99, pd.NA, 5]
    assert cautions == ("no cell holds the missing value '-1'",)


KEPT = "c,n,code\nNA,1,DE\nx,NA,FR\nNULL,3,NL\n,4,NA\n"


@pytest.mark.parametrize(
    ("given", "c", "code", "cautions"),
    [
        ({}, [0, 2, 3], [3], 1),
        ({"keep_values": ["NA"]}, [2, 3], [], 0),
        ({"keep_values": ["code=NA"]}, [0, 2, 3], [], 0),
        ({"keep_values": ["c=NULL", "code=NA"]}, [0, 3], [], 0),
        ({"keep_values": ["NA"], "missing_values": ["c=NA", "DE"]}, [0, 2, 3], [0], 0),
        ({"keep_values": ["zzz", "code=NA"], "missing_values": ["b=1"]}, [0, 2, 3], [], 2),
    ],
)
def test_texts_that_are_data_are_kept_in_columns_of_text(given, c, code, cautions):
    values = read(KEPT, **given)
    gaps = {name: values.frame.index[values.frame[name].isna()].tolist() for name in values.frame}
    assert gaps == {"c": c, "n": [1], "code": code}
    assert len(values.cautions) == cautions
    if not given:
        assert "--keep-values 'code=NA' keeps it" in values.cautions[0]


def test_a_marker_of_one_column_is_data_in_the_others():
    text = "glucose,pulse,a,a=b\n0,0,0,0\n5,70,7,0\n0.0,80,8,9\n"
    values = read(text, missing_values=["glucose=0", "a=b=9"])
    gaps = {name: int(values.frame[name].isna().sum()) for name in values.frame}
    assert gaps == {"glucose": 2, "pulse": 0, "a": 0, "a=b": 1}


def test_text_columns_in_which_a_marker_is_taken_for_a_gap_are_named():
    text = "country,name,n\nDE,Null,1\nNA,Smith,NA\n,Smith,3\nn/a,None,2\nFR,Null,\n"
    values = read(text)
    assert values.frame["country"].isna().tolist() == [False, True, True, True, False]
    assert values.notes == (
        "taken for gaps in the text column 'country': 'NA', 'n/a'",
        "taken for gaps in the text column 'name': 'None'",
    )
    assert any("holds 'Null' in 2 cells, as a category" in caution for caution in values.cautions)
