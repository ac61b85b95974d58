"""Text tables: cells, columns, what is refused, and what comes back unchanged."""

from __future__ import annotations

import csv
import io
import re

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernimpute.cli.errors import RefusedError
from kernimpute.cli.text_columns import find_gaps, read_columns
from kernimpute.cli.text_tables import cell_text, parse_text, quoted


def parse(text, delimiter=","):
    return parse_text(text, delimiter, "t.csv")


def read(text, **options):
    return read_columns(parse(text), "t.csv", **options)


def column(values, **options):
    """Return the one column `c` of a table with these cells, and notes and cautions."""
    columns, notes, cautions = read("c,x\n" + "".join(f"{v},1\n" for v in values), **options)
    return columns["c"], notes, cautions


def test_cells_are_kept_as_they_are_spelled():
    table = parse('a,"b ""x""",c\r\n 38.50 ,"x, y",\r\n"two\nlines",,00000\r\n')
    assert table.names == ("a", 'b "x"', "c")
    assert table.rows == [[" 38.50 ", '"x, y"', ""], ['"two\nlines"', "", "00000"]]
    assert table.lines == [2, 3]
    assert table.newline == "\r\n"


def test_lines_are_counted_through_cells_of_several_lines():
    with pytest.raises(
        RefusedError, match=re.escape("t.csv, line 4 has 1 cell where the header has 2.")
    ):
        parse('a,b\n"x\ny",1\nz\n')


def test_a_last_line_without_its_end_and_empty_lines_at_the_end_are_fine():
    assert parse("a,b\n1,2").rows == [["1", "2"]]
    assert parse("a,b\n1,").rows == [["1", ""]]
    assert parse("a,b\n1,2\n\n\n").rows == [["1", "2"]]


def test_a_byte_order_mark_is_no_part_of_the_first_name():
    table = parse("\ufeffa,b\n1,2\n")
    assert table.names == ("a", "b")
    assert table.byte_order_mark


def test_semicolons_are_noticed():
    table = parse("a;b\n1;2\n")
    assert table.names == ("a", "b")
    assert table.notes == ("cells are separated by semicolons",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "t.csv is empty"),
        ("\n\n", "t.csv is empty"),
        ("a,b\n", "t.csv has a header and no rows"),
        ("a,b\n1,2\n1\n", "t.csv, line 3 has 1 cell where the header has 2"),
        ("a,b\n1,2,3\n", "t.csv, line 2 has 3 cells where the header has 2"),
        ("a,b\n\n1,2\n", "t.csv, line 2 is empty where the header has 2"),
        ('a,b\n1,"2\n3,4\n', "t.csv, line 2: a quote is not closed"),
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


def test_integers_floats_and_text_are_told_apart():
    columns, notes, cautions = read("i,f,t\n1,1.50,yes\n-2,2,no\n,,\n")
    assert [columns[name].values.dtype for name in "ift"] == ["Int64", "float64", "object"]
    assert columns["i"].values.tolist() == [1, -2, pd.NA]
    assert columns["f"].values.tolist()[:2] == [1.5, 2.0]
    assert columns["t"].values.tolist() == ["yes", "no", None]
    assert notes == cautions == []


@pytest.mark.parametrize(
    ("cells", "value", "text"),
    [
        (["1", "20"], 7, "7"),
        (["38.50", "39.2", "40"], 38.12345, "38.12"),
        (["0.5", "-3"], -0.04, "0.0"),
        (["45.00", "50.00"], 46.0, "46.00"),
        (["1e3", "2.5e3"], 1234.5678901, "1234.5678901"),
        (["0.1234567890123456", "1"], 0.123, "0.123"),
        (["99999999999999999999", "1"], 5.0, "5"),
    ],
)
def test_filled_numbers_are_written_like_their_neighbours(cells, value, text):
    assert column(cells)[0].spell(value) == text


def test_leading_zeros_make_codes_and_a_note():
    codes, notes, _ = column(["00000", "02208", "11300"])
    assert codes.values.tolist() == ["00000", "02208", "11300"]
    assert notes == ["read as codes, for they have leading zeros: c"]
    assert column(["0", "10", "0.5"])[0].values.dtype == "float64"
    assert column(["012.5", "010"])[0].values.dtype == "float64"


def test_the_caller_can_make_codes():
    codes, notes, _ = column(["1", "2", "1"], categorical=["c"])
    assert codes.values.tolist() == ["1", "2", "1"]
    assert notes == []


@pytest.mark.parametrize("text", ["12,5", "1,200.5", "inf", "1e999", "1_000", "12 %", "n.a.", "١٢"])
def test_an_unreadable_cell_among_numbers_is_refused_with_line_column_and_text(text):
    cells = "".join(f'"{value}",1\n' for value in [1.5] * 98 + [text, 2.5])
    with pytest.raises(RefusedError) as refusal:
        read("pulse,x\n" + cells)
    message = str(refusal.value)
    assert message.startswith(f"t.csv, line 100, column 'pulse': {text!r} ")
    assert f"--missing-values '{text}'" in message
    assert "\n" not in message


def test_a_whole_column_with_decimal_commas_is_refused():
    with pytest.raises(
        RefusedError, match="line 2.*'1,5' has a comma, .*write decimals with a point"
    ):
        read("a;b\n1,5;x\n2,5;y\n")


def test_a_share_is_not_rounded_up_to_everything():
    cells = "".join(f"{value},1\n" for value in [1.5] * 9999 + ["x"])
    with pytest.raises(RefusedError, match=r"99.9 % of its cells"):
        read("a,b\n" + cells)


def test_half_numbers_half_text_are_categories_with_a_caution():
    mixed, _, cautions = column(["1", "2", "A3", "B4"])
    assert mixed.values.tolist() == ["1", "2", "A3", "B4"]
    assert cautions == [
        "column 'c' mixes text with numbers (50 % of its cells): all are taken for categories"
    ]


def test_marks_that_are_perhaps_gaps_get_a_caution():
    _, _, cautions = column(["x", "?", "y", "?"])
    assert cautions == [
        "column 'c' holds '?' in 2 cells, as a category: --missing-values '?' makes it a gap"
    ]


@pytest.mark.parametrize(
    "text", ["", "  ", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "null", "NULL"]
)
def test_texts_that_are_a_gap_in_any_column(text):
    assert column(["1", text, "2"])[0].values.tolist() == [1, pd.NA, 2]
    assert column(["x", text, "y"])[0].values.tolist() == ["x", None, "y"]


def test_missing_values_match_text_and_every_spelling_of_a_number():
    matched = set()
    gaps = find_gaps(["-999", "-999.0", "-99", "?", "??"], ["-999", "?"], matched)
    assert gaps == [True, True, False, True, False]
    assert matched == {"-999", "?"}


def test_a_missing_value_that_no_cell_holds_gets_a_caution():
    values, _, cautions = column(["1", "?", "2"], missing_values=["?", "-1"])
    assert values.values.tolist() == [1, pd.NA, 2]
    assert cautions == ["no cell holds the missing value '-1'"]


def test_unused_columns_are_carried_as_text():
    columns, _, _ = read("a,b\n12,5\nx,6\n", unused=["a"])
    assert columns["a"].values.tolist() == ["12", "x"]


@pytest.mark.parametrize("value", ["plain", "a,b", 'say "x"', "two\nlines", " padded ", ""])
def test_a_quoted_value_is_read_back(value):
    table = parse(f"a,b\n{quoted(value, ',')},1\n")
    columns, _, _ = read_columns(table, "t.csv", unused=["a"])
    assert (columns["a"].values[0] or "") == value.strip()


CELLS = st.text(alphabet="ab1 .,;\t\"'\n\u00e9", max_size=6)


@given(
    rows=st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=5),
    delimiter=st.sampled_from([",", "\t"]),
    newline=st.sampled_from(["\n", "\r\n"]),
    everywhere=st.booleans(),
)
def test_it_reads_what_the_csv_module_writes_and_gives_it_back(
    rows, delimiter, newline, everywhere
):
    written = io.StringIO()
    quoting = csv.QUOTE_ALL if everywhere else csv.QUOTE_MINIMAL
    writer = csv.writer(written, delimiter=delimiter, lineterminator=newline, quoting=quoting)
    writer.writerows([["x", "y", "z"], *rows])
    table = parse_text(written.getvalue(), delimiter, "t.csv")
    assert [[cell_text(cell) for cell in row] for row in table.rows] == [
        [cell.strip() for cell in row] for row in rows
    ]
    lines = [delimiter.join(cells) for cells in (table.header, *table.rows)]
    assert newline.join(lines) + newline == written.getvalue()
