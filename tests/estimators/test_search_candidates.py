"""The candidates of a search: named values, their defaults, and values that are refused."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.impute import SimpleImputer

from kernimpute import (
    KernelImputationClassifier,
    KernelImputationClassifierCV,
    KernelImputationRegressorCV,
    KernelImputer,
    KernelImputerCV,
)
from tests.estimators.problems import QUICK_SEARCH, mixed_table, related_rows

SEARCHES = [KernelImputerCV, KernelImputationClassifierCV, KernelImputationRegressorCV]
searches = pytest.mark.parametrize("search_class", SEARCHES, ids=lambda value: value.__name__)


def offered(search):
    """Return the candidates of a fitted search, as a set."""
    return {
        (p["kernel"], p["C"], p["gamma"], p["eta"], str(p["reference"]))
        for p in search.cv_results_["params"]
    }


def test_the_order_of_kernels_does_not_matter():
    X, y = mixed_table()
    one, other = (
        KernelImputerCV(kernels=kernels, Cs=[1.0], cv=2).fit(X, y)
        for kernels in (("linear", "gaussian"), ("gaussian", "linear"))
    )
    assert offered(one) == offered(other)


@pytest.mark.parametrize("reference", ["mean", SimpleImputer()], ids=str)
@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_the_defaults_are_those_of_the_plain_imputer(kernel, reference):
    X, y = mixed_table()
    search = KernelImputerCV(
        kernels=["gaussian", "linear"],
        references=["mean", reference],
        Cs=[3.0],
        gammas=["auto"],
        etas=["auto"],
        cv=2,
    ).fit(X, y)
    plain = KernelImputer(kernel=kernel, C=3.0, reference=reference).fit(X, y)
    gamma = plain.kernel_.gamma if kernel == "gaussian" else "scale"
    etas = [
        eta
        for *setting, eta, held_at in offered(search)
        if setting == [kernel, 3.0, gamma] and held_at == str(reference)
    ]
    assert sorted(etas) == pytest.approx([plain.eta_, np.inf])


@pytest.mark.parametrize("plain_class", [KernelImputer, KernelImputationClassifier])
def test_the_plain_estimators_own_parameters_are_in_the_default_grid(plain_class):
    X, y = related_rows()
    search_class = next(each for each in SEARCHES if each._plain_class is plain_class)
    search = search_class(kernels=["gaussian"], cv=2, search="all").fit(X, y)
    plain = plain_class().fit(X, y)
    candidates = np.array([each[1:4] for each in offered(search)], dtype=float)
    for eta in (plain.eta_, np.inf):
        own = np.array([plain.C, plain.kernel_.gamma, eta])
        assert np.isclose(candidates, own, rtol=1e-12).all(axis=1).sum() == 1


def test_named_values_stand_beside_numbers():
    X, y = related_rows()
    search = KernelImputationClassifierCV(
        **{**QUICK_SEARCH, "gammas": ["scale", 0.5], "etas": ["auto", 7.0]}
    ).fit(X, y)
    scaled = KernelImputationClassifier(gamma="scale").fit(X, y)
    results = search.cv_results_
    gammas = results["param_gamma"][results["param_kernel"] == "gaussian"]
    assert set(gammas) == {0.5, scaled.kernel_.gamma}
    assert len(set(results["param_eta"])) == 4
    assert {np.inf, 7.0} < set(results["param_eta"])


def test_auto_stays_for_a_variant_that_finds_its_own_eta():
    X, y = related_rows()
    search = KernelImputationClassifierCV(
        kernels=["gaussian"], Cs=[1.0], gammas=[0.5], etas=["auto", 2.0], cv=2, variant="anchored"
    ).fit(X, y)
    assert set(search.cv_results_["param_eta"]) == {np.inf, 2.0, "auto"}


@searches
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kernels", "cubic"),
        ("Cs", 0.0),
        ("Cs", "auto"),
        ("gammas", -1.0),
        ("gammas", "scaled"),
        ("etas", np.nan),
        ("etas", "scale"),
        ("references", "median"),
    ],
)
def test_a_wrong_value_is_refused_in_the_searchs_own_name(search_class, name, value, monkeypatch):
    def fail(*_):
        raise AssertionError("the table was coded")

    monkeypatch.setattr(search_class, "_learn_code", fail)
    monkeypatch.setattr(search_class._plain_class, "_learn_code", fail)
    X, y = related_rows()
    message = f"The '{name}' parameter of {search_class.__name__} must hold .* Got {value!r} inst"
    with pytest.raises(ValueError, match=message):
        search_class(**{name: [value]}).fit(X, y)


@searches
@pytest.mark.parametrize("name", ["kernels", "Cs", "gammas", "references"])
def test_no_value_at_all_is_refused(search_class, name):
    X, y = related_rows()
    message = rf"The '{name}' parameter of {search_class.__name__} must hold at least one value"
    with pytest.raises(ValueError, match=message):
        search_class(**{name: []}).fit(X, y)
