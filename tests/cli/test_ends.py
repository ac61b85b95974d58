"""How a run ends once its output is in place: what fails is only the summary."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pytest

import kernimpute
from kernimpute import __main__ as program_module
from kernimpute.cli.summary import said_of_done

CSV = "a,b,y\n1.5,x,0\n,x,1\n2.5,,0\n2.0,z,1\n"


@pytest.fixture
def table(folder):
    (folder / "t.csv").write_text(CSV)
    pd.read_csv(folder / "t.csv").to_parquet(folder / "t.parquet")
    return folder


RUNS = {
    "in_memory": ["impute", "t.csv", "-t", "y", "-o", "o.csv"],
    "out_of_core": ["impute", "t.parquet", "-t", "y", "-o", "o.parquet", "--subset-size", "10"],
    "fitting": ["fit", "t.csv", "-t", "y", "-o", "o.skops"],
    "applying": ["apply", "m.skops", "t.csv", "-o", "o.csv"],
}


@pytest.mark.parametrize("error", [KeyboardInterrupt, BrokenPipeError, OSError, SystemExit])
@pytest.mark.parametrize("module", RUNS)
def test_a_summary_that_fails_is_no_failure(table, program, monkeypatch, module, error):
    if module == "applying":
        assert program("fit", "t.csv", "-t", "y", "-o", "m.skops")[0] == 0

    def failing(*arguments, **options):
        raise error

    monkeypatch.setattr(f"kernimpute.cli.{module}.print_summary", failing)
    code, out, err = program(*RUNS[module])
    assert (code, out) == (0, "") and "kernimpute:" not in err
    assert (table / RUNS[module][RUNS[module].index("-o") + 1]).exists()


def test_without_a_stdout_nothing_is_said(monkeypatch):
    monkeypatch.setattr("sys.stdout", None)
    said_of_done(lambda: print("done"))


@pytest.mark.parametrize("module", RUNS)
def test_with_a_closed_stderr_a_good_table_is_filled(table, program, module):
    if module == "applying":
        assert program("fit", "t.csv", "-t", "y", "-o", "m.skops")[0] == 0
    code = subprocess.run(
        f"exec {sys.executable} -m kernimpute {' '.join(RUNS[module])} >/dev/null 2>&-",
        shell=True,
        cwd=table,
    ).returncode
    assert code == 0
    assert (table / RUNS[module][RUNS[module].index("-o") + 1]).exists()


def test_far_numbers_are_told_of_in_apply(table, program):
    assert program("fit", "t.csv", "-t", "y", "-o", "m.skops")[0] == 0
    (table / "far.csv").write_text("a,b\n1e12,x\n,q\n")
    code, _, err = program("apply", "m.skops", "far.csv", "-o", "o.csv", "--unknown", "missing")
    assert code == 0
    assert "times the training range" in err and "KernelImputer" not in err
    assert len(err.splitlines()) == 2 and err.count("'q' in 1 of its cells") == 1


@pytest.mark.parametrize("option", ["--jobs", "--scheduler"])
def test_an_option_for_subsets_is_named_alone(table, program_refused, option):
    given = ["impute", "t.csv", "-t", "y", "-o", "o.csv", option, "2"]
    assert program_refused(*given).startswith(f"kernimpute: {option} is for subsets: give ")


def test_a_kernel_that_is_none_is_refused_in_our_words(table, program_refused):
    given = ["impute", "t.csv", "-t", "y", "-o", "o.csv", "--kernel", "rbf"]
    assert "'--kernel': 'rbf' is not one of" in program_refused(*given, code=2)


def test_what_cannot_be_written_is_named_as_given(table):
    with pytest.raises(FileNotFoundError) as caught:
        kernimpute.save(kernimpute.KernelImputer(), "none/m.skops")
    assert caught.value.filename == "none/m.skops"


@pytest.mark.parametrize("estimator", [kernimpute.KernelImputer, kernimpute.KernelImputerCV])
def test_no_jobs_are_refused_by_name(estimator):
    with pytest.raises(ValueError, match=r"^The 'n_jobs' parameter of KernelImputer\w* must be "):
        estimator(n_jobs=0).fit(np.array([[0.0, np.nan], [1.0, 1.0]]), [0, 1])


def test_the_program_runs_off_the_main_thread(monkeypatch):
    monkeypatch.setattr("kernimpute.cli.run", lambda: 7)
    monkeypatch.setattr("gc.freeze", lambda: None)
    codes = []
    thread = threading.Thread(target=lambda: codes.append(program_module.main()))
    thread.start()
    thread.join()
    assert codes == [7]


def test_only_public_names_are_listed():
    names = [name for name in dir(kernimpute) if not name.startswith("__")]
    assert names == sorted(kernimpute.__all__)


def test_fit_and_impute_count_rounds_alike(table, program):
    said = [program(*RUNS[module])[1] for module in ("in_memory", "fitting")]
    assert len({one.split("solver")[1].split(",")[0].split("round")[0] for one in said}) == 1
