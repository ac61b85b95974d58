"""What `kernimpute apply` refuses: models, tables and output files."""

from __future__ import annotations

import pickle
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import pytest

import kernimpute
from kernimpute import KernelImputer, KernelImputerCV
from kernimpute.cli import run
from tests.cli.conftest import contents

TINY = "a,b,c,y\n1,1.50,u,0\n2,2.25,v,1\n,1.75,u,0\n4,,,1\n1,1.25,u,0\n3,2.75,v,1\n"
NEW = "a,b,c\n,,\n"


@pytest.fixture
def tiny(program, folder):
    """Return a folder with the model of a tiny table and a new row."""
    (folder / "tiny.csv").write_text(TINY)
    (folder / "new.csv").write_text(NEW)
    assert program("fit", "tiny.csv", "-t", "y", "-o", "m", "-q")[0] == 0
    return folder


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "must have the columns that the model was fitted to. Got a table without"),
        ("a\n1\n", "without 'b', 'c'."),
        ("a,b,c\nx,1,u\n", "new.csv, line 2, column 'a': 'x' is not a finite number, and the col"),
        ("a,b,c\n1,2,u\n1,inf,u\n", "line 3, column 'b': 'inf' is not a finite number"),
        ("a,b,c\n1,'1,5',u\n", "line 2 has 4 cells where the header has 3"),
        ("a,b,c\n1,1.5,3\n", "does not know ('c': '3' in 1 of its cells)"),
        ("a,b,c\n", "has a header and no rows"),
    ],
)
def test_tables(program_refused, tiny, text, message):
    (tiny / "new.csv").write_text(text)
    assert message in program_refused("apply", "m", "new.csv", "-o", "o.csv")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": ["x", "y"]}, "The 'a' column of the table must hold numbers, as it did before."),
        ({"c": [1, 2]}, "new.parquet, column 'c' must hold text, as in the table that the model"),
        ({"c": [[1], [2]]}, "column 'c' must hold text, as in the table"),
        ({"c": [True, False]}, "Got True in it."),
        ({"c": pd.Categorical([1, 2])}, "column 'c' must hold text, as in the table"),
        ({"a": pd.to_datetime(["2020-01-01", "2020-01-02"])}, "The 'a' column of the table must"),
        ({"b": [np.inf, 1.0]}, "The 'b' column of the table must hold finite numbers"),
    ],
)
@pytest.mark.parametrize("unknown", ["error", "missing"])
def test_changed_kinds_of_parquet_columns(
    program, program_refused, tiny, columns, message, unknown
):
    frame = pd.DataFrame({"a": [1, 2], "b": [1.5, 2.5], "c": ["u", "v"]}).assign(**columns)
    frame.to_parquet(tiny / "new.parquet")
    arguments = ("apply", "m", "new.parquet", "-o", "o.parquet", "--unknown", unknown)
    assert message in program_refused(*arguments)


def test_text_where_booleans_were(program, program_refused, tiny):
    frame = pd.DataFrame({"a": [1, 2, 3, None] * 4, "c": [True, False, True, None] * 4})
    frame["c"] = frame["c"].astype("boolean")
    frame.assign(y=[0, 1, 0, 1] * 4).to_parquet(tiny / "t.parquet")
    assert program("fit", "t.parquet", "-t", "y", "-o", "n", "-q")[0] == 0
    frame.assign(c="yes").to_parquet(tiny / "new.parquet")
    message = program_refused("apply", "n", "new.parquet", "-o", "o.csv", "--unknown", "missing")
    assert "column 'c' must hold no text, as in the table" in message
    assert "Got 'yes' in it." in message
    # In a file of text, everything is text.
    (tiny / "new.csv").write_text("a,c\n1,yes\n2,\n3,False\n")
    assert "'c': 'yes' in 1" in program_refused("apply", "n", "new.csv", "-o", "o.csv")
    code, _, _ = program("apply", "n", "new.csv", "-o", "o.csv", "--unknown", "missing")
    assert code == 0
    written = pd.read_csv(tiny / "o.csv")["c"]
    assert written.dtype == bool
    assert not written[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none", "new.csv", "-o", "o.csv"], "none: there is no such file."),
        ([".", "new.csv", "-o", "o.csv"], "is a directory, not a model."),
        (["m", "none.csv", "-o", "o.csv"], "none.csv: there is no such file."),
        (["m", "new.xls", "-o", "o.csv"], "new.xls: the extension must be one of"),
        (["m", "new.csv", "-o", "o.xls"], "o.xls: the extension must be one of"),
        (["m", "new.csv", "-o", "tiny.csv"], "tiny.csv exists: give another name, or --force"),
        (["m", "new.csv", "-o", "no/o.csv"], "there is no directory 'no'"),
        (["tiny.csv", "new.csv", "-o", "o.csv"], "tiny.csv is neither a skops file nor a pickle"),
        (["copy.csv", "new.csv", "-o", "copy.csv", "--force"], "must not replace the model"),
        (["other.skops", "new.csv", "-o", "o.csv"], "must hold a model of `kernimpute fit`"),
        (["array.skops", "new.csv", "-o", "o.csv"], "fitted to a table with names of columns"),
        (["unfitted.skops", "new.csv", "-o", "o.csv"], "Got KernelImputer."),
        (["later.skops", "new.csv", "-o", "o.csv"], "Got format 2, written by kernimpute 9.9.9"),
        (["part.skops", "new.csv", "-o", "o.csv"], "part.skops is a model without its part 'targ"),
        (["lists.skops", "new.csv", "-o", "o.csv"], "Got format [1], written by kernimpute None"),
    ],
)
def test_files(program_refused, tiny, arguments, message):
    (tiny / "copy.csv").write_bytes((tiny / "m.skops").read_bytes())
    kernimpute.save({"a": 1}, tiny / "other.skops")
    X = np.array([[0.0, 1.0], [np.nan, 2.0]])
    kernimpute.save(KernelImputer().fit(X, [0, 1]), tiny / "array.skops")
    kernimpute.save(KernelImputer(), tiny / "unfitted.skops")
    kernimpute.save({"kernimpute_model": 2, "version": "9.9.9"}, tiny / "later.skops")
    kernimpute.save({"kernimpute_model": [1]}, tiny / "lists.skops")
    parts = {"kernimpute_model": 1, "imputer": kernimpute.load(tiny / "m.skops")["imputer"]}
    kernimpute.save(parts, tiny / "part.skops")
    assert message in program_refused("apply", *arguments)


@pytest.mark.parametrize(
    ("part", "value", "got"),
    [
        ("imputer", "text", "is a KernelImputer that was fitted to named columns. Got str"),
        ("imputer", None, "Got NoneType"),
        ("imputer", KernelImputer(), "Got KernelImputer"),
        ("imputer", "half", "Got KernelImputer"),
        ("target", 3, "is a name, or None. Got int"),
        ("ignored", "id", "is a list of names. Got str"),
        ("dropped", [1], "is a list of names. Got list"),
        ("missing_values", {"?": 1}, "is a list of texts. Got dict"),
        ("decimals", [("a", 1)], "is a mapping from names to counts. Got list"),
        ("decimals", {"a": "1"}, "Got dict"),
        ("version", 1, "is a text. Got int"),
    ],
)
def test_a_model_of_parts_of_other_types(program_refused, tiny, part, value, got):
    parts = kernimpute.load(tiny / "m.skops")
    if value == "half":
        value = parts["imputer"]
        value._code = "text"
    kernimpute.save({**parts, part: value}, tiny / "odd.skops")
    message = program_refused("apply", "odd.skops", "new.csv", "-o", "o.csv")
    assert f"odd.skops must be a model whose part '{part}'" in message
    assert f"{got}: fit again." in message


def test_an_imputer_that_was_not_fitted_to_a_table(program_refused, tiny):
    half = KernelImputer()
    half.feature_names_in_ = "abc"
    kernimpute.save(half, tiny / "half.skops")
    message = program_refused("apply", "half.skops", "new.csv", "-o", "o.csv")
    assert "fitted to a table with names of columns. Got KernelImputer" in message


def test_a_column_that_the_format_cannot_hold(program_refused, tiny):
    frame = pd.DataFrame({"a": [1], "b": [1.5], "c": ["u"], "l": [[1]]})
    frame.to_parquet(tiny / "new.parquet")
    message = program_refused("apply", "m", "new.parquet", "-o", "o.csv")
    assert "column 'l' holds list" in message


class Opened:
    """An object whose pickle writes a file when it is opened."""

    def __reduce__(self):
        """Return what pickle is to run."""
        return exec, ("open('opened', 'w').close()",)


@pytest.mark.parametrize("name", ["p.skops", "p.pkl", "p.joblib"])
def test_a_pickle_is_opened_with_trust_only(program, program_refused, tiny, name):
    (tiny / name).write_bytes(pickle.dumps(Opened()))
    message = program_refused("apply", name, "new.csv", "-o", "o.csv")
    assert "is a pickle or a file of joblib, which can run any code when it is opened" in message
    assert "(--trust)" in message
    assert not (tiny / "opened").exists()
    code, _, err = program("apply", name, "new.csv", "-o", "o.csv", "--trust")
    assert code == 1
    assert "must hold a model of `kernimpute fit`" in err
    assert (tiny / "opened").exists()


@pytest.mark.parametrize("search", [False, True])
def test_an_imputer_of_python_can_be_applied(program, program_refused, tiny, search):
    frame = pd.read_csv(tiny / "tiny.csv")
    if search:
        imputer = KernelImputerCV(kernels=["gaussian"], Cs=[1.0], etas=[16.0], cv=2)
    else:
        imputer = KernelImputer(missing_values=[4, "v"])
    imputer.fit(frame[["a", "b", "c"]], frame["y"])
    kernimpute.save(imputer, tiny / "p.skops")
    assert program("apply", "p.skops", "new.csv", "-o", "o.csv", "-q") == (0, "", "")
    joblib.dump(imputer, tiny / "p.joblib", compress=3)
    program_refused("apply", "p.joblib", "new.csv", "-o", "p.csv")
    code, out, _ = program("apply", "p.joblib", "new.csv", "-o", "p.csv", "--trust")
    assert code == 0
    assert "model p.joblib" in " ".join(out.split())
    assert (tiny / "p.csv").read_bytes() == (tiny / "o.csv").read_bytes()
    written = pd.read_csv(tiny / "o.csv")
    expected = imputer.transform(pd.read_csv(tiny / "new.csv").astype({"c": object}))
    np.testing.assert_array_equal(written[["a", "b"]], expected[["a", "b"]])
    assert written["c"].tolist() == expected["c"].tolist()


def test_an_interruption_and_a_failing_write_leave_nothing(tiny, monkeypatch, capsys):
    (tiny / "o.csv").write_text("old")
    before = contents(tiny)
    arguments = ["apply", "m", "new.csv", "-o", "o.csv", "--force"]

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    def half(path, form, filled, file):
        path.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("kernimpute.cli.applying.read_new_table", interrupted)
    assert run(arguments) == 130
    assert contents(tiny) == before
    monkeypatch.undo()
    monkeypatch.chdir(tiny)
    monkeypatch.setattr("kernimpute.cli.applying.write_table", half)
    assert run(arguments) == 1
    assert "No space left on device" in capsys.readouterr().err
    assert contents(tiny) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["m", "new.csv"], "-o"),
        (["m"], "new"),
        (["m", "new.csv", "-o", "o.csv", "--unknown", "guess"], "guess"),
        (["m", "new.csv", "-o", "o.csv", "--target", "y"], "--target"),
    ],
)
def test_a_wrong_command_line_is_refused_in_one_line(program_refused, tiny, arguments, message):
    err = program_refused("apply", *arguments, code=2)
    assert message.lower() in err.lower()
    assert "(see kernimpute apply --help)" in err


def test_exit_codes_of_processes(tmp_path):
    (tmp_path / "t.csv").write_text(TINY)
    (tmp_path / "new.csv").write_text(NEW)

    def process(*arguments):
        done = subprocess.run(
            [sys.executable, "-m", "kernimpute", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stderr

    assert process("fit", "t.csv", "-t", "y", "-o", "m", "-q") == (0, "")
    assert process("fit", "t.csv", "-t", "y", "-o", "m")[0] == 1
    assert process("fit", "t.csv", "-o", "n")[0] == 2
    assert process("apply", "m", "new.csv", "-o", "o.csv", "-q") == (0, "")
    code, err = process("apply", "t.csv", "new.csv", "-o", "p.csv")
    assert (code, len(err.splitlines())) == (1, 1)
    assert process("apply", "m", "new.csv")[0] == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "m.skops",
        "new.csv",
        "o.csv",
        "t.csv",
    ]
