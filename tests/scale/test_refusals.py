"""What cannot be done is refused before a column is read, or a Dask DataFrame is written."""

from pathlib import Path

import dask.dataframe as dd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kernimpute.scale import impute_dask, impute_parquet
from kernimpute.table.columns import TableError
from tests.scale.tables import mixed_table, numeric_table, written

REFUSED = [
    ({"C": 0.0}, ValueError),
    ({"max_iter": 2.5}, TypeError),
    ({"task": "ranking"}, ValueError),
    ({"reference": "expected"}, ValueError),
    ({"random_state": -1}, ValueError),
    ({"n_jobs": 0}, ValueError),
    ({"scheduler": Path("tcp://host")}, TypeError),
    ({"scheduler": "far"}, ValueError),
    ({"work_dir": 3}, TypeError),
    ({"output": 3}, TypeError),
]


class ReadError(Exception):
    """Raised where long work would begin."""


def reading(*arguments, **options):
    raise ReadError


@pytest.fixture
def nothing_is_read(monkeypatch):
    monkeypatch.setattr("kernimpute.scale.parquet.make_plan", reading)


@pytest.mark.usefixtures("nothing_is_read")
@pytest.mark.parametrize(("options", "error"), REFUSED)
def test_parameters_out_of_their_range(monkeypatch, tmp_path, options, error):
    numeric_table(40).to_parquet(tmp_path / "table.parquet")
    match = rf"^The '{next(iter(options))}' parameter of \w+ must be "
    with pytest.raises(error, match=match):
        impute_parquet(
            tmp_path / "table.parquet", "y", **{"output": tmp_path / "out.parquet", **options}
        )
    frame = dd.from_pandas(numeric_table(40), npartitions=2)
    monkeypatch.setattr(type(frame), "to_parquet", reading)
    with pytest.raises(error, match=match):
        impute_dask(frame, "y", **{"output": tmp_path / "out", **options})
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]


@pytest.mark.usefixtures("nothing_is_read")
def test_places(monkeypatch, tmp_path):
    (tmp_path / "in").mkdir()
    numeric_table(40).to_parquet(tmp_path / "in" / "table.parquet")
    source, out = tmp_path / "in", tmp_path / "out"
    (tmp_path / "file").touch()
    for given, error, match in [
        ({"work_dir": out}, ValueError, "'work_dir' parameter of impute_parquet must be a folder"),
        ({"work_dir": source}, TableError, "a folder of its own for the work"),
        ({"work_dir": source / "work"}, ValueError, "the work must lie outside of the source"),
        ({"output": source, "force": True}, ValueError, "must be another one than the source"),
        ({"output": source / "out"}, ValueError, "the output must lie outside of the source"),
        ({"output": tmp_path / "no" / "out"}, FileNotFoundError, "there is no folder"),
        ({"output": tmp_path / "file"}, FileExistsError, "give another name, or force"),
        ({"output": tmp_path / "file", "force": True}, ValueError, "must be a folder.* Got a file"),
        ({"source": tmp_path / "none"}, FileNotFoundError, "there is no such file or folder"),
        ({"size": 3}, TypeError, "unexpected keyword argument 'size'"),
        ({"class_weight": "balanced"}, TypeError, "unexpected keyword argument 'class_weight'"),
        ({}, ReadError, None),
    ]:
        with pytest.raises(error, match=match):
            impute_parquet(**{"source": source, "target": "y", "output": out, **given})
    monkeypatch.setattr("kernimpute.scale.parquet.os.access", lambda *arguments: False)
    with pytest.raises(PermissionError, match="nothing can be written to"):
        impute_parquet(source, "y", out)


def test_a_frame_of_dask_and_its_place(monkeypatch, tmp_path):
    frame = dd.from_pandas(numeric_table(40), npartitions=2)
    monkeypatch.setattr(type(frame), "to_parquet", reading)
    (tmp_path / "file").touch()
    for given, error, match in [
        ({"frame": numeric_table(40)}, TypeError, "'frame' parameter of impute_dask must be"),
        ({"size": 3}, TypeError, "unexpected keyword argument 'size'"),
        ({"target": "z"}, TableError, "target: there is no column 'z'"),
        ({"output": tmp_path / "file"}, FileExistsError, "give another name, or force"),
        ({"work_dir": tmp_path / "file"}, TableError, "Got a file"),
        ({}, ReadError, None),
    ]:
        with pytest.raises(error, match=match):
            impute_dask(**{"frame": frame, "target": "y", "output": tmp_path / "out", **given})


def test_columns_that_cannot_be_used(tmp_path):
    written(mixed_table(60), tmp_path / "table.parquet")
    for options, match in [
        ({"target": "z"}, "there is no column 'z'"),
        ({"target": "one"}, "must hold at least two classes"),
        ({"drop": list("abc"), "ignore": ["text", "flag", "count", "level", "one", "id"]}, "Got"),
    ]:
        given = {"target": "y", "output": tmp_path / "out.parquet", **options}
        with pytest.raises(TableError, match=match):
            impute_parquet(tmp_path / "table.parquet", **given)
        assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]


def test_folders_that_are_no_table(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    paths = folder, "y", tmp_path / "out"
    with pytest.raises(TableError, match="must hold Parquet files. Got a folder without any"):
        impute_parquet(*paths)
    whole = pa.Table.from_pandas(numeric_table(20))
    pq.write_table(whole.slice(0, 0), folder / "a.parquet")
    with pytest.raises(TableError, match="must have at least one row. Got none"):
        impute_parquet(*paths)
    (folder / "c.parquet").write_text("text")
    with pytest.raises(TableError, match=r"c\.parquet is not a Parquet file that can be read"):
        impute_parquet(*paths)
    (folder / "c.parquet").unlink()
    (folder / "c").mkdir()
    with pytest.raises(TableError, match="Got the folder 'c' in it"):
        impute_parquet(*paths)


@pytest.mark.parametrize(
    ("change", "got"),
    [
        (lambda one: one.drop_columns(["b", "c"]), "no column 'b'"),
        (
            lambda one: one.set_column(1, "b", one["b"].cast(pa.float32())),
            "the column 'b' of type float where double is expected",
        ),
        (lambda one: one.append_column("z", one["a"]), "a further column 'z'"),
        (
            lambda one: one.select(["a", "c", "b", "d", "y"]),
            "another order, 'c' in the place",
        ),
        (
            lambda one: one.cast(
                pa.schema([field.with_nullable(field.name != "y") for field in one.schema])
            ),
            "a column 'y' that may not have gaps where it may",
        ),
    ],
)
def test_a_file_of_another_schema_is_refused_by_its_first_difference(tmp_path, change, got):
    table = pa.Table.from_pandas(numeric_table(20))
    folder = tmp_path / "in"
    folder.mkdir()
    pq.write_table(table, folder / "a.parquet")
    pq.write_table(change(table), folder / "b.parquet")
    with pytest.raises(TableError, match=f"b.parquet must .* of a.parquet. Got .*{got}."):
        impute_parquet(folder, "y", tmp_path / "out")
