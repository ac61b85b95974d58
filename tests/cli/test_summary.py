"""What is printed: progress on terminals only, and a summary that cannot fail a run."""

import io

import pytest

from kernimpute.cli.summary import Progress
from kernimpute.core.status import Record


@pytest.mark.parametrize(("quiet", "is_terminal"), [(True, True), (False, False), (False, True)])
def test_progress_is_shown_on_a_terminal_only(monkeypatch, quiet, is_terminal):
    stderr = io.StringIO()
    stderr.isatty = lambda: is_terminal
    monkeypatch.setattr("sys.stderr", stderr)
    with Progress(quiet=quiet) as progress:
        assert progress.callback(Record(iteration=1, gap=0.5, stage="Stage I")) is False
    line = "\r\x1b[KStage I: round 1, gap 0.5\r\x1b[K"
    assert stderr.getvalue() == (line if is_terminal and not quiet else "")


RUNS = {
    "impute": ["t.csv", "-t", "y", "-o", "o.csv"],
    "fit": ["t.csv", "-t", "y", "-o", "o.skops"],
    "apply": ["m.skops", "t.csv", "-o", "o.csv"],
}


@pytest.mark.parametrize("error", [KeyboardInterrupt, BrokenPipeError, OSError, SystemExit])
@pytest.mark.parametrize("command", RUNS)
def test_a_summary_that_fails_is_no_failure(fitted, program, monkeypatch, command, error):
    def failing(*arguments, **options):
        raise error

    monkeypatch.setattr("kernimpute.cli.summary.print_summary", failing)
    code, out, err = program(command, *RUNS[command])
    assert (code, out, "kernimpute:" in err) == (0, "", False)
    assert (fitted / RUNS[command][-1]).exists()
