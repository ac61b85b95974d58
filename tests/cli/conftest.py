"""What the tests of the command line share."""

import csv
import io

import numpy as np
import pytest

from kernimpute.cli import run

FEATURES = ["age", "height", "score", "pet", "code"]
FIT = ("fit", "t.csv", "-t", "y", "--ignore", "id", "--drop", "junk", "--categorical", "code")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def program(folder, capsys):
    """Return `kernimpute` as a function: exit code, stdout and stderr."""

    def command(*arguments):
        code = run([*map(str, arguments)])
        out, err = capsys.readouterr()
        assert "Traceback" not in err and "\x1b" not in out + err
        return code, out, err

    return command


@pytest.fixture
def refused(program, folder):
    """Return a function that expects a refusal: it returns the one line on stderr."""

    def command(*arguments, code=1):
        before = contents(folder)
        got, out, err = program(*arguments)
        assert (got, out) == (code, ""), err
        assert len(err.splitlines()) == 1 and err.startswith("kernimpute: ")
        assert contents(folder) == before
        return err

    return command


def flat(text):
    return " ".join(text.split())


def contents(folder):
    """Return every file below a folder with its bytes."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def example_text(n_rows=40, seed=0, label=True):
    """Return a CSV with gaps: whole numbers, decimals, whole decimals, categories, codes."""
    generator = np.random.default_rng(seed)
    side = np.arange(n_rows) % 2
    columns = {
        "id": [f"{row:03d}" for row in range(n_rows)],
        "age": [str(age) for age in generator.integers(20, 80, n_rows) + 10 * side],
        "height": [f"{height:.2f}" for height in generator.normal(1.7, 0.1, n_rows) + 0.1 * side],
        "score": [f"{score}.0" for score in generator.integers(0, 9, n_rows)],
        "pet": [['"dog, big"', "cat"][at] for at in generator.integers(0, 2, n_rows)],
        "code": [str(code) for code in generator.integers(1, 4, n_rows)],
        "junk": ["x"] * n_rows,
    }
    for name in FEATURES:
        for row in np.flatnonzero(generator.random(n_rows) < 0.25):
            columns[name][row] = ""
    if label:
        columns["y"] = [["no", "yes"][at] for at in side]
        columns["y"][3] = columns["y"][8] = ""
    rows = [",".join(cells) for cells in zip(*columns.values(), strict=True)]
    return "\n".join([",".join(columns), *rows]) + "\n"


@pytest.fixture
def table(folder):
    """Return a folder with the table `t.csv`, and new rows without labels in `new.csv`."""
    (folder / "t.csv").write_text(example_text())
    (folder / "new.csv").write_text(example_text(12, seed=1, label=False))
    return folder


@pytest.fixture(scope="session")
def model_bytes(tmp_path_factory):
    """Return the model of the example table, as bytes."""
    folder = tmp_path_factory.mktemp("model")
    (folder / "t.csv").write_text(example_text())
    assert run(["fit", str(folder / "t.csv"), *FIT[2:], "-o", str(folder / "m"), "-q"]) == 0
    return (folder / "m.skops").read_bytes()


@pytest.fixture
def fitted(table, model_bytes):
    """Return that folder with the model `m.skops` in it."""
    (table / "m.skops").write_bytes(model_bytes)
    return table


def cells_of(text, delimiter=","):
    return list(csv.reader(io.StringIO(text), delimiter=delimiter))


def check_filled(before, after, *, dropped=(), unused=(), gap="", delimiter=","):
    """Check that gaps are filled and all other cells kept their text; return the fills' number."""
    header, *rows = cells_of(before, delimiter)
    kept = [place for place, name in enumerate(header) if name not in dropped]
    new_header, *new_rows = cells_of(after, delimiter)
    assert new_header == [header[place] for place in kept]
    assert len(new_rows) == len(rows)
    n_filled = 0
    for row, new in zip(rows, new_rows, strict=True):
        for place, value in zip(kept, new, strict=True):
            if row[place] != gap or header[place] in unused:
                assert value == row[place]
                continue
            n_filled += 1
            known = {other[place] for other in rows} - {gap}
            numeric = all(text.replace(".", "").replace("-", "").isdigit() for text in known)
            if numeric:
                # As many decimals as the longest of the column.
                assert len(value.partition(".")[2]) == max(
                    len(text.partition(".")[2]) for text in known
                )
            else:
                assert value in known
    return n_filled
