"""A run that is interrupted goes on where it was, and one that fails leaves no output."""

import os
import signal
import subprocess
import sys

import pytest

from kernimpute.estimators.impute_table import TableWarning
from kernimpute.scale import SubsetsDone, filling, impute_parquet
from kernimpute.table.columns import TableError
from tests.scale.tables import numeric_table, read, written, written_folder

SIZE = {"subset_size": 10}


@pytest.fixture(autouse=True)
def blocks_of_four(monkeypatch):
    """Pin the size of a block, which is chosen for its speed and may change."""
    for module in ("filling", "parquet"):
        monkeypatch.setattr(f"kernimpute.scale.{module}.BLOCK_SUBSETS", 4)


@pytest.fixture
def paths(tmp_path):
    written(numeric_table(120), tmp_path / "table.parquet")
    return tmp_path / "table.parquet", "y", tmp_path / "out.parquet"


@pytest.fixture
def filled_blocks(monkeypatch):
    """Return a list of the blocks as they are filled."""
    fill_block, places = filling.fill_block, []

    def counting(place, *rest):
        places.append(place)
        return fill_block(place, *rest)

    monkeypatch.setattr(filling, "fill_block", counting)
    return places


def interrupt(paths, after=8, **options):
    """Interrupt a run once so many subsets are filled, and return the interrupt."""

    def callback(done):
        if done.n_done >= after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        impute_parquet(*paths, **SIZE, callback=callback, **options)
    return caught.value


def test_finished_blocks_are_not_filled_again(paths, tmp_path, filled_blocks):
    impute_parquet(*paths, **SIZE)
    expected = read(paths[2])
    paths[2].unlink()
    error = interrupt(paths)
    assert error.__notes__ == [
        f"what is finished is kept in {tmp_path / '.out.parquet.work'}: the same call goes on "
        "from it."
    ]
    assert not paths[2].exists()
    progress = []
    done = impute_parquet(*paths, **SIZE, n_jobs=1, callback=progress.append)
    assert read(paths[2]).equals(expected)
    assert filled_blocks == [0, 1, 2, 0, 1, 2]
    assert (done.n_subsets, done.n_reused) == (12, 8)
    assert [one.n_done for one in progress] == [8, 12]
    assert isinstance(progress[0], SubsetsDone) and progress[0].n_reused == 8
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.parquet", "table.parquet"]


@pytest.mark.parametrize("change", ["option", "file", "block"])
def test_another_table_or_option_is_refused_or_starts_over(paths, monkeypatch, change):
    interrupt(paths)
    options = dict(SIZE)
    if change == "option":
        options["C"] = 2.0
    elif change == "file":
        os.utime(paths[0], ns=(1, 1))
    else:
        monkeypatch.setattr("kernimpute.scale.parquet.BLOCK_SUBSETS", 2)
    what = {"option": r"other options \(C\)", "file": "another table", "block": "other options"}
    match = f"holds finished blocks of {what[change]}.* pass force"
    with pytest.raises(FileExistsError, match=match):
        impute_parquet(*paths, **options)
    with pytest.warns(TableWarning, match="all were filled anew"):
        assert impute_parquet(*paths, **options, force=True).n_reused == 0


@pytest.mark.parametrize("torn", ["half written", "cut", "zeros"])
def test_a_torn_block_is_filled_again(paths, tmp_path, torn):
    interrupt(paths)
    block = tmp_path / ".out.parquet.work" / "block-000001.npz"
    whole = block.read_bytes()
    middle = len(whole) // 2
    if torn == "half written":
        block.rename(block.with_suffix(".partial"))
    else:
        zeros = whole[: middle - 100] + bytes(200) + whole[middle + 100 :]
        block.write_bytes(zeros if torn == "zeros" else whole[:middle])
    assert impute_parquet(*paths, **SIZE).n_reused == 4


def test_a_block_is_on_the_disk_before_it_has_its_name(paths, monkeypatch):
    calls = []

    def noted(name, original):
        def call(*arguments):
            calls.append(name)
            return original(*arguments)

        monkeypatch.setattr(os, name, call)

    noted("fsync", os.fsync)
    noted("replace", os.replace)
    interrupt(paths)
    # The marker comes first, then the two blocks.
    assert calls[:6] == ["fsync", "replace"] * 3


@pytest.mark.parametrize("is_folder", [False, True])
def test_a_failure_leaves_the_output_that_was_there(tmp_path, monkeypatch, is_folder):
    write = written_folder if is_folder else written
    write(numeric_table(60), tmp_path / "in")
    paths = tmp_path / "in", "y", tmp_path / "out"
    impute_parquet(*paths, **SIZE)
    before = read(tmp_path / "out")

    def failing(*arguments):
        raise OSError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr("kernimpute.scale.filling.with_filled_columns", failing)
        with pytest.raises(OSError, match="the disk is full"):
            impute_parquet(*paths, subset_size=20, force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".out.work", "in", "out"]
    assert read(tmp_path / "out").equals(before)
    assert impute_parquet(*paths, subset_size=20, force=True).n_reused == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]
    assert not read(tmp_path / "out").equals(before)


@pytest.mark.parametrize("text", [None, "dear", '{"of": 1}', "[]"])
def test_a_folder_of_other_things_is_no_place_to_work(paths, tmp_path, text):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("dear")
    if text is not None:
        (mine / ".kernimpute-work.json").write_text(text)
    before = sorted(mine.iterdir())
    with pytest.raises(TableError, match="a folder of its own for the work"):
        impute_parquet(*paths, **SIZE, work_dir=mine)
    assert sorted(mine.iterdir()) == before
    with pytest.raises(TableError, match="a folder of its own for the work. Got a file"):
        impute_parquet(*paths, **SIZE, work_dir=mine / "thesis.txt")


@pytest.mark.parametrize("was_there", [False, True])
def test_only_what_the_runs_made_is_removed(paths, tmp_path, was_there):
    work = tmp_path / "deep" / "work"
    if was_there:
        work.mkdir(parents=True)
    interrupt(paths, work_dir=work)
    impute_parquet(*paths, **SIZE, work_dir=work)
    assert work.exists() == was_there
    # What comes into the folder while a run is interrupted stays, even when the next starts over.
    interrupt(paths, force=True, work_dir=work)
    (work / "thesis.txt").write_text("dear")
    with pytest.warns(TableWarning, match="all were filled anew"):
        impute_parquet(*paths, subset_size=20, force=True, work_dir=work)
    assert [path.name for path in work.iterdir()] == ["thesis.txt"]


def test_two_runs_do_not_work_in_one_folder(paths, tmp_path):
    refused = []

    def start_another(done):
        if done.n_done == 8:
            with pytest.raises(TableError, match="another run is at work in"):
                impute_parquet(*paths, subset_size=20, force=True)
            refused.append(done)

    impute_parquet(*paths, **SIZE, callback=start_another)
    assert refused
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.parquet", "table.parquet"]


def test_a_killed_run_leaves_no_lock(paths):
    script = """
import os, signal, sys
from kernimpute.scale import filling, impute_parquet, parquet
filling.BLOCK_SUBSETS = parquet.BLOCK_SUBSETS = 4
kill = lambda done: done.n_done >= 8 and os.kill(os.getpid(), signal.SIGKILL)
impute_parquet(*sys.argv[1:], subset_size=10, callback=kill)
"""
    run = [sys.executable, "-c", script, *map(str, paths)]
    assert subprocess.run(run, check=False).returncode == -signal.SIGKILL
    assert impute_parquet(*paths, **SIZE).n_reused == 8


def test_an_interrupt_before_the_first_block_leaves_nothing(paths, tmp_path):
    assert not hasattr(interrupt(paths, after=0), "__notes__")
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]
