"""Inputs that broke the first release, cases 17 to 28 of `cases/README.md`, by their numbers."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from kernimpute import (
    KernelImputationClassifier,
    KernelImputationRegressor,
    KernelImputer,
    impute,
    impute_table,
)
from kernimpute.cli import run
from tests.estimators.problems import amputed, collected_warnings, related_rows, uniform_rows

MACHINES = [
    KernelImputationClassifier(),
    KernelImputationRegressor(),
    KernelImputationClassifier(machine="svm"),
]


def with_towns(n_samples=60):
    """Return a table with a column of text of which one category stands in a single row."""
    X, y = related_rows(n_samples)
    frame = pd.DataFrame(X, columns=[*"abcd"])
    frame["town"] = np.where(np.arange(n_samples) % 3 == 0, "Ulm", "Bonn")
    frame.loc[[4, 9, 20], "town"] = None
    frame.loc[31, "town"] = "Aarhus"
    return frame, y


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_case_17_an_unknown_category_is_kept_and_the_rest_is_filled_as_at_a_gap(library):
    frame, y = with_towns()
    imputer = KernelImputer(add_indicator=True).fit(frame.drop(index=31), np.delete(y, 31))
    new, gap = (frame.assign(town=town) for town in ("  Aarhus", None))
    new.loc[[3, 4], "town"], new.loc[5, "town"] = "Ulm", None
    gap.loc[[3, 4], "town"] = "Ulm"
    given = pl.from_pandas(new) if library == "polars" else new
    with pytest.warns(UserWarning) as told:
        filled = imputer.transform(given)
    (warning,) = told
    assert str(warning.message) == (
        "KernelImputer: categories that fit did not see are kept, and not used: 57 cells of 1 "
        "column ('town': '  Aarhus' in 57 cells)."
    )
    filled = filled.to_pandas() if library == "polars" else filled
    seen = new["town"].notna()
    assert filled["town"][seen].tolist() == new["town"][seen].tolist()
    assert filled["town"][5] in ("Ulm", "Bonn")
    assert not filled["missingindicator_town"][seen].any()
    pd.testing.assert_frame_equal(filled[[*"abcd"]], imputer.transform(gap)[[*"abcd"]])


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_case_17_to_a_predictor_it_is_a_gap(machine):
    frame, y = with_towns()
    fitted = clone(machine).fit(frame.drop(index=31), np.delete(y, 31))
    with pytest.warns(UserWarning, match=r"count as gaps: 1 cell of 1 column \('town': 'Aarhus'"):
        got = fitted.predict(frame)
    np.testing.assert_array_equal(got, fitted.predict(frame.replace({"Aarhus": None})))


@pytest.mark.parametrize("estimator", [KernelImputer(), *MACHINES], ids=repr)
def test_case_17_it_is_refused_where_asked(estimator):
    frame, y = with_towns()
    strict = clone(estimator).set_params(handle_unknown="error")
    strict.fit(frame.drop(index=31), np.delete(y, 31))
    answer = getattr(strict, "transform", getattr(strict, "predict", None))
    with pytest.raises(ValueError, match=r"'town'.*'Aarhus' besides, in 1 cell.*='keep'"):
        answer(frame)
    with pytest.raises(ValueError, match="'handle_unknown' parameter .* must be a str among"):
        clone(estimator).set_params(handle_unknown="missing").fit(frame, y)


@pytest.mark.filterwarnings("ignore:.*did not see")
def test_case_17_a_rare_category_breaks_no_cross_validation():
    frame, y = with_towns()
    encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    imputer = KernelImputer().set_output(transform="pandas")
    pipeline = make_pipeline(imputer, encode, KernelImputationClassifier(machine="svm"))
    for model in (KernelImputationClassifier(), pipeline):
        # Warnings that are errors elsewhere would be scores of NaN here.
        assert (cross_val_score(model, frame, y, cv=3, error_score="raise") > 0.4).all()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_case_20_columns_that_are_constant_up_to_rounding_change_nothing(dtype):
    X, y = uniform_rows(200)
    generator = np.random.default_rng(3)
    level = np.array(0.3, dtype)
    noise = level + np.spacing(level) * generator.integers(-1, 2, (200, 10)).astype(dtype)
    assert noise.dtype == dtype
    names = [f"n{place}" for place in range(10)]
    plain = pd.DataFrame(X, columns=[*"abcde"])
    noisy = pd.concat([plain, pd.DataFrame(noise, columns=names)], axis=1)
    noisy.loc[::7, names] = np.nan
    filled = KernelImputer().fit_transform(noisy, y)
    pd.testing.assert_frame_equal(filled[[*"abcde"]], KernelImputer().fit_transform(plain, y))
    assert (np.abs(filled[names] - level) <= np.spacing(level)).all(axis=None)
    machine = KernelImputationClassifier()
    expected, got = (
        clone(machine).fit(one[:150], y[:150]).predict(one[150:]) for one in (plain, noisy)
    )
    np.testing.assert_array_equal(got, expected)


def test_case_20_a_narrow_column_is_used_like_a_wide_one():
    X, y = related_rows()
    narrow = X.copy()
    narrow[:, 1] = 1.0 + 1e-9 * X[:, 1]
    gaps = np.isnan(X[:, 1])
    wide, filled = (KernelImputer().fit_transform(one, y)[:, 1] for one in (X, narrow))
    np.testing.assert_allclose((filled[gaps] - 1.0) * 1e9, wide[gaps], rtol=1e-5)


@pytest.mark.parametrize("dtype", [float, np.float32, int, object])
def test_case_21_the_mask_of_an_array_is_honoured(dtype):
    X, y = uniform_rows()
    plain, gaps = np.nan_to_num(100.0 * X).astype(dtype), np.isnan(X)
    masked = np.ma.masked_array(np.where(gaps, np.asarray(99, dtype), plain), gaps)
    as_floats = np.where(gaps, np.nan, plain.astype(float))
    for estimator in (KernelImputer(), *MACHINES):
        fitted = clone(estimator).fit(masked, y)
        answer = getattr(fitted, "transform", getattr(fitted, "predict", None))
        expected = clone(estimator).fit(as_floats, y)
        expected = getattr(expected, "transform", getattr(expected, "predict", None))(as_floats)
        for given in (masked, as_floats):
            np.testing.assert_allclose(answer(given).astype(float), expected, rtol=1e-5)
    # A mask without gaps is no mask, and large integers are kept.
    large = np.ma.masked_array([[2**60 + 1, 1], [5, 2], [7, 4]], [[0, 0], [0, 0], [1, 0]])
    assert KernelImputer().fit_transform(large)[0, 0] == 2**60 + 1
    assert KernelImputer().fit(np.ma.masked_array(as_floats[:, :1] * 0 + y[:, None])).n_features_in_


@pytest.mark.parametrize("labels", [np.arange(40) % 2, np.array(["a", "b"] * 20)], ids=str)
def test_case_21_a_masked_label_or_weight_is_refused(labels):
    X = uniform_rows()[0]
    masked = np.ma.masked_array(labels, np.arange(40) == 3)
    for estimator in (KernelImputer(use_labels="own"), *MACHINES):
        with pytest.raises(ValueError, match="'y' parameter of .* complete.* leave out the rows"):
            clone(estimator).fit(X, masked)
    weights = np.ma.masked_array(np.ones(40), np.arange(40) == 3)
    with pytest.raises(ValueError, match="'sample_weight' .* finite .* Got nan in row 3"):
        KernelImputer().fit(X, sample_weight=weights)
    with pytest.raises(ValueError, match="'y' parameter of impute must be complete"):
        impute(np.ma.masked_array(np.nan_to_num(X), np.isnan(X)), masked)


@pytest.mark.parametrize("base", [10**18, -(2**63), 10**30])
def test_case_22_large_integers_are_told_apart_and_filled_inside_their_range(base):
    steps = np.arange(39) * 2
    dtype = "Int64" if base < 10**19 else object
    known = [base + int(step) for step in steps]
    frame = pd.DataFrame({"id": pd.Series([*known, None], dtype=dtype), "x": [*steps, 20.5]})
    small = frame.assign(id=pd.Series([*map(int, steps), None], dtype="Int64"))
    y = [0, 1] * 20
    imputer = KernelImputer().fit(frame, y)
    filled = imputer.transform(frame)["id"].tolist()
    assert filled[:39] == known and all(type(one) is int for one in filled)
    # The very fill of the small numbers, the base taken off.
    assert filled[39] - base == KernelImputer().fit(small, y).transform(small)["id"][39]
    # A float that stands for one of them is none of them to a marker.
    marked = KernelImputer(missing_values=base + 4).fit_transform(frame, y)["id"].tolist()
    assert [*marked[:2], *marked[3:39]] == [*known[:2], *known[3:]]


@pytest.mark.parametrize("base", [10**18, 10**30])
@pytest.mark.parametrize("output", ["o.csv", "o.parquet"])
def test_case_22_so_does_the_command_line(tmp_path, monkeypatch, capsys, base, output):
    monkeypatch.chdir(tmp_path)
    rows = [f"{base + 2 * row},{row % 7}.5,{row % 2}" for row in range(39)]
    (tmp_path / "t.csv").write_text("\n".join(["id,x,y", *rows, ",3.25,0"]) + "\n")
    # Parquet has no whole numbers beyond 64 bits, and floats would make one of 39.
    is_refused = output == "o.parquet" and base > 2**63
    assert run(["impute", "t.csv", "-t", "y", "-o", output, "-q"]) == is_refused
    if is_refused:
        assert "column 'id' holds whole numbers beyond 64 bits" in capsys.readouterr().err
        assert not (tmp_path / output).exists()
        assert run(["impute", "t.csv", "-t", "y", "-o", output, "-q", "--ignore", "id"]) == 0
        assert pd.read_parquet(output)["id"].tolist()[:39] == [row.split(",")[0] for row in rows]
    elif output == "o.csv":
        written = (tmp_path / output).read_text().splitlines()
        assert written[1:40] == rows
        assert base <= int(written[40].split(",")[0]) <= base + 76
    else:
        ids = pd.read_parquet(output)["id"].tolist()
        assert float(base) <= ids[39] <= float(base + 76)


TABLES_OF_CONSTANTS = {
    "numbers": np.where(np.random.default_rng(0).random((40, 3)) < 0.3, np.nan, 7.0),
    "complete": np.full((40, 3), 7.0),
    "rounded": 0.3 + np.spacing(0.3) * np.random.default_rng(0).integers(-1, 2, (40, 3)),
    "mixed": pd.DataFrame({"a": ["x", None] * 20, "b": [1.5] * 40, "c": [True] * 40}),
}


@pytest.mark.parametrize(
    ("name", "kernel"),
    [*zip(TABLES_OF_CONSTANTS, ["chi2", "linear", "polynomial", "gaussian"], strict=True)],
)
def test_case_24_a_table_of_constants_shows_no_warning(name, kernel):
    X, y = TABLES_OF_CONSTANTS[name], np.arange(40) % 2
    with collected_warnings() as collected:
        KernelImputer().fit(X).transform(X)
        guided = KernelImputer(guidance="direct", kernel=kernel)
        guided.fit(X, y).transform(X)
        guided.set_params(task="regression").fit_transform(X, np.arange(40.0))
        KernelImputationClassifier().fit(X, y).predict_proba(X)
        KernelImputationRegressor().fit(X, np.arange(40.0)).predict(X)
        svm = {"machine": "svm", "kernel": kernel}
        KernelImputationClassifier(**svm).fit(X, y).predict(X)
        KernelImputationRegressor(**svm).fit(X, np.arange(40.0)).predict(X)
    assert [str(warning.message) for warning in collected] == []


@pytest.mark.parametrize(
    ("low", "high", "dtype", "expected"),
    [
        (5, 9, "float64", 5.0),
        (5.5, 9.5, "Int64", 6),
        (-9, -5, "Int64", -5),
        (-9, 9, "float32", 0.0),
        (0.25, 0.75, "Int64", 0),
        (5, 9, object, 5),
    ],
)
def test_case_23_an_empty_column_is_filled_inside_its_declared_range(low, high, dtype, expected):
    frame = pd.DataFrame({"a": np.linspace(0.0, 1.0, 20), "e": pd.Series([None] * 20, dtype=dtype)})
    imputer = KernelImputer(keep_empty_features=True, feature_range={"e": (low, high)})
    for filled in (imputer.fit_transform(frame, [0, 1] * 10), imputer.transform(frame)):
        assert filled["e"].tolist() == [expected] * 20 and filled["e"].dtype == dtype


def test_case_23_so_is_one_under_a_range_for_all_and_one_of_text_is_refused():
    X = np.column_stack([np.linspace(5.0, 9.0, 20), np.full(20, np.nan)])
    imputer = KernelImputer(keep_empty_features=True, feature_range=(4.5, 10.0))
    np.testing.assert_array_equal(imputer.fit_transform(X, [0, 1] * 10)[:, 1], 4.5)
    frame = pd.DataFrame({"a": X[:, 0], "e": pd.Series([None] * 20, dtype="string")})
    with pytest.raises(ValueError, match="'e' column .* numbers for its range to be declared"):
        imputer.set_params(feature_range={"e": (5, 9)}).fit(frame, [0, 1] * 10)


def scans(dtype, codes=(3, 6, 7), n_samples=60):
    """Return a table with a code that depends on a number, and gaps in it, and labels."""
    generator = np.random.default_rng(0)
    x = generator.random(n_samples)
    code = np.array(codes, dtype=float)[np.minimum((3 * x).astype(int), len(codes) - 1)]
    frame = pd.DataFrame({"scan": amputed(code[:, None], 0.4, generator)[:, 0], "x": x})
    return frame.astype({"scan": dtype}), (x + 0.2 * generator.random(n_samples) > 0.6).astype(int)


@pytest.mark.parametrize("dtype", ["float64", "Int64", "float32", "int64[pyarrow]", object])
@pytest.mark.parametrize("codes", [(3, 6, 7), (0, 10), (-2, 0, 9)])
def test_case_28_few_whole_numbers_are_filled_with_the_nearest_of_them(dtype, codes):
    frame, y = scans(dtype, codes)
    gaps = frame["scan"].isna()
    imputer = KernelImputer()
    filled = imputer.fit_transform(frame, y)
    assert filled["scan"].dtype == frame["scan"].dtype and set(filled["scan"][gaps]) <= set(codes)
    # A frame's whose names are numbers, too; an array's are mere numbers, in a refit, too.
    numbered = imputer.fit_transform(frame.set_axis([0, 1], axis=1), y)
    np.testing.assert_array_equal(numbered, filled)
    raw = imputer.fit_transform(frame[["scan", "x"]].to_numpy(dtype=float), y)[:, 0]
    assert not np.isin(raw[gaps], codes).all()
    nearest = np.array(codes)[np.abs(raw[:, None] - np.array(codes)).argmin(axis=1)]
    assert filled["scan"].tolist() == nearest.tolist()


def test_case_28_python_and_the_command_line_agree(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame, y = scans("float64")
    table = frame.assign(y=y)
    table["scan"] = table["scan"].astype("Int64")
    table.to_csv("t.csv", index=False)
    table.to_parquet("t.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = KernelImputer().fit_transform(frame, y)["scan"].tolist()
        imputation = impute_table(frame.assign(y=y), "y")
    assert imputation.table["scan"].tolist() == expected
    (note,) = (note for note in imputation.notes if "few whole" in note)
    assert note == (
        "columns of few whole numbers are filled with the nearest of these; name codes as "
        "categorical if their order means nothing: scan"
    )
    for name in ("t.csv", "t.parquet"):
        assert run(["impute", name, "-t", "y", "-o", "o.csv", "-q", "--force"]) == 0
        assert pd.read_csv("o.csv")["scan"].tolist() == expected


@pytest.mark.parametrize(
    "feature_range", [{"scan": (0, 10)}, (0, 12)], ids=["its range", "one for all"]
)
def test_case_28_a_declared_range_says_that_they_are_a_quantity(feature_range):
    for dtype, is_whole in (("float64", False), ("Int64", True)):
        frame, y = scans(dtype, codes=(0, 10))
        filled = KernelImputer(feature_range=feature_range).fit_transform(frame, y)["scan"]
        assert not set(filled) <= {0, 10} and (filled == filled.round()).all() == is_whole


def test_case_28_a_count_is_filled_as_if_it_were_rounded():
    frame, y = scans("Int64", codes=(0, 1, 2, 3))
    raw = KernelImputer().fit_transform(frame.to_numpy(dtype=float, na_value=np.nan), y)[:, 0]
    assert KernelImputer().fit_transform(frame, y)["scan"].tolist() == np.rint(raw).tolist()
