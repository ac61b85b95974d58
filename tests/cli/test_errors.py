"""Every error becomes one sentence in the command line's words, and an exit code."""

import random

import pytest

from kernimpute.cli.errors import in_options


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


def test_a_machine_that_cannot_be_solved_is_a_refusal(refused, folder):
    # Labels that are noise have no hard margin, so the coefficients grow with C without an end.
    draw = random.Random(0)
    cells = [f"{draw.random():.3f},{draw.random():.3f},{draw.choice('ab')}" for _ in range(60)]
    (folder / "t.csv").write_text("\n".join(["x,z,y", ",0.5,a", *cells]) + "\n")
    given = ("--guidance", "direct", "--kernel", "linear", "--C", "1e20")
    said = refused("impute", "t.csv", "-t", "y", "-o", "o.csv", *given)
    assert "61 rows could not be solved: its optimality" in said
    assert "Lower C" in said


def test_a_fault_can_show_where(program, table, monkeypatch, capsys):
    def broken(*arguments, **options):
        raise RuntimeError("thing")

    monkeypatch.setattr("kernimpute.estimators.impute_table.fit_table", broken)
    monkeypatch.setenv("KERNIMPUTE_TRACEBACK", "1")
    with pytest.raises(AssertionError, match="Traceback"):
        program("fit", "t.csv", "-t", "y", "-o", "m")
