"""`kernimpute apply` as a user meets it, after `kernimpute fit`."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kernimpute
from kernimpute import KernelImputer
from kernimpute.cli.models import read_model
from tests.cli.fitted import FEATURES, example_frame, example_text

FIT = ("fit", "t.csv", "-t", "y", "--ignore", "id", "--drop", "junk", "--categorical", "code")
TINY = "a,b,c,y\n1,1.50,u,0\n2,2.25,v,1\n,1.75,u,0\n4,,,1\n1,1.25,u,0\n3,2.75,v,1\n"


@pytest.fixture
def tables(folder):
    """Return a folder with a training table, and new rows without labels."""
    (folder / "t.csv").write_text(example_text())
    (folder / "new.csv").write_text(example_text(12, seed=1, label=False))
    return folder


@pytest.fixture
def fitted(program, tables):
    """Return that folder with the model `m.skops` in it."""
    assert program(*FIT, "-o", "m.skops", "-q")[0] == 0
    return tables


@pytest.fixture
def tiny(program, folder):
    """Return a folder with the model of a tiny table."""
    (folder / "tiny.csv").write_text(TINY)
    assert program("fit", "tiny.csv", "-t", "y", "-o", "m", "-q")[0] == 0
    return folder


def rows_of(path):
    """Return the cells of a CSV without quotes."""
    return [row.split(",") for row in path.read_text().splitlines()]


def test_fit_then_apply_is_the_imputer_of_python(program, fitted):
    code, _, err = program("apply", "m.skops", "new.csv", "-o", "o.csv")
    assert (code, err) == (0, "")
    train = example_frame(fitted / "t.csv")
    train = train[train["y"].notna()]
    imputer = KernelImputer().fit(train[FEATURES], train["y"])
    model = read_model(fitted / "m.skops", trust=False)
    new = example_frame(fitted / "new.csv")
    filled = imputer.transform(new[FEATURES])
    pd.testing.assert_frame_equal(model.imputer.transform(new[FEATURES]), filled, check_exact=True)
    written = pd.read_csv(fitted / "o.csv", dtype=str)
    assert written.columns.tolist() == ["id", *FEATURES]
    for name, spell in (("age", "{}"), ("height", "{:.2f}"), ("score", "{}.0")):
        assert written[name].tolist() == [spell.format(value) for value in filled[name]]
    for name in ("pet", "code"):
        assert written[name].tolist() == filled[name].tolist()


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_labels_of_numbers_too(program, folder, task):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(30, 3))
    y = np.round(X[:, 0] * 100) if task == "regression" else np.arange(30) % 3
    X[generator.random(X.shape) < 0.2] = np.nan
    frame = pd.DataFrame(X, columns=list("abc"))
    frame.assign(y=y).to_csv(folder / "t.csv", index=False)
    frame.to_csv(folder / "new.csv", index=False)
    assert program("fit", "t.csv", "-t", "y", "-o", "m", "--task", task, "-q")[0] == 0
    assert program("apply", "m", "new.csv", "-o", "o.parquet", "-q") == (0, "", "")
    filled = KernelImputer(task=task).fit(frame, y).transform(frame)
    written = pd.read_parquet(folder / "o.parquet")
    pd.testing.assert_frame_equal(written, filled, check_exact=True)


def test_only_the_gaps_change_and_the_label_is_not_used(program, fitted):
    (fitted / "new.csv").write_text(example_text(12, seed=1))
    code, out, err = program("apply", "m.skops", "new.csv", "-o", "o.csv")
    assert (code, err) == (0, "")
    flat = " ".join(out.split())
    for said in (
        "table 12 rows, 7 columns",
        f"model m.skops, of kernimpute {kernimpute.__version__}, fitted to the label y",
        "filled ",
        "note: the label column y is kept as it is and not used",
        "note: left out, as the model says: junk",
        "wrote o.csv",
    ):
        assert said in flat
    before, after = (
        pd.read_csv(fitted / name, dtype=str, keep_default_na=False)
        for name in ("new.csv", "o.csv")
    )
    before = before.drop(columns="junk")
    assert ((before == after) | (before == "")).all(axis=None)
    assert (after[FEATURES] != "").all(axis=None)
    assert after["y"].equals(before["y"])
    (fitted / "plain.csv").write_text(example_text(12, seed=1, label=False))
    program("apply", "m.skops", "plain.csv", "-o", "p.csv")
    labelled = pd.read_csv(fitted / "o.csv", dtype=str).drop(columns="y")
    pd.testing.assert_frame_equal(labelled, pd.read_csv(fitted / "p.csv", dtype=str))


def test_gaps_of_ignored_columns_stay_and_are_told_of(program, fitted):
    new = pd.read_csv(fitted / "new.csv", dtype=str)
    new.loc[:4, "id"] = None
    new.to_csv(fitted / "new.csv", index=False)
    _, out, _ = program("apply", "m.skops", "new.csv", "-o", "o.csv")
    assert "note: empty cells stay in columns that are ignored: id (5)" in out
    assert pd.read_csv(fitted / "o.csv", dtype=str)["id"].equals(new["id"])
    program("apply", "m.skops", "new.csv", "-o", "o.parquet", "-q")
    _, out, _ = program("apply", "m.skops", "o.parquet", "-o", "p.csv")
    assert "note: empty cells stay in columns that are ignored: id (5)" in out


def test_the_columns_may_come_in_any_order_and_with_others(program, fitted):
    frame = pd.read_csv(fitted / "new.csv", dtype=str)
    order = ["code", "more", "pet", "score", "height", "id", "age", "when"]
    mixed = frame.assign(more="?", when="2020-01-01")[order]
    mixed.to_csv(fitted / "mixed.csv", index=False)
    assert program("apply", "m", "new.csv", "-o", "o.csv", "-q") == (0, "", "")
    code, _, err = program("apply", "m", "mixed.csv", "-o", "p.csv", "-q")
    assert code == 0
    assert err == (
        "warning: columns that the model does not know are kept as they are: 'more', 'when'\n"
    )
    expected, written = (pd.read_csv(fitted / name, dtype=str) for name in ("o.csv", "p.csv"))
    assert written.columns.tolist() == order
    assert written[["more", "when"]].equals(mixed[["more", "when"]])
    pd.testing.assert_frame_equal(written[[*expected.columns]], expected)


@pytest.mark.parametrize("extension", ["csv", "tsv", "csv.gz", "parquet", "arff"])
@pytest.mark.parametrize("written", ["csv", "tsv.gz", "parquet", "arff"])
def test_every_format_can_be_read_and_written(program, tiny, extension, written):
    # impute translates the tables; ignoring everything but one column, it fills nothing else.
    new = "a,b,c\n1,1.50,u\n,1.25,v\n4,,\n"
    (tiny / "new.csv").write_text(new)
    if extension != "csv":
        frame = pd.read_csv(tiny / "new.csv").astype({"a": "Int64"})
        if extension == "parquet":
            frame.to_parquet(tiny / "new.parquet")
        elif extension == "arff":
            rows = new.split("\n", 1)[1].replace(",,\n", ",?,?\n").replace("\n,", "\n?,")
            header = "@RELATION r\n@ATTRIBUTE a NUMERIC\n@ATTRIBUTE b REAL\n@ATTRIBUTE c {v,u}\n"
            (tiny / "new.arff").write_text(f"{header}@DATA\n{rows}")
        else:
            text = new.replace(",", "\t") if extension == "tsv" else new
            data = gzip.compress(text.encode()) if extension.endswith("gz") else text.encode()
            (tiny / f"new.{extension}").write_bytes(data)
    assert program("apply", "m", "new.csv", "-o", "expected.csv", "-q") == (0, "", "")
    code, _, err = program("apply", "m", f"new.{extension}", "-o", f"o.{written}", "-q")
    assert (code, err) == (0, "")
    expected = pd.read_csv(tiny / "expected.csv")
    path = tiny / f"o.{written}"
    if written == "parquet":
        found = pd.read_parquet(path)
    elif written == "arff":
        rows = path.read_text().split("@DATA\n")[1].splitlines()
        found = pd.DataFrame([row.split(",") for row in rows], columns=["a", "b", "c"])
    else:
        found = pd.read_csv(path, sep="\t" if written.startswith("tsv") else ",")
    assert found["a"].astype(int).tolist() == expected["a"].tolist()
    np.testing.assert_allclose(found["b"].astype(float), expected["b"], atol=0.005)
    assert found["c"].tolist() == expected["c"].tolist()


def test_cells_are_written_like_those_of_the_training_table(program, tiny):
    (tiny / "new.csv").write_text("a,b,c\n,,\n")
    assert program("apply", "m", "new.csv", "-o", "o.csv", "-q")[0] == 0
    (cells,) = rows_of(tiny / "o.csv")[1:]
    assert cells[0].isdigit()
    assert len(cells[1].partition(".")[2]) == 2
    assert cells[2] in ("u", "v")
    (tiny / "new.csv").write_text("a,b,c\n1.0,2,u\n,1.125,v\n3.0,,v\n")
    assert program("apply", "m", "new.csv", "-o", "o.csv", "-q", "--force")[0] == 0
    rows = rows_of(tiny / "o.csv")[1:]
    assert rows[1][0].endswith(".0")
    assert len(rows[2][1].partition(".")[2]) == 3


def test_a_single_row_is_read_as_the_model_says(program, fitted):
    (fitted / "one.csv").write_text("id,age,height,score,pet,code\n7,,2,,cat,1\n")
    assert program("apply", "m", "one.csv", "-o", "o.csv", "-q") == (0, "", "")
    _, (id_, age, height, score, pet, code) = rows_of(fitted / "o.csv")
    assert (id_, height, pet, code) == ("7", "2", "cat", "1")
    assert age.isdigit()
    assert score.endswith(".0")


def test_missing_values_are_those_of_the_model(program, folder):
    (folder / "t.csv").write_text(TINY.replace(",,", ",?,").replace("\n,", "\n-9,"))
    fit = ("fit", "t.csv", "-t", "y", "-o", "m", "-q", "--missing-values", "?")
    assert program(*fit, "--missing-values", "-9")[0] == 0
    (folder / "new.csv").write_text("a,b,c\n-9,?,?\n-9.0,,u\n")
    assert program("apply", "m", "new.csv", "-o", "o.csv", "-q") == (0, "", "")
    assert "?" not in (folder / "o.csv").read_text()
    assert "-9" not in (folder / "o.csv").read_text()
    frame = pd.DataFrame({"a": [-9.0, 1.0], "b": [1.5, -9.0], "c": ["?", "u"]})
    frame.to_parquet(folder / "new.parquet")
    assert program("apply", "m", "new.parquet", "-o", "o.parquet", "-q") == (0, "", "")
    filled = pd.read_parquet(folder / "o.parquet")
    assert (filled[["a", "b"]] > 0).all(axis=None)
    assert filled["c"].isin(["u", "v"]).all()


def test_parquet_keeps_its_types(program, folder):
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "i": pd.array(generator.integers(0, 9, 30), dtype="Int16"),
            "f": generator.normal(size=30).astype("float32"),
            "flag": pd.array(generator.integers(0, 2, 30).astype(bool), dtype="boolean"),
            "cat": pd.Categorical(generator.choice(["b", "a"], 30), categories=["z", "b", "a"]),
            "y": np.arange(30) % 2,
        },
        index=pd.Index(np.arange(30) + 5, name="key"),
    )
    for place, name in enumerate(["i", "f", "flag", "cat"]):
        frame.loc[[7 + place, 20 - place], name] = None
    frame.to_parquet(folder / "t.parquet")
    frame["list"] = [[1]] * 30
    frame.to_parquet(folder / "new.parquet")
    assert program("fit", "t.parquet", "-t", "y", "-o", "m", "-q")[0] == 0
    code, _, err = program("apply", "m", "new.parquet", "-o", "o.parquet", "-q")
    assert code == 0
    assert "kept as they are: 'list'" in err
    schema = pq.read_schema(folder / "new.parquet")
    assert pq.read_schema(folder / "o.parquet").equals(schema, check_metadata=True)
    filled = pd.read_parquet(folder / "o.parquet")
    assert filled.notna().all(axis=None)
    model = read_model(folder / "m.skops", trust=False)
    expected = model.imputer.transform(frame[["i", "f", "flag", "cat"]])
    assert filled["i"].tolist() == expected["i"].tolist()
    assert filled["flag"].tolist() == expected["flag"].tolist()
    # The same rows as text: booleans by their name.
    frame.drop(columns="list").to_csv(folder / "new.csv", index=False)
    assert program("apply", "m", "new.csv", "-o", "o.csv", "-q") == (0, "", "")
    assert pd.read_csv(folder / "o.csv")["flag"].tolist() == expected["flag"].tolist()


def test_a_parquet_column_of_gaps_gets_a_type(program, tiny):
    table = pa.table({"a": [None, 2], "b": pa.nulls(2), "c": pa.nulls(2)})
    pq.write_table(table, tiny / "new.parquet")
    assert program("apply", "m", "new.parquet", "-o", "o.parquet", "-q") == (0, "", "")
    filled = pq.read_table(tiny / "o.parquet")
    assert filled.schema.field("b").type == pa.float64()
    assert not any(column.null_count for column in filled.columns)


def test_arff_declares_what_is_filled(program, tiny):
    header = "@RELATION r\n@ATTRIBUTE a REAL\n@ATTRIBUTE b REAL\n@ATTRIBUTE c {'w w'} % new\n"
    header = header.replace(" % new", "")
    (tiny / "new.arff").write_text(header + "@DATA\n1,1.5,?\n3,2.5,?\n")
    assert program("apply", "m", "new.arff", "-o", "o.arff", "-q") == (0, "", "")
    text = (tiny / "o.arff").read_text()
    assert "@ATTRIBUTE c {'w w'," in text
    (tiny / "again.arff").write_text(text)
    assert program("apply", "m", "again.arff", "-o", "p.arff", "-q") == (0, "", "")
    assert (tiny / "p.arff").read_text() == text


# ------------------------------------------------------------------ unknown categories


@pytest.mark.parametrize("extension", ["csv", "parquet"])
def test_unknown_categories_are_refused_or_filled(program, program_refused, tiny, extension):
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [1.5, 2.5, 2.0], "c": ["u", "fish", "fish"]})
    new = tiny / f"new.{extension}"
    frame.to_csv(new, index=False) if extension == "csv" else frame.to_parquet(new)
    err = program_refused("apply", "m", new.name, "-o", "o.csv")
    assert "does not know ('c': 'fish' in 2 of its cells): correct them, or pass --unknown" in err
    code, out, err = program("apply", "m", new.name, "-o", "o.csv", "--unknown", "missing")
    assert code == 0
    assert err == (
        "warning: categories that the model does not know are filled like gaps: 'c': 'fish' in 2 "
        "of its cells\n"
    )
    assert "filled 2 of 9 cells" in " ".join(out.split())
    cells = [row[2] for row in rows_of(tiny / "o.csv")]
    assert cells[:2] == ["c", "u"]
    assert set(cells[2:]) <= {"u", "v"}
