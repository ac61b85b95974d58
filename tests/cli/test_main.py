"""The program as a process of its own: exit codes, interruption, terminals, closed streams."""

import contextlib
import os
import pty
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from importlib.metadata import entry_points

import pytest

from kernimpute.__main__ import main
from kernimpute.cli import run
from kernimpute.core import files
from tests.cli.conftest import example_text

IMPUTE = ["impute", "t.csv", "-t", "y", "-o", "o.csv"]
INTERRUPTED = "kernimpute: interrupted; no output was written.\n"

# The command line, with something slow in place of the pipeline, the report or an import.
SLOW = """
import sys, time
from kernimpute.__main__ import main

wait = time.sleep

def ready():
    print("ready", flush=True)
    wait(60)

def never(seconds):
    import ctypes
    # A lock that is taken twice: compiled code that no handler of Python's can end.
    lock, library = ctypes.create_string_buffer(64), ctypes.CDLL(None)
    for _ in range(2):
        library.pthread_mutex_lock(lock)

def solver(*arguments, callback, **options):
    from kernimpute.core.status import Record
    callback(Record(iteration=1, objective=2.5, gap=0.125, stage="Stage I"))
    ready()

def writer(path, imputation, **how):
    path.write_text("half")
    ready()

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "pandas":
            ready()

{patch}
sys.exit(main())
"""
SOLVING = "import kernimpute.estimators.impute_table as tables; tables.impute_table = solver"
WRITING = "import kernimpute.report as report; report.write_report = writer"
STUCK = f"{WRITING}; wait = never"
IMPORTING = "sys.meta_path.insert(0, Slow())"


@pytest.fixture
def table(tmp_path):
    """Return a folder with a small table, to be the working directory of a process."""
    (tmp_path / "t.csv").write_text(example_text())
    return tmp_path


def start(folder, *command, **options):
    """Return a process whose streams are read as text."""
    return subprocess.Popen(
        [sys.executable, *command],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=options.pop("stderr", subprocess.PIPE),
        text=True,
        **options,
    )


@pytest.fixture
def own_signals():
    """Put back how the process of the tests takes signals, which the program changes to its end."""
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    yield
    signal.set_wakeup_fd(-1)
    for each, handler in before.items():
        signal.signal(each, handler)


def test_the_program_returns_its_exit_code(own_signals, table, monkeypatch, capsys):
    monkeypatch.chdir(table)
    monkeypatch.setattr("sys.argv", ["kernimpute", *IMPUTE[:3], "nope", *IMPUTE[4:]])
    (entry,) = entry_points(group="console_scripts", name="kernimpute")
    assert entry.load() is main
    assert main() == 1
    out, err = capsys.readouterr()
    assert (out, err.partition(". ")[0]) == ("", "kernimpute: --target: there is no column 'nope'")


@pytest.mark.parametrize(
    ("patch", "sent", "code"),
    [
        (WRITING, signal.SIGTERM, 143),
        (STUCK, signal.SIGINT, 130),
        (IMPORTING, signal.SIGINT, 130),
    ],
)
def test_an_interrupt_is_one_line_and_leaves_nothing_behind(table, patch, sent, code):
    (table / "o.csv").write_text("old")
    given = [*IMPUTE, "--report", "r.html", "--force"]
    with start(table, "-c", SLOW.format(patch=patch), *given) as process:
        assert process.stdout.readline() == "ready\n"
        began = time.monotonic()
        for _ in range(3):
            process.send_signal(sent)
        _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (code, INTERRUPTED)
    assert time.monotonic() - began < 2.5
    assert sorted(path.name for path in table.iterdir()) == ["o.csv", "t.csv"]
    assert (table / "o.csv").read_text() == "old"


def test_a_terminal_shows_the_progress_and_the_interrupt(table):
    parent, child = pty.openpty()
    with start(table, "-c", SLOW.format(patch=SOLVING), *IMPUTE, stderr=child) as process:
        os.close(child)
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
    shown = b""
    # Linux says by an error that the other end is closed.
    with contextlib.suppress(OSError):
        while block := os.read(parent, 4096):
            shown += block
    os.close(parent)
    assert b"Stage I: round 1, objective 2.5, gap 0.12" in shown
    assert (process.returncode, INTERRUPTED.strip().encode() in shown) == (130, True)
    assert [path.name for path in table.iterdir()] == ["t.csv"]


def test_closed_streams_do_not_change_the_exit_code(table):
    program = f"set -o pipefail; {sys.executable} -m kernimpute {' '.join(IMPUTE)}"
    processes = [
        subprocess.Popen(["bash", "-c", f"{program}{k}{closed}"], cwd=table)
        for k, closed in enumerate([".tsv >&- 2>&-", ".csv | true"])
    ]
    assert [process.wait(timeout=60) for process in processes] == [0, 0]
    assert {"o.csv0.tsv", "o.csv1.csv"} <= {path.name for path in table.iterdir()}


def test_help_and_version(capsys, monkeypatch):
    # What runs in the background has no shell of its own.
    monkeypatch.setattr("shellingham.detect_shell", lambda *_: ("bash", "bash"))
    for arguments, said in ((["--help"], "Exit codes"), (["fit", "--help"], "--missing-values")):
        assert run(arguments) == 0 and said in capsys.readouterr().out
    assert run(["--version"]) == 0 and re.match(r"kernimpute \S+", capsys.readouterr().out)
    with pytest.raises(SystemExit, match="0"):
        run(["--show-completion"])
    assert "_KERNIMPUTE_COMPLETE=complete_bash" in capsys.readouterr().out
    assert run([]) == 2 and "impute" in capsys.readouterr().out


def test_what_is_to_be_done_before_leaving_is_done_first(tmp_path, monkeypatch):
    done = []
    monkeypatch.setattr(files, "_putting", threading.Lock())
    with (
        files.replacing(tmp_path / "a") as (temporary,),
        files.before_leaving(lambda: done.append(temporary.read_text()) or "wrote b."),
        files.before_leaving(lambda: 1 / 0),
    ):
        temporary.write_text("half")
        assert files.leave_nothing() == "wrote b."
        assert (done, [*tmp_path.iterdir()]) == (["half"], [])
        files._putting.release()
        temporary.write_text("whole")
    assert (tmp_path / "a").read_text() == "whole"
    assert files._last_acts == []


def test_help_imports_nothing_that_fills_tables():
    code = (
        "import sys; from kernimpute.cli import run; assert run(['fit', '--help']) == 0; "
        "print([m for m in ('numpy', 'scipy', 'sklearn', 'numba', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("full", ["o.csv.gz", "o.parquet"])
def test_a_full_disk_is_one_sentence_and_leaves_nothing(table, full):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (200 if "gz" in full else 3000,) * 2)

    with start(table, "-m", "kernimpute", *IMPUTE[:-1], full, preexec_fn=limit) as process:
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (1, f"kernimpute: {full}: File too large.\n")
    assert [path.name for path in table.iterdir()] == ["t.csv"]
