"""Streamed tables: filled as in memory, whole or not at all, and told of in the same words."""

import datetime
import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kernimpute import KernelImputer, TableWarning, impute_table
from kernimpute import stream as stream_module
from kernimpute.stream import impute_parquet, transform_parquet
from kernimpute.table.columns import TableError, observed_in_table
from kernimpute.table.frames import as_frame
from tests.stream_tables import mixed_table, numeric_table, read, written, written_folder

pytestmark = pytest.mark.filterwarnings("ignore::kernimpute.TableWarning")


@pytest.fixture
def paths(tmp_path):
    return tmp_path / "table.parquet", tmp_path / "out.parquet"


def assert_filled_as(expected, got, source, markers=()):
    """Assert that a written table has the source's types and observed cells, and these fills."""
    assert got.schema.equals(source.schema, check_metadata=True)
    frame, before = as_frame(got), as_frame(source)
    for name in frame:
        pd.testing.assert_series_equal(frame[name], expected[name], check_exact=True)
        kept = observed_in_table(before[[name]], markers)[:, 0]
        assert frame.loc[kept, name].equals(before.loc[kept, name])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"target": "y", "categorical": ["count"], "missing_values": ["u", 7, "nowhere"]},
        {"target": "y", "use_labels": "posterior", "drop": ["a"]},
        {"target": "y", "use_labels": "posterior", "task": "classification", "random_state": 3},
        {"target": "b", "ignore": ["id", "y"]},
        {"reference": "mean"},
    ],
    ids=str,
)
def test_a_table_of_no_more_rows_than_the_sample_is_filled_as_in_memory(paths, options):
    source = written(mixed_table(), paths[0])
    options = {"ignore": ["id"], **options}
    with pytest.warns(TableWarning) as caught:
        done = impute_parquet(*paths, batch_rows=37, **options)
    expected = impute_table(as_frame(source), **options)
    kept = [name for name in source.column_names if name not in options.get("drop", ())]
    markers = options.get("missing_values", ())
    assert_filled_as(expected.table, read(paths[1]), source.select(kept), markers)
    assert (done.notes, done.warnings) == (expected.notes, expected.warnings)
    assert [str(each.message) for each in caught][: len(done.warnings)] == [*done.warnings]
    assert dict(done.filled) == dict(expected.filled)
    assert (done.n_rows, done.n_columns) == expected.table.shape
    assert dict(done.facts).items() >= {"fitted": "all rows"}.items()
    for name in {"table", "label", "filled", "method"} & dict(expected.facts).keys():
        assert dict(done.facts)[name] == dict(expected.facts)[name]


def test_files_of_a_folder_are_one_table(tmp_path):
    source = written_folder(mixed_table(), tmp_path / "in")
    (tmp_path / "in" / "_SUCCESS").touch()
    (tmp_path / "in" / ".part-0.parquet.crc").write_bytes(b"crc")
    # A file without rows is a part like any other.
    pq.write_table(source.slice(0, 0), tmp_path / "in" / "part-1a.parquet")
    impute_parquet(tmp_path / "in", tmp_path / "out", "y", ignore="id")
    expected = impute_table(as_frame(source), "y", ignore="id").table
    assert_filled_as(expected, read(tmp_path / "out"), source)
    names = ["part-0.parquet", "part-1.parquet", "part-1a.parquet", "part-2.parquet"]
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == names
    for name in names:
        parts = [pq.ParquetFile(tmp_path / side / name) for side in ("in", "out")]
        assert parts[0].metadata.num_rows == parts[1].metadata.num_rows


@pytest.mark.parametrize("names", [[None], ["key", "other"]])
def test_the_index_of_pandas_is_kept_and_not_used(paths, names):
    table = numeric_table(60)
    levels = [np.arange(60) // 3, np.arange(60) % 3][: len(names)]
    table.index = pd.MultiIndex.from_arrays(levels) if len(names) > 1 else pd.Index(levels[0])
    table.index.names = names
    written(table, paths[0])
    done = impute_parquet(*paths)
    filled = pd.read_parquet(paths[1])
    assert filled.index.equals(table.index) and filled.index.names == names
    assert not filled.isna().any(axis=None)
    assert sum("because it is the index" in note for note in done.notes) == len(names)


def test_types_come_back_and_what_is_ignored_passes(paths):
    n_rows = 30
    gappy = [None if k % 3 == 0 else k for k in range(n_rows)]
    words = [None if k is None else "abc"[k % 3] for k in gappy]
    when = datetime.datetime(2020, 1, 1)
    used = {
        "half": pa.array(gappy, pa.float32()),
        "short": pa.array(gappy, pa.int8()),
        "long": pa.array([None if k is None else 2**62 + k for k in gappy], pa.uint64()),
        "words": pa.array(words),
        "large": pa.array(words, pa.large_string()),
        "coded": pa.array(words).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string())),
        "flag": pa.array([None if k is None else k % 2 == 0 for k in gappy]),
    }
    ignored = {
        "list": pa.array([[k] if k else None for k in gappy]),
        "struct": pa.array([{"list": k} for k in gappy]),
        "struct.list": pa.array(range(n_rows)),
        "map": pa.array([[("k", 1)]] * n_rows, pa.map_(pa.string(), pa.int64())),
        "time": pa.array([when] * n_rows, pa.timestamp("ms", "Europe/Berlin")),
        "price": pa.array([decimal.Decimal("1.20")] * n_rows),
        "null": pa.nulls(n_rows),
    }
    source = pa.table({**used, **ignored}).replace_schema_metadata({"mine": "text"})
    pq.write_table(source, paths[0], row_group_size=7, compression="zstd")
    source = read(paths[0])
    impute_parquet(*paths, ignore=ignored, batch_rows=11)
    got = read(paths[1])
    assert got.schema.equals(source.schema, check_metadata=True)
    assert got.select([*ignored]).equals(source.select([*ignored]))
    assert all(got[name].null_count == 0 for name in used)
    for name in used:
        seen = source[name].is_valid()
        assert got[name].filter(seen).to_pylist() == source[name].filter(seen).to_pylist()
    group = pq.ParquetFile(paths[1]).metadata.row_group(0)
    assert group.column(0).compression == "ZSTD"


def test_a_larger_table_is_what_the_imputer_of_the_sample_makes_of_it(paths):
    source = written(mixed_table(600), paths[0])
    told = []
    done = impute_parquet(
        *paths, "y", ignore="id", max_fit_rows=90, batch_rows=50, callback=lambda *n: told.append(n)
    )
    frame = as_frame(source)
    features = frame.drop(columns=["id", "y", "none"])
    expected = done.imputer.transform(features)
    assert_filled_as(frame.assign(**expected), read(paths[1]), source)
    assert dict(done.facts)["fitted"] == "90 rows, drawn at random"
    assert told[-1] == (600, 600) and [n for n, _ in told] == sorted({n for n, _ in told})
    again = impute_parquet(*paths, "y", ignore="id", max_fit_rows=90, batch_rows=50, force=True)
    assert again.filled == done.filled
    other = paths[1].with_name("other.parquet")
    impute_parquet(paths[0], other, "y", ignore="id", max_fit_rows=90, random_state=1)
    assert not read(other)["a"].equals(read(paths[1])["a"])


def test_memory_does_not_grow_with_the_rows(paths, monkeypatch):
    sizes, allocated = [], []
    fill = stream_module.Filler.fill

    def recorded(self, block):
        sizes.append(block.num_rows)
        allocated.append(pa.total_allocated_bytes())
        return fill(self, block)

    monkeypatch.setattr(stream_module.Filler, "fill", recorded)
    source = written(numeric_table(100_000), paths[0], rows=700)
    n_bytes = source.nbytes
    del source
    before = pa.total_allocated_bytes()
    impute_parquet(*paths, reference="mean", max_fit_rows=50, batch_rows=2000)
    # Small row groups are joined.
    assert sum(sizes) == 100_000 and max(sizes) < 4000 and min(sizes[:-1]) >= 2000
    assert max(allocated) - before < n_bytes / 10


def test_labels_are_drawn_evenly_where_they_are_used(paths, monkeypatch):
    table = numeric_table(2000)
    table["y"] = np.repeat(["a", "b", "c", None], [1900, 60, 20, 20])
    written(table, paths[0])
    sampled = []
    fit_table = stream_module.fit_table

    def recorded(sample, *arguments, **options):
        sampled.append(sample["y"].value_counts(dropna=False).to_dict())
        return fit_table(sample, *arguments, **options)

    monkeypatch.setattr(stream_module, "fit_table", recorded)
    impute_parquet(*paths, "y", use_labels="posterior", max_fit_rows=198)
    assert sampled == [{"a": 190, "b": 6, "c": 2}]


@pytest.mark.parametrize("options", [{}, {"target": "y", "use_labels": "posterior"}])
def test_a_column_that_the_sample_does_not_observe_is_filled(paths, options):
    table = numeric_table(3000).assign(rare=np.nan, y=["n", "p", None] * 1000)
    table.loc[2990:, "rare"] = np.arange(10.0)
    written(table, paths[0])
    done = impute_parquet(*paths, max_fit_rows=20, batch_rows=500, **options)
    assert done.filled["rare"] == 2990 and not done.warnings
    assert "the first rows that observe a column" in dict(done.facts)["fitted"]


def test_what_the_sample_does_not_hold_is_kept_and_told(paths):
    table = numeric_table(400).assign(pet=["cat", "dog"] * 200)
    # The sample of 50 rows that the seed draws misses all of these.
    table.loc[[6, 7], "pet"] = ["newt", "eel"]
    table.loc[9, "a"] = 1e4
    table.loc[4, "b"] = -99
    table.loc[[4, 6, 9], "c"] = 1e9
    source = written(table, paths[0])
    options = {"batch_rows": 5, "max_fit_rows": 50, "missing_values": [-99, -98]}
    done = impute_parquet(*paths, **options)
    assert done.warnings == (
        "no cell of the sample holds the missing value -99",
        "no cell of the sample holds the missing value -98",
        "numbers farther than 1e+06 times the training range from it, in 3 row(s), are taken to be "
        "that far",
        "categories that fit did not see are kept, and not used: 2 cells of 1 column ('pet': "
        "'newt', 'eel' in 2 cells)",
    )
    got = read(paths[1])
    assert got["pet"].equals(source["pet"])
    assert got["a"][9].as_py() == 1e4 and got["b"][4].as_py() != -99
    inside = np.delete(np.array(got["a"]), 9)
    assert np.nanmax(inside) <= table["a"].drop(9).max()


def test_a_fitted_imputer_fills_a_file(paths):
    table = numeric_table(300)
    training = table.iloc[:100].drop(columns="y")
    imputer = KernelImputer(missing_values=[-9]).fit(training.assign(pet=["cat", "dog"] * 50))
    table["pet"] = ["cat", None, "eel"] * 100
    table.loc[200, "a"] = -9
    source = written(table.astype({"y": "float32"}), paths[0])
    done = transform_parquet(imputer, *paths, drop=["b"], batch_rows=64)
    with pytest.warns(UserWarning, match="'eel' in 100 cell"):
        expected = imputer.transform(table.drop(columns="y"))
    assert "'eel' in 100 cells" in done.warnings[0]
    frame = as_frame(read(paths[1]))
    assert list(frame) == ["a", "c", "d", "y", "pet"]
    for name in ("a", "c", "d"):
        np.testing.assert_allclose(frame[name].astype(float), expected[name], rtol=1e-12)
    assert frame["pet"].tolist() == expected["pet"].tolist()
    assert frame["y"].equals(as_frame(source)["y"])
    assert done.filled["pet"] == 100 and "b" not in done.filled
    with pytest.raises(ValueError, match="'add_indicator' .* must be False for transform_parquet"):
        transform_parquet(KernelImputer(add_indicator=True).fit(training), *paths, force=True)
    with pytest.raises(TableError, match="Got 'eel' besides"):
        transform_parquet(imputer.set_params(handle_unknown="error"), *paths, force=True)
    with pytest.raises(TableError, match="Got a table without 'a'"):
        written(table.drop(columns="a"), paths[0])
        transform_parquet(imputer, *paths, force=True)


@pytest.mark.parametrize("is_folder", [False, True])
@pytest.mark.parametrize("error", [OSError("the disk is full"), KeyboardInterrupt()])
def test_a_failure_leaves_the_output_that_was_there(tmp_path, is_folder, error):
    write = written_folder if is_folder else written
    write(numeric_table(60), tmp_path / "in")
    paths = tmp_path / "in", tmp_path / "out"
    impute_parquet(*paths, drop="d")
    before = read(tmp_path / "out")

    def failing(n_rows, of):
        if n_rows > 20:
            raise error

    with pytest.raises(type(error)):
        impute_parquet(*paths, batch_rows=10, force=True, callback=failing)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]
    assert read(tmp_path / "out").equals(before)
    impute_parquet(*paths, force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]
    assert "d" in read(tmp_path / "out").column_names


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"max_fit_rows": 1}, ValueError, "'max_fit_rows' parameter of impute_parquet"),
        ({"guidance": "direct", "target": "y"}, ValueError, "'guidance' parameter .* must be None"),
        ({"use_labels": "own", "target": "y"}, ValueError, "'use_labels' .* must be None or 'post"),
        ({"use_labels": "posterior"}, ValueError, "'target' parameter"),
        ({"keep_empty_features": 1}, TypeError, "'keep_empty_features' .* must be left out"),
        ({"shape": 1}, TypeError, "unexpected keyword argument 'shape'"),
        ({"target": "z"}, TableError, "target: there is no column 'z'"),
        ({"output": 3}, TypeError, "'output' parameter of impute_parquet must be a str or a Path"),
        ({"output": "none/out"}, FileNotFoundError, "there is no folder"),
        ({"output": "there.parquet"}, FileExistsError, "force to replace it"),
        ({"output": "in", "force": True}, ValueError, "must be a file, as the source. Got a fold"),
        ({"output": "table.parquet", "force": True}, ValueError, "must lie outside of the source"),
        ({"source": "in", "output": ".", "force": True}, ValueError, "source, and not hold it"),
        ({"source": "in", "output": "notes", "force": True}, ValueError, "Got 'notes.txt' in it"),
        ({"source": "none"}, FileNotFoundError, "there is no such file or folder"),
        ({"source": "text.parquet"}, TableError, "is not a Parquet file that can be read"),
        ({"source": "empty.parquet"}, TableError, "must have at least one row. Got none"),
        ({"source": "empty"}, TableError, "must hold Parquet files. Got a folder without any"),
        ({"source": "deep"}, TableError, "Got the folder 'in' in it"),
        ({"scheduler": "far"}, ValueError, "'scheduler' parameter of impute_parquet"),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_refused_and_leaves_nothing(
    tmp_path, monkeypatch, options, error, message
):
    monkeypatch.chdir(tmp_path)
    table = written(numeric_table(20), tmp_path / "table.parquet")
    pq.write_table(table.slice(0, 0), "empty.parquet")
    for name in ("there.parquet", "text.parquet"):
        (tmp_path / name).write_text("text")
    for name in ("in", "empty", "deep", "deep/in", "notes"):
        (tmp_path / name).mkdir()
    (tmp_path / "notes" / "notes.txt").write_text("text")
    pq.write_table(table, "in/a.parquet")
    before = sorted(tmp_path.rglob("*"))
    given = {"source": "table.parquet", "output": "out.parquet", **options}
    with pytest.raises(error, match=message):
        impute_parquet(**given)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("change", "got"),
    [
        (lambda one: one.drop_columns(["b", "c"]), "fewer, or another order"),
        (lambda one: one.set_column(1, "b", one["b"].cast(pa.float32())), "b: float"),
        (lambda one: one.append_column("z", one["a"]), "z: double"),
        (lambda one: one.select(["a", "c", "b", "d", "y"]), "fewer, or another order"),
    ],
)
def test_a_file_of_another_schema_is_refused_by_what_it_has(tmp_path, change, got):
    table = pa.Table.from_pandas(numeric_table(20))
    folder = tmp_path / "in"
    folder.mkdir()
    pq.write_table(table, folder / "a.parquet")
    pq.write_table(change(table), folder / "b.parquet")
    with pytest.raises(TableError, match=f"b.parquet must .* of a.parquet. Got .*{got}"):
        impute_parquet(folder, tmp_path / "out")
