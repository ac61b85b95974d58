"""The commands: what they say, write and refuse, and with which exit code."""

import shutil
import sys
from types import SimpleNamespace

import pandas as pd
import pytest
from typer.testing import CliRunner

from experiments import __main__ as program
from experiments.config import config_names, load_config
from experiments.kinds import moons
from experiments.records import read_csv, read_parts
from tests.experiments.fake_kind import MOONS


@pytest.fixture
def trial(tmp_path):
    path = tmp_path / "trial.yaml"
    path.write_text(MOONS)
    return path


@pytest.fixture
def places(tmp_path):
    records, results = tmp_path / "records", tmp_path / "results"
    where = ("--records", records, "--results", results)
    return SimpleNamespace(records=records, results=results, both=where)


def said(*arguments, code=0):
    result = CliRunner().invoke(program.app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result.output


def run(trial, places, *arguments, code=0):
    return said("run", trial, "--jobs", 1, "--records", places.records, *arguments, code=code)


def test_run_says_what_there_is_to_do_and_what_was_done(trial, places):
    output = run(trial, places, "--methods", "mean", "--datasets", "moons", "--repetitions", 1)
    assert "trial: 1 run to do (1 method in 1 unit), 0 known" in output
    output = run(trial, places)
    assert "trial: 3 runs to do (2 methods in 2 units), 1 known" in output
    assert "trial: 3 done, 0 failed, 0 skipped in" in output
    assert set(read_parts(places.records / "trial")["method"]) == {"mean", "direct"}
    assert "trial: nothing to do, 4 known" in run(trial, places)


def test_failures_are_told_with_their_reasons_and_may_be_retried(trial, places, monkeypatch):
    def refuse(*_):
        raise ValueError("no moon tonight")

    with monkeypatch.context() as patch:
        patch.setattr(moons, "rows", refuse)
        output = run(trial, places, code=1)
    assert "0 done, 4 failed" in output
    assert "direct: ValueError: no moon tonight (2 rows)" in output
    assert "Of the known runs 4 failed; --retry-failed runs these again." in run(trial, places)
    assert "4 done, 0 failed" in run(trial, places, "--retry-failed")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("run", "nowhere"), "A config must be a file or one of:"),
        (("table", "nowhere"), "A config must be a file or one of:"),
        (("run", "moons", "--methods", "x"), "A method of moons to run must be one of: mean"),
        (("run", "moons", "--data-dir", "/nowhere"), "must be a directory; got '/nowhere'"),
        (("run", "moons", "--records", "/proc/records"), "/proc/records"),
        (("export", "moons", "--records", "/none", "--results", "/none"), "moons must be run firs"),
    ],
)
def test_a_refusal_is_one_sentence_and_code_1(arguments, complaint):
    output = said(*arguments, code=1)
    assert complaint in output and output.count("\n") == 1 and "Errno" not in output


def test_list_names_every_config_with_its_description():
    lines = said("list").splitlines()
    assert [line.split()[0] for line in lines] == config_names()
    assert load_config("moons").description in said("list")


def test_export_writes_what_the_config_asks_for_and_drops_rows_only_if_told(trial, places):
    run(trial, places)
    assert "196 rows written to" in said("export", trial, *places.both)
    path = places.results / "trial.csv"
    before = path.read_bytes()
    trial.write_text(MOONS.replace("[mean, direct]", "[mean]"))
    output = said("export", trial, *places.both, code=1)
    assert f"{path} holds 98 rows that the config {trial} does not ask for" in output
    assert "of direct on moons; --drop leaves them out." in output
    assert path.read_bytes() == before
    said("export", trial, *places.both, "--drop")
    assert set(read_csv(path)["method"]) == {"mean"}


def test_export_takes_from_the_csv_what_the_records_lack(trial, places, tmp_path):
    run(trial, places)
    said("export", trial, *places.both)
    whole = read_csv(places.results / "trial.csv")
    fewer = SimpleNamespace(records=tmp_path / "fewer")
    run(trial, fewer, "--methods", "mean", "--repetitions", 1)
    said("export", trial, "--records", fewer.records, "--results", places.results)
    again = read_csv(places.results / "trial.csv")
    lasting = [name for name in whole if name not in ("seconds", "peak_memory_mib")]
    pd.testing.assert_frame_equal(again[lasting], whole[lasting])


def test_figures_are_drawn_from_the_records_or_else_from_the_csv(trial, places):
    named = trial.rename(trial.with_name("moons.yaml"))
    run(named, places)
    said("figure", named, *places.both)
    figure = places.results / "figures" / "moons.png"
    drawn = figure.read_bytes()
    said("export", named, *places.both)
    said("figure", named, "--records", places.records / "none", "--results", places.results)
    assert figure.read_bytes() == drawn


def refused(tmp_path, data, **keys):
    given = {
        "kind": "classification",
        "description": "A trial.",
        "datasets": "[synthetic]",
        "missing_rates": "[0.2]",
        "methods": "[mean+logistic]",
    } | keys
    path = tmp_path / "trial.yaml"
    path.write_text("".join(f"{key}: {value}\n" for key, value in given.items()))
    places = SimpleNamespace(records=tmp_path / "records")
    output = run(path, places, "--data-dir", data, code=1)
    assert output.count("\n") == 1 and not places.records.exists()
    return output


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [
        ({"datasets": "[mars]"}, "trial: A dataset must be one of: australian, german"),
        ({"datasets": "['synthetic[d=0]']"}, "trial: The option 'd' of a drawn table must be at"),
        ({"methods": "[mean+oracle]"}, "trial: The classifier of the method 'mean+oracle' must"),
        ({"mechanisms": "[inherent]"}, "trial: The missing rate under 'inherent' must be 0; got"),
        (
            {"datasets": "[heart, australian]", "repetitions": "11"},
            "trial: A repetition of the authors' splits must be in 0 ... 9; got 10.",
        ),
        (
            {"methods": "[{name: mean+svc, datasets: [heart]}]"},
            "trial: The datasets of the method 'mean+svc' must be among the config's: synthetic; ",
        ),
    ],
)
def test_what_can_be_known_before_any_work_is_refused(tmp_path, data_dir, keys, complaint):
    assert refused(tmp_path, data_dir, **keys).startswith(complaint)


def test_missing_splits_and_packages_are_refused(tmp_path, data_dir, monkeypatch):
    shutil.copy(data_dir / "australian.csv", tmp_path)
    output = refused(tmp_path, tmp_path, datasets="[australian]")
    assert "must be read from australian_splits.npz" in output
    monkeypatch.setitem(sys.modules, "torch", None)
    output = refused(tmp_path, data_dir, methods="[mean+logistic, newimp+svc_near]")
    assert output.startswith("trial: The method newimp+svc_near needs torch")
