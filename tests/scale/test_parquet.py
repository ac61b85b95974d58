"""Out of core is in memory: the same table comes back, and nothing else is left behind."""

import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kernimpute import KernelImputer
from kernimpute.core.status import Status
from kernimpute.estimators.impute_table import TableWarning, impute_table
from kernimpute.scale import impute_parquet
from kernimpute.scale import source as source_module
from kernimpute.scale.blocks import Endings, FilledBlock, in_blocks, write_block
from kernimpute.scale.filling import _assembled
from kernimpute.scale.runs import Job
from kernimpute.scale.work_folder import WorkFolder
from kernimpute.table.columns import TableError
from kernimpute.table.frames import as_frame
from tests.scale.tables import in_memory, mixed_table, numeric_table, read, written, written_folder

MIXED = {"ignore": ["id"], "subset_size": 60}
pytestmark = pytest.mark.filterwarnings("ignore::kernimpute.estimators.impute_table.TableWarning")


def assert_same(got: pa.Table, source: pa.Table, expected: pd.DataFrame) -> None:
    """Assert that a written table is the source's, filled as expected."""
    assert got.schema.equals(source.schema, check_metadata=True)
    frame, before = as_frame(got), as_frame(source)
    for name in frame:
        pd.testing.assert_series_equal(frame[name], expected[name], rtol=0.0, atol=0.0)
        kept = before[name].notna()
        assert frame.loc[kept, name].equals(before.loc[kept, name])


@pytest.mark.parametrize("options", [{}, {"random_state": 3, "C": 0.5}])
def test_a_file_is_filled_as_in_memory(tmp_path, options):
    source = written(mixed_table(), tmp_path / "table.parquet")
    options = {**MIXED, **options}
    done = impute_parquet(tmp_path / "table.parquet", "y", tmp_path / "out.parquet", **options)
    assert_same(read(tmp_path / "out.parquet"), source, in_memory(source, **options))
    groups = pq.ParquetFile(tmp_path / "out.parquet").metadata
    assert [groups.row_group(k).num_rows for k in range(5)] == [90, 90, 90, 90, 40]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.parquet", "table.parquet"]
    n_labelled = 400 - source["y"].null_count
    assert (done.n_rows, done.n_subsets) == (400, -(-n_labelled // 60))
    assert done.statuses == {Status.CONVERGED: done.n_subsets} and done.status.success


def test_what_is_said_is_what_is_said_in_memory(tmp_path):
    source = written(mixed_table(), tmp_path / "table.parquet")
    options = {**MIXED, "missing_values": ["u", "nowhere"]}
    with pytest.warns(TableWarning) as caught:
        done = impute_parquet(tmp_path / "table.parquet", "y", tmp_path / "out.parquet", **options)
    table = impute_table(as_frame(source), "y", **options)
    assert (done.notes, done.warnings) == (table.notes, table.warnings)
    assert [str(each.message) for each in caught][: len(done.warnings)] == [*done.warnings]
    assert dict(done.filled) == dict(table.filled)
    assert (done.task, done.n_classes, done.n_unlabelled) == (
        table.task,
        table.n_classes,
        table.n_unlabelled,
    )
    assert done.settings["kernel"] == table.settings["kernel"]


def test_several_files_are_one_table(tmp_path):
    source = written_folder(mixed_table(), tmp_path / "in")
    (tmp_path / "in" / "_SUCCESS").touch()
    impute_parquet(tmp_path / "in", "y", tmp_path / "out", **MIXED)
    assert_same(read(tmp_path / "out"), source, in_memory(source, **MIXED))
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        f"part-{k}.parquet" for k in range(3)
    ]
    impute_parquet(tmp_path / "in", "y", tmp_path / "out", force=True, drop=["id"], subset_size=60)
    assert_same(read(tmp_path / "out"), source.drop_columns(["id"]), in_memory(source, **MIXED))


@pytest.mark.parametrize("n_classes", [2, None])
def test_labelled_rows_are_those_of_the_imputer(tmp_path, n_classes):
    table = numeric_table(300)
    if n_classes is None:
        table["y"] = np.random.default_rng(1).normal(size=300)
    written(table, tmp_path / "table.parquet")
    impute_parquet(tmp_path / "table.parquet", "y", tmp_path / "out.parquet", subset_size=50)
    X = table.drop(columns="y")
    expected = KernelImputer(subset_size=50, random_state=0).fit_transform(X, table["y"])
    got = pd.read_parquet(tmp_path / "out.parquet").drop(columns="y")
    np.testing.assert_allclose(got, expected, rtol=0.0, atol=1e-10)


def test_pieces_of_a_row_group_make_no_difference(tmp_path, monkeypatch):
    source = written(mixed_table(), tmp_path / "table.parquet", rows=400)
    monkeypatch.setattr(source_module, "SLICE_ROWS", 37)
    impute_parquet(tmp_path / "table.parquet", "y", tmp_path / "out.parquet", **MIXED)
    assert_same(read(tmp_path / "out.parquet"), source, in_memory(source, **MIXED))


@pytest.mark.parametrize("variant", ["anchored", "direct"])
@pytest.mark.parametrize("reference", ["mean", "expected"])
def test_variants_and_references(tmp_path, variant, reference):
    source = written(numeric_table(60), tmp_path / "table.parquet")
    options = {"subset_size": 20, "variant": variant, "reference": reference, "max_iter": 5}
    paths = tmp_path / "table.parquet", "y", tmp_path / "out.parquet"
    if (variant, reference) == ("direct", "expected"):
        with pytest.raises(ValueError, match="'reference' parameter"):
            impute_parquet(*paths, **options)
        assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]
        return
    impute_parquet(*paths, **options)
    assert_same(read(paths[2]), source, in_memory(source, **options))


def test_a_table_that_fits_one_subset(tmp_path):
    source = written(mixed_table(80), tmp_path / "table.parquet")
    impute_parquet(tmp_path / "table.parquet", "y", tmp_path / "out.parquet", ignore=["id"])
    expected = in_memory(source, ignore=["id"])
    got = as_frame(read(tmp_path / "out.parquet"))
    for name in "abc":
        np.testing.assert_allclose(got[name], expected[name], rtol=0.0, atol=1e-10)
    assert got["text"].equals(expected["text"])


def test_gaps_of_ignored_columns_stay_and_are_told_of(tmp_path):
    table = numeric_table(40).assign(note=["seen", None, "-", "seen"] * 10, z=1.0)
    source = written(table, tmp_path / "table.parquet")
    done = impute_parquet(
        *(tmp_path / "table.parquet", "y", tmp_path / "out.parquet"),
        ignore=["note", "z"],
        missing_values=["-"],
    )
    assert read(tmp_path / "out.parquet")["note"].equals(source["note"])
    assert done.notes == ("empty cells stay in columns that are ignored: note (10)",)


def test_nothing_to_fill(tmp_path):
    table = numeric_table(40).fillna(0.0)
    source = written(table, tmp_path / "table.parquet")
    done = impute_parquet(tmp_path / "table.parquet", "y", tmp_path / "out.parquet")
    assert read(tmp_path / "out.parquet").equals(source)
    assert done.status is Status.NOTHING_MISSING and done.n_subsets == 0
    assert done.notes == ("the table has no gap to fill: it is returned unchanged",)


def test_the_index_of_pandas_is_kept_and_not_used(tmp_path):
    table = numeric_table(60).set_index(pd.Index(np.arange(60) ** 2, name="key"))
    written(table, tmp_path / "table.parquet")
    done = impute_parquet(tmp_path / "table.parquet", "y", tmp_path / "out.parquet", subset_size=20)
    assert pd.read_parquet(tmp_path / "out.parquet").index.equals(table.index)
    assert done.notes[0] == "kept and not used, for it is the index: key"


def test_refusals_leave_nothing(tmp_path):
    source = tmp_path / "table.parquet"
    written(mixed_table(60), source)
    out = tmp_path / "out.parquet"
    for options, error, match in [
        ({"target": "z"}, TableError, "there is no column 'z'"),
        ({"drop": "zz"}, TableError, "drop: there is no column .zz."),
        ({"subset_size": 9}, ValueError, "'subset_size' parameter of impute_parquet"),
        ({"reference": "median"}, ValueError, "'reference' parameter of impute_parquet"),
        ({"scheduler": "far"}, ValueError, "'scheduler' parameter of impute_parquet"),
        ({"kernel": "linear"}, TableError, "The linear kernel has no term for categories"),
        ({"output": tmp_path / "no" / "out.parquet"}, FileNotFoundError, "there is no folder"),
        ({"output": source, "force": True}, ValueError, "another one than the source"),
        ({"source": tmp_path, "output": tmp_path / "o"}, ValueError, "outside of the source"),
        ({"source": tmp_path / "none"}, FileNotFoundError, "there is no such file or folder"),
        ({"C": -1.0}, ValueError, "'C' parameter"),
    ]:
        given = {"source": source, "target": "y", "output": out, "ignore": ["id"], **options}
        with pytest.raises(error, match=match):
            impute_parquet(**given)
        assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]
    out.write_text("mine")
    with pytest.raises(FileExistsError, match="exists"):
        impute_parquet(source, "y", out)
    assert out.read_text() == "mine"


def test_folders_that_are_no_table(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    with pytest.raises(TableError, match="Got a folder without any"):
        impute_parquet(folder, "y", tmp_path / "out")
    (folder / "a.parquet").write_text("text")
    with pytest.raises(TableError, match="is not a Parquet file that can be read"):
        impute_parquet(folder, "y", tmp_path / "out")
    numeric_table(20).to_parquet(folder / "a.parquet")
    numeric_table(20).astype({"y": float}).to_parquet(folder / "b.parquet")
    with pytest.raises(TableError, match="b.parquet must have the columns and types of a.parquet"):
        impute_parquet(folder, "y", tmp_path / "out")
    (folder / "b.parquet").unlink()
    (folder / "c").mkdir()
    with pytest.raises(TableError, match="Got the folder 'c' in it"):
        impute_parquet(folder, "y", tmp_path / "out")


@pytest.mark.parametrize("place", [0, -1])
def test_complete_subsets_do_not_say_that_nothing_was_missing(tmp_path, place):
    table = numeric_table(200).fillna(0.0).astype({"y": "Int64"})
    table.loc[table.index[place], "a"] = None
    paths = tmp_path / "table.parquet", "y", tmp_path / "out.parquet"
    for has_label in (True, False):
        if not has_label:
            table.loc[table.index[place], "y"] = None
        written(table, paths[0])
        done = impute_parquet(*paths, subset_size=20, force=True)
        assert done.status is Status.CONVERGED and done.n_filled == 1
        assert done.statuses[Status.NOTHING_MISSING] == 10 - has_label


def test_the_rows_of_blocks_are_not_held_together(tmp_path, monkeypatch):
    """What is read again and what stays of it does not grow with the table's rows."""
    monkeypatch.setattr("kernimpute.scale.blocks.SUBSETS", 8)
    peaks = []
    for n_subsets in (80, 320):
        work = WorkFolder(tmp_path / str(n_subsets), False)
        work.path.mkdir()
        subsets = np.arange(n_subsets * 50).reshape(n_subsets, 50)
        job = Job(work.matrix((subsets.size, 20)), None, subsets, None, "expected", None)
        endings = Endings((Status.CONVERGED,) * 8, (), (), 1, 0.0)
        for block in in_blocks(subsets):
            filled = FilledBlock(np.full((8 * 50, 20), float(block.place)), endings)
            write_block(work.block(block.place), filled)
        tracemalloc.start()
        assert len(_assembled(job, work)) == n_subsets // 8
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert (job.X[:, 0] == np.repeat(np.arange(n_subsets // 8), 400)).all()
    block_bytes = 8 * 50 * 20 * 8
    assert peaks[1] - peaks[0] < 2 * block_bytes


def test_gaps_that_teach_nothing_are_told_apart_from_none(tmp_path):
    table = numeric_table(40).fillna(0.0)
    table["none"] = None
    source = written(table, tmp_path / "table.parquet")
    with pytest.warns(TableWarning, match="nothing is observed: 'none'"):
        done = impute_parquet(tmp_path / "table.parquet", "y", tmp_path / "out.parquet")
    assert read(tmp_path / "out.parquet").equals(source)
    assert done.notes == ("the table has no other gap to fill: it is returned unchanged",)
    table.loc[::2, "a"], table.loc[1::2, "a"] = None, 7.0
    written(table, tmp_path / "table.parquet")
    with pytest.warns(TableWarning, match="nothing is observed: 'none'"):
        done = impute_parquet(tmp_path / "table.parquet", "y", tmp_path / "out2.parquet")
    assert done.status is Status.NOTHING_MISSING and done.filled == {"a": 20}
    assert "columns with one observed value, which fills them: a" in done.notes[0]
    assert (read(tmp_path / "out2.parquet").to_pandas()["a"] == 7.0).all()


@pytest.mark.parametrize(
    ("change", "got"),
    [
        (lambda one: one.drop_columns(["b", "c"]), "no column 'b'"),
        (
            lambda one: one.set_column(1, "b", one["b"].cast(pa.float32())),
            "the column 'b' of type float where double is expected",
        ),
        (lambda one: one.append_column("z", one["a"]), "a further column 'z'"),
        (lambda one: one.append_column("a", one["a"]), "a further column 'a'"),
        (
            lambda one: one.select(["a", "c", "b", "d", "y"]),
            "the same in another order, 'c' in the place of 'b'",
        ),
        (
            lambda one: one.cast(
                pa.schema([field.with_nullable(field.name != "y") for field in one.schema])
            ),
            "a column 'y' that may not have gaps where it may",
        ),
    ],
)
def test_a_file_of_another_schema_is_told_by_its_first_difference(tmp_path, change, got):
    table = pa.Table.from_pandas(numeric_table(20))
    folder = tmp_path / "in"
    folder.mkdir()
    pq.write_table(table, folder / "a.parquet")
    pq.write_table(change(table), folder / "b.parquet")
    with pytest.raises(TableError) as caught:
        impute_parquet(folder, "y", tmp_path / "out")
    said = f"b.parquet must have the columns and types of a.parquet. Got {got}."
    assert str(caught.value).endswith(said)


def test_subsets_that_lack_a_category_are_filled(tmp_path):
    table = numeric_table(120)
    generator = np.random.default_rng(0)
    table["rare"] = pd.Series(generator.choice(["u", "v"], 120)).where(generator.random(120) > 0.9)
    source = written(table, tmp_path / "table.parquet")
    impute_parquet(tmp_path / "table.parquet", "y", tmp_path / "out.parquet", subset_size=10)
    got = read(tmp_path / "out.parquet")
    assert_same(got, source, in_memory(source, subset_size=10))
    assert got["rare"].null_count == 0
