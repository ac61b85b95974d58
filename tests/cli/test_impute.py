"""`kernimpute impute` as a user meets it; the solvers stand aside (`typical`)."""

from __future__ import annotations

import gzip
import io
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.io import arff

from kernimpute.cli import run
from kernimpute.cli.choices import column_list

CSV = """id,age,"height, m",code,pet,empty,y
007,30,1.80,00,"cat, big",,yes
008,,1.60,01,dog,,no
009,40,NA,00,,,yes
010,51,1.70,,dog,,no
011,,1.90,01,dog,,
"""
FILLED = """id,age,"height, m",code,pet,empty,y
007,30,1.80,00,"cat, big",,yes
008,40,1.60,01,dog,,no
009,40,1.70,00,dog,,yes
010,51,1.70,00,dog,,no
011,40,1.90,01,dog,,
"""


@pytest.fixture
def new_rows(monkeypatch):
    """Put 0 in place of every cell that the recovery of new rows would fill."""

    def recover(X, known, *, kernel, categorical):
        from kernimpute.core.status import Status, Trace

        return type(
            "Recovered",
            (),
            {
                "X": np.where(np.isnan(X), 10.0 / 21.0, X),
                "status": Status.CONVERGED,
                "n_sweeps": 2,
                "objective": 0.25,
                "trace": Trace(),
            },
        )()

    monkeypatch.setattr("kernimpute.estimators.impute_table.recover_new_rows", recover)


@pytest.fixture
def table(folder):
    path = folder / "t.csv"
    path.write_text(CSV)
    return path


def test_only_the_gaps_of_a_csv_change(typical, new_rows, impute, table, folder):
    code, out, err = impute("t.csv", "--target", "y", "-o", "out.csv", "--ignore", "id")
    assert code == 0
    assert (folder / "out.csv").read_text() == FILLED
    assert table.read_text() == CSV
    assert err == (
        "warning: column left as found, because nothing is observed in the rows that have a label: "
        "'empty'\n"
    )
    assert sorted(path.name for path in folder.iterdir()) == ["out.csv", "t.csv"]


def test_the_summary_says_what_was_done(typical, new_rows, impute, table):
    _, out, _ = impute("t.csv", "--target", "y", "-o", "out.csv", "--ignore", "id")
    flat = " ".join(out.split())
    for said in (
        "table 5 rows, 7 columns",
        "label y (classification, 2 classes)",
        "filled 5 of 35 cells (14.3 %)",
        "rows without a label 1",
        "method direct, gaussian kernel, gamma 1",
        "solver 3 rounds, objective 1.5, slope 0.0001",
        "new rows 2 sweeps, objective 0.25",
        "status Converged: the stop rule is met.",
        "age 2 40.0 %",
        "height, m 1 20.0 %",
        "note: read as codes, for they have leading zeros: code",
        "note: rows without a label: 1, filled as new rows",
        "wrote out.csv",
    ):
        assert said in flat


def test_quiet_prints_warnings_only(typical, new_rows, impute, table):
    code, out, err = impute("t.csv", "--target", "y", "-o", "out.csv", "--ignore", "id", "--quiet")
    assert (code, out) == (0, "")
    assert err.startswith("warning: column left as found")


def test_dropped_columns_are_left_out(typical, new_rows, impute, table, folder):
    code, _, err = impute(
        "t.csv", "-t", "y", "-o", "out.csv", "--drop", "id,empty", "--drop", "height, m"
    )
    assert (code, err) == (0, "")
    assert (folder / "out.csv").read_text().splitlines()[0] == "age,code,pet,y"


def test_a_table_without_gaps_is_written_unchanged(impute, folder):
    text = 'a;"b"\r\n1.50;x\r\n"2";y\r\n'
    (folder / "t.csv").write_bytes(text.encode())
    code, out, err = impute("t.csv", "--target", "b", "-o", "out.csv")
    assert (code, err) == (0, "")
    assert (folder / "out.csv").read_bytes() == text.encode()
    assert "the table has no gap to fill: it is returned unchanged" in out
    assert "Nothing to solve for" in " ".join(out.split())


def test_gaps_that_teach_nothing_are_told_apart_from_none(impute, folder):
    rows = [f"{k % 7}.5,{'5' if k % 3 else ''},,{k % 2}" for k in range(20)]
    (folder / "t.csv").write_text("\n".join(["a,b,none,y", *rows]) + "\n")
    code, out, err = impute("t.csv", "-t", "y", "-o", "out.csv")
    assert code == 0 and "left as found, because nothing is observed: 'none'" in err
    said = " ".join(out.split())
    assert "columns with one observed value, which fills them: b" in said
    assert "Nothing to solve for: there is no gap in a column of more than one value." in said
    assert "returned" not in said
    assert impute("t.csv", "-t", "y", "-o", "out2.csv", "--drop", "b")[0] == 0
    code, out, _ = impute("t.csv", "-t", "y", "-o", "out3.csv", "--ignore", "b")
    assert "the table has no other gap to fill: it is returned unchanged" in " ".join(out.split())


def test_bytes_around_the_gaps_stay(typical, impute, folder):
    text = '\ufeffa,b\r\n 1.50 ,"x"\r\n?,"y"\r\n2.5,x\r\n'
    (folder / "t.csv").write_bytes(text.encode())
    code, _, err = impute("t.csv", "--target", "b", "-o", "out.csv", "--missing-values", "?")
    assert (code, err) == (0, "")
    assert (folder / "out.csv").read_bytes() == text.replace("?", "2.00").encode()


@pytest.mark.parametrize("extension", ["csv", "tsv", "csv.gz", "tsv.gz", "parquet", "arff"])
@pytest.mark.parametrize("written", ["csv", "tsv", "csv.gz", "tsv.gz", "parquet", "arff"])
def test_every_format_can_become_every_other(
    typical, new_rows, impute, table, folder, extension, written
):
    first = f"first.{extension}"
    arguments = ("--target", "y", "--drop", "empty", "--ignore", "id", "--categorical", "code")
    assert impute("t.csv", "-o", first, *arguments)[0] == 0
    holed = f"holed.{extension}"
    make_gap(folder / first, folder / holed)
    assert (
        impute(
            holed,
            "-o",
            f"out.{written}",
            "--target",
            "y",
            "--ignore",
            "id",
            "--categorical",
            "code",
        )[0]
        == 0
    )
    frame = values_of(folder / f"out.{written}")
    assert frame.columns.tolist() == ["id", "age", "height, m", "code", "pet", "y"]
    assert frame["id"].tolist() == ["007", "008", "009", "010", "011"]
    assert frame["code"].tolist() == ["00", "01", "00", "00", "01"]
    assert frame["pet"].tolist() == ["cat, big", "dog", "dog", "dog", "dog"]
    assert frame["age"].astype(float).tolist() == [30.0, 40.0, 40.0, 51.0, 40.0]
    heights = frame["height, m"].astype(float)
    np.testing.assert_allclose(heights, [1.67, 1.6, 1.7, 1.7, 1.9], atol=0.005)
    assert frame["y"].isin(["yes", "no"]).tolist() == [True, True, True, True, False]


def make_gap(source, holed):
    """Copy a table, with a gap in its first height."""
    if source.suffix == ".parquet":
        table = pq.read_table(source)
        heights = [None, *table["height, m"].to_pylist()[1:]]
        place = table.column_names.index("height, m")
        field = table.schema.field(place)
        pq.write_table(table.set_column(place, field, pa.array(heights, field.type)), holed)
        return
    data = source.read_bytes()
    text = (gzip.decompress(data) if source.suffix == ".gz" else data).decode()
    assert text.count("1.80") == 1
    data = text.replace("1.80", "?" if source.suffix == ".arff" else "").encode()
    holed.write_bytes(gzip.compress(data) if source.suffix == ".gz" else data)


def values_of(path):
    """Read a table with somebody else's reader, all cells text but Parquet's."""
    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    if path.suffix == ".arff":
        # SciPy splits quoted values at their commas.
        text = path.read_text().replace("cat, big", "cat_ big")
        rows, _ = arff.loadarff(io.StringIO(text))
        frame = pd.DataFrame(
            {name: [as_text(value) for value in rows[name]] for name in rows.dtype.names}
        )
        return frame.replace({"cat_ big": "cat, big"})
    return pd.read_csv(path, sep="\t" if ".tsv" in path.name else ",", dtype=str)


def as_text(value):
    return value.decode() if isinstance(value, bytes) else value


def test_parquet_keeps_types_metadata_and_columns_that_are_not_used(typical, impute, folder):
    frame = pd.DataFrame(
        {
            "f32": np.array([0.5, np.nan, 1.5, 2.0], dtype="float32"),
            "i": pd.array([1, None, 3, 1], dtype="Int16"),
            "flag": pd.array([True, None, False, True], dtype="boolean"),
            "cat": pd.Categorical(["b", "a", None, "a"], categories=["z", "b", "a"], ordered=True),
            "when": pd.to_datetime(["2020-01-01", None, "2020-01-03", "2020-01-04"]),
            "list": [[1], [2, 3], None, []],
            "y": [0, 1, 0, 1],
        },
        index=pd.Index([10, 20, 30, 40], name="key"),
    )
    frame.to_parquet(folder / "t.parquet")
    code, out, err = impute(
        "t.parquet", "--target", "y", "-o", "o.parquet", "--ignore", "when,list"
    )
    assert (code, err) == (0, "")
    assert "note: kept and not used, for it is the index: key" in out
    schema = pq.read_schema(folder / "t.parquet")
    assert pq.read_schema(folder / "o.parquet").equals(schema, check_metadata=True)
    filled = pd.read_parquet(folder / "o.parquet")
    assert filled.index.equals(frame.index)
    assert (filled.dtypes == frame.dtypes).all()
    used = ["f32", "i", "flag", "cat"]
    assert filled[used].notna().all(axis=None)
    seen = frame[used].notna()
    pd.testing.assert_frame_equal(filled[used].where(seen), frame[used].where(seen))
    pd.testing.assert_frame_equal(filled[["when", "list", "y"]], frame[["when", "list", "y"]])


def test_an_index_may_be_dropped_or_ignored_too(typical, impute, folder):
    frame = pd.DataFrame(
        {"a": [1.0, None, 2.0], "y": [0, 1, 0]}, index=pd.Index([3, 5, 7], name="k")
    )
    frame.to_parquet(folder / "t.parquet")
    assert impute("t.parquet", "-t", "y", "-o", "o.csv", "--drop", "k")[0] == 0
    assert (folder / "o.csv").read_text() == "a,y\n1.0,0\n2.0,1\n2.0,0\n"
    assert impute("t.parquet", "-t", "y", "-o", "p.csv", "--ignore", "k")[0] == 0
    assert (folder / "p.csv").read_text().splitlines()[0] == "a,y,k"


def test_parquet_gaps_by_missing_values(typical, impute, folder):
    frame = pd.DataFrame(
        {
            "a": np.array([1, -999, 3, 2], dtype="int16"),
            "b": ["x", "?", "y", "y"],
            "y": [0, 1, 0, 1],
        }
    )
    frame.to_parquet(folder / "t.parquet")
    code, _, err = impute(
        "t.parquet",
        "-t",
        "y",
        "-o",
        "o.parquet",
        *("--missing-values", "-999"),
        *("--missing-values", "?"),
        *("--missing-values", "zzz"),
    )
    assert (code, err) == (0, "warning: no cell holds the missing value 'zzz'\n")
    filled = pd.read_parquet(folder / "o.parquet")
    assert filled["a"].tolist() == [1, 2, 3, 2]
    assert filled["b"].tolist() == ["x", "y", "y", "y"]
    assert filled["a"].dtype == frame["a"].dtype


def test_columns_that_a_format_cannot_hold_are_refused(refused, folder):
    pd.DataFrame({"a": [1.0, None], "l": [[1], [2]], "y": [0, 1]}).to_parquet(folder / "t.parquet")
    message = refused("t.parquet", "--target", "y", "-o", "o.csv", "--ignore", "l")
    assert "column 'l' holds list" in message
    assert "CSV cannot hold: drop it (--drop 'l') or write Parquet" in message


def test_arff_keeps_its_header_and_its_cells(typical, impute, folder):
    text = (
        "% note\n@RELATION r\n@ATTRIBUTE a REAL\n@ATTRIBUTE id STRING\n"
        "@ATTRIBUTE c {u,'v w',x}\n@ATTRIBUTE y {0,1}\n@DATA\n"
        "1.50, p,'v w',0\n ?,q,?,1\n2.50,r,'v w',0\n"
    )
    (folder / "t.arff").write_text(text)
    code, _, err = impute("t.arff", "--target", "y", "-o", "o.arff", "--drop", "id")
    assert (code, err) == (0, "")
    expected = text.replace("@ATTRIBUTE id STRING\n", "")
    for cell in (" p,", "q,", "r,"):
        expected = expected.replace(cell, "", 1)
    expected = expected.replace(" ?,?,1", " 2.00,'v w',1")
    assert (folder / "o.arff").read_text() == expected


def test_regression_and_task(typical, impute, folder):
    rows = "".join(f"{k / 7:.3f},{k % 3},{k * 1.5}\n" for k in range(12))
    (folder / "t.csv").write_text("a,b,y\n" + rows + ",1,3.5\n")
    assert "y (regression)" in impute("t.csv", "-t", "y", "-o", "o.csv")[1]
    code, out, _ = impute("t.csv", "-t", "b", "-o", "p.csv", "--task", "regression")
    assert code == 0
    assert "b (regression)" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.csv", "-t", "y", "-o", "o.csv"], "absent.csv: there is no such file."),
        (["t.xlsx", "-t", "y", "-o", "o.csv"], "t.xlsx: the extension must be one of .csv, .tsv"),
        (["t.csv", "-t", "y", "-o", "o.xlsx"], "o.xlsx: the extension must be one of .csv, .tsv"),
        (["d.csv", "-t", "y", "-o", "o.csv"], "d.csv is a directory, not a table:"),
        (["t.csv", "-t", "y", "-o", "no/o.csv"], "no/o.csv: there is no directory 'no'."),
        (["t.csv", "-t", "y", "-o", "d.csv"], "d.csv is a directory."),
        (["t.csv", "-t", "y", "-o", "t.csv"], "t.csv exists: give another name, or --force"),
        (["t.csv", "-t", "y", "-o", "old.csv"], "old.csv exists: give another name, or --force"),
        (["t.csv", "-t", "y", "-o", "o.csv", "--report", "old.csv"], "old.csv exists"),
        (
            ["t.csv", "-t", "y", "-o", "o.csv", "--report", "t.csv", "--force"],
            "t.csv: the report must be a file of its own",
        ),
        (
            ["t.csv", "-t", "y", "-o", "o.csv", "--report", "o.csv"],
            "o.csv: the report must be a file of its own",
        ),
        (
            ["t.csv", "-t", "Y", "-o", "o.csv"],
            "--target: there is no column 'Y'. Did you mean 'y'?",
        ),
        (
            ["t.csv", "-t", "y", "-o", "o.csv", "--drop", "agee"],
            "--drop: there is no column 'agee'. Did you mean 'age'?",
        ),
        (
            ["t.csv", "-t", "y", "-o", "o.csv", "--ignore", "id,agee"],
            "--ignore: there is no column 'agee'",
        ),
        (
            ["t.csv", "-t", "y", "-o", "o.csv", "--categorical", "agee"],
            "--categorical: there is no column",
        ),
        (
            ["t.csv", "-t", "y", "-o", "o.csv", "--drop", "y"],
            "drop: the label column 'y' is needed",
        ),
        (
            ["t.csv", "-t", "y", "-o", "o.csv", "--drop", "id", "--ignore", "id"],
            "both in drop and in ignore",
        ),
        (
            ["t.csv", "-t", "y", "-o", "o.csv", "--kernel", "linear"],
            "linear kernel has no term for categories",
        ),
        (
            ["t.csv", "-t", "pet", "-o", "o.csv", "--task", "regression"],
            "'pet' must hold numbers for regression",
        ),
        (
            ["t.csv", "-t", "empty", "-o", "o.csv"],
            "label column 'empty' must hold labels. Got gaps only",
        ),
        (["t.csv", "-t", "id", "-o", "o.csv"], "'id' must hold classes that recur"),
        (
            ["one.csv", "-t", "y", "-o", "o.csv"],
            "'y' must hold at least two classes. Got 'a' in all 3 rows",
        ),
        (
            ["inf.csv", "-t", "y", "-o", "o.csv"],
            "inf.csv, line 4, column 'a': 'inf' is not a finite number",
        ),
        (["void.csv", "-t", "y", "-o", "o.csv"], "void.csv is empty"),
        (["head.csv", "-t", "y", "-o", "o.csv"], "head.csv has a header and no rows."),
        (
            ["latin.csv", "-t", "y", "-o", "o.csv"],
            "latin.csv is not UTF-8 text: byte 0xe9 on line 2.",
        ),
        (
            ["zero.csv", "-t", "y", "-o", "o.csv"],
            "zero.csv is not text: it holds a zero byte on line 2.",
        ),
        (
            ["ragged.csv", "-t", "y", "-o", "o.csv"],
            "ragged.csv, line 3 has 3 cells where the header has 2.",
        ),
        (["only.csv", "-t", "y", "-o", "o.csv"], "must have a column besides the label to use"),
        (["bad.csv.gz", "-t", "y", "-o", "o.csv"], "bad.csv.gz is not a gzip file"),
        (
            ["bad.parquet", "-t", "y", "-o", "o.csv"],
            "bad.parquet is not a Parquet file that can be read",
        ),
        (["none.parquet", "-t", "y", "-o", "o.csv"], "none.parquet has columns and no rows."),
        (["bad.arff", "-t", "y", "-o", "o.csv"], "bad.arff, line 1: 'a,y' has no place in a"),
        (
            ["gaps.csv", "-t", "y", "-o", "o.csv"],
            "with an observed value in a row that has a label",
        ),
    ],
)
def test_refusals(refused, table, folder, arguments, message):
    (folder / "d.csv").mkdir()
    for name, text in {
        "old.csv": "old",
        "one.csv": "x,y\n1,a\n,a\n3,a\n",
        "inf.csv": "a,y\n1,u\n2,v\ninf,u\n",
        "void.csv": "",
        "head.csv": "a,y\n",
        "zero.csv": "a,y\n1,\0\n",
        "ragged.csv": "a,y\n1,u\n1,2,v\n",
        "only.csv": "y\n1\n2\n",
        "bad.csv.gz": "a,y\n1,u\n",
        "bad.parquet": "a,y\n1,u\n",
        "bad.arff": "a,y\n1,u\n",
        "gaps.csv": "a,y\n,u\n,v\n",
    }.items():
        (folder / name).write_text(text)
    (folder / "latin.csv").write_bytes("a,y\né,u\n".encode("latin-1"))
    pd.DataFrame({"a": [], "y": []}).to_parquet(folder / "none.parquet")
    assert message in refused(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["t.csv", "-o", "o.csv"], "--target"),
        (["t.csv", "-t", "y"], "-o"),
        ([], "table"),
        (["t.csv", "-t", "y", "-o", "o.csv", "--bogus"], "--bogus"),
        (["t.csv", "-t", "y", "-o", "o.csv", "--task", "guess"], "guess"),
        (["t.csv", "-t", "y", "-o", "o.csv", "--kernel", "cubic"], "cubic"),
        (["t.csv", "-t", "y", "-o", "o.csv", "--variant", "other"], "other"),
        (["t.csv", "-t", "y", "-o", "o.csv", "--C", "0"], "0 is not a positive number"),
        (["t.csv", "-t", "y", "-o", "o.csv", "--gamma", "-1"], "-1 is not a positive number"),
        (["t.csv", "-t", "y", "-o", "o.csv", "--eta", "nan"], "nan is not a positive number"),
        (["t.csv", "-t", "y", "-o", "o.csv", "--tol", "-1"], "-1 is not a number of at least 0"),
        (["t.csv", "-t", "y", "-o", "o.csv", "--tol", "nan"], "nan is not a number of at least 0"),
        (["t.csv", "-t", "y", "-o", "o.csv", "--max-iter", "0"], "'--max-iter'"),
        (["t.csv", "-t", "y", "-o", "o.csv", "--C", "much"], "'--C'"),
        (
            ["t.csv", "-t", "y", "-o", "o.csv", "--kernel", "linear", "--gamma", "1"],
            "linear kernel has no gamma",
        ),
    ],
)
def test_a_wrong_command_line_is_refused_in_one_line(refused, table, arguments, message):
    err = refused(*arguments, code=2)
    assert message in err
    assert "(see kernimpute impute --help)" in err


def test_force_replaces_even_the_table_itself(typical, new_rows, impute, table):
    assert impute("t.csv", "-t", "y", "-o", "t.csv", "--ignore", "id", "--force")[0] == 0
    assert table.read_text() == FILLED


def test_force_keeps_the_mode_of_the_file_it_replaces(typical, new_rows, impute, table, folder):
    old = folder / "old.csv"
    old.write_text("old")
    old.chmod(0o640)
    assert impute("t.csv", "-t", "y", "-o", "old.csv", "--force")[0] == 0
    assert old.stat().st_mode & 0o777 == 0o640


def test_force_writes_through_a_link(typical, new_rows, impute, table, folder):
    (folder / "real.csv").write_text("old")
    (folder / "link.csv").symlink_to("real.csv")
    assert impute("t.csv", "-t", "y", "-o", "link.csv", "--ignore", "id", "--force")[0] == 0
    assert (folder / "link.csv").is_symlink()
    assert (folder / "real.csv").read_text() == FILLED


def test_a_failing_write_leaves_nothing(typical, new_rows, table, folder, monkeypatch, capsys):
    (folder / "old.csv").write_text("old")

    def fail(path, imputation, source):
        path.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("kernimpute.cli.in_memory.write_report", fail)
    code = run(["impute", "t.csv", "-t", "y", "-o", "old.csv", "--report", "r.html", "--force"])
    assert code == 1
    assert "No space left on device" in capsys.readouterr().err
    assert sorted(path.name for path in folder.iterdir()) == ["old.csv", "t.csv"]
    assert (folder / "old.csv").read_text() == "old"


def test_an_interruption_leaves_nothing(table, folder, monkeypatch, capsys):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("kernimpute.estimators.impute_table.impute", interrupted)
    assert run(["impute", "t.csv", "-t", "y", "-o", "o.csv"]) == 130
    assert "interrupted; no output was written" in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["t.csv"]


def test_a_fault_of_ours_is_one_line(table, monkeypatch, capsys):
    def broken(*arguments, **options):
        raise RuntimeError("some\nthing")

    monkeypatch.setattr("kernimpute.estimators.impute_table.impute", broken)
    assert run(["impute", "t.csv", "-t", "y", "-o", "o.csv"]) == 3
    err = capsys.readouterr().err
    assert err.splitlines() == [
        "kernimpute: a fault of kernimpute (RuntimeError: some thing); "
        "set KERNIMPUTE_TRACEBACK=1 to see where, and report it."
    ]
    monkeypatch.setenv("KERNIMPUTE_TRACEBACK", "1")
    assert run(["impute", "t.csv", "-t", "y", "-o", "o.csv"]) == 3
    assert "Traceback" in capsys.readouterr().err


def test_too_little_memory_is_refused(table, monkeypatch, capsys):
    def greedy(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr("kernimpute.estimators.impute_table.impute", greedy)
    assert run(["impute", "t.csv", "-t", "y", "-o", "o.csv"]) == 1
    assert "not enough memory" in capsys.readouterr().err


def test_the_report_is_written_beside_the_table(typical, new_rows, impute, table, folder):
    code, out, _ = impute("t.csv", "-t", "y", "-o", "o.csv", "--report", "r.html", "--ignore", "id")
    assert code == 0
    assert "wrote r.html" in out
    html = (folder / "r.html").read_text()
    assert "Filled table: t.csv" in html


def test_column_lists():
    names = ["a", "b", "c,d"]
    assert column_list("--drop", ["c,d"], names) == ("c,d",)
    assert column_list("--drop", ["a, b"], names) == ("a", "b")
    assert column_list("--drop", None, names) == ()


def test_help_and_version(capsys):
    assert run(["--help"]) == 0
    assert "Exit codes" in capsys.readouterr().out
    assert run(["impute", "--help"]) == 0
    assert "--missing-values" in capsys.readouterr().out
    assert run(["--version"]) == 0
    assert re.match(r"kernimpute \S+", capsys.readouterr().out)
    assert run([]) == 2
    assert "impute" in capsys.readouterr().out


def test_the_stop_rule_is_the_solvers(table, impute):
    arguments = ("t.csv", "-t", "y", "--ignore", "id", "--max-iter", "1", "--tol", "0")
    code, out, err = impute(*arguments, "-o", "o.csv", "--variant", "anchored")
    assert code == 0
    assert "Stage I 1 round," in " ".join(out.split())
    assert "warning: Stopped at max_iter before the stop rule was met." in err
