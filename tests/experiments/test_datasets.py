"""The tables by name against what is known of them, and the refusals."""

import shutil

import numpy as np
import pandas as pd
import pytest

from experiments import datasets, openml
from experiments.datasets import DATASETS, load_dataset
from experiments.files import CHECKSUMS, data_folder, find_file

SHAPES = {
    "australian": (690, 14, 307),
    "german": (1000, 24, 300),
    "german[coding=symbolic]": (1000, 20, 300),
    "heart": (270, 13, 120),
    "pima": (768, 8, 268),
    "wine": (4898, 11, 3258),
    "wine[threshold=7]": (4898, 11, 1060),
    "cylinder": (512, 35, 200),
    "cylinder[rows=540]": (540, 35, 228),
    "horse": (368, 25, 232),
}
GAPS = {
    "pima": 0,
    "pima[zeros=missing]": 5 + 35 + 227 + 374 + 11,
    "cylinder[zeros=kept]": 618,
    "cylinder": 618 + 1028,
    "horse[zeros=kept]": 1927,
    "horse": 1927 + 67 + 358 + 367,
}


@pytest.mark.parametrize("name", SHAPES)
def test_shape_and_positive_class_are_as_documented(name, data_dir):
    dataset = load_dataset(name, data_dir)
    n_rows, n_features, n_positive = SHAPES[name]
    assert dataset.X.shape == (n_rows, n_features)
    assert dataset.X.dtype == np.float64
    assert len(dataset.feature_names) == n_features
    assert np.bincount(dataset.y).tolist() == [n_rows - n_positive, n_positive]


@pytest.mark.parametrize("name", GAPS)
def test_gaps_are_as_counted(name, data_dir):
    assert np.isnan(load_dataset(name, data_dir).X).sum() == GAPS[name]


def test_shares_of_gaps_match_the_paper(data_dir):
    for name, share in (("cylinder", 0.092), ("horse", 0.296)):
        assert np.isnan(load_dataset(name, data_dir).X).mean() == pytest.approx(share, abs=5e-4)


def test_categories_are_numbered_in_sorted_order_whatever_their_case(data_dir):
    dataset = load_dataset("cylinder", data_dir)
    column = dataset.feature_names.index("paper_type")
    text = pd.read_csv(data_dir / "cylinder_bands.csv")["paper_type"][:512].str.lower()
    order = ["coated", "super", "uncoated"]
    assert dataset.X[:, column].tolist() == [order.index(cell) for cell in text]


def test_horse_has_its_codes_as_categories(data_dir):
    dataset = load_dataset("horse[categories=indicators]", data_dir)
    assert {name for name in dataset.feature_names if "=" not in name} == {
        "rectal_temperature",
        "pulse",
        "respiratory_rate",
        "nasogastric_reflux_ph",
        "packed_cell_volume",
        "total_protein",
        "abdominocentesis_total_protein",
    }


@pytest.mark.parametrize("table", ["cylinder", "horse"])
def test_indicators_say_the_same_as_codes(table, data_dir):
    codes = load_dataset(table, data_dir)
    wide = load_dataset(f"{table}[categories=indicators]", data_dir)
    for position, name in enumerate(codes.feature_names):
        column = codes.X[:, position]
        if name in wide.feature_names:
            np.testing.assert_array_equal(wide.X[:, wide.feature_names.index(name)], column)
            continue
        group = wide.X[:, [n.startswith(f"{name}=") for n in wide.feature_names]]
        values = np.unique(column[~np.isnan(column)])
        assert group.shape[1] == len(values)
        gap = np.isnan(column)
        assert np.isnan(group[gap]).all()
        np.testing.assert_array_equal(group[~gap], column[~gap, None] == values)


def test_arrays_cannot_be_written_to(data_dir):
    with pytest.raises(ValueError, match="read-only"):
        load_dataset("heart", data_dir).X[0, 0] = 0.0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("iris", "A dataset must be one of: australian"),
        ("heart[zeros=kept]", "heart has no options; got 'zeros'"),
        ("wine[threshold=3]", "'threshold' of wine must be 6 or 4"),
        ("german[coding=other]", "'coding' of german must be numeric or symbolic; got 'other'"),
        ("synthetic[d=2.5]", "'d' of synthetic must be a whole number; got 2.5"),
        ("moons[noise=loud]", "'noise' of moons must be a number; got 'loud'"),
    ],
)
def test_unknown_names_and_options_are_refused(name, message, data_dir):
    with pytest.raises(ValueError, match=message):
        load_dataset(name, data_dir)


def test_every_file_has_its_checksum(data_dir):
    for name in CHECKSUMS:
        assert find_file(name, data_dir) == data_dir / name


def test_another_file_is_refused(data_dir, tmp_path):
    text = (data_dir / "heart.csv").read_text()
    (tmp_path / "heart.csv").write_text(text.replace("70.0", "71.0", 1))
    with pytest.raises(ValueError, match=r"heart\.csv' must be 8b8f84.*; got [0-9a-f]{64}\.$"):
        load_dataset("heart", tmp_path)


def test_the_folder_is_the_option_then_the_environment(tmp_path, monkeypatch):
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.setenv("KERNIMPUTE_DATA", str(tmp_path))
    assert data_folder(other) == other
    assert data_folder() == tmp_path
    monkeypatch.setenv("KERNIMPUTE_DATA", str(tmp_path / "none"))
    with pytest.raises(ValueError, match="must be a directory; got"):
        data_folder()
    monkeypatch.delenv("KERNIMPUTE_DATA")
    assert data_folder() is None


def test_drawn_tables_are_drawn_by_repetition():
    for name in ("synthetic", "moons"):
        first, again, second = (load_dataset(name, None, r) for r in (0, 0, 1))
        np.testing.assert_array_equal(first.X, again.X)
        assert not np.array_equal(first.X, second.X)
        assert first.source == "drawn"
    assert load_dataset("synthetic[d=3,n=50]", None).X.shape == (50, 3)


def test_there_is_a_reading_of_every_name(data_dir):
    for name in DATASETS:
        assert load_dataset(name, data_dir).name == name


def test_a_table_from_its_file_never_asks_openml(data_dir, tmp_path, monkeypatch):
    monkeypatch.setattr(openml, "fetch_openml", None)
    shutil.copy(data_dir / "pima.csv", tmp_path)
    assert load_dataset("pima", tmp_path).source == "pima.csv"


def test_without_file_and_network_the_sentence_says_what_to_give(monkeypatch, tmp_path):
    def offline(**_):
        raise OSError("no network")

    monkeypatch.setattr(openml, "fetch_openml", offline)
    pattern = "heart.csv must be in the folder that --data-dir or KERNIMPUTE_DATA names.*no network"
    for folder in (None, tmp_path):
        with pytest.raises(FileNotFoundError, match=pattern):
            datasets.load_dataset("heart", folder)
    with pytest.raises(FileNotFoundError, match="OpenML does not have it"):
        load_dataset("german", None)
