"""Model files: what they hold, and what is refused."""

import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import skops.io

import kernimpute
from kernimpute import KernelImputer
from kernimpute.cli.models import read_model
from kernimpute.estimators import trusted_types
from tests.cli.conftest import FEATURES, FIT


def test_a_file_holds_our_types_only_and_the_roles(fitted):
    found = skops.io.get_untrusted_types(file="m.skops")
    assert all(name.startswith("kernimpute.") for name in found)
    parts = skops.io.load("m.skops", trusted=trusted_types())
    assert parts["version"] == kernimpute.__version__
    model = read_model(fitted / "m.skops", trust=False)
    assert model.features == tuple(FEATURES)
    assert (model.target, model.ignored, model.dropped) == ("y", ("id",), ("junk",))
    assert dict(model.decimals) == {"age": 0, "height": 2, "score": 1}
    kinds = {name: kind.kind for name, kind in model.kinds.items()}
    assert kinds == dict(
        zip(FEATURES, ["whole", "number", "whole", *["category"] * 2], strict=True)
    )


@pytest.mark.parametrize(("given", "written"), [("m", "m.skops"), ("a.model", "a.model")])
def test_a_bare_name_gets_its_extension(program, table, given, written):
    assert program(*FIT, "-o", given, "-q") == (0, "", "")
    assert (table / written).exists()


class Opened:
    """An object whose pickle writes a file when it is opened."""

    def __reduce__(self):
        """Return what pickle is to run."""
        return exec, ("open('opened', 'w').close()",)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none", "none: there is no such file."),
        (".", "is a directory, not a model."),
        ("t.csv", "t.csv must be a model that kernimpute.save"),
        ("pickle.skops", "pickle.skops must be a model that kernimpute.save"),
        ("array.skops", "fitted to a table with names of columns"),
        ("unfitted.skops", "Got KernelImputer."),
        ("half.skops", "fitted to a table with names of columns. Got KernelImputer"),
        ("part.skops", "must hold a model of `kernimpute fit`"),
        ("later.skops", "Got format 9, written by kernimpute 9.9.9: fit again"),
        ("lists.skops", "Got format [1], written by kernimpute None"),
        ("strange.skops", "--trust if you trust its origin"),
    ],
)
@pytest.mark.parametrize("trust", [False, True])
def test_what_is_no_model_is_refused(refused, fitted, name, message, trust):
    (fitted / "pickle.skops").write_bytes(pickle.dumps(Opened()))
    half = KernelImputer()
    half.feature_names_in_ = "abc"
    X = np.array([[0.0, 1.0], [np.nan, 2.0]])
    for place, part in {
        "array": KernelImputer().fit(X, [0, 1]),
        "unfitted": KernelImputer(),
        "half": half,
        "part": {"kernimpute_model": 2, "target": "y"},
        "later": {"kernimpute_model": 9, "version": "9.9.9"},
        "lists": {"kernimpute_model": [1]},
        "strange": np.array([Fraction(1, 2)]),
    }.items():
        kernimpute.save(part, f"{place}.skops")
    if trust and name == "strange.skops":
        message = "must hold a model of `kernimpute fit`"
    assert message in refused("apply", name, "new.csv", "-o", "o.csv", *["--trust"] * trust)
    assert not (fitted / "opened").exists()


def test_an_imputer_of_python_can_be_applied(program, fitted):
    frame = pd.read_csv("t.csv", dtype={"pet": object, "code": object}).dropna(subset="y")
    imputer = KernelImputer(missing_values=["cat", 70]).fit(frame[FEATURES], frame["y"])
    kernimpute.save(imputer, "p.skops")
    code, _, err = program("apply", "p.skops", "new.csv", "-o", "o.csv", "-q")
    kept = "columns that the model does not know are kept as they are: 'id', 'junk'"
    assert (code, err) == (0, f"warning: {kept}\n")
    new = pd.read_csv("new.csv", dtype={"pet": object, "code": object})
    expected = imputer.transform(new[FEATURES])
    written = pd.read_csv("o.csv", dtype={"code": str})
    assert set(written["pet"]) == {"dog, big"}
    np.testing.assert_allclose(written["height"], expected["height"], atol=0.005)
    assert written["code"].tolist() == expected["code"].tolist()
