"""Large Parquet tables at the command line: folders, models, workers, and an interrupt."""

import gzip
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from kernimpute.stream import SAMPLE_ROWS, impute_parquet
from tests.cli.conftest import flat
from tests.stream_tables import numeric_table

GIVEN = ("-t", "y", "--missing-values", "-9")


@pytest.fixture
def table(folder, monkeypatch):
    """Return a table of 60 rows, of which 20 are fitted, in files, a folder and a model."""
    monkeypatch.setattr("kernimpute.stream.SAMPLE_ROWS", 20)
    monkeypatch.setattr("kernimpute.stream.PATIENCE", 0.5)
    generator = np.random.default_rng(0)
    table = numeric_table(60).drop(columns="d")
    y = table.pop("y")
    table["pet"] = pd.Series(generator.choice(["cat", "dog", "-9"], 60))
    table["y"] = pd.Series(np.where(y == 1, "yes", "no")).where(generator.random(60) > 0.1)
    table.to_parquet("t.parquet", row_group_size=25)
    table.to_parquet("t.csv.parquet")
    table.to_csv("t.csv", index=False)
    (folder / "in").mkdir()
    for part in range(2):
        table[part * 30 : (part + 1) * 30].to_parquet(f"in/{part}.parquet")
    return table


def test_a_large_table_is_never_read_whole(program, table, monkeypatch):
    monkeypatch.setattr("kernimpute.cli.files.open_table", None)
    code, out, err = program("impute", "t.parquet", *GIVEN, "-o", "out.parquet")
    assert (code, err) == (0, "")
    for said in ("table 60 rows, 5 columns", "y (not used)", "fitted all rows"):
        assert said in flat(out)
    assert out.splitlines()[-1] == "wrote out.parquet"
    impute_parquet("t.parquet", "api.parquet", "y", missing_values=["-9"])
    assert pq.read_table("out.parquet").equals(pq.read_table("api.parquet"))


def test_a_folder_gives_a_folder(program, table, folder):
    code, out, _ = program("impute", "in", *GIVEN, "-o", "out", "--drop", "b")
    assert (code, out.splitlines()[-1]) == (0, "wrote out")
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["0.parquet", "1.parquet"]
    assert list(pd.read_parquet("out").columns) == ["a", "c", "pet", "y"]
    assert program("impute", "in", *GIVEN, "-o", "out")[0] == 1
    assert program("impute", "in", *GIVEN, "-o", "out", "--force", "-q") == (0, "", "")


@pytest.mark.parametrize("new", ["t.parquet", "in"])
def test_a_model_fills_by_blocks(program, table, monkeypatch, new):
    assert program("fit", "t.csv", *GIVEN, "--drop", "b", "-o", "m", "-q")[0] == 0
    assert program("apply", "m", "t.csv", "-o", "memory.csv", "-q") == (0, "", "")
    monkeypatch.setattr("kernimpute.cli.files.open_table", None)
    code, out, err = program("apply", "m", new, "-o", "out.parquet")
    assert (code, err) == (0, "")
    for said in (
        "table 60 rows, 4 columns",
        "model m",
        "note: left out, as the model says: b",
        "note: the label column y is kept as it is and not used",
    ):
        assert said in flat(out)
    filled, whole = pd.read_parquet("out.parquet"), pd.read_csv("memory.csv")
    assert filled[["pet", "y"]].fillna("").equals(whole[["pet", "y"]].fillna("").astype("str"))
    for name in ("a", "c"):
        np.testing.assert_allclose(filled[name], whole[name], rtol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("t.parquet", "-o", "o.csv", "--scheduler", "local"), "written as Parquet"),
        (("t.csv", "-o", "o.parquet", "--scheduler", "local"), "written as Parquet"),
        (("t.parquet", "-o", "o.parquet", "--scheduler", "far"), "--scheduler must be"),
        (("t.parquet", "-o", "t.parquet", "--force"), "must lie outside of the source"),
        (("t.parquet", "-o", "t.csv.parquet"), "or --force to replace it"),
        (("in", "-o", "o.csv"), "a folder gives a folder of Parquet files"),
        (("in", "-o", "o", "--guidance", "direct"), "without --guidance, --report, --mask,"),
        (("in", "-o", "o", "--report", "r.html"), "without --guidance, --report, --mask,"),
        (("t.parquet", "-o", "o.parquet", "--jobs", "2"), "--jobs is for subsets and workers"),
        (("t.parquet", "-o", "o.parquet", "--scheduler", "tcp://127.0.0.1:1"), "Got 'tcp://127."),
    ],
)
def test_streams_refuse(refused, table, folder, arguments, said):
    before = sorted(folder.rglob("*"))
    assert said in refused("impute", *arguments, "-t", "y")
    assert sorted(folder.rglob("*")) == before


def test_a_text_file_beyond_the_memory_becomes_parquet_by_the_command_that_is_named(
    program, refused, table, folder, monkeypatch
):
    with monkeypatch.context() as patched:
        patched.setattr("kernimpute.cli.files.free_memory", lambda: 1000)
        said = refused("impute", "t.csv", "-o", "o.csv")
        (folder / "t.csv.gz").write_bytes(gzip.compress((folder / "t.csv").read_bytes()))
        patched.setattr("kernimpute.cli.files.free_memory", lambda: 200 * 1024)
        assert "t.csv.gz would take about" in refused("impute", "t.csv.gz", "-o", "o.csv")
    command = said.rpartition(" by python -c ")[2].strip().strip('"')
    subprocess.run([sys.executable, "-c", command], check=True)
    assert program("impute", "parts", *GIVEN, "-o", "out", "-q") == (0, "", "")
    assert len(pd.read_parquet("out")) == 60


def test_without_dask_the_extra_is_named(refused, table, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    said = refused("impute", "t.parquet", "-o", "o.parquet", "--scheduler", "local")
    assert "pip install 'kernimpute[dask]'" in said


@pytest.mark.parametrize("scheduler", [None, "local"])
def test_ctrl_c_leaves_nothing(tmp_path, scheduler):
    n_rows = SAMPLE_ROWS + 1
    X = np.random.default_rng(0).normal(size=(n_rows, 3))
    X[:100, 0] = np.nan
    for part in range(12):
        (tmp_path / "in").mkdir(exist_ok=True)
        pd.DataFrame(X, columns=list("abc")).to_parquet(tmp_path / "in" / f"{part}.parquet")
    given = ["impute", "in", "-o", "out", "--reference", "mean"]
    given += ["--scheduler", scheduler, "--jobs", "1"] if scheduler else []
    command = [sys.executable, "-m", "kernimpute", *given]
    with subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        while not [*tmp_path.glob(".out.*.tmp/*.parquet")]:
            assert process.poll() is None
            time.sleep(0.01)
        # To the workers, too, as a terminal does.
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "kernimpute: interrupted; no output was written.\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]
