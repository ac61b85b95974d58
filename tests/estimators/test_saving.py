"""`kernimpute.save` and `kernimpute.load`: what they refuse, and what a refusal leaves."""

from __future__ import annotations

import copy
import importlib
import os
import pickle
import zipfile

import joblib
import numpy as np
import pandas as pd
import pytest

import kernimpute
from kernimpute import KernelImputer, KernelImputerCV, Status
from kernimpute.estimators import trusted_types
from tests.estimators.problems import related_rows


@pytest.fixture
def imputer():
    X, y = related_rows(n_samples=30)
    return KernelImputer().fit(X, y)


class Runs:
    """An object whose pickle makes a directory when it is opened."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        """Return what pickle is to run."""
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_is_not_opened_without_trust(protocol, tmp_path):
    path = tmp_path / "model.skops"
    path.write_bytes(pickle.dumps(Runs(tmp_path / "run"), protocol=protocol))
    with pytest.raises(ValueError, match="is a pickle or a file of joblib, which can run any code"):
        kernimpute.load(path)
    assert not (tmp_path / "run").exists()
    kernimpute.load(path, trust=True)
    assert (tmp_path / "run").exists()


@pytest.mark.parametrize("compress", [0, "zlib", "gzip", "bz2", "xz", "lzma"])
def test_a_file_of_joblib_is_opened_with_trust_only(imputer, compress, tmp_path):
    X, _ = related_rows(n_samples=30)
    path = tmp_path / "model"
    joblib.dump(imputer, path, compress=(compress, 3) if compress else 0)
    with pytest.raises(ValueError, match="pickle or a file of joblib"):
        kernimpute.load(path)
    np.testing.assert_array_equal(
        kernimpute.load(path, trust=True).transform(X), imputer.transform(X)
    )


def test_strange_types_are_made_with_trust_only(tmp_path):
    path = tmp_path / "a.skops"
    kernimpute.save(KernelImputerCV(scoring=a_scorer), path)
    with pytest.raises(ValueError, match=r"types that kernimpute does not know \(.*a_scorer\)"):
        kernimpute.load(path)


def a_scorer(estimator, X, y):
    """Return a score of the user's own."""
    return 0.0


def test_functions_of_our_own_are_not_made(imputer, tmp_path):
    path = tmp_path / "a.skops"
    kernimpute.save(imputer, path)
    with zipfile.ZipFile(path) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    own = b'"__module__": "kernimpute.core.status"'
    assert own in parts["schema.json"]
    with zipfile.ZipFile(path, "w") as new:
        for name, data in parts.items():
            new.writestr(name, data.replace(own, b'"__module__": "kernimpute.cli.main"'))
    with pytest.raises(ValueError, match=r"does not know \(kernimpute.cli.main"):
        kernimpute.load(path)


@pytest.mark.parametrize(
    "content", [b"", b"a,b\n1,2\n", b"PK\x03\x04 broken", b"\x89PNG", b"{}", "é".encode()]
)
def test_what_is_no_model_is_refused(content, tmp_path):
    path = tmp_path / "a.skops"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="holds no estimator|skops can read"):
        kernimpute.load(path)
    with pytest.raises(ValueError, match="holds no estimator|skops can read"):
        kernimpute.load(path, trust=True)


def test_other_archives_and_broken_pickles_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("b.txt", "c")
    with pytest.raises(ValueError, match="holds nothing that skops can read.*schema.json"):
        kernimpute.load(tmp_path / "a.zip")
    (tmp_path / "p").write_bytes(pickle.dumps(KernelImputer())[:-20])
    with pytest.raises(ValueError, match="can't be unpickled"):
        kernimpute.load(tmp_path / "p", trust=True)
    with pytest.raises(FileNotFoundError):
        kernimpute.load(tmp_path / "none")


def test_what_cannot_be_saved_leaves_nothing_and_keeps_what_was_there(tmp_path):
    path = tmp_path / "a.skops"
    path.write_text("old")
    imputer = KernelImputer(categorical_features=pd.Index(["a"]))
    with pytest.raises(ValueError, match="must hold only what skops can write. Got KernelImputer"):
        kernimpute.save(imputer, path)
    assert [each.name for each in tmp_path.iterdir()] == ["a.skops"]
    assert path.read_text() == "old"


def test_the_trusted_types_exist():
    for name in trusted_types():
        module, _, attribute = name.rpartition(".")
        assert isinstance(getattr(importlib.import_module(module), attribute), type)


@pytest.mark.parametrize("status", Status)
def test_a_status_is_saved_by_its_name(status):
    assert pickle.loads(pickle.dumps(status)) is status
    assert copy.deepcopy(status) is status
    assert status.value.encode() not in pickle.dumps(status)
    assert Status(status.value) is Status(status.name) is status
    with pytest.raises(ValueError, match="is not a valid Status"):
        Status("UNKNOWN")
