"""Whole tables: roles of the columns, tasks, rows without a label, refusals."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.impute import KNNImputer

from kernimpute import KernelImputer, Status, TableWarning, impute_table, load, save
from kernimpute.table.columns import TableError
from tests.estimators.problems import GUIDED, assert_table_filled, mixed_table


@pytest.fixture
def table():
    """Return 40 rows of six kinds of columns with gaps, an identifier and a label."""
    frame, y = mixed_table(40)
    frame.insert(0, "id", np.arange(1000, 1040))
    frame["outcome"] = np.where(y, "ill", "well")
    return frame


def test_the_table_comes_back_filled_and_otherwise_the_same(table):
    before = table.copy(deep=True)
    imputation = impute_table(table, "outcome", ignore=["id"])
    pd.testing.assert_frame_equal(table, before)
    assert_table_filled(table, imputation.table)
    for name in table.columns:
        assert imputation.filled.get(name, 0) == table[name].isna().sum()
        np.testing.assert_array_equal(imputation.filled_cells(name), table[name].isna())
    np.testing.assert_array_equal(imputation.observed, table.notna())
    assert imputation.n_filled == table.isna().sum().sum()
    assert imputation.n_rows == 40 and imputation.n_unlabelled == 0
    assert imputation.status is Status.CONVERGED


def features_of(table):
    return table.drop(columns=["id", "outcome"])


@pytest.mark.parametrize(
    "options",
    [
        GUIDED,
        {"use_labels": "own"},
        {"guidance": "released", "max_iter": 2},
        {"guidance": "anchored", "reference": "expected"},
        {**GUIDED, "subset_size": 12, "random_state": 3},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:.*Stopped at max_iter")
def test_with_labels_in_use_it_is_the_imputer_on_the_rows_that_have_one(table, options):
    labelled = np.arange(40) % 5 > 0
    given = table.assign(outcome=table["outcome"].astype(object).where(labelled))
    imputation = impute_table(given, "outcome", ignore=["id"], **options)
    imputer = KernelImputer(**options)
    known = imputer.fit_transform(features_of(table[labelled]), table["outcome"][labelled])
    new = imputer.transform(features_of(table[~labelled]))
    pd.testing.assert_frame_equal(features_of(imputation.table[labelled]), known)
    pd.testing.assert_frame_equal(features_of(imputation.table[~labelled]), new)
    assert imputation.table["outcome"].equals(given["outcome"])
    assert imputation.n_unlabelled == 8
    assert any("rows without a label: 8, filled as new rows" in n for n in imputation.notes)
    assert dict(imputation.facts)["rows without a label"] == "8, filled as new rows"
    assert imputation.settings.get("kernel") == getattr(imputer, "kernel_", None)
    assert (imputation.task, imputation.n_classes) == ("classification", 2)


@pytest.mark.parametrize("options", [{}, {"reference": "mean"}, {"random_state": 3}], ids=str)
def test_without_labels_in_use_it_is_the_imputer_on_all_rows(table, options):
    """The label column is kept as it is, whatever it holds; without a target it is filled, too."""
    expected = KernelImputer(**options).fit_transform(features_of(table))
    for labels in (table["outcome"].where(np.arange(40) % 5 > 0), "one class", np.nan):
        given = table.assign(outcome=labels)
        imputation = impute_table(given, "outcome", ignore=["id"], **options)
        pd.testing.assert_frame_equal(features_of(imputation.table), expected)
        pd.testing.assert_series_equal(imputation.table["outcome"], given["outcome"])
        assert imputation.n_unlabelled == given["outcome"].isna().sum()
        assert (imputation.task, imputation.n_classes) == (None, None)
        facts = dict(imputation.facts)
        assert facts["label"] == "outcome (not used)"
        assert not {"solver", "status", "subsets"} & facts.keys()
        assert not {"C", "kernel", "eta", "task"} & imputation.settings.keys()
    given = table.assign(outcome=table["outcome"].where(np.arange(40) % 5 > 0))
    imputation = impute_table(given, ignore=["id"], **options)
    filled = KernelImputer(**options).fit_transform(given.drop(columns="id"))
    pd.testing.assert_frame_equal(imputation.table.drop(columns="id"), filled)
    assert imputation.filled["outcome"] == 8
    assert any("every column is filled and used, a label too" in n for n in imputation.notes)
    assert "label" not in dict(imputation.facts)


def test_the_facts_name_the_method_and_a_note_names_the_leak(table):
    for options, method, leaks in (
        ({}, "joint normal", False),
        ({"reference": KNNImputer()}, "KNNImputer", False),
        ({"use_labels": "posterior"}, "joint normal with labels (posterior)", True),
        ({"use_labels": "own"}, "joint normal with labels (own)", True),
        ({"guidance": "direct"}, "direct from the joint normal, gaussian kernel, gamma ", True),
        (GUIDED, "direct from the column means, gaussian kernel, gamma ", True),
    ):
        imputation = impute_table(table, "outcome", ignore=["id"], **options)
        assert dict(imputation.facts)["method"].startswith(method)
        assert any("a score measured on these rows" in n for n in imputation.notes) == leaks


def test_gaps_only_in_rows_without_a_label():
    frame = pd.DataFrame(
        {"a": [0.0, 1.0, 2.0, 3.5, np.nan], "b": [1.0, 0.5, 3.0, 2.0, 1.5], "y": [0, 1, 0, 1, None]}
    )
    imputation = impute_table(frame, "y", guidance="direct")
    assert imputation.status is Status.CONVERGED
    assert imputation.imputer.status_ is Status.NOTHING_MISSING
    assert 0.0 <= imputation.table["a"].iloc[4] <= 3.5


def test_a_category_of_unlabelled_rows_alone_is_kept(table):
    table["outcome"] = table["outcome"].astype(object).where(np.arange(40) < 32)
    table.iloc[35, table.columns.get_loc("town")] = "elsewhere"
    with pytest.raises(TableError, match="Got 'elsewhere' besides"):
        impute_table(table, "outcome", guidance="direct", handle_unknown="error")
    with pytest.warns(TableWarning, match="are kept, and not used: 1 cell .*'town': 'elsewhere'"):
        imputation = impute_table(table, "outcome", ignore=["id"], guidance="direct")
    assert imputation.table["town"].iloc[35] == "elsewhere"
    assert not imputation.table.drop(columns="outcome").isna().any(axis=None)


def test_ignored_and_dropped_columns_change_nothing_else(table):
    kept = impute_table(table, "outcome", ignore=["id", "town"]).table
    left_out = impute_table(table, "outcome", drop=["id", "town"]).table
    pd.testing.assert_frame_equal(kept.drop(columns=["id", "town"]), left_out)
    pd.testing.assert_series_equal(kept["town"], table["town"])


def test_nothing_missing_is_returned_unchanged_with_a_note_and_needs_no_memory(table):
    table["note"] = ["seen", None] * 20
    complete = table.dropna(subset=table.columns.drop("note")).astype({"outcome": object})
    complete.iloc[0] = complete.iloc[1].where(complete.columns != "outcome", None)
    n_empty = complete["note"].isna().sum()
    imputation = impute_table(
        complete, "outcome", ignore=["id", "note"], guidance="direct", max_memory=1
    )
    pd.testing.assert_frame_equal(imputation.table, complete)
    assert imputation.status is Status.NOTHING_MISSING and imputation.filled == {}
    for note, words in zip(
        imputation.notes[:3],
        ("no other gap to fill", f"stay in columns that are ignored: note ({n_empty})", "label: 1"),
        strict=True,
    ):
        assert words in note


def test_missing_values_are_gaps_in_features_and_label():
    frame = pd.DataFrame(
        {
            "a": np.array([1, -999, 3, 4, 5, 9]),
            "c": ["x", "z", "?", "x", "z", "x"],
            "y": ["u", "v", "u", "v", "?", "v"],
        }
    )
    imputation = impute_table(frame, "y", missing_values=[-999, "?"])
    filled = imputation.table
    assert filled["a"].dtype == frame["a"].dtype and 1 <= filled["a"][1] <= 9
    assert filled["c"][2] in ("x", "z")
    assert filled["y"].tolist() == ["u", "v", "u", "v", "?", "v"]
    assert imputation.n_unlabelled == 1


@pytest.mark.parametrize(
    ("labels", "categorical", "task", "classes"),
    [
        (np.array([False, True]), [], "classification", [False, True]),
        (np.array([5, 9]), [], "classification", [5, 9]),
        (np.array([0.5, 1.5]), [], "regression", None),
        (np.array([0.5, 1.5]), ["outcome"], "classification", ["0.5", "1.5"]),
    ],
    ids=str,
)
def test_labels_of_any_kind_guide_alike(table, labels, categorical, task, classes):
    codes = (table["outcome"] == "well").to_numpy().astype(int)
    expected = impute_table(table, "outcome", ignore=["id"], **GUIDED)
    table["outcome"] = labels[codes]
    imputation = impute_table(table, "outcome", ignore=["id"], categorical=categorical, **GUIDED)
    assert imputation.task == task
    pd.testing.assert_series_equal(imputation.table["outcome"], table["outcome"])
    if classes is not None:
        assert imputation.imputer.classes_.tolist() == classes
        pd.testing.assert_frame_equal(features_of(imputation.table), features_of(expected.table))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "outcom"}, "target: there is no column 'outcom'. Did you mean 'outcome'?"),
        ({"drop": ["outcome"]}, "drop: the label column 'outcome' is needed"),
        ({"ignore": ["outcome"]}, "ignore: the label column 'outcome' is needed"),
        ({"drop": ["age"], "ignore": ["age"]}, "'age' is both in drop and in ignore"),
        ({"target": "id"}, "'id' must hold classes that recur|quantity"),
        ({"task": "regression"}, "'outcome' must hold numbers for regression"),
        ({"task": "ranking"}, "The 'task' parameter of impute_table must be one of"),
        ({"subset_size": 9}, "'subset_size' parameter of KernelImputer"),
        ({"kernel": "cubic"}, "'kernel' parameter of"),
        ({"target": None}, "'target' parameter of .* label column for guidance='direct'. Got None"),
        ({"guidance": None, "task": "regression"}, "'task' .* left out where labels are not used"),
        ({"guidance": None, "C": 2.0}, "'C' parameter of .* left out without guidance. Got 2.0"),
        ({"categorical_features": [0]}, "'categorical_features' .* of impute_table must be left"),
        ({"add_indicator": True}, "'add_indicator' parameter of impute_table must be left out"),
        ({"keep_empty_features": True}, "'keep_empty_features' .* of impute_table must be left ou"),
        ({"ignores": ["a"]}, "got an unexpected .*'ignores'"),
    ],
)
def test_refusals(table, options, message):
    options = {"target": "outcome", "guidance": "direct", **options}
    if options["target"] == "id":
        options["task"] = "classification"
    with pytest.raises((TypeError, ValueError), match=message):
        impute_table(table, options.pop("target"), **options)


def test_tables_and_labels_that_cannot_be_used_are_refused(table):
    infinite = [np.inf] + [1.0] * 39
    for given, match in (
        (table.iloc[:0], "at least one row"),
        (table[["outcome"]], "a column besides the label"),
        (pd.concat([table, table[["age"]]], axis=1), "distinct names. Got 'age'"),
        (table.assign(outcome="ill"), "at least two classes. Got 'ill' in all 40 rows"),
        (table.assign(outcome=np.nan), "'outcome' must hold labels. Got gaps only"),
        (table.assign(outcome=infinite), "'outcome' column .* finite numbers. Got inf"),
        (table.assign(age=infinite), "'age' column .* finite numbers. Got inf"),
        (table.assign(when=pd.Timestamp("2020-01-01")), "'when' column .* Got datetime64.*ignore"),
        (pd.DataFrame({"a": [np.nan] * 3, "outcome": [0, 1, 0]}), "in a row that has a label"),
    ):
        with pytest.raises(TableError, match=match):
            impute_table(given, "outcome", guidance="direct")
    with pytest.raises(TableError, match="at least two values. Got 0.5 in all 40 rows"):
        impute_table(table.assign(outcome=0.5), "outcome", guidance="direct", task="regression")
    with pytest.raises(TypeError, match=r"must be a pandas DataFrame. Got numpy.ndarray\."):
        impute_table(table.to_numpy(), "outcome")
    with pytest.raises(TypeError, match=r"Got pyarrow.Table: pass its .to_pandas\(\) instead"):
        impute_table(pa.table({"a": [1.0]}), "outcome")


def test_missing_values_may_differ_by_column(tmp_path):
    table = pd.DataFrame({"glucose": [0.0, 90.5, 100.0, 110.0] * 5, "pulse": [0, 60, 70, 80] * 5})
    with pytest.warns(TableWarning, match="no cell holds the missing value 7"):
        done = impute_table(table, missing_values={"glucose": [0, "0"], "pulse": 7})
    assert done.filled == {"glucose": 5}
    save(done.imputer, tmp_path / "m.skops")
    again = load(tmp_path / "m.skops").transform(table)
    pd.testing.assert_frame_equal(again, done.table, check_dtype=False)
