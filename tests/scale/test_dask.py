"""Dask: worker processes, one of which dies, threads and processes of joblib's, and DataFrames."""

import logging
import os
import signal
import subprocess
import sys

import dask.dataframe as dd
import distributed
import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV

from kernimpute import KernelImputationClassifier, KernelImputer
from kernimpute.scale import impute_dask, impute_parquet, schedulers
from kernimpute.scale.interrupts import LOGGERS
from tests.scale.tables import in_memory, mixed_table, numeric_table, read, written

pytestmark = pytest.mark.filterwarnings("ignore::kernimpute.estimators.impute_table.TableWarning")


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def test_the_death_of_a_worker_changes_nothing(client, tmp_path):
    written(numeric_table(1600), tmp_path / "table.parquet")
    paths = tmp_path / "table.parquet", "y"
    impute_parquet(*paths, tmp_path / "alone.parquet", subset_size=10)
    pids = list(client.run(os.getpid).values())
    assert len(set(pids)) == 2 and os.getpid() not in pids
    killed = []

    def kill(done):
        if done.n_done >= 24 and not killed:
            killed.append(pids[0])
            os.kill(pids[0], signal.SIGKILL)

    scheduler = client.scheduler.address
    done = impute_parquet(
        *paths, tmp_path / "out.parquet", subset_size=10, scheduler=scheduler, callback=kill
    )
    assert killed and done.n_subsets == 160 and done.n_reused == 0
    assert read(tmp_path / "out.parquet").equals(read(tmp_path / "alone.parquet"))


def test_an_interrupted_run_on_workers_goes_on(client, tmp_path):
    written(numeric_table(480), tmp_path / "table.parquet")
    paths = tmp_path / "table.parquet", "y"
    impute_parquet(*paths, tmp_path / "alone.parquet", subset_size=10)

    def interrupt(done):
        if done.n_done >= 16:
            raise KeyboardInterrupt

    options = {"subset_size": 10, "scheduler": client.scheduler.address}
    with pytest.raises(KeyboardInterrupt):
        impute_parquet(*paths, tmp_path / "out.parquet", **options, callback=interrupt)
    done = impute_parquet(*paths, tmp_path / "out.parquet", **options)
    assert done.n_reused == 16
    assert read(tmp_path / "out.parquet").equals(read(tmp_path / "alone.parquet"))


@pytest.mark.parametrize("backend", ["threading", "loky", "dask"])
def test_the_backend_and_the_jobs_change_nothing(client, tmp_path, backend):
    source = written(mixed_table(300), tmp_path / "table.parquet")
    table = numeric_table(120)
    X, y = table.drop(columns="y"), table["y"]
    options = {"client": client} if backend == "dask" else {"n_jobs": 2}
    expected = KernelImputer(subset_size=20).fit(X, y)
    rows = in_memory(source, ignore=["id"], subset_size=20)
    with joblib.parallel_config(backend=backend, **options):
        imputer = KernelImputer(subset_size=20)
        assert imputer.fit_transform(X, y).equals(KernelImputer(subset_size=20).fit_transform(X, y))
        assert imputer.transform(X).equals(expected.transform(X))
        assert in_memory(source, ignore=["id"], subset_size=20).equals(rows)
        impute_parquet(
            tmp_path / "table.parquet",
            "y",
            tmp_path / "out.parquet",
            ignore=["id"],
            subset_size=20,
        )
    got = read(tmp_path / "out.parquet").to_pandas()
    for name in "abc":
        np.testing.assert_allclose(got[name], rows[name].to_numpy(float), rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("backend", ["threading", "dask"])
def test_a_search_is_the_same_on_every_backend(client, backend):
    table = numeric_table(60)
    X, y = table.drop(columns="y"), table["y"]
    machine = KernelImputationClassifier(kernel="linear", subset_size=20, cv=None)
    search = GridSearchCV(machine, {"C": [0.5, 1.0]})
    expected = search.fit(X, y).decision_function(X)
    scores = search.cv_results_["mean_test_score"]
    options = {"client": client} if backend == "dask" else {"n_jobs": 2}
    with joblib.parallel_config(backend=backend, **options):
        search.fit(X, y)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], scores, atol=1e-10)
    np.testing.assert_allclose(search.decision_function(X), expected, rtol=0.0, atol=1e-10)


# Dask's own reading, with pandas 3.1.
@pytest.mark.filterwarnings("ignore:The inplace keyword in")
def test_a_dask_dataframe(client, tmp_path):
    table = numeric_table(200).set_index(pd.RangeIndex(200, name="key") * 2)
    frame = dd.from_pandas(table, npartitions=12)
    with client.as_current():
        filled = impute_dask(frame, "y", tmp_path / "out", subset_size=20)
        got = filled.compute()
    assert filled.divisions == frame.divisions and filled.npartitions == 12
    X = table.drop(columns="y")
    expected = KernelImputer(subset_size=20).fit_transform(X, table["y"])
    pd.testing.assert_frame_equal(got.drop(columns="y"), expected, rtol=0.0, atol=1e-10)
    assert (got["y"] == table["y"]).all()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.filterwarnings("ignore:The inplace keyword in")
@pytest.mark.parametrize("known", [True, False])
def test_categories_are_known_before_the_table_is_computed(tmp_path, known):
    generator = np.random.default_rng(0)
    table = numeric_table(90)
    levels = pd.CategoricalDtype(["mid", "low", "high", "none"], ordered=True)
    table["level"] = pd.Series(generator.choice(["low", "mid", "high"], 90)).astype(levels)
    table["level"] = table["level"].where(generator.random(90) > 0.3)
    table["kept"] = pd.Categorical(["u"] * 30 + ["v"] * 30 + ["w"] * 30)
    frame = dd.from_pandas(table, npartitions=3)
    if not known:
        frame = frame.assign(
            level=frame["level"].cat.as_unknown(), kept=frame["kept"].cat.as_unknown()
        )
    filled = impute_dask(frame, "y", tmp_path / "out", subset_size=20, ignore="kept")
    assert filled["level"].cat.known and filled["kept"].cat.known
    assert filled.dtypes["level"] == levels and set(filled["kept"].cat.categories) == set("uvw")
    got = filled.compute()
    assert got.dtypes["level"] == levels and got["level"].notna().all()
    assert (got["kept"].astype(str) == table["kept"].astype(str)).all()
    observed = table["level"].notna()
    assert got["level"][observed].equals(table["level"][observed])


def test_workers_of_its_own_print_nothing_of_their_ends(capfd, tmp_path):
    texts = ["a heartbeat failed", "the process stops by itself"]
    with schedulers.running_on("local", 2, tmp_path) as n_jobs:
        logger = logging.getLogger("distributed.worker")
        tell = joblib.Parallel(n_jobs=n_jobs)
        tell([joblib.delayed(logger.error)(texts[0]), joblib.delayed(logger.critical)(texts[1])])
    err = capfd.readouterr().err
    assert texts[0] not in err and texts[1] in err


class Heard(logging.Handler):
    """What reaches a logger's handlers."""

    def __init__(self):
        super().__init__()
        self.messages = []

    def emit(self, record):
        self.messages.append(record.getMessage())


@pytest.fixture
def heard():
    """Return what the loggers of Dask and of its event loop are heard to say."""
    handler = Heard()
    loggers = [logging.getLogger(name) for name in LOGGERS]
    for logger in loggers:
        logger.addHandler(handler)
    yield handler.messages
    for logger in loggers:
        logger.removeHandler(handler)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_what_is_ended_before_its_time_is_unheard(heard, monkeypatch, tmp_path, error):
    said = [*LOGGERS, "distributed.scheduler", "distributed.comm.tcp"]
    end_workers = schedulers._end_workers

    def end(cluster):
        for name in said:
            logging.getLogger(name).error("closed: %s", name)
        logging.getLogger("tornado.application").critical("broken")
        end_workers(cluster)

    monkeypatch.setattr(schedulers, "_end_workers", end)
    with pytest.raises(error), schedulers.running_on("local", 1, tmp_path):
        logging.getLogger("tornado.application").error("heard")
        raise error
    assert [each for each in heard if each.startswith(("closed", "broken", "heard"))] == [
        "heard",
        "broken",
    ]
    logging.getLogger("distributed.scheduler").error("heard again")
    assert "heard again" in heard


def test_why_workers_do_not_start_is_heard(heard, monkeypatch, tmp_path):
    def wait(cluster, n_workers):
        logging.getLogger("distributed.nanny").error("failed to start")
        raise ChildProcessError

    monkeypatch.setattr(schedulers, "_wait_for_workers", wait)
    with pytest.raises(ChildProcessError), schedulers.running_on("local", 1, tmp_path):
        pass
    assert "failed to start" in heard


def test_a_cluster_of_its_own(tmp_path):
    written(numeric_table(200), tmp_path / "table.parquet")
    paths = tmp_path / "table.parquet", "y"
    impute_parquet(*paths, tmp_path / "alone.parquet", subset_size=10)
    options = {"subset_size": 10, "scheduler": "local", "n_jobs": 1}
    impute_parquet(*paths, tmp_path / "out.parquet", **options)
    assert read(tmp_path / "out.parquet").equals(read(tmp_path / "alone.parquet"))
    assert not (tmp_path / ".out.parquet.work").exists()


def test_a_scheduler_that_does_not_answer_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("kernimpute.scale.schedulers.PATIENCE", 1)
    monkeypatch.setattr("kernimpute.scale.parquet.make_plan", None)
    written(numeric_table(40), tmp_path / "table.parquet")
    paths = tmp_path / "table.parquet", "y", tmp_path / "out.parquet"
    with pytest.raises(ConnectionError) as caught:
        impute_parquet(*paths, scheduler="tcp://127.0.0.1:1")
    assert str(caught.value) == (
        "The 'scheduler' parameter of impute_parquet must be the address of a scheduler of Dask's "
        "that answers and has a worker. Got no scheduler at 'tcp://127.0.0.1:1' for 1 seconds "
        "instead."
    )
    with pytest.raises(ValueError, match=r"that answers and has a worker. Got 'far://host'"):
        impute_parquet(*paths, scheduler="far://host")
    with distributed.LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as cluster:
        with pytest.raises(ConnectionError, match="Got no worker at .* for 1 seconds"):
            impute_parquet(*paths, scheduler=cluster.scheduler_address)
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]


def test_dask_is_imported_only_where_it_is_asked_for():
    script = "import sys, kernimpute.cli, kernimpute.scale; sys.exit('dask' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_without_dask_the_extra_is_named(tmp_path, monkeypatch):
    written(numeric_table(40), tmp_path / "table.parquet")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install 'kernimpute\[dask\]'"):
        impute_parquet(tmp_path / "table.parquet", "y", tmp_path / "out.parquet", scheduler="local")


def test_a_refused_scheduler_leaves_no_client(monkeypatch):
    monkeypatch.setattr(schedulers, "PATIENCE", 0.2)
    made = []
    monkeypatch.setattr(distributed, "Client", lambda *_, **__: made.append(1))
    with pytest.raises(ConnectionError):
        schedulers.check_answers("impute_parquet", "tcp://127.0.0.1:1")
    assert not made
