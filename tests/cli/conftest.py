"""What the tests of the command line share."""

from __future__ import annotations

import numpy as np
import pytest

from kernimpute.cli import run
from kernimpute.core.status import Record, Status, Trace
from kernimpute.kernels import Gaussian
from kernimpute.methods.impute import ImputationResult


@pytest.fixture
def data(data_dir):
    """Return the directory of the real tables."""
    return data_dir


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return an empty current directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def program(folder, capsys):
    """Return `kernimpute` as a function: exit code, stdout and stderr."""

    def command(*arguments):
        code = run([*map(str, arguments)])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        assert "\x1b" not in out + err
        return code, out, err

    return command


@pytest.fixture
def impute(program):
    """Return `kernimpute impute` as a function: exit code, stdout and stderr."""
    return lambda *arguments: program("impute", *arguments)


@pytest.fixture
def program_refused(program, folder):
    """Return a function that expects a refusal: it returns the one line on stderr."""

    def command(*arguments, code=1):
        before = contents(folder)
        got, out, err = program(*arguments)
        assert got == code, err
        assert out == ""
        assert len(err.splitlines()) == 1
        assert err.startswith("kernimpute: ")
        assert contents(folder) == before
        return err

    return command


@pytest.fixture
def refused(program_refused):
    """Return the same for `kernimpute impute`."""
    return lambda *arguments, code=1: program_refused("impute", *arguments, code=code)


def contents(folder):
    """Return every file below a folder with its bytes."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def typical(monkeypatch):
    """Put the mean or the most frequent category in place of the solvers."""

    def fill(X, known, categorical):
        X = X.copy()
        for p in range(X.shape[1]):
            values = known[~np.isnan(known[:, p]), p]
            typical = np.bincount(values.astype(int)).argmax() if categorical[p] else values.mean()
            X[np.isnan(X[:, p]), p] = typical
        return X

    def impute(X, y, *, categorical, callback, **options):
        record = Record(iteration=3, objective=1.5, gap=1e-4, stage="direct")
        callback(record)
        return ImputationResult(
            X=fill(X, X, categorical),
            dual_coef=np.zeros(len(y)),
            intercept=0.0,
            classes=np.unique(y) if options["task"] == "classification" else None,
            kernel=Gaussian(),
            status=Status.CONVERGED,
            trace=Trace((record,)),
            stage_one=None,
            stage_two=None,
        )

    monkeypatch.setattr("kernimpute.estimators.impute_table.impute", impute)
