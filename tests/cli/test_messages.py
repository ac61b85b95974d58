"""What a command says: progress, a summary that cannot fail a run, errors in one sentence."""

import io

import pytest

from kernimpute.cli.messages import Progress, in_options
from kernimpute.core.dual import UnsolvedMachineError
from kernimpute.core.status import Record
from tests.cli.test_commands import RUNS


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (
            "The 'eta' parameter of impute_table must be a float in (0, inf]. Got -1.0 instead.",
            "--eta must be a float in (0, inf]. Got -1.0 instead.",
        ),
        ("pass subset_size=500 or more max_memory", "pass --subset-size 500 or more --max-memory"),
        ("for guidance='released', which has none", "for --guidance released, which has none"),
        ("pass trust=True if you trust it", "pass --trust if you trust it"),
        ("is both in drop and in ignore", "is both in --drop and in --ignore"),
        ("pass handle_unknown='keep'", "pass --unknown keep"),
        ("The 'target' column must hold numbers", "The 'target' column must hold numbers"),
        (
            "drop it, or ignore it; the kernel is a task",
            "drop it, or ignore it; the kernel is a task",
        ),
    ],
)
def test_parameters_of_python_are_options_of_the_command_line(message, said):
    assert in_options(message) == said


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (MemoryError(), 1, "not enough memory"),
        (ValueError("eta=2 is\nwrong"), 1, "--eta 2 is wrong"),
        (UnsolvedMachineError("9 rows could not be solved. Lower C."), 1, "Lower C."),
        (FileNotFoundError(2, "No such file", "gone.csv"), 1, "gone.csv: No such file."),
        (KeyboardInterrupt(), 130, "interrupted; no output was written."),
        (RuntimeError("some\nthing"), 3, "a fault of kernimpute (RuntimeError: some thing)"),
    ],
)
def test_an_error_is_one_line_and_a_code(refused, table, monkeypatch, error, code, said):
    def broken(*arguments, **options):
        raise error

    monkeypatch.setattr("kernimpute.estimators.impute_table.impute_table", broken)
    assert said in refused("impute", "t.csv", "-t", "y", "-o", "o.csv", code=code)


def test_a_fault_can_show_where(program, table, monkeypatch, capsys):
    def broken(*arguments, **options):
        raise RuntimeError("thing")

    monkeypatch.setattr("kernimpute.cli.models.fit_table", broken)
    monkeypatch.setenv("KERNIMPUTE_TRACEBACK", "1")
    with pytest.raises(AssertionError, match="Traceback"):
        program("fit", "t.csv", "-t", "y", "-o", "m")


@pytest.mark.parametrize(("quiet", "is_terminal"), [(True, True), (False, False), (False, True)])
def test_progress_is_shown_on_a_terminal_only(monkeypatch, quiet, is_terminal):
    stderr = io.StringIO()
    stderr.isatty = lambda: is_terminal
    monkeypatch.setattr("sys.stderr", stderr)
    with Progress(quiet=quiet) as progress:
        assert progress.callback(Record(iteration=1, gap=0.5, stage="Stage I")) is False
    line = "\r\x1b[KStage I: round 1, gap 0.5\r\x1b[K"
    assert stderr.getvalue() == (line if is_terminal and not quiet else "")


@pytest.mark.parametrize("command", ["impute", "fit"])
def test_a_large_table_gets_its_hint_before_the_work(program, table, monkeypatch, command):
    monkeypatch.setattr("kernimpute.cli.messages._MANY_ROWS", {True: 20, False: 39})
    given = (command, *RUNS[command], "--force")
    assert "note: 40 rows are fitted at once: as a Parquet file it would" in program(*given)[2]
    guided = (*given, "--guidance", "direct")
    assert "note: 40 rows are fitted at once: --subset-size 500 takes" in program(*guided)[2]
    for more in ("--quiet", "--subset-size=20"):
        assert "note:" not in program(*guided, more)[2]


@pytest.mark.parametrize("error", [KeyboardInterrupt, BrokenPipeError, SystemExit])
@pytest.mark.parametrize("command", RUNS)
def test_a_summary_that_fails_is_no_failure(fitted, program, monkeypatch, command, error):
    def failing(*arguments, **options):
        raise error

    monkeypatch.setattr("kernimpute.cli.messages.Summary.as_text", failing)
    code, out, err = program(command, *RUNS[command])
    assert (code, out, "kernimpute:" in err) == (0, "", False)
    assert (fitted / RUNS[command][-1]).exists()
