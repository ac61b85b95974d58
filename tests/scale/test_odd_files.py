"""Folders and files as other programs leave them: filled as the whole table is, or refused."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kernimpute.scale import impute_parquet
from kernimpute.table.columns import TableError
from tests.scale.tables import in_memory, mixed_table, numeric_table, read, written

pytestmark = pytest.mark.filterwarnings("ignore::kernimpute.estimators.impute_table.TableWarning")
MIXED = {"ignore": ["id"], "subset_size": 60}


def row_groups(path, *parts):
    with pq.ParquetWriter(path, parts[0].schema) as writer:
        for part in parts:
            writer.write_table(part)


def sizes(path):
    metadata = pq.ParquetFile(path).metadata
    return [metadata.row_group(place).num_rows for place in range(metadata.num_row_groups)]


def assert_filled(folder, tmp_path):
    """Assert that the files of a folder are filled as the whole table is, by row groups."""
    files = sorted(folder.glob("*.parquet"))
    whole = pa.concat_tables([pq.ParquetFile(file).read() for file in files])
    impute_parquet(folder, "y", tmp_path / "out", **MIXED)
    got = read(tmp_path / "out")
    assert got.schema.equals(whole.schema, check_metadata=True)
    expected = in_memory(whole, **MIXED)
    for name in whole.column_names:
        assert got[name].to_pylist() == pa.Array.from_pandas(expected[name]).to_pylist()
    for file in files:
        rows = [size for size in sizes(file) if size]
        assert [size for size in sizes(tmp_path / "out" / file.name) if size] == rows


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_file_without_rows(tmp_path, place):
    whole = pa.Table.from_pandas(mixed_table(180), preserve_index=False)
    parts = [whole.slice(0, 90), whole.slice(90)]
    parts.insert(place, whole.slice(0, 0))
    folder = tmp_path / "in"
    folder.mkdir()
    for number, part in enumerate(parts):
        pq.write_table(part, folder / f"{number}.parquet")
    assert_filled(folder, tmp_path)


def test_row_groups_without_rows(tmp_path):
    whole = pa.Table.from_pandas(mixed_table(180), preserve_index=False)
    folder, nothing = tmp_path / "in", whole.slice(0, 0)
    folder.mkdir()
    row_groups(folder / "a.parquet", nothing, whole.slice(0, 90), nothing)
    row_groups(folder / "b.parquet", nothing, nothing)
    row_groups(folder / "c.parquet", whole.slice(90), nothing)
    assert 0 in sizes(folder / "a.parquet")
    assert_filled(folder, tmp_path)


def test_all_gaps_in_one_file(tmp_path):
    whole = mixed_table(180)
    complete = whole.copy()
    for name in ("a", "b", "c", "text", "flag", "count", "level", "one"):
        complete[name] = complete[name].fillna(complete[name].mode()[0])
    tables = [complete[:90], whole[90:]]
    folder = tmp_path / "in"
    folder.mkdir()
    parts = [pa.Table.from_pandas(table, preserve_index=False) for table in tables]
    for number, part in enumerate(parts):
        pq.write_table(part, folder / f"{number}.parquet")
    assert_filled(folder, tmp_path)


def test_files_that_other_programs_leave_are_not_read(tmp_path):
    whole = pa.Table.from_pandas(mixed_table(180), preserve_index=False)
    folder = tmp_path / "in"
    folder.mkdir()
    pq.write_table(whole, folder / "a.parquet")
    (folder / "_SUCCESS").touch()
    (folder / ".a.parquet.crc").write_bytes(b"crc")
    assert_filled(folder, tmp_path)


@pytest.mark.parametrize("names", [[None], ["key"], ["key", "other"]])
def test_an_index_that_repeats(tmp_path, names):
    table = numeric_table(60)
    levels = [np.arange(60) // 3, np.arange(60) % 3][: len(names)]
    table.index = pd.MultiIndex.from_arrays(levels) if len(names) > 1 else pd.Index(levels[0])
    table.index.names = names
    written(table, tmp_path / "table.parquet")
    impute_parquet(tmp_path / "table.parquet", "y", tmp_path / "out.parquet", subset_size=20)
    got = pd.read_parquet(tmp_path / "out.parquet")
    assert got.index.equals(table.index) and got.notna().all(axis=None)


@pytest.mark.parametrize("dtype", ["boolean", "category", "Int64", "str"])
def test_labels_of_every_type(tmp_path, dtype):
    table = numeric_table(60)
    expected = in_memory(pa.Table.from_pandas(table), subset_size=20)
    table["y"] = table["y"].astype(dtype)
    source = written(table, tmp_path / "table.parquet")
    impute_parquet(tmp_path / "table.parquet", "y", tmp_path / "out.parquet", subset_size=20)
    got = read(tmp_path / "out.parquet")
    assert got["y"].equals(source["y"]) and got.schema.equals(source.schema, check_metadata=True)
    assert got["a"].to_pylist() == expected["a"].to_list()


def test_times_are_kept_where_they_are_ignored_and_refused_where_not(tmp_path):
    table = numeric_table(60)
    table["when"] = pd.date_range("2024-01-01", periods=60).to_series(index=table.index)
    table.loc[::4, "when"] = pd.NaT
    source = written(table, tmp_path / "table.parquet")
    paths = tmp_path / "table.parquet", "y", tmp_path / "out.parquet"
    with pytest.raises(TableError, match="'when' column of the table must hold numbers"):
        impute_parquet(*paths, subset_size=20)
    impute_parquet(*paths, subset_size=20, ignore="when")
    assert read(paths[2])["when"].equals(source["when"])


def test_what_is_no_table_is_named(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    paths = folder, "y", tmp_path / "out"
    with pytest.raises(TableError, match="must hold Parquet files. Got a folder without any"):
        impute_parquet(*paths)
    whole = pa.Table.from_pandas(numeric_table(60))
    pq.write_table(whole.slice(0, 0), folder / "a.parquet")
    with pytest.raises(TableError, match="must have at least one row. Got none"):
        impute_parquet(*paths)
    pq.write_table(whole, folder / "b.parquet")
    (folder / "c.parquet").touch()
    with pytest.raises(TableError, match=r"c\.parquet is not a Parquet file that can be read"):
        impute_parquet(*paths)
    (folder / "c.parquet").unlink()
    with pytest.raises(ValueError, match="the output must lie outside of the source"):
        impute_parquet(folder, "y", folder / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]
