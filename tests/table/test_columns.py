"""What a column holds: its gaps, its kind, its domain, and what is refused."""

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from kernimpute.table.code import learn_code
from kernimpute.table.columns import (
    TableError,
    TableTypeError,
    check_column_names,
    observed_in_table,
)

ARROW_FLOAT = pd.ArrowDtype(pa.float64())


def test_missing_values_match_text_by_text_and_numbers_by_numbers():
    cells = {
        "int": (np.array([-1, 5, 7, 9], dtype="int16"), [0]),
        "Float64": (pd.array([-1.0, None, 1.5, 2.0], dtype="Float64"), [0, 1]),
        "text": (["?", "a", "-1", "a"], [0]),
        "string": (pd.array(["?", "a", None, "a"], dtype="string"), [0, 2]),
        "category": (pd.Categorical(["?", "a", "b", None]), [0, 3]),
        "object": (pd.Series(["?", 1, -1.0, None], dtype=object), [0, 1, 2, 3]),
        "flag": ([True, False, True, False], []),
        "date": (pd.to_datetime(["2020-01-01"] * 3 + [None]), [3]),
        "list": (pd.Series([[1], ["?"], [], {}], dtype=object), []),
        "arrow": (pd.array(pa.array([1.5, float("nan"), None, 2.0]), ARROW_FLOAT), [1, 2]),
    }
    frame = pd.DataFrame({name: values for name, (values, _) in cells.items()})
    observed = observed_in_table(frame, ["?", -1, 1, True, np.nan, None, pd.NA])
    for name, seen in zip(frame.columns, observed.T, strict=True):
        assert np.flatnonzero(~seen).tolist() == cells[name][1], name


def test_missing_values_may_be_named_by_column():
    frame = pd.DataFrame({"a": [0, 1, 9], "b": [0, 1, 9], 3: ["?", "x", "9"]})
    observed = observed_in_table(frame, {"a": [0, 9], 3: "?", "other": 1})
    assert (~observed).astype(int).tolist() == [[1, 0, 1], [0, 0, 0], [1, 0, 0]]


DICTIONARY = pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))


@pytest.mark.parametrize(
    ("values", "kind", "domain"),
    [
        (pd.Series([1.5, 2.0, None]), "number", (1.5, 2.0)),
        (pd.Series([1.0, 2.0, None]), "whole, by dtype number", (1.0, 2.0)),
        (pd.Series([3, 1, None], dtype="Int8"), "whole", (1, 3)),
        (pd.Series([1, 2, None], dtype=object), "whole", (1, 2)),
        (pd.Series([1, 2.0, None], dtype=object), "whole, by dtype number", (1, 2.0)),
        (pd.Series([3, 2**63 - 1, None], dtype="Int64"), "whole", (3, 2**63 - 1)),
        (pd.Series([2, 1.5, None], dtype=object), "number", (1.5, 2)),
        (pd.Series(["b", "a", None], dtype=object), "category", ("a", "b")),
        (pd.Series([True, False, None], dtype="boolean"), "category", (False, True)),
        (pd.Series(pd.Categorical(["a", "b"], ["z", "b", "a"])), "category", ("b", "a")),
        (pd.Series(["b", "a"]).astype("string[pyarrow]").astype(DICTIONARY), "category", "ab"),
        (pd.Series(pd.cut([1.0, 3.0, 5.0], 3)).iloc[:2], "category", None),
        (pd.Series([7.1, None], dtype="float32"), "constant", (np.float32(7.1),)),
        (pd.Series(["x", None, "x"]), "constant", ("x",)),
        (pd.Series([None, None], dtype="Int64"), "empty", ()),
        (pd.Series([pd.NaT, pd.NaT]), "empty", ()),
    ],
    ids=str,
)
def test_the_observed_cells_decide_kind_and_domain(values, kind, domain):
    by_values, _, by_dtype = kind.partition(", by dtype ")
    column = learn_code(values.to_frame("a")).columns[0]
    assert column.kind == by_values
    if domain is not None:
        assert column.values == tuple(domain)
    column = learn_code(values.to_frame("a"), whole="dtype").columns[0]
    assert column.kind == (by_dtype or by_values)


def test_numbers_that_the_caller_names_are_categories():
    frame = pd.DataFrame({"code": [3.0, 7.0, np.nan], "mixed": ["x", 2, 1]})
    code = learn_code(frame, categorical=["code", "mixed"])
    assert [column.values for column in code.columns] == [(3.0, 7.0), (1, 2, "x")]


@pytest.mark.parametrize(
    ("values", "got"),
    [
        (pd.to_datetime(["2020-01-01"] * 3), "datetime64"),
        ([datetime.date(2020, 1, 1)] * 3, "date values"),
        (["2020-01-01", " 2020-01-02 10:00", "2021-01-01"], "dates such as '2020-01-01'"),
        (["7/3/2020", "12/31/20", "unknown"], "dates such as '7/3/2020'"),
        (["06.01.2020", "6.1.2020", "06.01.20"], "dates such as '06.01.2020'"),
        (["02-Jan-2020", "3 March 2020", "03DEC2020"], "dates such as '02-Jan-2020'"),
        (["Jan 2, 2020", "2020/1/2 10:30", "unknown"], "dates such as 'Jan 2, 2020'"),
        (pd.to_timedelta([1, 2, 3], unit="D"), "timedelta64"),
        (pd.period_range("2020", periods=3, freq="D"), r"period\[D\]"),
        ([1 + 2j] * 3, "complex128"),
        ([[1], [2], [3]], "list values"),
        ([b"a", b"b", b"c"], "bytes values"),
        (pd.array([1, 2, 3], dtype=pd.ArrowDtype(pa.decimal128(5, 2))), "decimal128"),
        (pd.Series(["x", 1, 2], dtype=object), "int and str values.*missing_values"),
        (pd.arrays.SparseArray([1.0, 0.0, 0.0]), r"Sparse.*\.sparse\.to_dense\(\)"),
    ],
)
def test_columns_of_other_kinds_are_refused_with_name_and_remedy(values, got):
    frame = pd.DataFrame({"fine": [1, 2, 3], "when": pd.Series(values)})
    with pytest.raises(TableError, match=rf"The 'when' column .* must hold numbers, .*Got .*{got}"):
        learn_code(frame)
    if got.startswith("dates"):
        assert learn_code(frame, categorical=["when"]).columns[1].kind == "category"


@pytest.mark.parametrize("cell", [{"foo": "bar"}, [1.0], object()])
def test_cells_that_are_no_values_are_a_type_error_too(cell):
    values = np.array([[1.0, 2.0], [3.0, 4.0]], dtype=object)
    values[0, 1] = cell
    message = "column 1 .*argument must be a string or a real number"
    with pytest.raises(TypeError, match=message):
        learn_code(pd.DataFrame(values))
    with pytest.raises(TableTypeError, match=message):
        learn_code(pd.DataFrame(np.eye(2))).encode(pd.DataFrame(values))


@pytest.mark.parametrize("value", [np.inf, -np.inf, 10**400])
def test_values_and_ranges_that_no_float_holds_are_refused_with_the_column(value):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": pd.Series([1, value, 2], dtype=object)})
    with pytest.raises(TableError, match=r"'b' column.*finite numbers\. Got -?inf in 1 of"):
        learn_code(frame)
    with pytest.raises(TableError, match="'a' column.*span a range"):
        learn_code(pd.DataFrame({"a": [-1.7e308, 1.7e308, np.nan]}))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("outcom", "drop: there is no column 'outcom'. Did you mean 'Outcome'"),
        ("xyz", "no column 'xyz'. The columns are: 'Outcome', 'age', 3"),
    ],
)
def test_a_column_that_does_not_exist_gets_suggestions(name, message):
    names = ["Outcome", "age", 3]
    assert check_column_names("drop", "age", names) == ("age",)
    with pytest.raises(TableError, match=message):
        check_column_names("drop", [name], names)


def test_identifiers_and_categories_that_differ_in_case_are_named():
    frame = pd.DataFrame(
        {"id": [f"row{k}" for k in range(30)], "answer": ["Yes", "yes", "no"] * 10}
    )
    identifier, alike = learn_code(frame).cautions
    assert "identifier" in identifier and "id (30 in 30 observed cells)" in identifier
    assert "answer (Yes/yes)" in alike


QUANTITIES = [
    [f"{k} mg" for k in range(30)],
    [f"{k}%" for k in range(30)],
    [f"−{k},5 °C" for k in range(30)],
    [f"${k},200.50" for k in range(1, 30)],
    [f"1\u202f{k}\u00a0€" for k in range(100, 130)],
    [f"{k} mg" for k in range(30)] + ["unknown", "7"],
]
CODES = [
    [f"{k}/80" for k in range(100, 130)],
    [f"1.{k}.0" for k in range(30)],
    [f"10.0.0.{k}" for k in range(30)],
    [f"row{k}" for k in range(30)],
    [str(k) for k in range(30)],
    [f"12:{k}" for k in range(10, 40)],
    [f"{k}{letter}" for k in range(15) for letter in "AB"],
    [f"{k} {unit}" for k in range(15) for unit in ("mg", "g")],
    [f"{year}-01-01" for year in range(1990, 2020)],
    [f"<{' ' * 5000}x{k}" for k in range(30)],
    [f"{k}" for k in range(20)] + [f"{k} mg" for k in range(15)],
]


@pytest.mark.parametrize("cells", QUANTITIES, ids=lambda cells: cells[0])
def test_numbers_with_a_unit_are_named_as_such(cells):
    several = pd.DataFrame({"dose": cells * 3})
    (said,) = learn_code(several).cautions
    assert "numbers with a unit" in said and f"dose ({len(cells)} such as {min(cells)!r})" in said
    few = several[several["dose"].isin(cells[:20])]
    assert learn_code(few).cautions == ()


def test_text_that_spells_numbers_is_named_unless_it_is_chosen():
    ages = pd.Series([str(k) for k in range(60)] + ["unknown"])
    frame = pd.DataFrame({"age": ages, "zip": [f"{k:05}" for k in range(61)]})
    identifier, text = learn_code(frame).cautions
    assert text.startswith("text that spells numbers is taken for categories")
    assert text.endswith("age (61 such as '0')")
    assert "zip" in identifier
    assert "age" in learn_code(frame, categorical=["age"]).cautions[0]


@pytest.mark.parametrize("cells", CODES, ids=lambda cells: cells[0][:20])
def test_codes_are_not_named_as_numbers_with_a_unit(cells):
    frame = pd.DataFrame({"code": pd.Series(cells * 3).astype("category")})
    assert learn_code(frame).cautions == ()
