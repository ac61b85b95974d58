"""`kernimpute impute --subset-size`: in memory, out of core, and what is refused."""

import sys

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from kernimpute.scale import impute_parquet

ROWS = 60


@pytest.fixture
def table(folder):
    generator = np.random.default_rng(0)
    y = np.arange(ROWS) % 2
    X = generator.normal(size=(ROWS, 3)) + y[:, None]
    X[generator.random(X.shape) < 0.3] = np.nan
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table["pet"] = pd.Series(generator.choice(["cat", "dog", "-9"], ROWS))
    table["y"] = pd.Series(np.where(y == 1, "yes", "no")).where(generator.random(ROWS) > 0.1)
    table.to_parquet("t.parquet", row_group_size=25)
    table.to_csv("t.csv", index=False)
    return table


GIVEN = ("-t", "y", "--subset-size", "20", "--missing-values", "-9")


def test_parquet_is_filled_out_of_core(impute, table, monkeypatch):
    monkeypatch.setattr("kernimpute.cli.in_memory.read_source", None)
    code, out, err = impute("t.parquet", *GIVEN, "-o", "out.parquet", "--jobs", "1")
    assert (code, err) == (0, "")
    flat = " ".join(out.split())
    assert "table 60 rows, 5 columns" in flat and "y (classification, 2 classes)" in flat
    assert "subsets 3" in flat and "status Converged" in flat
    assert out.splitlines()[-1] == "wrote out.parquet"
    impute_parquet("t.parquet", "y", "api.parquet", subset_size=20, missing_values=["-9"])
    assert pq.read_table("out.parquet").equals(pq.read_table("api.parquet"))
    assert pq.ParquetFile("out.parquet").num_row_groups == 3
    got = pd.read_parquet("out.parquet")
    assert set(got["pet"]) == {"cat", "dog"} and got[["a", "b", "c"]].notna().all(axis=None)


def test_in_memory_gives_the_same(impute, table):
    assert impute("t.parquet", *GIVEN, "-o", "out.parquet", "-q")[0] == 0
    code, out, _ = impute("t.csv", *GIVEN, "-o", "out.csv", "--n-jobs", "1", "--report", "r.html")
    assert code == 0 and "subsets 3" in " ".join(out.split())
    got, expected = pd.read_csv("out.csv"), pd.read_parquet("out.parquet")
    assert (got["pet"] == expected["pet"]).all()
    # Text is written with the decimals that its column has.
    np.testing.assert_allclose(got[["a", "b", "c"]], expected[["a", "b", "c"]], atol=1e-10)


def test_empty_cells_of_ignored_columns_are_counted_alike(impute, table):
    table["note"] = ["seen", "-9", None] * 20
    table["score"] = [0.5, np.nan, -9.0] * 20
    table.index = pd.Index(range(1, ROWS + 1), name="key")
    table.to_parquet("t.parquet", row_group_size=25)
    table.to_csv("t.csv", index=False)
    given = ("-t", "y", "--missing-values", "-9", "--ignore", "note", "--ignore", "score")
    said = "note: empty cells stay in columns that are ignored: note (20), score (20)"
    for name, *options in (
        ("t.parquet",),
        ("t.parquet", "--subset-size", "20"),
        ("t.csv",),
    ):
        code, out, err = impute(name, *given, *options, "-o", f"out.{name}", "--force")
        assert (code, err) == (0, "")
        assert said in out.splitlines()
        got = pd.read_csv("out.t.csv") if name == "t.csv" else pd.read_parquet("out.t.parquet")
        for column in ("note", "score"):
            assert got[column].tolist() == pytest.approx(table[column].tolist(), nan_ok=True)


def test_a_folder(impute, table, folder):
    (folder / "in").mkdir()
    for part in range(2):
        table[part * 30 : (part + 1) * 30].to_parquet(f"in/{part}.parquet")
    code, out, _ = impute("in", *GIVEN, "-o", "out", "--drop", "b")
    assert code == 0 and out.splitlines()[-1] == "wrote out"
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["0.parquet", "1.parquet"]
    assert list(pd.read_parquet("out").columns) == ["a", "c", "pet", "y"]
    assert impute("in", *GIVEN, "-o", "out")[0] == 1
    assert impute("in", *GIVEN, "-o", "out", "--force", "-q") == (0, "", "")


def test_an_interrupted_run_says_how_it_goes_on(impute, table, folder, monkeypatch):
    def interrupt(self, text):
        if text == "subsets: 3 of 3":
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("kernimpute.cli.progress.Progress.show", interrupt)
        code, out, err = impute("t.parquet", *GIVEN, "-o", "out.parquet")
    assert (code, out) == (130, "")
    assert err == (
        "kernimpute: interrupted; what is finished is kept in .out.parquet.work: the same call "
        "goes on from it.\n"
    )
    assert not (folder / "out.parquet").exists()
    code, out, _ = impute("t.parquet", *GIVEN, "-o", "out.parquet")
    assert code == 0 and "subsets 3, 3 of an earlier run" in " ".join(out.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("t.parquet", "-t", "y", "-o", "o.parquet", "--scheduler", "local"), "--subset-size"),
        (("t.parquet", "-t", "y", "-o", "o.parquet", "--jobs", "2"), "--subset-size"),
        (("t.csv", *GIVEN, "-o", "o.csv", "--scheduler", "local"), "written as Parquet"),
        (("t.parquet", *GIVEN, "-o", "o.csv", "--scheduler", "local"), "written as Parquet"),
        (("t.parquet", *GIVEN, "-o", "o.parquet", "--report", "r.html"), "--report is for"),
        (("t.parquet", *GIVEN, "-o", "o.parquet", "--max-memory", "0.5"), "--max-memory is for"),
        (("t.csv", "-t", "y", "-o", "o.csv", "--max-memory", "1e-9"), "impute_table with N = "),
        (("t.csv", "-t", "y", "-o", "o.csv", "--max-memory", "1e-9"), "--max-memory=1e-09 allows"),
        (("t.parquet", *GIVEN, "-o", "o.parquet", "--scheduler", "far"), "'scheduler' parameter"),
        (("t.parquet", *GIVEN, "-o", "t.parquet", "--force"), "another one than the source"),
        (("none.parquet", *GIVEN, "-o", "o.parquet"), "there is no such file"),
        (("t.parquet", *GIVEN, "-o", "o.parquet", "--drop", "z"), "there is no column 'z'"),
        (("t.parquet", *GIVEN, "-o", "t.csv.parquet"), "or --force to replace it"),
        (("in", *GIVEN, "-o", "o.csv"), "a folder gives a folder of Parquet files"),
        (("in", "-t", "y", "-o", "o"), "only `impute` with --subset-size takes one"),
    ],
)
def test_refusals(refused, table, folder, arguments, said):
    (folder / "in").mkdir()
    table.to_parquet("in/0.parquet")
    table.to_parquet("t.csv.parquet")
    assert said in refused(*arguments)
    assert not (folder / "o.csv").exists() and not (folder / "o").exists()


def test_without_dask_the_extra_is_named(refused, table, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    said = refused("t.parquet", *GIVEN, "-o", "o.parquet", "--scheduler", "local")
    assert "pip install 'kernimpute[dask]'" in said
