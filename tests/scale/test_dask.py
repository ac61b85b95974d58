"""Dask: worker processes, one of which dies, joblib's backends, and DataFrames."""

import os
import signal

import dask.dataframe as dd
import distributed
import joblib
import numpy as np
import pandas as pd
import pytest

from kernimpute import KernelImputer
from kernimpute.scale import impute_dask, impute_parquet, schedulers
from tests.scale.tables import numeric_table, read, written


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


# joblib tells of the tasks that the interrupt drops.
@pytest.mark.filterwarnings("ignore:.* tasks .* have been cancelled")
def test_neither_the_death_of_a_worker_nor_an_interrupt_changes_a_cell(client, tmp_path):
    written(numeric_table(240), tmp_path / "table.parquet")
    paths = tmp_path / "table.parquet", "y"
    impute_parquet(*paths, tmp_path / "alone.parquet", subset_size=10)
    pids = list(client.run(os.getpid).values())
    assert len(set(pids)) == 2 and os.getpid() not in pids

    def kill_and_interrupt(done):
        if done.n_done == 4:
            os.kill(pids[0], signal.SIGKILL)
        if done.n_done == 16:
            raise KeyboardInterrupt

    options = {"subset_size": 10, "scheduler": client.scheduler.address}
    with pytest.raises(KeyboardInterrupt):
        impute_parquet(*paths, tmp_path / "out.parquet", **options, callback=kill_and_interrupt)
    done = impute_parquet(*paths, tmp_path / "out.parquet", **options)
    assert done.n_reused == 16
    assert read(tmp_path / "out.parquet").equals(read(tmp_path / "alone.parquet"))


def test_a_backend_of_joblib_changes_nothing(tmp_path):
    table = numeric_table(120)
    written(table, tmp_path / "table.parquet")
    X, y = table.drop(columns="y"), table["y"]
    expected = KernelImputer(subset_size=20).fit_transform(X, y)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert KernelImputer(subset_size=20).fit_transform(X, y).equals(expected)
        impute_parquet(tmp_path / "table.parquet", "y", tmp_path / "out.parquet", subset_size=20)
    got = read(tmp_path / "out.parquet").to_pandas()
    np.testing.assert_allclose(got[X.columns], expected, rtol=0.0, atol=1e-12)


def test_worker_processes_of_its_own(tmp_path):
    written(numeric_table(100), tmp_path / "table.parquet")
    paths = tmp_path / "table.parquet", "y"
    impute_parquet(*paths, tmp_path / "alone.parquet", subset_size=10)
    options = {"subset_size": 10, "scheduler": "local", "n_jobs": 1}
    impute_parquet(*paths, tmp_path / "out.parquet", **options)
    assert read(tmp_path / "out.parquet").equals(read(tmp_path / "alone.parquet"))
    assert not (tmp_path / ".out.parquet.work").exists()


def test_worker_processes_that_do_not_start_are_refused(tmp_path, monkeypatch):
    def failing(**options):
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr(distributed, "LocalCluster", failing)
    with pytest.raises(ChildProcessError, match=r"The 2 worker processes .* needs `if __name__"):
        with schedulers.running_on("local", 2, tmp_path):
            pass


# Dask's own reading warns, with pandas 3.1.
@pytest.mark.filterwarnings("ignore:The inplace keyword in")
def test_a_dask_dataframe(client, tmp_path):
    table = numeric_table(200).set_index(pd.RangeIndex(200, name="key") * 2)
    frame = dd.from_pandas(table, npartitions=4)
    with client.as_current():
        filled = impute_dask(frame, "y", tmp_path / "out", subset_size=20)
        got = filled.compute()
    assert filled.divisions == frame.divisions and filled.npartitions == 4
    expected = KernelImputer(subset_size=20).fit_transform(table.drop(columns="y"), table["y"])
    pd.testing.assert_frame_equal(got.drop(columns="y"), expected, rtol=0.0, atol=1e-12)
    assert (got["y"] == table["y"]).all()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.filterwarnings("ignore:The inplace keyword in")
@pytest.mark.parametrize("known", [True, False])
def test_categories_are_known_before_the_table_is_computed(tmp_path, known):
    generator = np.random.default_rng(0)
    levels = pd.CategoricalDtype(["mid", "low", "high", "none"], ordered=True)
    level = pd.Series(generator.choice(["low", "mid", "high"], 90)).astype(levels)
    table = numeric_table(90).assign(level=level.where(generator.random(90) > 0.3))
    table["kept"] = pd.Categorical(["u"] * 30 + ["v"] * 30 + ["w"] * 30)
    frame = dd.from_pandas(table, npartitions=3)
    if not known:
        frame = frame.assign(
            level=frame["level"].cat.as_unknown(), kept=frame["kept"].cat.as_unknown()
        )
    filled = impute_dask(frame, "y", tmp_path / "out", subset_size=30, ignore="kept")
    assert filled["level"].cat.known and filled["kept"].cat.known
    assert filled.dtypes["level"] == levels and set(filled["kept"].cat.categories) == set("uvw")
    got = filled.compute()
    assert got.dtypes["level"] == levels and got["level"].notna().all()
    assert (got["kept"].astype(str) == table["kept"].astype(str)).all()
    observed = table["level"].notna()
    assert got["level"][observed].equals(table["level"][observed])


def test_a_scheduler_that_does_not_answer_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(schedulers, "PATIENCE", 0.5)
    monkeypatch.setattr("kernimpute.scale.parquet.make_plan", None)
    written(numeric_table(40), tmp_path / "table.parquet")
    paths = tmp_path / "table.parquet", "y", tmp_path / "out.parquet"
    with pytest.raises(ConnectionError, match="Got no scheduler at 'tcp://127.0.0.1:1' for 0.5"):
        impute_parquet(*paths, scheduler="tcp://127.0.0.1:1")
    with pytest.raises(ValueError, match=r"that answers and has a worker. Got 'far://host'"):
        impute_parquet(*paths, scheduler="far://host")
    with distributed.LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as cluster:
        with pytest.raises(ConnectionError, match="Got no worker at .* for 0.5 seconds"):
            impute_parquet(*paths, scheduler=cluster.scheduler_address)
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]
