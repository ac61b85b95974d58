"""What cannot be done is refused before a column is read, by the name of the function called."""

import contextlib
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import dask.dataframe as dd
import joblib
import pytest

from kernimpute.scale import impute_dask, impute_parquet, schedulers
from kernimpute.table.columns import TableError
from tests.scale.tables import numeric_table

METHOD = [
    ({"C": 0.0}, ValueError),
    ({"C": "1"}, TypeError),
    ({"variant": "best"}, ValueError),
    ({"kernel": "cubic"}, ValueError),
    ({"kernel": 3}, TypeError),
    ({"eta": 0.0}, ValueError),
    ({"rho": -1.0}, ValueError),
    ({"radius": -1.0}, ValueError),
    ({"epsilon": -0.1}, ValueError),
    ({"tol": -1.0}, ValueError),
    ({"max_iter": -1}, ValueError),
    ({"max_iter": 2.5}, TypeError),
    ({"task": "ranking"}, ValueError),
    ({"reference": "expected"}, ValueError),
    ({"subset_size": 9}, ValueError),
    ({"max_models": 0}, ValueError),
    ({"random_state": -1}, ValueError),
    ({"n_jobs": 0}, ValueError),
    ({"n_jobs": 1.5}, TypeError),
    ({"n_jobs": True}, TypeError),
]
RUN = [
    *METHOD,
    ({"subset_size": None}, TypeError),
    ({"reference": "median"}, ValueError),
    ({"scheduler": 3}, TypeError),
    ({"scheduler": Path("tcp://host")}, TypeError),
    ({"scheduler": "far"}, ValueError),
    ({"scheduler": "local", "n_jobs": 0}, ValueError),
    ({"callback": 3}, TypeError),
    ({"work_dir": 3}, TypeError),
    ({"output": 3}, TypeError),
]


class ReadError(Exception):
    """Raised where long work would begin."""


def reading(*arguments, **options):
    raise ReadError


def names_it(options, owner):
    """Return the pattern of a refusal; the last option is the one refused."""
    return f"^The '{[*options][-1]}' parameter of {owner} must be "


@pytest.mark.parametrize(("options", "error"), RUN)
def test_of_a_table_of_parquet(monkeypatch, tmp_path, options, error):
    numeric_table(40).to_parquet(tmp_path / "table.parquet")
    monkeypatch.setattr("kernimpute.scale.parquet.make_plan", reading)
    given = {"output": tmp_path / "out.parquet", **options}
    with pytest.raises(error, match=names_it(options, "impute_parquet")):
        impute_parquet(tmp_path / "table.parquet", "y", **given)
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]


@pytest.mark.parametrize(("options", "error"), RUN)
def test_of_a_frame_of_dask(monkeypatch, tmp_path, options, error):
    frame = dd.from_pandas(numeric_table(40), npartitions=2)
    monkeypatch.setattr(type(frame), "to_parquet", reading)
    with pytest.raises(error, match=names_it(options, "impute_dask")):
        impute_dask(frame, "y", **{"output": tmp_path / "out", **options})
    assert not [*tmp_path.iterdir()]


def test_a_frame_of_dask_and_its_place(monkeypatch, tmp_path):
    frame = dd.from_pandas(numeric_table(40), npartitions=2)
    monkeypatch.setattr(type(frame), "to_parquet", reading)
    with pytest.raises(TypeError, match="'frame' parameter of impute_dask must be a Dask"):
        impute_dask(numeric_table(40), "y", tmp_path / "out")
    with pytest.raises(TypeError, match="unexpected keyword argument 'size'"):
        impute_dask(frame, "y", tmp_path / "out", size=3)
    with pytest.raises(TableError, match="target: there is no column 'z'"):
        impute_dask(frame, "z", tmp_path / "out")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        impute_dask(frame, "y", tmp_path / "none" / "out")
    (tmp_path / "out").mkdir()
    with pytest.raises(FileExistsError, match="give another name, or force"):
        impute_dask(frame, "y", tmp_path / "out")
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="must be a folder, as the source. Got a file"):
        impute_dask(frame, "y", tmp_path / "file", force=True)
    with pytest.raises(TableError, match="Got a file"):
        impute_dask(frame, "y", tmp_path / "new", work_dir=tmp_path / "file")
    with pytest.raises(ReadError):
        impute_dask(frame, "y", tmp_path / "out", force=True)


def test_places(monkeypatch, tmp_path):
    (tmp_path / "in").mkdir()
    numeric_table(40).to_parquet(tmp_path / "in" / "table.parquet")
    monkeypatch.setattr("kernimpute.scale.parquet.make_plan", reading)
    paths = tmp_path / "in", "y", tmp_path / "out"
    for work, match in [
        (tmp_path / "out", "'work_dir' parameter of impute_parquet must be a folder outside"),
        (tmp_path / "out" / "work", "'work_dir' parameter of impute_parquet"),
        (tmp_path / "in", "a folder of its own for the work"),
        (tmp_path / "in" / "work", "the work must lie outside of the source"),
    ]:
        with pytest.raises(ValueError, match=match):
            impute_parquet(*paths, work_dir=work)
    with pytest.raises(ValueError, match="the output must be another one than the source"):
        impute_parquet(tmp_path / "in", "y", tmp_path / "in")
    with pytest.raises(ReadError):
        impute_parquet(*paths)
    monkeypatch.setattr("kernimpute.scale.options.os.access", lambda *arguments: False)
    with pytest.raises(PermissionError, match="nothing can be written to"):
        impute_parquet(*paths)


def test_a_backend_that_returns_nothing_before_the_end(monkeypatch, tmp_path):
    numeric_table(40).to_parquet(tmp_path / "table.parquet")
    monkeypatch.setattr("kernimpute.scale.parquet.make_plan", reading)
    paths = tmp_path / "table.parquet", "y", tmp_path / "out.parquet"
    with joblib.parallel_config(backend="multiprocessing", n_jobs=2):
        with pytest.raises(ValueError, match="for impute_parquet must be one that returns results"):
            impute_parquet(*paths)
        # Alone it needs no backend.
        with pytest.raises(ReadError):
            impute_parquet(*paths, n_jobs=1)


@pytest.mark.parametrize(("n_jobs", "n_workers"), [(None, 6), (-1, 6), (-2, 5), (-9, 1), (3, 3)])
def test_worker_processes_count_as_jobs_do(monkeypatch, tmp_path, n_jobs, n_workers):
    cluster = MagicMock()
    cluster.__exit__.return_value = False
    cluster.scale.side_effect = ReadError
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "6")
    monkeypatch.setattr("joblib._parallel_backends.cpu_count", lambda: 6)
    monkeypatch.setattr(schedulers, "cpu_count", lambda: 6)
    client = contextlib.nullcontext()
    stub = SimpleNamespace(LocalCluster=lambda **_: cluster, Client=lambda *_, **__: client)
    monkeypatch.setattr(schedulers, "the_distributed", lambda: stub)
    with pytest.raises(ReadError), schedulers.running_on("local", n_jobs, tmp_path):
        pass
    cluster.scale.assert_called_once_with(n_workers)


@pytest.mark.parametrize("status", ["failed", "starting"])
def test_worker_processes_that_do_not_start_are_refused(monkeypatch, status):
    monkeypatch.setattr(schedulers, "STARTING", 0.1)
    worker = SimpleNamespace(status=SimpleNamespace(name=status))
    cluster = MagicMock(workers={0: worker}, scheduler=SimpleNamespace(workers={}))
    with pytest.raises(ChildProcessError, match=r"Only 0 of 2 .* needs `if __name__"):
        schedulers._wait_for_workers(cluster, 2)
    if status == "failed":
        schedulers._end_workers(cluster)
        cluster.wait_for_workers.assert_not_called()
