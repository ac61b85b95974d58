"""Tables as OpenML has them become the tables of the files."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from experiments import openml
from experiments.datasets import load_dataset
from experiments.openml import OPENML

NAMES = {
    "australian.csv": "australian",
    "german.csv": "german[coding=symbolic]",
    "heart.csv": "heart",
    "pima.csv": "pima",
    "wine_white.csv": "wine",
    "cylinder_bands.csv": "cylinder",
    "horse_colic.csv": "horse",
}


def as_openml_has_it(file, data_dir, hidden=()):
    """Return a bunch: other names, categories as pandas' categories, other labels."""
    there = OPENML[file]
    table = pd.read_csv(data_dir / file).drop(columns=list(hidden))
    labels = {value: key for key, value in there.labels.items()}
    target = table.pop("target").map(labels).astype("category")
    for name, (prefix, first, values) in there.codes.items():
        names = {f"{prefix}{number}": value for number, value in enumerate(values, first)}
        assert set(table[name]) <= set(names)
        table[name] = table[name].map(names)
    for name in table:
        if table[name].dtype.kind not in "if" or table[name].nunique() < 6:
            table[name] = table[name].astype("category")
    return SimpleNamespace(data=table.add_prefix("V_"), target=target)


@pytest.mark.parametrize("file", NAMES)
@pytest.mark.parametrize("hides", [False, True])
def test_a_table_from_openml_equals_its_file(file, hides, data_dir, monkeypatch, tmp_path):
    asked = []

    def fetch(*, data_id, **_):
        asked.append(data_id)
        return as_openml_has_it(file, data_dir, OPENML[file].identifiers if hides else ())

    monkeypatch.setattr(openml, "fetch_openml", fetch)
    fetched, read = load_dataset(NAMES[file], tmp_path), load_dataset(NAMES[file], data_dir)
    assert asked == [OPENML[file].data_id]
    assert fetched.source == f"OpenML {OPENML[file].data_id}"
    np.testing.assert_array_equal(fetched.X, read.X)
    np.testing.assert_array_equal(fetched.y, read.y)
    assert fetched.feature_names == read.feature_names


def test_the_names_of_german_are_those_of_its_documentation(data_dir):
    """German.doc gives A11 as below zero, A34 as critical account and A43 as radio, television."""
    bunch = as_openml_has_it("german.csv", data_dir)
    first = bunch.data.iloc[0].tolist()
    assert first[:4] == ["<0", 6, "critical/other existing credit", "radio/tv"]
    assert first[-2:] == ["yes", "yes"]


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
