"""A run that is interrupted goes on where it was, and one that fails leaves no output."""

import json
import os
import signal
import subprocess
import sys

import joblib
import pytest

from kernimpute.estimators.impute_table import TableWarning
from kernimpute.scale import SubsetsDone, impute_parquet, runs
from kernimpute.scale.interrupts import kept_from_workers
from kernimpute.scale.source import ParquetSource
from kernimpute.scale.work_folder import fingerprint
from kernimpute.table.columns import TableError
from tests.scale.tables import numeric_table, read, written, written_folder

SIZE = {"subset_size": 10}


@pytest.fixture(autouse=True)
def blocks_of_eight():
    """Pin the size of a block, which is chosen for its speed and may change."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("kernimpute.scale.blocks.SUBSETS", 8)
        yield


@pytest.fixture
def paths(tmp_path):
    written(numeric_table(400), tmp_path / "table.parquet")
    return tmp_path / "table.parquet", "y", tmp_path / "out.parquet"


@pytest.fixture
def filled_blocks(monkeypatch):
    """Return a list that counts the blocks as they are filled."""
    counted = []

    def counting(subsets, *rest):
        counted.append(len(subsets))
        return original(subsets, *rest)

    original = runs.fill_block
    monkeypatch.setattr(runs, "fill_block", counting)
    return counted


def interrupting(after):
    """Return a callback that interrupts once so many subsets are filled."""

    def callback(done):
        if done.n_done >= after:
            raise KeyboardInterrupt

    return callback


def interrupt(paths, **options):
    with pytest.raises(KeyboardInterrupt) as caught:
        impute_parquet(*paths, **SIZE, callback=interrupting(16), **options)
    return caught.value


def test_finished_blocks_are_not_filled_again(paths, tmp_path, filled_blocks):
    impute_parquet(*paths, **SIZE)
    expected = read(paths[2])
    paths[2].unlink()
    filled_blocks.clear()
    error = interrupt(paths)
    assert error.__notes__ == [
        f"what is finished is kept in {tmp_path / '.out.parquet.work'}: the same call goes on "
        "from it."
    ]
    assert not paths[2].exists() and filled_blocks == [8, 8]
    told = []
    done = impute_parquet(*paths, **SIZE, callback=told.append)
    assert read(paths[2]).equals(expected)
    assert filled_blocks == [8] * 5 and (done.n_subsets, done.n_reused) == (40, 16)
    assert [one.n_done for one in told] == [16, 24, 32, 40]
    assert isinstance(told[0], SubsetsDone) and told[0].n_reused == 16
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.parquet", "table.parquet"]


def test_jobs_and_models_kept_may_change_in_between(paths, filled_blocks):
    interrupt(paths)
    done = impute_parquet(*paths, **SIZE, n_jobs=1, max_models=1)
    assert done.n_reused == 16


@pytest.mark.parametrize("change", ["option", "file"])
def test_another_table_or_option_starts_over(paths, filled_blocks, change):
    interrupt(paths)
    filled_blocks.clear()
    options = dict(SIZE)
    if change == "option":
        options["C"] = 2.0
    else:
        os.utime(paths[0], ns=(1, 1))
    what = {"option": r"other options \(C\)", "file": "another table"}[change]
    with pytest.raises(FileExistsError, match=f"holds finished blocks of {what}: .* pass force"):
        impute_parquet(*paths, **options)
    assert filled_blocks == []
    with pytest.warns(TableWarning, match="all were filled anew"):
        done = impute_parquet(*paths, **options, force=True)
    assert done.n_reused == 0 and filled_blocks == [8] * 5


def test_blocks_of_another_size_are_not_taken_up(paths, monkeypatch):
    interrupt(paths)
    monkeypatch.setattr("kernimpute.scale.blocks.SUBSETS", 4)
    with pytest.warns(TableWarning, match="all were filled anew"):
        assert impute_parquet(*paths, **SIZE, force=True).n_reused == 0


def test_a_folder_without_a_finished_block_is_taken_over(paths, tmp_path):
    interrupt(paths)
    for block in (tmp_path / ".out.parquet.work").glob("block-*"):
        block.unlink()
    assert impute_parquet(*paths, subset_size=20).n_reused == 0


def test_a_half_written_block_does_not_count(paths, tmp_path, filled_blocks):
    interrupt(paths)
    work = tmp_path / ".out.parquet.work"
    (work / "block-000001.npz").rename(work / "block-000001.partial")
    assert impute_parquet(*paths, **SIZE).n_reused == 8


@pytest.mark.parametrize("torn", ["empty", "cut", "zeros", "text"])
def test_a_torn_block_is_filled_again(paths, tmp_path, filled_blocks, torn):
    impute_parquet(*paths, **SIZE)
    expected = read(paths[2])
    paths[2].unlink()
    interrupt(paths)
    block = tmp_path / ".out.parquet.work" / "block-000001.npz"
    whole = block.read_bytes()
    middle = len(whole) // 2
    block.write_bytes(
        {
            "empty": b"",
            "cut": whole[:middle],
            "zeros": whole[: middle - 100] + bytes(200) + whole[middle + 100 :],
            "text": b"no block at all",
        }[torn]
    )
    done = impute_parquet(*paths, **SIZE)
    assert done.n_reused == 8 and read(paths[2]).equals(expected)


def test_a_block_is_on_the_disk_before_it_has_its_name(paths, monkeypatch):
    calls = []

    def noting(name, original):
        monkeypatch.setattr(
            f"kernimpute.scale.blocks.os.{name}",
            lambda *arguments: calls.append(name) or original(*arguments),
        )

    noting("fsync", os.fsync)
    noting("replace", os.replace)
    interrupt(paths)
    # The marker comes first, then the two blocks.
    assert calls[:6] == ["fsync", "replace"] * 3


def test_every_library_that_computes_is_in_the_fingerprint(paths):
    versions = json.loads(fingerprint(ParquetSource(paths[0]), {}))["versions"]
    assert {"kernimpute", "numpy", "scipy", "scikit-learn", "numba"} <= versions.keys()


def test_a_failure_leaves_no_output(paths, tmp_path, monkeypatch):
    def failing(*arguments):
        raise OSError("the disk is full")

    monkeypatch.setattr("kernimpute.scale.writing.with_filled_columns", failing)
    with pytest.raises(OSError, match="the disk is full"):
        impute_parquet(*paths, **SIZE)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [".out.parquet.work", "table.parquet"]
    monkeypatch.undo()
    assert impute_parquet(*paths, **SIZE).n_reused == 40


def test_a_failure_leaves_the_folder_that_was_there(tmp_path, monkeypatch):
    written_folder(numeric_table(60), tmp_path / "in")
    paths = tmp_path / "in", "y", tmp_path / "out"
    impute_parquet(*paths, **SIZE)
    before = read(tmp_path / "out")

    def failing(*arguments):
        raise OSError("the disk is full")

    monkeypatch.setattr("kernimpute.scale.writing.with_filled_columns", failing)
    with pytest.raises(OSError, match="the disk is full"):
        impute_parquet(*paths, subset_size=20, force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".out.work", "in", "out"]
    assert read(tmp_path / "out").equals(before)
    monkeypatch.undo()
    impute_parquet(*paths, subset_size=20, force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]
    assert not read(tmp_path / "out").equals(before)


def test_a_failing_task_leaves_what_is_finished(paths, monkeypatch):
    original, left = runs.fill_block, [3]

    def failing(*arguments):
        left[0] -= 1
        if left[0] == 0:
            raise MemoryError
        return original(*arguments)

    monkeypatch.setattr(runs, "fill_block", failing)
    with pytest.raises(MemoryError):
        impute_parquet(*paths, **SIZE)
    assert not paths[2].exists()
    monkeypatch.undo()
    assert impute_parquet(*paths, **SIZE).n_reused == 16


@pytest.mark.parametrize("marker", [None, "fingerprint.json", ".kernimpute-work.json"])
@pytest.mark.parametrize("text", ["{}", "dear", '{"of": 1}', "[]"])
def test_a_folder_of_other_things_is_no_place_to_work(paths, tmp_path, marker, text):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("dear")
    if marker is not None:
        (mine / marker).write_text(text)
    before = sorted(mine.iterdir())
    with pytest.raises(TableError, match="a folder of its own for the work"):
        impute_parquet(*paths, **SIZE, work_dir=mine)
    assert sorted(mine.iterdir()) == before


def test_a_file_is_no_place_to_work(paths, tmp_path):
    (tmp_path / "mine").write_text("dear")
    with pytest.raises(TableError, match="a folder of its own for the work. Got a file"):
        impute_parquet(*paths, **SIZE, work_dir=tmp_path / "mine")
    assert (tmp_path / "mine").read_text() == "dear"


@pytest.mark.parametrize("was_there", [False, True])
def test_only_what_the_runs_made_is_removed(paths, tmp_path, was_there):
    work = tmp_path / "deep" / "work"
    if was_there:
        work.mkdir(parents=True)
    impute_parquet(*paths, **SIZE, work_dir=work)
    assert work.exists() == was_there
    interrupt(paths, force=True, work_dir=work)
    impute_parquet(*paths, **SIZE, force=True, work_dir=work)
    assert work.exists() == was_there
    # What comes into the folder while a run is interrupted stays, when the next starts over too.
    interrupt(paths, force=True, work_dir=work)
    (work / "thesis.txt").write_text("dear")
    with pytest.warns(TableWarning, match="all were filled anew"):
        impute_parquet(*paths, subset_size=20, force=True, work_dir=work)
    assert [path.name for path in work.iterdir()] == ["thesis.txt"]


def test_two_runs_do_not_work_in_one_folder(paths, tmp_path):
    impute_parquet(*paths, **SIZE)
    expected = read(paths[2])
    refused = []

    def start_another(done):
        if done.n_done == 16:
            with pytest.raises(TableError, match="another run is at work in"):
                impute_parquet(*paths, subset_size=20, force=True)
            refused.append(done)

    impute_parquet(*paths, **SIZE, force=True, callback=start_another)
    assert refused and read(paths[2]).equals(expected)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.parquet", "table.parquet"]


def test_the_lock_of_a_killed_run_is_none(paths, tmp_path):
    script = """
import os, signal, sys
from kernimpute.scale import blocks, impute_parquet
blocks.SUBSETS = 8
kill = lambda done: done.n_done >= 16 and os.kill(os.getpid(), signal.SIGKILL)
impute_parquet(*sys.argv[1:], subset_size=10, callback=kill)
"""
    run = [sys.executable, "-c", script, *map(str, paths)]
    assert subprocess.run(run, check=False).returncode != 0
    assert (tmp_path / ".out.parquet.work" / ".kernimpute-work.lock").exists()
    assert impute_parquet(*paths, **SIZE).n_reused == 16


def test_an_interrupt_before_the_first_block_leaves_nothing(paths, tmp_path):
    with pytest.raises(KeyboardInterrupt) as caught:
        impute_parquet(*paths, **SIZE, callback=interrupting(0))
    assert not hasattr(caught.value, "__notes__")
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]


def test_an_interrupt_while_workers_start_comes_after():
    came = []
    # A shell starts what runs in its background without one.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), kept_from_workers():
            signal.raise_signal(signal.SIGINT)
            came.append("after")
        assert came == ["after"]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_later_workers_get_interrupts(paths):
    impute_parquet(*paths, **SIZE, n_jobs=2)
    held = joblib.Parallel(n_jobs=2)(joblib.delayed(held_back)() for _ in range(2))
    assert held == [False, False]


def held_back():
    """Return whether this process holds interrupts back."""
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
