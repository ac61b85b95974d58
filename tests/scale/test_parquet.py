"""`impute_parquet` writes what `impute_table` returns, and leaves nothing else behind."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kernimpute.core.status import Status
from kernimpute.estimators.impute_table import TableWarning, impute_table
from kernimpute.scale import impute_parquet
from kernimpute.scale import source as source_module
from kernimpute.table.frames import as_frame
from tests.scale.tables import in_memory, mixed_table, numeric_table, read, written, written_folder

MIXED = {"ignore": ["id"], "subset_size": 40}
pytestmark = pytest.mark.filterwarnings("ignore::kernimpute.estimators.impute_table.TableWarning")


@pytest.fixture
def paths(tmp_path):
    return tmp_path / "table.parquet", "y", tmp_path / "out.parquet"


def assert_same(got, source, expected):
    """Assert that a written table is the source's, filled as expected, types and all."""
    assert got.schema.equals(source.schema, check_metadata=True)
    frame, before = as_frame(got), as_frame(source)
    for name in frame:
        pd.testing.assert_series_equal(frame[name], expected[name], rtol=0.0, atol=1e-12)
        kept = before[name].notna()
        assert frame.loc[kept, name].equals(before.loc[kept, name])


@pytest.mark.parametrize(
    "options",
    [
        {"categorical": ["count"]},
        {"random_state": 3, "C": 0.5, "gamma": "scale", "eta": "auto/4"},
        {"eta": np.inf},
        {"guidance": "anchored", "reference": "expected", "max_iter": 5},
    ],
)
def test_a_file_is_filled_as_in_memory(paths, tmp_path, options):
    source = written(mixed_table(), paths[0])
    done = impute_parquet(*paths, **MIXED, **options)
    assert_same(read(paths[2]), source, in_memory(source, **MIXED, **options))
    groups = pq.ParquetFile(paths[2]).metadata
    assert [groups.row_group(k).num_rows for k in range(3)] == [90, 90, 60]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.parquet", "table.parquet"]
    n_labelled = 240 - source["y"].null_count
    assert (done.n_rows, done.n_subsets) == (240, -(-n_labelled // 40))
    assert sum(done.statuses.values()) == done.n_subsets


def test_counts_notes_and_warnings_are_those_in_memory(paths):
    table = mixed_table()
    # What no row with a label has: a category, and numbers beyond the others.
    table.loc[table["y"].isna(), "text"] = "rare"
    table.loc[table["y"].isna(), "a"] = 100.0
    source = written(table, paths[0])
    options = {**MIXED, "missing_values": ["u", "nowhere"]}
    with pytest.warns(TableWarning) as caught:
        done = impute_parquet(*paths, **options)
    expected = impute_table(as_frame(source), "y", **options)
    assert as_frame(read(paths[2])).equals(expected.table)
    assert (done.notes, done.warnings) == (expected.notes, expected.warnings)
    assert [str(each.message) for each in caught][: len(done.warnings)] == [*done.warnings]
    for name in ("task", "n_classes", "n_unlabelled", "n_filled", "filled", "status"):
        assert getattr(done, name) == getattr(expected, name)
    for name in ("kernel", "eta", "C"):
        assert done.settings[name] == expected.settings[name]


def test_files_of_a_folder_are_one_table(tmp_path):
    source = written_folder(mixed_table(), tmp_path / "in")
    (tmp_path / "in" / "_SUCCESS").touch()
    (tmp_path / "in" / ".part-0.parquet.crc").write_bytes(b"crc")
    # A file, or a row group, without rows is a part like any other.
    pq.write_table(source.slice(0, 0), tmp_path / "in" / "part-1a.parquet")
    impute_parquet(tmp_path / "in", "y", tmp_path / "out", **MIXED)
    assert_same(read(tmp_path / "out"), source, in_memory(source, **MIXED))
    names = ["part-0.parquet", "part-1.parquet", "part-1a.parquet", "part-2.parquet"]
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == names
    impute_parquet(tmp_path / "in", "y", tmp_path / "out", force=True, drop="id", subset_size=40)
    assert_same(read(tmp_path / "out"), source.drop_columns(["id"]), in_memory(source, **MIXED))


def test_pieces_of_a_row_group_make_no_difference(paths, monkeypatch):
    source = written(mixed_table(), paths[0], rows=240)
    monkeypatch.setattr(source_module, "SLICE_ROWS", 37)
    impute_parquet(*paths, **MIXED)
    assert_same(read(paths[2]), source, in_memory(source, **MIXED))


def test_nothing_to_fill(paths):
    table = numeric_table(40).fillna(0.0).assign(note=["seen", None, "-", "seen"] * 10)
    source = written(table, paths[0])
    done = impute_parquet(*paths, ignore=["note"])
    assert read(paths[2]).equals(source) and done.status is Status.NOTHING_MISSING
    assert done.notes == (
        "the table has no other gap to fill: it is returned unchanged",
        "empty cells stay in columns that are ignored: note (10)",
    )


@pytest.mark.parametrize("has_label", [True, False])
def test_one_gap_is_filled_where_the_other_subsets_are_complete(paths, has_label):
    table = numeric_table(200).fillna(0.0).astype({"y": "Int64"})
    table.loc[0, "a"] = None
    if not has_label:
        table.loc[0, "y"] = None
    written(table, paths[0])
    done = impute_parquet(*paths, subset_size=20)
    assert done.status is Status.CONVERGED and done.n_filled == 1
    assert done.statuses[Status.NOTHING_MISSING] == 10 - has_label
    assert read(paths[2])["a"].null_count == 0


@pytest.mark.parametrize("names", [[None], ["key", "other"]])
def test_the_index_of_pandas_is_kept_and_not_used(paths, names):
    table = numeric_table(60)
    levels = [np.arange(60) // 3, np.arange(60) % 3][: len(names)]
    table.index = pd.MultiIndex.from_arrays(levels) if len(names) > 1 else pd.Index(levels[0])
    table.index.names = names
    written(table, paths[0])
    done = impute_parquet(*paths, subset_size=20)
    got = pd.read_parquet(paths[2])
    assert got.index.equals(table.index) and got.notna().all(axis=None)
    assert done.notes[0].startswith("kept and not used, because it is the index: ")


@pytest.mark.parametrize("dtype", ["boolean", "category"])
def test_labels_of_every_type(paths, dtype):
    table = numeric_table(60)
    expected = in_memory(pa.Table.from_pandas(table), subset_size=20)
    table["y"] = table["y"].astype(dtype)
    source = written(table, paths[0])
    impute_parquet(*paths, subset_size=20)
    got = read(paths[2])
    assert got["y"].equals(source["y"]) and got.schema.equals(source.schema, check_metadata=True)
    assert got["a"].to_pylist() == expected["a"].to_list()
