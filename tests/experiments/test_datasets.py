"""The tables by name, from files and from OpenML, against what is known of them."""

import shutil
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from experiments import openml
from experiments.datasets import DATASETS, load_dataset
from experiments.files import CHECKSUMS, data_folder, find_file
from experiments.openml import OPENML

KNOWN = {
    "australian": ((690, 14), 307, 0),
    "german": ((1000, 24), 300, 0),
    "german[coding=symbolic]": ((1000, 20), 300, 0),
    "heart": ((270, 13), 120, 0),
    "pima": ((768, 8), 268, 0),
    "pima[zeros=missing]": ((768, 8), 268, 5 + 35 + 227 + 374 + 11),
    "wine": ((4898, 11), 3258, 0),
    "wine[threshold=7]": ((4898, 11), 1060, 0),
    "cylinder": ((512, 35), 200, 618 + 1028),
    "cylinder[zeros=kept]": ((512, 35), 200, 618),
    "cylinder[rows=540]": ((540, 35), 228, None),
    "horse": ((368, 25), 232, 1927 + 67 + 358 + 367),
    "horse[zeros=kept]": ((368, 25), 232, 1927),
}
"""Shape, rows of the second class, gaps."""


@pytest.mark.parametrize("name", KNOWN)
def test_a_table_is_as_documented(name, data_dir):
    dataset = load_dataset(name, data_dir)
    shape, n_positive, n_gaps = KNOWN[name]
    assert dataset.name == name and dataset.X.shape == shape
    assert len(dataset.feature_names) == shape[1]
    assert np.bincount(dataset.y).tolist() == [shape[0] - n_positive, n_positive]
    if n_gaps is not None:
        assert np.isnan(dataset.X).sum() == n_gaps
    with pytest.raises(ValueError, match="read-only"):
        dataset.X[0, 0] = 0.0


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


def test_files_are_known_by_their_checksums(data_dir, tmp_path):
    for name in CHECKSUMS:
        assert find_file(name, data_dir) == data_dir / name
    text = (data_dir / "heart.csv").read_text()
    (tmp_path / "heart.csv").write_text(text.replace("70.0", "71.0", 1))
    with pytest.raises(ValueError, match=r"heart\.csv' must be 8b8f84.*; got [0-9a-f]{64}\.$"):
        load_dataset("heart", tmp_path)


def test_the_folder_is_the_option_then_the_environment(tmp_path, monkeypatch):
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.setenv("KERNIMPUTE_DATA", str(tmp_path))
    assert (data_folder(other), data_folder()) == (other, tmp_path)
    monkeypatch.setenv("KERNIMPUTE_DATA", str(tmp_path / "none"))
    with pytest.raises(ValueError, match="must be a directory; got"):
        data_folder()
    monkeypatch.delenv("KERNIMPUTE_DATA")
    assert data_folder() is None


def test_drawn_tables_are_drawn_by_repetition():
    assert {"synthetic", "moons"} < set(DATASETS)
    for name in ("synthetic", "moons"):
        first, again, second = (load_dataset(name, None, r) for r in (0, 0, 1))
        np.testing.assert_array_equal(first.X, again.X)
        assert not np.array_equal(first.X, second.X)
    assert load_dataset("synthetic[d=3,n=50]", None).X.shape == (50, 3)


FILES = {
    "australian.csv": "australian",
    "german.csv": "german[coding=symbolic]",
    "heart.csv": "heart",
    "pima.csv": "pima",
    "wine_white.csv": "wine",
    "cylinder_bands.csv": "cylinder",
    "horse_colic.csv": "horse",
}


def as_openml_has_it(file, data_dir):
    """Return a bunch: other names, categories as pandas' categories, other labels."""
    there = OPENML[file]
    table = pd.read_csv(data_dir / file).drop(columns=list(there.identifiers))
    labels = {value: key for key, value in there.labels.items()}
    target = table.pop("target").map(labels).astype("category")
    for name, (prefix, first, values) in there.codes.items():
        names = {f"{prefix}{number}": value for number, value in enumerate(values, first)}
        table[name] = table[name].map(names)
    for name in table:
        if table[name].dtype.kind not in "if" or table[name].nunique() < 6:
            table[name] = table[name].astype("category")
    return SimpleNamespace(data=table.add_prefix("V_"), target=target)


@pytest.mark.parametrize("file", FILES)
def test_a_table_from_openml_equals_its_file(file, data_dir, monkeypatch, tmp_path):
    bunch = as_openml_has_it(file, data_dir)
    monkeypatch.setattr(openml, "fetch_openml", lambda **_: bunch)
    fetched, read = load_dataset(FILES[file], tmp_path), load_dataset(FILES[file], data_dir)
    assert fetched.source == f"OpenML {OPENML[file].data_id}"
    np.testing.assert_array_equal(fetched.X, read.X)
    np.testing.assert_array_equal(fetched.y, read.y)
    assert fetched.feature_names == read.feature_names


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda bunch: bunch.data.pop("V_age"), "must have the 13 columns of heart.csv; got 12"),
        (
            lambda bunch: setattr(bunch, "target", bunch.target.cat.rename_categories(["a", "b"])),
            r"must have \(150, 120\) rows of the classes of heart.csv; got \(0, 0\), and 270",
        ),
    ],
)
def test_another_table_is_refused(change, message, data_dir, monkeypatch, tmp_path):
    bunch = as_openml_has_it("heart.csv", data_dir)
    change(bunch)
    monkeypatch.setattr(openml, "fetch_openml", lambda **_: bunch)
    with pytest.raises(FileNotFoundError, match=message):
        load_dataset("heart", tmp_path)


def test_openml_is_asked_only_without_the_file(data_dir, monkeypatch, tmp_path):
    def offline(**_):
        raise OSError("no network")

    monkeypatch.setattr(openml, "fetch_openml", offline)
    shutil.copy(data_dir / "pima.csv", tmp_path)
    assert load_dataset("pima", tmp_path).source == "pima.csv"
    pattern = "heart.csv must be in the folder that --data-dir or KERNIMPUTE_DATA names.*no network"
    with pytest.raises(FileNotFoundError, match=pattern):
        load_dataset("heart", None)
