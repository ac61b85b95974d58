import math
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from experiments.records import (
    OUTCOME,
    Key,
    clean,
    export_csv,
    read_csv,
    read_parts,
    status_of_parts,
)

OUTCOME_VALUES = dict.fromkeys(OUTCOME) | {"status": "done", "seconds": 0.1, "seed": 2**32 - 1}


def key(method="mean", rate=0.4, repetition=0):
    unit = (("dataset", "heart"), ("missing_rate", rate), ("repetition", repetition))
    return Key("trial", unit, method)


def row(of, **measured):
    return {"experiment": "trial", **dict(of.unit), "method": of.method, **measured} | (
        OUTCOME_VALUES
    )


def write(folder, of, *values):
    of.write(folder, [row(of, rule=rule, accuracy=value) for rule, value in values])


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "trial"
    clean(folder)
    for repetition in (1, 0):
        write(folder, key(repetition=repetition), ("plain", 0.1 + 0.2), ("released", 1 / 3))
        of = key("knn", 0.2, repetition)
        failed = {"status": "failed", "reason": 'ValueError: no, "never"'}
        of.write(folder, [row(of, rule=None, accuracy=None) | failed])
    return folder


def test_the_name_of_a_part_depends_on_what_the_axes_are_worth_alone():
    base = key().file_name
    swapped = Key("trial", key().unit[::-1], "mean")
    assert swapped.file_name == base
    assert key(rate=np.float64(0.4), repetition=np.int64(0)).file_name == base
    assert key(repetition=0.0).file_name == base
    others = [key("knn"), key(rate=0.2), key(repetition=1), Key("other", key().unit, "mean")]
    assert len({base, *(other.file_name for other in others)}) == 5


def test_parts_are_read_as_one_table_in_order(folder):
    rows = read_parts(folder)
    assert rows["missing_rate"].tolist() == [0.2, 0.2, 0.4, 0.4, 0.4, 0.4]
    assert rows["repetition"].tolist() == [0, 1, 0, 0, 1, 1]
    assert rows["rule"].tolist()[2:] == ["plain", "released"] * 2
    assert rows["accuracy"].tolist()[2:] == [0.1 + 0.2, 1 / 3] * 2
    assert math.isnan(rows["accuracy"][0])


def test_a_csv_gives_the_rows_back_to_the_last_bit(folder, tmp_path):
    rows = read_parts(folder)
    path = tmp_path / "results" / "trial.csv"
    export_csv(rows, path)
    first = path.read_bytes()
    again = read_csv(path)
    pd.testing.assert_frame_equal(rows, again, check_dtype=False, check_exact=True)
    export_csv(again, path)
    assert path.read_bytes() == first
    assert [entry.name for entry in path.parent.iterdir()] == ["trial.csv"]


def test_what_is_half_written_does_not_count_and_is_removed(folder):
    before = read_parts(folder)
    whole = (folder / key().file_name).read_bytes()
    half, empty = folder / f"{'0' * 24}.parquet", folder / f"{'1' * 24}.parquet"
    half.write_bytes(whole[: len(whole) // 2])
    empty.touch()
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    dead = folder / f".{key().file_name}.{process.pid}.tmp"
    mine = folder / f".{key().file_name}.{os.getpid()}.tmp"
    dead.write_bytes(whole[:100])
    mine.write_bytes(whole[:100])
    pd.testing.assert_frame_equal(read_parts(folder), before)
    assert sorted(clean(folder)) == sorted([dead, half, empty])
    assert mine.exists() and not dead.exists()
    pd.testing.assert_frame_equal(read_parts(folder), before)


def test_the_status_of_a_part_is_that_of_its_worst_row(folder):
    of = key(repetition=7)
    of.write(folder, [row(of), row(of) | {"status": "failed"}])
    statuses = status_of_parts(folder)
    assert statuses[of.file_name] == "failed" and statuses[key().file_name] == "done"
    assert len(statuses) == 5
