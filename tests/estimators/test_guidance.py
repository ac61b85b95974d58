"""What labels are used for: nothing by default; what needs them says so."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.impute import KNNImputer

from kernimpute import (
    KernelImputationClassifier,
    KernelImputationRegressor,
    KernelImputer,
    impute_table,
)
from kernimpute.table.columns import TableError
from tests.estimators.problems import (
    GUIDED,
    collected_warnings,
    mixed_table,
    related_rows,
    same_bits,
)

GIVEN = {
    "kernel": "linear",
    "C": 2.0,
    "gamma": 0.5,
    "epsilon": 0.2,
    "class_weight": "balanced",
    "subset_size": 20,
    "max_memory": 0.5,
    "max_iter": 7,
    "eta": 3.0,
    "new_rows": "similar",
    "tol": 0.1,
    "task": "classification",
    "n_draws": 2,
}
"""A value other than its default for each parameter that is not always used."""

OF_GUIDANCE = ("eta", "new_rows", "tol")
"""What nothing but guidance uses; a support vector machine uses the others in any case."""

OF_SVM = (*OF_GUIDANCE, "kernel", "C", "gamma", "epsilon", "subset_size", "max_memory")
"""What the average of kinds does not use."""


@pytest.mark.parametrize("name", GIVEN)
@pytest.mark.parametrize(
    ("estimator", "unused"),
    [
        (KernelImputer(), [*GIVEN]),
        (KernelImputer(use_labels="posterior"), [name for name in GIVEN if name != "task"]),
        (KernelImputer(guidance="anchored"), []),
        (KernelImputationClassifier(), OF_SVM),
        (KernelImputationRegressor(), OF_SVM),
        (KernelImputationClassifier(machine="svm"), (*OF_GUIDANCE, "n_draws")),
        (KernelImputationClassifier(machine="svm", guidance="direct"), ["n_draws"]),
        (KernelImputationRegressor(machine="svm", use_labels="own"), (*OF_GUIDANCE, "n_draws")),
    ],
    ids=repr,
)
def test_a_parameter_that_nothing_uses_is_refused_by_name(estimator, unused, name):
    if not hasattr(estimator, name):
        return
    X, y = related_rows(12)
    given = clone(estimator).set_params(**{name: GIVEN[name]})
    if name not in unused:
        given._validate_params()
        return
    where = "where labels are not used" if name == "task" else "without guidance"
    if hasattr(estimator, "machine"):
        where = "with machine='svm'" if name == "n_draws" else where
        where = "unless machine='svm'" if estimator.machine == "average" else where
    owner = type(estimator).__name__
    with pytest.raises(
        ValueError,
        match=f"^The '{name}' parameter of {owner} must be left out {where}. Got {GIVEN[name]!r} ",
    ):
        given.fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reference": "expected"}, "'reference' .* 'expected' is a kernel .*guidance='anchored'"),
        ({"reference": "expected", "guidance": "paper"}, "'reference' parameter of KernelImputer"),
        ({"reference": "mean", "use_labels": "own"}, "'use_labels' .* None unless reference='jo"),
        ({"guidance": "magic"}, "'guidance' parameter of KernelImputer"),
        ({"guidance": "direct", "y": None}, "requires y to be passed"),
        ({"use_labels": "posterior", "y": None}, "requires y to be passed"),
        ({"use_labels": "own", "y": np.zeros((30, 2))}, r"'y' .* one label a row. .*\(30, 2\)"),
        ({"y": ["a", "b"]}, r"inconsistent numbers of samples: \[30, 2\]"),
        ({"guidance": "direct", "epsilon": 0.2}, "'epsilon' .* left out where y is made of class"),
        (
            {"guidance": "direct", "class_weight": "balanced", "y": np.linspace(0.0, 1.0, 30)},
            "'class_weight' parameter of KernelImputer must be left out where y is a quantity",
        ),
        ({"guidance": "direct", "y": np.zeros(30)}, "at least 2 classes"),
        ({"use_labels": "own", "y": ["a"] * 30}, "at least 2 classes"),
    ],
    ids=str,
)
def test_contradictions_and_missing_labels_are_refused(options, message):
    X, y = related_rows(30)
    labels = options.get("y", y)
    imputer = KernelImputer(**{name: value for name, value in options.items() if name != "y"})
    with pytest.raises(ValueError, match=message):
        imputer.fit(X, labels)


@pytest.mark.parametrize("predictor", [KernelImputationClassifier, KernelImputationRegressor])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"guidance": "direct"}, "'guidance' .* must be left out unless machine='svm'. Got 'dir"),
        ({"use_labels": "own"}, "'use_labels' parameter .* must be left out unless machine='svm'"),
        ({"n_draws": 2, "reference": "mean"}, "'n_draws' .* must be None unless reference='joint'"),
        ({"n_draws": 0}, "'n_draws' parameter .* must be None or an int in"),
        ({"machine": "trees"}, "'machine' parameter .* must be a str among"),
    ],
    ids=str,
)
def test_options_that_the_average_does_not_take_are_refused(predictor, options, message):
    with pytest.raises(ValueError, match=message):
        predictor(**options).fit(*related_rows(30))


@pytest.mark.parametrize(
    "options",
    [{}, {"reference": "mean"}, {"reference": KNNImputer()}, {"use_labels": "posterior"}],
    ids=str,
)
def test_training_rows_are_filled_as_new_ones(options):
    """To the last bit, unless a row's own label has a part in its fill."""
    X, y = related_rows()
    imputer = KernelImputer(**options)
    assert same_bits(imputer.fit_transform(X, y), imputer.transform(X))
    frame, y = mixed_table()
    weights = np.arange(len(y)) % 5 / 2.0
    filled = imputer.fit_transform(frame, y, sample_weight=weights)
    again = clone(imputer).fit(frame, y, sample_weight=weights).transform(frame)
    pd.testing.assert_frame_equal(filled, again, check_exact=True)


@pytest.mark.parametrize(
    "options", [GUIDED, {"guidance": "direct"}, {"use_labels": "own"}], ids=str
)
def test_own_labels_make_training_rows_differ_from_new_ones(options):
    X, y = related_rows()
    imputer = KernelImputer(**options)
    assert not np.array_equal(imputer.fit_transform(X, y), imputer.transform(X))


@pytest.mark.parametrize(
    "labels", [None, np.zeros(60), np.full(60, np.nan), ["a", 1.0, None] * 20], ids=str
)
def test_labels_that_nothing_uses_are_only_counted(labels):
    X, y = related_rows()
    expected = KernelImputer().fit_transform(X, y)
    imputer = KernelImputer()
    assert same_bits(imputer.fit_transform(X, labels), expected)
    assert not hasattr(imputer, "classes_")


def test_guidance_from_the_joint_normal_starts_there_and_leaves_new_rows_to_it():
    X, y = related_rows()
    plain, held, moved = (
        KernelImputer(**options)
        for options in ({}, {"guidance": "direct", "eta": np.inf}, {"guidance": "direct"})
    )
    fills = [imputer.fit_transform(X, y) for imputer in (plain, held, moved)]
    np.testing.assert_allclose(fills[1], fills[0], rtol=0.0, atol=1e-12)
    assert 1e-3 < np.abs(fills[2] - fills[0]).max()
    for imputer in (held, moved):
        np.testing.assert_array_equal(imputer.transform(X), plain.transform(X))


@pytest.mark.parametrize("options", [{}, {"guidance": "direct"}, GUIDED], ids=str)
def test_concurrent_fits_and_transforms_give_equal_results(options):
    X, y = related_rows()
    X_new = related_rows(seed=1)[0]
    shared = KernelImputer(**options).fit(X, y)
    expected = KernelImputer(**options).fit_transform(X, y), shared.transform(X_new)
    filters = list(warnings.filters)

    def work(_):
        fitted = KernelImputer(**options)
        return fitted.fit_transform(X, y), shared.transform(X_new), fitted.transform(X_new)

    with ThreadPoolExecutor(4) as pool:
        for filled, new, own in pool.map(work, range(8)):
            assert same_bits(filled, expected[0]) and same_bits(new, expected[1])
            assert same_bits(own, expected[1])
    assert list(warnings.filters) == filters


LAZY = pl.DataFrame({"a": [1.0, None] * 30}).lazy()


@pytest.mark.parametrize(
    "estimator",
    [KernelImputer(), KernelImputationClassifier(), KernelImputationRegressor()],
    ids=repr,
)
def test_a_lazy_table_and_a_lack_of_labels_say_what_to_do(estimator):
    X, y = related_rows()
    fitted = clone(estimator).fit(X, y)
    answer = getattr(fitted, "transform", getattr(fitted, "predict", None))
    told = "must be in memory: pass what its collect.*Got a lazy LazyFrame of polars"
    for lazy, call in (("X", lambda: fitted.fit(LAZY, y)), ("X", lambda: answer(LAZY))):
        with pytest.raises(TypeError, match=f"^The '{lazy}' parameter of .*{told}"):
            call()
    with pytest.raises(TypeError, match=f"^The 'y' parameter of .*{told}"):
        fitted.fit(X, LAZY)
    if estimator._predicts:
        with pytest.raises(ValueError, match=r"y is None: call fit\(X, y\) with the label of each"):
            estimator.fit(X)


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        ([f"t{row}" for row in range(60)], "at most 300 classes.* 60 distinct values in 60 rows"),
        ([f"t{row % 30}" for row in range(60)], "Got 30 distinct .*identifier, or a quantity"),
        (np.linspace(0.0, 1.0, 60), "classes. Got fractions, such as 0.0169.*: continuous labels"),
        (["x", None] * 30, "complete, without NaN or None.*: leave out the rows without a label"),
        (pd.date_range("2020-01-01", periods=60), ": make numbers of dates, such as days. Got dat"),
    ],
    ids=["unique", "nearly unique", "fractions", "gaps", "dates"],
)
def test_labels_that_are_no_classes_are_refused_at_once_in_the_words_of_a_classifier(labels, told):
    X, _ = related_rows()
    with collected_warnings() as collected, pytest.raises((ValueError, TypeError), match=told):
        KernelImputationClassifier().fit(X, labels)
    assert not collected
    table = pd.DataFrame(X, columns=[*"abcd"]).assign(y=labels)
    if "identifier" in told:
        with pytest.raises(TableError, match="'y' must hold classes that recur"):
            impute_table(table, "y", guidance="direct", task="classification")


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        (pd.date_range("2020-01-01", periods=60), "numbers, such as days, or into a categorical"),
        (["2020-01-01", "2021-02-03"] * 30, "numbers, such as days, or into a categorical column"),
        (["1,5", "2,5"] * 30, "make numbers of them, with a point before decimals, or use task="),
    ],
    ids=["dates", "text of dates", "decimal commas"],
)
def test_a_label_is_never_to_be_dropped_or_ignored(labels, told):
    X, _ = related_rows()
    table = pd.DataFrame(X, columns=[*"abcd"]).assign(y=labels)
    with pytest.raises(TableError, match=told) as refusal:
        impute_table(table, "y", guidance="direct", task="regression")
    assert "ignore" not in str(refusal.value)
    if isinstance(labels, list):
        with pytest.raises(ValueError, match="numbers .* with a point before decimals. Got text"):
            KernelImputationRegressor().fit(X, labels)


def test_progress_tells_each_stage_and_a_large_table_gets_its_hint_first(capsys, monkeypatch):
    X, y = related_rows()
    KernelImputationClassifier(verbose=1).fit(X, y)
    told = capsys.readouterr().err.splitlines()
    stages = ("joint normal", "kernel ridge", "logistic regression", "trees")
    assert told == [f"[KernelImputationClassifier] {stage} of 60 rows" for stage in stages]
    monkeypatch.setattr("kernimpute.estimators._base.MANY_ROWS", 50)
    monkeypatch.setattr("kernimpute.estimators._base.fit_joint", None)
    for estimator in (KernelImputer(guidance="direct"), KernelImputationClassifier(machine="svm")):
        with pytest.warns(UserWarning, match="60 rows at once take long.*subset_size=500"):
            with pytest.raises(TypeError, match="not callable"):
                estimator.fit(X, y)
