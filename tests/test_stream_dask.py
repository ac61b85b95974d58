"""Streams on Dask: workers of its own or of a cluster, one of which dies, and DataFrames."""

import os
import signal

import dask.dataframe as dd
import distributed
import pandas as pd
import pytest

from kernimpute import KernelImputer
from kernimpute import stream as stream_module
from kernimpute.stream import impute_dask, impute_parquet, transform_parquet
from kernimpute.table.columns import TableError
from tests.stream_tables import mixed_table, numeric_table, read, written, written_folder

pytestmark = pytest.mark.filterwarnings("ignore::kernimpute.TableWarning")


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(processes=False, dashboard_address="127.0.0.1:0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def test_the_death_of_a_worker_process_changes_no_byte(tmp_path, monkeypatch):
    written_folder(mixed_table(600), tmp_path / "in", n_files=12)
    options = {"target": "y", "ignore": "id", "max_fit_rows": 100}
    alone = impute_parquet(tmp_path / "in", tmp_path / "alone", **options)
    told, clusters, start = [], [], distributed.LocalCluster
    monkeypatch.setattr(
        distributed, "LocalCluster", lambda **asked: clusters.append(start(**asked)) or clusters[0]
    )

    def kill(n_rows, of):
        if not told:
            os.kill(clusters[0].workers[0].pid, signal.SIGKILL)
        told.append(n_rows)

    options |= {"n_jobs": 1, "scheduler": "local", "callback": kill}
    done = impute_parquet(tmp_path / "in", tmp_path / "out", **options)
    assert told[-1] == 600 and len(told) == 12
    assert (done.filled, done.notes, done.warnings) == (alone.filled, alone.notes, alone.warnings)
    for file in (tmp_path / "in").iterdir():
        streams = [(tmp_path / side / file.name).read_bytes() for side in ("alone", "out")]
        assert streams[0] == streams[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alone", "in", "out"]


def test_a_model_fills_on_the_workers_of_a_scheduler(client, tmp_path):
    source = written(numeric_table(100), tmp_path / "table.parquet")
    imputer = KernelImputer().fit(source.drop_columns(["y"]).to_pandas())
    transform_parquet(imputer, tmp_path / "table.parquet", tmp_path / "alone.parquet")
    options = {"scheduler": client.scheduler.address}
    transform_parquet(imputer, tmp_path / "table.parquet", tmp_path / "out.parquet", **options)
    assert read(tmp_path / "out.parquet").equals(read(tmp_path / "alone.parquet"))


# Dask's own reading warns, with pandas 3.1.
@pytest.mark.filterwarnings("ignore:The inplace keyword in")
def test_a_dask_dataframe_from_parquet_to_parquet(client, tmp_path):
    table = mixed_table(200).set_index(pd.RangeIndex(200, name="key") * 2)
    dd.from_pandas(table, npartitions=4).to_parquet(tmp_path / "in")
    options = {"ignore": "id", "drop": "c", "missing_values": [7]}
    with client.as_current():
        frame = dd.read_parquet(tmp_path / "in", calculate_divisions=True)
        filled = impute_dask(frame, "y", **options)
        assert filled.divisions == frame.divisions
        filled.to_parquet(tmp_path / "out")
        got, frame = dd.read_parquet(tmp_path / "out").compute(), frame.compute()
    impute_parquet(tmp_path / "in", tmp_path / "streamed", "y", **options)
    streamed = dd.read_parquet(tmp_path / "streamed").compute()
    pd.testing.assert_frame_equal(got, streamed, check_dtype=False, check_categorical=False)
    assert (got.dtypes == frame.drop(columns="c").dtypes).all()


@pytest.mark.filterwarnings("ignore:The inplace keyword in")
@pytest.mark.parametrize("most", [40, 90])
def test_partitions_keep_their_types_and_observed_cells(most):
    table = mixed_table(90).drop(columns=["y", "id", "none"])
    frame = dd.from_pandas(table, npartitions=3)
    filled = impute_dask(frame, max_fit_rows=most)
    assert filled["level"].cat.known
    got, before = filled.compute(), frame.compute()
    assert (got.dtypes == before.dtypes).all() and not got.isna().any(axis=None)
    for name in table:
        seen = before[name].notna()
        assert got.loc[seen, name].equals(before.loc[seen, name])


def test_dask_refuses_unknown_categories_and_frames_that_are_not_its_own():
    table = pd.DataFrame({"a": [1.0, None] * 30, "pet": ["cat", "dog"] * 29 + ["eel", "newt"]})
    with pytest.raises(TypeError, match="must be a DataFrame of Dask. Got a DataFrame of pandas"):
        impute_dask(table)
    frame = dd.from_pandas(table, npartitions=2)
    with pytest.raises(TableError, match="Got .* besides"):
        impute_dask(frame, max_fit_rows=9, handle_unknown="error").compute()


def test_a_scheduler_that_does_not_answer_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(stream_module, "PATIENCE", 0.5)
    monkeypatch.setattr(stream_module, "fit_table", None)
    written(numeric_table(40), tmp_path / "table.parquet")
    paths = tmp_path / "table.parquet", tmp_path / "out.parquet"
    with pytest.raises(ConnectionError, match="Got 'tcp://127.0.0.1:1'"):
        impute_parquet(*paths, scheduler="tcp://127.0.0.1:1")
    with pytest.raises(ConnectionError, match=r"that answers and has a worker. Got 'far://host'"):
        impute_parquet(*paths, scheduler="far://host")
    with distributed.LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as cluster:
        with pytest.raises(ConnectionError, match="has a worker"):
            impute_parquet(*paths, scheduler=cluster.scheduler_address)
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]
