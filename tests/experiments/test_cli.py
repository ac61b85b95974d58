import sys
from types import ModuleType, SimpleNamespace

import pandas as pd
import pytest
from typer.testing import CliRunner

from experiments import __main__ as program
from experiments.config import config_names, load_config
from experiments.records import read_csv, read_parts

MOONS = """
kind: moons
description: A trial.
n_samples: 40
noise: 0.1
n_missing: 4
C: 4.0
gamma: 8.0
grid: 3
repetitions: 2
methods: [mean, direct]
"""


@pytest.fixture
def trial(tmp_path):
    path = tmp_path / "trial.yaml"
    path.write_text(MOONS)
    return path


@pytest.fixture
def places(tmp_path):
    return SimpleNamespace(records=tmp_path / "records", results=tmp_path / "results")


def said(*arguments, code=0):
    result = CliRunner().invoke(program.app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result.output


def run(trial, places, *arguments, code=0):
    return said("run", trial, "--jobs", 1, "--records", places.records, *arguments, code=code)


def test_run_says_what_there_is_to_do_and_what_was_done(trial, places):
    output = run(trial, places)
    assert "trial: 4 runs to do (2 methods in 2 units), 0 known" in output
    assert "trial: 4 done, 0 failed, 0 skipped in" in output
    rows = read_parts(places.records / "trial")
    assert set(rows["method"]) == {"mean", "direct"}
    assert "trial: nothing to do, 4 known" in run(trial, places)


def test_run_takes_a_part(trial, places):
    run(trial, places, "--methods", "mean", "--datasets", "moons", "--repetitions", 1)
    rows = read_parts(places.records / "trial")
    assert rows["method"].unique().tolist() == ["mean"]
    assert rows["repetition"].unique().tolist() == [0]


def test_run_goes_on_from_what_export_wrote(trial, places, tmp_path):
    run(trial, places, "--repetitions", 1)
    where = ("--records", places.records, "--results", places.results)
    assert "98 rows written to" in said("export", trial, *where)
    other = SimpleNamespace(records=tmp_path / "elsewhere")
    output = run(trial, other, "--known", places.results / "trial.csv")
    assert "2 runs taken from" in output
    assert "2 runs to do (2 methods in 1 unit), 2 known" in output


def test_failures_are_told_with_their_reasons_and_may_be_retried(trial, places, monkeypatch):
    from experiments.kinds import moons

    def refuse(*_):
        raise ValueError("no moon tonight")

    with monkeypatch.context() as patch:
        patch.setattr(moons, "rows", refuse)
        output = run(trial, places, code=1)
    assert "0 done, 4 failed" in output
    assert "direct: ValueError: no moon tonight (2 rows)" in output
    again = run(trial, places)
    assert "trial: nothing to do, 4 known" in again
    assert "Of the known runs 4 failed; --retry-failed runs these again." in again
    output = run(trial, places, "--retry-failed")
    assert "4 done, 0 failed" in output and "Of the known" not in output


def test_what_failed_is_told_of_what_the_config_asks_for_now_and_is_code_0(
    trial, places, monkeypatch
):
    from experiments.kinds import moons

    real = moons.rows

    def refuse(config, unit, method, data_dir):
        if method != "mean" and unit["repetition"] == 0:
            raise ValueError("no moon tonight")
        return real(config, unit, method, data_dir)

    monkeypatch.setattr(moons, "rows", refuse)
    run(trial, places)
    trial.write_text(MOONS.replace("[mean, direct]", "[mean, anchored]"))
    output = run(trial, places)
    assert "1 done, 1 failed" in output
    assert "anchored: ValueError: no moon tonight (1 row)" in output and "direct" not in output


def test_runs_of_which_a_rule_is_done_have_not_all_failed(trial, places, monkeypatch):
    from experiments.kinds import moons

    refused = {"what": "grid", "status": "failed", "reason": "no candidate passes"}
    monkeypatch.setattr(moons, "rows", lambda *_: [{"what": "point"}, refused])
    assert "0 done, 4 failed" in run(trial, places)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("run", "nowhere"), "A config must be a file or one of:"),
        (("table", "nowhere"), "A config must be a file or one of:"),
        (("run", "moons", "--methods", "x"), "A method of moons to run must be one of: mean"),
        (("run", "moons", "--data-dir", "/nowhere"), "must be a directory; got '/nowhere'"),
        (("export", "moons"), "moons must be run first: there are neither records in"),
    ],
)
def test_a_refusal_is_one_sentence_and_code_1(arguments, complaint, tmp_path):
    folders = ("--records", tmp_path) if arguments[0] == "run" else ("--results", tmp_path)
    if arguments[0] == "export":
        folders += ("--records", tmp_path)
    output = said(*arguments, *folders, code=1)
    assert complaint in output and output.count("\n") == 1


def test_a_wrong_command_line_is_code_2():
    said("run", code=2)
    said("run", "moons", "--jobs", 0, code=2)
    said("sing", code=2)


def test_list_names_every_config_with_its_description():
    lines = said("list").splitlines()
    assert [line.split()[0] for line in lines] == config_names()
    assert load_config("moons").description in said("list")


def fake_module(monkeypatch, name, function):
    module = ModuleType(name)
    setattr(module, function.__name__, function)
    monkeypatch.setitem(sys.modules, name, module)
    return module


@pytest.mark.parametrize("command", ["table", "figure"])
def test_tables_and_figures_are_of_the_records_else_of_the_committed_rows(
    trial, places, monkeypatch, command
):
    seen = []

    def write(config, records, folder):
        seen.append((config.name, records))
        return [folder / "written.md"]

    write.__name__ = f"write_{command}s"
    module = fake_module(monkeypatch, f"experiments.{command}s", write)
    module.has_tables, module.figures_of = lambda config: True, lambda config: {"trial": None}
    module.FIGURES = {}
    where = ("--records", places.records, "--results", places.results)
    assert "trial must be run first" in said(command, trial, *where, code=1)
    run(trial, places)
    assert f"Written: {places.results / 'written.md'}." in said(command, trial, *where)
    said("export", trial, *where)
    elsewhere = ("--records", places.records / "none", "--results", places.results)
    said(command, trial, *elsewhere)
    (first, of_records), (second, of_results) = seen
    assert first == second == "trial"
    pd.testing.assert_frame_equal(of_records, of_results, check_dtype=False, check_exact=True)


def test_rows_that_the_config_does_not_ask_for_any_more_are_left_out(trial, places):
    run(trial, places)
    trial.write_text(MOONS.replace("[mean, direct]", "[mean]").replace("repetitions: 2", ""))
    where = ("--records", places.records, "--results", places.results)
    said("export", trial, *where)
    rows = read_csv(places.results / "trial.csv")
    assert set(rows["method"]) == {"mean"} and set(rows["repetition"]) == {0}


@pytest.mark.parametrize("command", ["export", "table", "figure"])
def test_where_no_row_is_asked_for_the_sentence_says_so(trial, places, command):
    named = trial.with_name("recovery.yaml" if command == "table" else "moons.yaml")
    named.write_text(trial.read_text())
    run(named, places)
    named.write_text(MOONS.replace("n_samples: 40", "n_samples: 50"))
    if command == "table":
        named.write_text(
            "kind: recovery\ndescription: A trial.\ndataset: heart\ngammas: [1]\n"
            "missing_rates: [0.1]\n"
        )
    where = ("--records", places.records, "--results", places.results)
    output = said(command, named, *where, code=1)
    folder = places.records / named.stem
    assert output == (
        f"{named.stem} must be run first: no row that the config asks for is in {folder}.\n"
    )
    assert not places.results.exists()


@pytest.mark.parametrize("command", ["table", "figure"])
def test_what_has_no_tables_or_figures_says_so_and_leaves_no_folder(places, command):
    name, complaint = {
        "table": ("moons", "moons has no tables: the kind moons is shown as figures."),
        "figure": ("mlp", "mlp has no figures; those that have: classification, life, "),
    }[command]
    where = ("--records", places.records, "--results", places.results)
    output = said(command, name, *where)
    assert output.startswith(complaint) and output.count("\n") == 1
    assert not places.results.exists()


def test_committed_rows_that_the_config_does_not_ask_for_are_dropped_only_if_asked(trial, places):
    where = ("--records", places.records, "--results", places.results)
    run(trial, places)
    said("export", trial, *where)
    path = places.results / "trial.csv"
    before = path.read_bytes()
    trial.write_text(MOONS.replace("[mean, direct]", "[mean]"))
    output = said("export", trial, *where, code=1)
    assert f"{path} holds 98 rows that the config {trial} does not ask for" in output
    assert "of direct on moons; --drop leaves them out." in output
    assert path.read_bytes() == before
    assert "98 rows written to" in said("export", trial, *where, "--drop")
    assert set(read_csv(path)["method"]) == {"mean"}


@pytest.mark.parametrize(
    ("command", "option"),
    [("run", "--records"), ("run", "--known"), ("export", "--results"), ("page", "--results")],
)
def test_a_place_that_is_none_is_refused_by_its_option(trial, tmp_path, command, option):
    file = tmp_path / "file"
    file.write_text("")
    given = () if command == "page" else (trial,)
    wrong = [tmp_path, tmp_path / "absent"] if option == "--known" else [file, file / "within"]
    for place in wrong:
        output = said(command, *given, option, place, code=1)
        assert option in output and str(place) in output
        assert "Errno" not in output and output.count("\n") == 1


def test_records_that_can_not_be_made_are_refused_before_any_work(trial):
    output = said("run", trial, "--records", "/proc/records", code=1)
    assert "/proc/records" in output and output.count("\n") == 1
    assert "Errno" not in output


def test_a_known_file_that_is_no_csv_of_records_is_named(trial, places, tmp_path):
    file = tmp_path / "known.csv"
    for text in ("", "a,b\n1\n", "a,b\n1,2\n"):
        file.write_text(text)
        output = run(trial, places, "--known", file, code=1)
        assert output.startswith(f"{file} must ") and output.count("\n") == 1
    assert not places.records.exists()


def test_page_is_written_from_what_is_committed(places, tmp_path, monkeypatch):
    seen = []

    def write_page(results, path):
        seen.append((results, path))

    fake_module(monkeypatch, "experiments.page", write_page)
    page = tmp_path / "results.md"
    assert f"Written: {page}." in said("page", "--results", places.results, "--output", page)
    assert seen == [(places.results, page)]


def test_a_part_of_the_records_takes_nothing_from_what_is_committed(trial, places):
    run(trial, places)
    said("export", trial, "--records", places.records, "--results", places.results)
    whole = read_csv(places.results / "trial.csv")
    fewer = places.records.with_name("fewer")
    said("run", trial, "--jobs", 1, "--records", fewer, "--methods", "mean", "--repetitions", 1)
    said("export", trial, "--records", fewer, "--results", places.results)
    again = read_csv(places.results / "trial.csv")
    lasting = [name for name in whole if name not in ("seconds", "peak_memory_mib")]
    pd.testing.assert_frame_equal(again[lasting], whole[lasting])
