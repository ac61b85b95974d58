"""Table files: every format becomes every other, and only the gaps change."""

import gzip
import io
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from kernimpute.cli.files import table_extension
from kernimpute.cli.models import read_model
from tests.cli.conftest import cells_of, check_filled, contents

CSV = """id,age,"height, m",code,pet,y
007,30,1.80,00,"cat, big",yes
008,,1.60,01,dog,no
009,40,,00,,yes
010,51,1.70,,dog,no
011,,1.90,01,dog,yes
"""
EXTENSIONS = ["csv", "tsv.gz", "parquet", "xlsx", "csv.zst", "feather", "jsonl", "tsv", "jsonl.gz"]
IMPUTE = ("impute", "t.csv", "-t", "y", "-o", "o.csv")


def write_as(path, frame):
    """Write a table of text with somebody else's writer."""
    typed = frame.assign(**{name: pd.to_numeric(frame[name]) for name in ("age", "height, m")})
    if path.suffix in WRITERS:
        return WRITERS[path.suffix](typed, path)
    text = frame.to_csv(sep="\t" if ".tsv" in path.name else ",", index=False)
    if ".jsonl" in path.name:
        text = typed.to_json(orient="records", lines=True)
    with pa.output_stream(path, compression="detect") as file:
        file.write(text.encode())


def read_as_text(path):
    """Read a table with somebody else's reader, cells of text files as text."""
    if path.suffix in READERS:
        return READERS[path.suffix](path)
    with pa.input_stream(path, compression="detect") as file:
        text = io.StringIO(file.read().decode())
    if ".jsonl" in path.name:
        return pd.DataFrame([json.loads(line) for line in text])
    return pd.read_csv(text, sep="\t" if ".tsv" in path.name else ",", dtype=str)


WRITERS = {
    ".parquet": pd.DataFrame.to_parquet,
    ".feather": pd.DataFrame.to_feather,
    ".xlsx": lambda frame, path: frame.to_excel(path, index=False),
}
READERS = {
    ".parquet": pd.read_parquet,
    ".feather": pd.read_feather,
    ".xlsx": lambda path: pd.read_excel(path, dtype=object),
}


@pytest.mark.parametrize(
    ("read", "written"), [*zip(EXTENSIONS, EXTENSIONS[2:] + EXTENSIONS[:2], strict=True)]
)
def test_every_format_can_become_every_other(program, folder, read, written):
    (folder / "t.csv").write_text(CSV)
    before = read_as_text(folder / "t.csv")
    write_as(folder / f"in.{read}", before)
    given = ("-t", "y", "--ignore", "id", "--categorical", "code", "-o", f"o.{written}", "-q")
    assert program("impute", f"in.{read}", *given) == (0, "", "")
    after = read_as_text(folder / f"o.{written}")
    assert after.columns.tolist() == before.columns.tolist()
    assert after.notna().all(axis=None)
    for name in before:
        seen = before[name].notna()
        kind = float if name in ("age", "height, m") else str
        assert after[name][seen].astype(kind).tolist() == before[name][seen].astype(kind).tolist()
    assert set(after["pet"]) == {"cat, big", "dog"}


NAMES = ["t.csv", "t.csv.gz", "t.csv.zst", "t.parquet", "t.feather", "t.xlsx", "t.jsonl"]


@pytest.mark.parametrize("name", NAMES)
def test_standard_input_and_output_carry_the_table_alone(program, folder, monkeypatch, name):
    (folder / "t.csv").write_text(CSV)
    write_as(folder / name, read_as_text(folder / "t.csv"))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((folder / name).read_bytes())))
    given = ("-t", "y", "--ignore", "id", "-o")
    code, out, err = program("impute", "-", *given, "-")
    assert (code, "filled" in err, "wrote" in err) == (0, True, False)
    assert program("impute", name, *given, "o.csv", "-q") == (0, "", "")
    assert out == (folder / "o.csv").read_text()


VALUES = [
    {"n": 1, "x": 0.5, "flag": True, "s": "=1+1", "text": "07.5"},
    {"n": None, "x": 2, "flag": False, "s": " b ", "text": "1.5"},
    {"n": 3, "x": None, "flag": None, "s": "b", "text": None},
    {"n": 2, "x": 1e-20, "flag": True, "s": None, "text": "2.5"},
]


@pytest.mark.parametrize("name", ["t.xlsx", "t.jsonl"])
def test_a_sheet_and_json_keep_values_and_types(program, folder, name):
    (folder / "start.jsonl").write_text("".join(json.dumps(row) + "\n" for row in VALUES))
    every = ("--ignore", "s", "-q")
    assert program("impute", "start.jsonl", "-o", name, *every) == (0, "", "")
    assert program("impute", name, "-o", "again.jsonl", *every) == (0, "", "")
    written = [json.loads(line) for line in (folder / "again.jsonl").read_text().splitlines()]
    for before, after in zip(VALUES, written, strict=True):
        for column, value in before.items():
            if value is not None or column == "s":
                assert (after[column], type(after[column])) == (value, type(value))
            else:
                types = {type(row[column]) for row in VALUES} - {type(None)}
                assert type(after[column]) in types


STYLES = {
    "decimal commas": ("a;b\n1,50;2\n;3\n2,5;4\n", "utf-8", ("--decimal", ",")),
    "sep": ("sep=;\r\na;b\r\n1.5;2\r\n;3\r\n2.5;4\r\n", "utf-8", ()),
    "sep and mark": ("\ufeffsep=|\na|b\n1.5|2\n|3\n2.5|4\n", "utf-16-le", ()),
    "UTF-16": ("\ufeffa,b,n\n1,x,\u00e9\n,y,\u00e9\n3,x,\u00e9\n", "utf-16-be", ()),
    "Latin": ("a,n\n1,\u00e9\n,\u00e9\n3,\u00e9\n", "latin-1", ("--encoding", "latin-1")),
    "tabs": ("a\tb\n1\t2\n\t2\n3\t4\n", "utf-8", ()),
    "another delimiter": ("a b\n1 2\n 2\n3 4\n", "utf-8", ("--delimiter", " ")),
}


@pytest.mark.parametrize("style", STYLES)
def test_a_text_comes_back_in_the_style_it_came_in(program, folder, style):
    text, encoding, options = STYLES[style]
    name = "t.txt" if "--delimiter" in options else "t.csv"
    (folder / name).write_bytes(text.encode(encoding))
    code, _, err = program("impute", name, "-o", "o.csv", *options)
    assert (code, err) == (0, "")
    before = text.splitlines(keepends=True)
    after = (folder / "o.csv").read_bytes().decode(encoding).splitlines(keepends=True)
    gap = len(before) - 2
    assert after[:gap] + after[gap + 1 :] == before[:gap] + before[gap + 1 :]
    assert after[gap].endswith(before[gap])
    if style == "decimal commas":
        assert after[gap][1] == ","


def test_apply_reads_as_the_model_was_read(program, folder):
    rows = "".join(f"{k % 5},5;{k % 3};{'NA' if k % 2 else 'DE'};{k % 3}\n" for k in range(60))
    (folder / "t.csv").write_text("x;glucose;country;other\n" + rows)
    given = ("--decimal", ",", "--keep-values", "country=NA", "--missing-values", "glucose=0")
    assert program("fit", "t.csv", "-o", "m", *given, "-q") == (0, "", "")
    (folder / "new.csv").write_text("x;glucose;country;other\n2,5;0;NA;0\n;2;;1\n")
    assert program("apply", "m", "new.csv", "-o", "o.csv", "-q") == (0, "", "")
    first, second = cells_of((folder / "o.csv").read_text(), ";")[1:]
    assert first[0] == "2,5" and first[1] in "12"
    assert first[2:] == ["NA", "0"] and second[0][1:2] == ","
    assert second[2] in ("NA", "DE")
    # A point is no decimal comma, unless the option says so.
    (folder / "points.csv").write_text("x,glucose,country,other\n2.5,1,NA,\n")
    code, _, err = program("apply", "m", "points.csv", "-o", "p.csv")
    assert (code, "'2.5' is not a finite number" in err) == (1, True)
    again = ("apply", "m", "points.csv", "-o", "p.csv", "--decimal", ".", "-q")
    assert program(*again) == (0, "", "")


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_few_whole_numbers_may_be_codes(program, folder, name):
    cells = {"code": [3, 6, 7, None] * 9, "x": np.linspace(0.5, 9, 36), "id": range(36)}
    write = pd.DataFrame(cells).astype({"code": "Int64"})
    write.to_csv("t.csv", index=False) if name == "t.csv" else write.to_parquet("t.parquet")
    code, out, err = program("impute", name, "-o", f"o.{name[2:]}", "--categorical", "auto")
    assert (code, err) == (0, "") and "note: codes, by --categorical auto: code" in out
    assert set(read_as_text(folder / f"o.{name[2:]}")["code"].astype(int)) == {3, 6, 7}


def test_bytes_around_the_gaps_stay(program, folder):
    text = '\ufeffa,b,c\r\n 1.50 ,"x, z", u\r\n?,y,\r\n2.5,"x, z",v \r\n1,"say ""x""", u\r\n'
    (folder / "t.csv").write_bytes(text.encode())
    given = ("impute", "t.csv", "-t", "b", "-o", "o.csv", "--missing-values", "?", "--ignore", "c")
    assert program(*given, "-q") == (0, "", "")
    written = (folder / "o.csv").read_bytes().decode()
    before, after = text.split("?"), written.split("y,\r\n")
    assert written.startswith(before[0]) and written.endswith(before[1])
    assert len(after[0].rpartition("\n")[2].rstrip(",").partition(".")[2]) == 2
    # A category is filled as its cells are written, blanks included.
    (folder / "t.csv").write_text("a,b\n x ,0\n,1\n x ,0\n x ,1\n y,0\n")
    assert program("impute", "t.csv", "-t", "b", "-o", "p.csv", "-q") == (0, "", "")
    assert (folder / "p.csv").read_text() == "a,b\n x ,0\n x ,1\n x ,0\n x ,1\n y,0\n"


def feather_of(*names):
    data = io.BytesIO()
    feather.write_feather(pa.table([pa.array([1, 2])] * len(names), names=names), data)
    return data.getvalue()


TWO_NAMES = feather_of("a", "a")
FRAME = pd.DataFrame(
    {
        "f32": np.array([0.5, np.nan, 1.5, 2.0] * 3, dtype="float32"),
        "i": pd.array([1, None, 3, 1] * 3, dtype="Int16"),
        "flag": pd.array([True, None, False, True] * 3, dtype="boolean"),
        "cat": pd.Categorical(["b", "a", None, "a"] * 3, categories=["z", "b", "a"], ordered=True),
        "when": pd.to_datetime(["2020-01-01", None, "2020-01-03", "2020-01-04"] * 3),
        "list": [[1], [2, 3], None, []] * 3,
        "y": [0, 1, 0, 1] * 3,
    },
    index=pd.Index([*range(1, 12), 99], name="key"),
)
USED = ["f32", "i", "flag", "cat"]


def check_parquet(program, given, said):
    """Check that a command fills `FRAME` and keeps its schema, its index and observed cells."""
    code, out, err = program(*given, "-o", "o.parquet")
    assert code == 0, err
    assert said in out + err
    schema = pq.read_schema("t.parquet")
    assert pq.read_schema("o.parquet").equals(schema, check_metadata=True)
    filled = pd.read_parquet("o.parquet")
    assert filled.index.equals(FRAME.index)
    assert filled[USED].notna().all(axis=None)
    seen = FRAME[USED].notna()
    pd.testing.assert_frame_equal(filled[USED].where(seen), FRAME[USED].where(seen))
    rest = ["when", "list", "y"]
    pd.testing.assert_frame_equal(filled[rest], FRAME[rest])


def test_parquet_keeps_types_metadata_and_columns_that_are_not_used(program, folder):
    FRAME.to_parquet("t.parquet")
    roles = ("-t", "y", "--ignore", "when,list")
    said = "not used, because it is the index: key"
    check_parquet(program, ("impute", "t.parquet", *roles), said)
    code, out, _ = program("fit", "t.parquet", *roles, "-o", "m")
    assert code == 0 and f"note: kept and {said}" in out
    model = read_model(folder / "m.skops", trust=False)
    assert model.ignored == ("when", "list", "key")
    kinds = [kind.kind for kind in model.kinds.values()]
    assert kinds == ["number", "whole", "category", "category"]
    check_parquet(program, ("apply", "m", "t.parquet", "--force"), "the label column y is kept")


def test_an_index_may_be_dropped_or_ignored_too(program, folder):
    frame = pd.DataFrame({"a": [1.0, None, 2.0, 2.0], "y": [0, 1, 0, 1]})
    frame.set_index(pd.Index([3, 5, 9, 11], name="k")).to_parquet("t.parquet")
    code, _, err = program("impute", "t.parquet", "-t", "y", "-o", "o.csv", "--drop", "k")
    assert code == 0, err
    assert (folder / "o.csv").read_text().startswith("a,y\n1.0,0\n2.0,1\n")
    assert program("impute", "t.parquet", "-t", "y", "-o", "p.csv", "--ignore", "k")[0] == 0
    assert (folder / "p.csv").read_text().splitlines()[0] == "a,y,k"


def test_missing_values_of_parquet_are_text_and_numbers(program, folder):
    frame = pd.DataFrame(
        {"a": np.array([1, -999, 3, 2], dtype="int16"), "b": ["x", "?", "y", "y"], "y": [0, 1] * 2}
    )
    frame.to_parquet("t.parquet")
    markers = [part for text in ("-999", "?", "zzz") for part in ("--missing-values", text)]
    code, _, err = program("impute", "t.parquet", "-t", "y", "-o", "o.parquet", *markers)
    assert (code, err) == (0, "warning: no cell holds the missing value 'zzz'\n")
    filled = pd.read_parquet("o.parquet")
    assert filled["a"].dtype == frame["a"].dtype
    assert filled["a"][1] in (1, 2, 3) and filled["b"][1] in ("x", "y")


def test_a_parquet_column_of_gaps_gets_a_type(program, fitted):
    columns = {name: pa.nulls(2) for name in ("age", "height", "score", "pet", "code")}
    pq.write_table(pa.table(columns), "gaps.parquet")
    assert program("apply", "m", "gaps.parquet", "-o", "o.parquet", "-q") == (0, "", "")
    filled = pq.read_table("o.parquet")
    assert filled.schema.field("height").type == pa.float64()
    assert not any(column.null_count for column in filled.columns)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("latin.csv", b"a,y\n\xe9,u\n", "latin.csv is not UTF-8 text: byte 0xe9 on"),
        ("zero.csv", b"a,y\n1,\0\n", "zero.csv is not text: it holds a zero byte on line 2."),
        ("ragged.csv", b"a,y\n1,u\n1,2,v\n", "line 3 has 3 cells where the header has 2"),
        ("bad.csv.gz", b"a,y\n1,u\n", "bad.csv.gz is not a gzip file"),
        ("bad.csv.zst", b"a,y\n1,u\n", "bad.csv.zst is not a zstd file"),
        ("u16.csv", "a,y\n1,u\n".encode("utf-16-le"), "say --encoding utf-16-le"),
        ("p.csv", b"PAR1abc", "p.csv is not text but begins like .parquet: rename it so."),
        ("bad.feather", b"a,y\n1,u\n", "bad.feather is not a Feather file that can be read"),
        ("bad.xlsx", b"a,y\n1,u\n", "bad.xlsx is not an Excel file that can be read"),
        ("two.feather", TWO_NAMES, "two.feather must have distinct names. Got 'a' more"),
        ("bad.jsonl", b'{"a": 1}\n{"a" 1}\n', "bad.jsonl, line 2 is not JSON: Expecting ':'"),
        ("list.jsonl", b"[1]\n", "line 1 must be an object, {...}. Got '[1]'."),
        ("none.jsonl", b"{}\n\n", "none.jsonl is empty: a table needs names and rows."),
        ("title.xlsx", [["title", None, None], [1, 2, 3]], "Got 1 names for 3 columns: delete"),
        ("none.xlsx", [], "none.xlsx is empty"),
        ("t.xls", b"", "This file is converted by: soffice --headless --convert-to xlsx t.xls"),
        ("t.dta", b"", "pandas.read_stata('t.dta').to_parquet('t.parquet')"),
        ("t.rds", b"", "write.csv(readRDS('t.rds'), 't.csv', row.names = FALSE)"),
        ("t.zip", b"", "This file is converted by: unzip t.zip"),
        ("t.txt", b"a\n1\n", "With --delimiter, such as --delimiter ';', a text file may have any"),
        (
            "half.csv.gz",
            gzip.compress(b"a,y\n" * 99, mtime=0)[:20],
            "half.csv.gz is not a gzip file",
        ),
        ("bad.parquet", b"a,y\n1,u\n", "bad.parquet is not a Parquet file that can be read"),
        ("none.parquet", {"a": [], "y": []}, "none.parquet must have at least one row. Got none."),
        ("list.parquet", {"a": [1.0], "l": [[1]], "y": [0]}, "column 'l' holds list"),
    ],
)
def test_files_that_are_no_tables_are_refused(refused, folder, name, data, message):
    if isinstance(data, bytes):
        (folder / name).write_bytes(data)
    elif isinstance(data, list):
        pd.DataFrame(data).to_excel(name, index=False, header=False)
    else:
        pd.DataFrame(data).to_parquet(name)
    assert message in refused("impute", name, "-t", "y", "-o", "o.csv", "--ignore", "a")


def test_what_excel_needs_and_cannot_hold_is_told(program, refused, table, monkeypatch):
    frame = pd.DataFrame({"a": [1, None, 2], "y": [0, 1, 0]})
    with pd.ExcelWriter("two.xlsx") as writer:
        for name in ("first", "second"):
            frame.to_excel(writer, sheet_name=name, index=False)
    code, _, err = program("impute", "two.xlsx", "-t", "y", "-o", "o.xlsx")
    assert code == 0
    assert err == "warning: only the sheet 'first' is read and written, not 'second'\n"
    assert "delimiter and --encoding are for" in refused(
        "impute", "two.xlsx", "-o", "p.csv", "--delimiter", ";"
    )
    (table / "control.csv").write_text("a,b\n1,\x01\n,\x01\n")
    assert "control characters" in refused("impute", "control.csv", "-o", "p.xlsx")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for given in (("two.xlsx", "-o", "p.csv"), ("t.csv", "-o", "p.xlsx")):
        assert "need `pip install 'kernimpute[excel]'`" in refused("impute", *given)


@pytest.mark.parametrize("target", ["t.csv", "old.csv", "link.csv"])
def test_force_replaces_a_file_and_keeps_its_mode_and_links(program, table, target):
    text = (table / "t.csv").read_text()
    (table / "old.csv").write_text("old")
    (table / "old.csv").chmod(0o640)
    (table / "link.csv").symlink_to("old.csv")
    given = ("impute", "t.csv", "-t", "y", "-o", target, "--ignore", "id,junk", "--force")
    assert program(*given)[0] == 0
    assert check_filled(text, (table / target).read_text(), unused=["y"])
    assert (table / "link.csv").is_symlink()
    assert (table / "old.csv").stat().st_mode & 0o777 == 0o640


FAILURES = [
    ("impute", "kernimpute.report.write_report", OSError(28, "No space left on device")),
    ("impute", "kernimpute.cli.files.write_table", OSError(28, "No space left on device")),
    ("impute", "kernimpute.estimators.impute_table.impute_table", KeyboardInterrupt()),
    ("fit", "kernimpute.cli.models.fit_table", KeyboardInterrupt()),
    ("apply", "kernimpute.cli.models.fill_rows", KeyboardInterrupt()),
]


@pytest.mark.parametrize(("command", "broken", "error"), FAILURES)
def test_what_fails_or_is_interrupted_leaves_what_was_there(
    program, fitted, monkeypatch, command, broken, error
):
    given = {
        "impute": ("t.csv", "-t", "y", "-o", "old.csv", "--report", "r.html"),
        "fit": ("t.csv", "-t", "y", "-o", "m.skops"),
        "apply": ("m", "new.csv", "-o", "old.csv"),
    }
    (fitted / "old.csv").write_text("old")
    before = contents(fitted)

    def fail(path, *arguments, **options):
        if isinstance(error, OSError):
            path.write_text("half")
        raise error

    monkeypatch.setattr(broken, fail)
    code, _, err = program(command, *given[command], "--force")
    assert contents(fitted) == before
    if isinstance(error, OSError):
        assert (code, "No space left on device" in err) == (1, True)
    else:
        assert (code, err) == (130, "kernimpute: interrupted; no output was written.\n")


def test_the_same_table_gives_the_same_bytes(program, folder, monkeypatch):
    (folder / "t.csv").write_text(CSV)
    written = []
    for _ in range(2):
        assert program(*IMPUTE[:4], "-o", "o.csv.gz", "--force", "-q")[0] == 0
        written.append((folder / "o.csv.gz").read_bytes())
    assert written[0] == written[1]
    assert table_extension(folder / "A.CSV.GZ") == ".csv.gz"
