"""The program as a process of its own: exit codes, interruption, terminals."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import signal
import subprocess
import sys
import time
from importlib.metadata import entry_points

import numpy as np
import pandas as pd
import pytest

from kernimpute.__main__ import main
from kernimpute.cli.progress import Progress
from kernimpute.core.status import Record

CSV = "a,b,y\n1.5,x,0\n,x,1\n2.5,,0\n2.0,z,1\n"

# Runs the command line with something slow in place of a solver or of the report's writer.
SLOW = """
import sys, time
import kernimpute.cli.in_memory as command
import kernimpute.estimators.impute_table as tables
from kernimpute.cli import run
from kernimpute.core.status import Record

def solver(X, y, *, callback, **options):
    print("ready", flush=True)
    for stage in ("Stage I", "Stage II"):
        callback(Record(iteration=1, objective=2.5, gap=0.125, stage=stage))
        time.sleep({seconds})
    sys.exit(9)

def writer(path, imputation, *, source):
    path.write_text("half")
    print("ready", flush=True)
    time.sleep({seconds})

def ends_well(X, y, **options):
    import numpy as np
    from kernimpute.core.status import Status, Trace
    from kernimpute.methods.impute import ImputationResult
    from kernimpute.kernels import Gaussian
    X = np.nan_to_num(X)
    return ImputationResult(X=X, dual_coef=X, intercept=X, classes=np.unique(y),
                            kernel=Gaussian(), status=Status.CONVERGED, trace=Trace(),
                            stage_one=None, stage_two=None)

{patch}
sys.exit(run(sys.argv[1:]))
"""


def program(patch, seconds):
    return [sys.executable, "-c", SLOW.format(patch=patch, seconds=seconds)]


@pytest.fixture
def table(tmp_path):
    (tmp_path / "t.csv").write_text(CSV)
    return tmp_path


def test_python_m_kernimpute_is_the_program(table):
    done = subprocess.run(
        [sys.executable, "-m", "kernimpute", "impute", "t.csv", "-t", "nope", "-o", "o.csv"],
        cwd=table,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == (
        "kernimpute: --target: there is no column 'nope'. The columns are: 'a', 'b', 'y'.\n"
    )


@pytest.mark.parametrize(
    "patch",
    [
        "tables.impute = solver",
        "tables.impute = ends_well; command.write_report = writer",
    ],
    ids=["while solving", "while writing"],
)
def test_ctrl_c_leaves_nothing_behind(table, patch):
    (table / "o.csv").write_text("old")
    arguments = ["impute", "t.csv", "-t", "y", "-o", "o.csv", "--report", "r.html", "--force"]
    with subprocess.Popen(
        [*program(patch, seconds=60), *arguments],
        cwd=table,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert err == "kernimpute: interrupted; no output was written.\n"
    assert sorted(path.name for path in table.iterdir()) == ["o.csv", "t.csv"]
    assert (table / "o.csv").read_text() == "old"


def test_a_terminal_shows_the_progress_of_both_stages(table):
    parent, child = pty.openpty()
    try:
        done = subprocess.run(
            [
                *program("tables.impute = solver", seconds=0.3),
                *("impute", "t.csv", "-t", "y", "-o", "o.csv"),
            ],
            cwd=table,
            stdout=subprocess.PIPE,
            stderr=child,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
            timeout=30,
            check=False,
        )
    finally:
        os.close(child)
    shown = b""
    # Linux says that the other end is closed by an error.
    with contextlib.suppress(OSError):
        while block := os.read(parent, 4096):
            shown += block
    os.close(parent)
    assert done.returncode == 9
    assert b"Stage I: round 1, objective 2.5, gap 0.12" in shown
    assert b"Stage II: round 1" in shown


@pytest.mark.parametrize(("quiet", "is_terminal"), [(True, True), (False, False), (True, False)])
def test_otherwise_there_is_no_progress(monkeypatch, quiet, is_terminal):
    stderr = io.StringIO()
    stderr.isatty = lambda: is_terminal
    monkeypatch.setattr("sys.stderr", stderr)
    with Progress(quiet=quiet) as progress:
        assert progress.callback(Record(iteration=1, stage="Stage I")) is False
    assert stderr.getvalue() == ""


def test_the_installed_program_is_this_one():
    (entry,) = entry_points(group="console_scripts", name="kernimpute")
    assert entry.load() is main


# Stops at the first import of a module that takes long, as the program itself imports it.
IMPORTING = """
import sys, time
from importlib.abc import MetaPathFinder

class Slow(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "{module}":
            print("ready", flush=True)
            time.sleep(60)

sys.meta_path.insert(0, Slow())
sys.argv[1:] = ["impute", "t.csv", "-t", "y", "-o", "o.csv"]
from kernimpute.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize("module", ["typer", "kernimpute.cli.in_memory", "numba"])
def test_ctrl_c_during_the_imports_is_one_line(table, module):
    with subprocess.Popen(
        [sys.executable, "-c", IMPORTING.format(module=module)],
        cwd=table,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert err == "kernimpute: interrupted; no output was written.\n"
    assert process.returncode == 130
    assert [path.name for path in table.iterdir()] == ["t.csv"]


@pytest.mark.parametrize("options", [[], ["--jobs", "2"], ["--jobs", "2", "--scheduler", "local"]])
def test_ctrl_c_out_of_core_is_one_line_and_ends_at_once(tmp_path, options):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(30_000, 20))
    X[generator.random(X.shape) < 0.3] = np.nan
    table = pd.DataFrame(X, columns=[f"c{k}" for k in range(20)])
    table.assign(y=np.arange(30_000) % 2).to_parquet(tmp_path / "t.parquet")
    given = ["impute", "t.parquet", "-t", "y", "-o", "o.parquet", "--subset-size", "500", *options]
    with subprocess.Popen(
        [sys.executable, "-m", "kernimpute", *given],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        while not [*tmp_path.glob(".o.parquet.work/block-*.npz")]:
            assert process.poll() is None
            time.sleep(0.02)
        # To the workers, too, as a terminal does.
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert err == (
        "kernimpute: interrupted; what is finished is kept in .o.parquet.work: the same call goes "
        "on from it.\n"
    )
    assert process.returncode == 130
    assert sorted(path.name for path in tmp_path.iterdir()) == [".o.parquet.work", "t.parquet"]


def test_an_interrupt_through_an_executed_text_has_the_same_code(table):
    # CPython would end by the signal.
    code = "import sys\nimport kernimpute.cli as cli\ndef run():\n" + INTERRUPTED
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "")


INTERRUPTED = """
    try:
        exec("raise KeyboardInterrupt")
    except KeyboardInterrupt:
        return 130
cli.run = run
from kernimpute.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["fit", "--help"]])
def test_help_imports_nothing_that_fills_tables(arguments):
    code = (
        "import sys; from kernimpute.cli import run; assert run(sys.argv[1:]) == 0; "
        "print([m for m in ('numpy', 'scipy', 'sklearn', 'numba', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
