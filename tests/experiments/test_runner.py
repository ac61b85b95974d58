import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from experiments.config import load_config
from experiments.plan import Part, keys_of, make_plan
from experiments.problem import seed_of
from experiments.records import OUTCOME, read_parts
from experiments.runner import run
from tests.experiments import fake_kind

ROOT = Path(__file__).resolve().parents[2]
MEASURED = ["seconds", "peak_memory_mib"]


@pytest.fixture(autouse=True)
def fake(monkeypatch):
    monkeypatch.setitem(sys.modules, "experiments.kinds.fake", fake_kind)


def ran(folder, config, **options):
    for _ in run(make_plan(config, folder, **options)):
        pass
    return read_parts(folder)


def but_measured(rows):
    return rows.drop(columns=MEASURED)


def one_row(tmp_path, method):
    rows = ran(tmp_path, fake_kind.config([method], repetitions=1))
    return rows.iloc[0]


def test_every_method_of_every_unit_has_its_rows(tmp_path):
    config = fake_kind.config()
    rows = ran(tmp_path, config)
    assert len(rows) == 6 * 3
    leading = ["experiment", "dataset", "missing_rate", "repetition", "method"]
    assert list(rows.columns) == [*leading, *fake_kind.columns, *OUTCOME]
    assert {len(list(tmp_path.iterdir()))} == {len(keys_of(config))}
    first = rows[rows["method"] == "quick"].iloc[0]
    assert (first["status"], first["rule"], first["accuracy"]) == ("done", "plain", 1 / 7)
    assert first["seed"] == seed_of("heart", 0.4, 0)
    assert {"python", "kernimpute", "numpy"} <= set(json.loads(first["versions"]))
    assert first["machine"] and first["seconds"] >= 0.0
    assert rows["filled_error"].isna().all()


@pytest.mark.parametrize(
    ("method", "reason"),
    [
        ("fails", "ValueError: the first line"),
        ("too_large", "MemoryError"),
        ("nothing", "ValueError: fake must give at least one row for nothing; got none."),
        ("unannounced", "ValueError: Rows of fake must keep to its columns; got also ['acuracy']."),
    ],
)
def test_a_method_that_fails_is_a_row_with_the_reason(tmp_path, method, reason):
    rows = ran(tmp_path, fake_kind.config([method, "quick"], repetitions=1))
    failed = rows[rows["method"] == method].iloc[0]
    assert (failed["status"], failed["reason"]) == ("failed", reason)
    assert failed["seconds"] >= 0.0
    assert (rows[rows["method"] == "quick"]["status"] == "done").all()


def test_warnings_are_counted_and_not_shown(tmp_path, capfd):
    assert json.loads(one_row(tmp_path, "warns")["warnings"]) == {
        "DeprecationWarning": 1,
        "RuntimeWarning": 3,
    }
    assert capfd.readouterr() == ("", "")


def test_time_and_memory_are_those_of_the_method(tmp_path):
    fat = one_row(tmp_path, "fat")
    assert 60.0 < fat["peak_memory_mib"] < 200.0 and 0.1 <= fat["seconds"] < 5.0


def test_linear_algebra_is_on_one_thread(tmp_path):
    assert one_row(tmp_path, "threads")["accuracy"] == 1


def test_what_the_config_leaves_out_is_a_row_until_the_limit_is_lifted(tmp_path):
    limited = fake_kind.config(["quick", {"name": "slow", "repetitions": 1}], repetitions=2)
    rows = ran(tmp_path, limited)
    left_out = rows[(rows["method"] == "slow") & (rows["repetition"] == 1)]
    assert left_out["status"].tolist() == ["skipped"] * 2
    assert left_out["reason"].unique().tolist() == ["The config limits the method to 1 repetition."]
    assert make_plan(limited, tmp_path).n_left == 0
    rows = ran(tmp_path, fake_kind.config(["quick", "slow"], repetitions=2))
    assert (rows["status"] == "done").all()


def test_a_run_killed_at_any_point_is_completed_to_the_rows_of_a_whole_one(tmp_path):
    config = fake_kind.config(["quick", "slow", "two_rules", "fails"], repetitions=3)
    whole = ran(tmp_path / "whole", config)
    folder = tmp_path / "killed"
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        # Not as a part of `tests`: an installed package may have that name.
        "sys.path.insert(0, 'tests/experiments')\n"
        "import fake_kind\n"
        "from experiments.plan import make_plan\n"
        "from experiments.runner import run\n"
        "fake_kind.register()\n"
        "config = fake_kind.config(['quick', 'slow', 'two_rules', 'fails'], repetitions=3)\n"
        "list(run(make_plan(config, Path(sys.argv[1]))))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program, folder], cwd=ROOT)
    while len(list(folder.glob("*.parquet"))) < 5 and process.poll() is None:
        time.sleep(0.005)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    n_written = len(list(folder.glob("*.parquet")))
    assert 5 <= n_written < 24
    assert make_plan(config, folder).n_known == n_written
    pd.testing.assert_frame_equal(but_measured(ran(folder, config)), but_measured(whole))


def test_an_interrupted_command_stops_at_once_and_says_how_to_go_on(tmp_path):
    path = tmp_path / "moons.yaml"
    path.write_text(fake_kind.MOONS.replace("repetitions: 2", "repetitions: 5000"))
    command = [sys.executable, "-m", "experiments", "run", path, "--jobs", "2"]
    process = subprocess.Popen(
        [*command, "--records", tmp_path / "records"],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    folder = tmp_path / "records" / "moons"
    while len(list(folder.glob("*.parquet"))) < 3 and process.poll() is None:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    time.sleep(0.3)
    # Whoever is impatient asks again.
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert f"Stopped. What is done is in {folder}; the same command goes on." in said
    assert "Traceback" not in said
    config = load_config(path)
    n_written = len(list(folder.glob("*.parquet")))
    assert make_plan(config, folder, part=Part(repetitions=2000)).n_known == n_written >= 3
