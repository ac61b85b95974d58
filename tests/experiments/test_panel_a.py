"""Panel A: its tables, problems, field, measures and statistics, on a small table of its own."""

import json
import re
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from benchmarks.tools import markdown as markdown_of_tools
from benchmarks.tools import rows_of, summary
from experiments.panel_a import problems
from experiments.panel_a.__main__ import app
from experiments.panel_a.fillers import FILLERS, _permuted, filling_by
from experiments.panel_a.labels import INSIDE, OUTSIDE, with_labels
from experiments.panel_a.others import together
from experiments.panel_a.prediction import LEARNERS, loss
from experiments.panel_a.problems import problem_of, read_table, unrounded
from experiments.panel_a.run import MEASURED, errors_of
from experiments.panel_a.summary import compare, tables, wide
from experiments.panel_runs import read
from experiments.tables.grid import markdown

ROOT = Path(__file__).resolve().parents[2]
COMMITTED = ROOT / "experiments" / "results"


@pytest.fixture(scope="module")
def small():
    """Return 60 rows of two numbers, a whole number and a category, and two classes."""
    generator = np.random.default_rng(3)
    y = np.arange(60) % 2
    first = generator.normal(size=60) + y
    frame = pd.DataFrame(
        {
            "x0": first,
            "x1": 2.0 * first + 0.1 * generator.normal(size=60),
            "x2": pd.array(np.rint(3 * first).astype(int), dtype="Int64"),
            "x3": np.where(first > 1.2, "high", np.where(first > 0.0, "middle", "low")),
        }
    )
    return frame, y


@pytest.fixture(scope="module")
def problem(small):
    return problem_of(*small, "small", "mcar", 0.3, 0)


def test_a_file_is_read_as_the_panel_says(tmp_path):
    lines = [
        f"{row / 2}, {row}, {'ab'[row % 2]} , {'no' if row < 8 else 'yes'}" for row in range(16)
    ]
    lines += ["?, 1, a, no", "1.0, <null>, b, yes", *["1.5, 1, a, rare"] * 5]
    (tmp_path / "some.dat").write_text("\n".join(lines))
    X, y = read_table(tmp_path / "some.dat")
    assert [str(dtype) for dtype in X.dtypes[:2]] == ["float64", "Int64"]
    assert set(X["x2"]) == {"a", "b"}
    assert y.tolist() == [0] * 8 + [1] * 8
    (tmp_path / "long.dat").write_text("\n".join(f"{row},{row % 3}" for row in range(700)))
    assert len(read_table(tmp_path / "long.dat")[0]) == 600


@pytest.mark.parametrize("mechanism", ["mcar", "mar", "mnar"])
def test_a_problem_has_the_asked_gaps_in_training_and_new_rows(small, mechanism):
    made = problem_of(*small, "small", mechanism, 0.3, 0)
    again = problem_of(*small, "small", mechanism, 0.3, 0)
    other = problem_of(*small, "small", mechanism, 0.3, 1)
    assert (len(made.train), len(made.new)) == (42, 18)
    assert made.train.isna().to_numpy().sum() == round(42 * 4 * 0.3)
    assert made.removed.sum() == round(18 * 4 * 0.3)
    pd.testing.assert_frame_equal(made.train, again.train)
    assert not made.new.index.equals(other.new.index)
    assert (made.new.isna().to_numpy() >= made.removed).all()


def test_a_category_that_no_training_cell_shows_is_a_gap_of_new_rows(small):
    X, y = small
    alone = X.assign(x3=[f"row {row}" for row in range(60)])
    made = problem_of(alone, y, "small", "mcar", 0.3, 0)
    assert made.new["x3"].isna().all() and made.new_complete["x3"].isna().all()
    assert made.new_truth["x3"].notna().all() and not made.removed[:, 3].all()


@pytest.mark.parametrize("name", FILLERS)
def test_a_filler_leaves_no_gap_and_no_observed_cell_changed(problem, name):
    filling = filling_by(FILLERS[name], problem.train, problem.y_train, 1, [problem.new])
    for before, after in ((problem.train, filling.train), (problem.new, filling.others[0])):
        before, after = unrounded(before), unrounded(after)
        assert after.notna().all(axis=None) and list(after) == list(before)
        observed = before.notna()
        pd.testing.assert_frame_equal(after.where(observed), before, check_dtype=False)
    assert set(filling.others[0]["x3"]) <= {"low", "middle", "high"}
    whole = (filling.others[0]["x2"].astype(float) % 1 == 0).all()
    assert whole == name.endswith("whole")


def test_a_control_gives_the_filler_shuffled_labels(problem):
    control = _permuted(lambda train, y, seed: y)
    shuffled = control(problem.train, problem.y_train, 1)
    assert (shuffled != problem.y_train).any() and sorted(shuffled) == sorted(problem.y_train)


def test_labels_in_a_filling_that_is_fitted_before_a_cross_validation_leak(small):
    noise = np.random.default_rng(0).permutation(small[1])
    rows = with_labels(problem_of(small[0], noise, "small", "mcar", 0.6, 0), "direct, eta auto/64")
    accuracy = {row["rows"]: row["accuracy"] for row in rows if row["learner"].endswith("= 1")}
    assert accuracy[OUTSIDE] > accuracy[INSIDE] + 0.2


def test_draws_are_averaged_and_the_most_frequent_category_wins():
    frame = pd.DataFrame({"a": [np.nan], "b": [None]})
    train = pd.DataFrame({"a": [0.0, 9.0], "b": ["x", "y"]})
    draws = [pd.DataFrame({"a": [a], "b": [b]}) for a, b in ((1.0, "x"), (2.0, "y"), (6.0, "y"))]
    assert together(draws, frame, train).to_numpy().tolist() == [[3.0, "y"]]


def test_errors_are_in_deviations_of_complete_training_columns(problem):
    filled = unrounded(problem.new_truth)
    assert errors_of(problem, filled)["error"] == errors_of(problem, filled)["wrong"] == 0.0
    deviations = unrounded(problem.train_complete)[["x0", "x1", "x2"]].std(ddof=0)
    filled[["x0", "x1", "x2"]] += 2 * deviations
    found = errors_of(problem, filled.assign(x3="never"))
    assert found["error"] == pytest.approx(2.0) and found["wrong"] == 1.0
    assert found["n_numbers"] + found["n_categories"] == problem.removed.sum()


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_learner_on_separated_classes_is_sure_of_them(learner):
    y = np.arange(40) % 2
    Z = np.column_stack([4.0 * y - 2.0, np.zeros(40)])
    Z[:, 0] += np.random.default_rng(0).normal(size=40)
    rows = np.arange(40)
    folds = [
        ([Z[rows % 5 != k], Z[rows % 5 == k]], y[rows % 5 != k], rows[rows % 5 == k])
        for k in range(5)
    ]
    (probabilities,) = LEARNERS[learner]([Z, Z], y, folds)
    assert loss(y, probabilities) < 0.1


def test_a_probability_of_zero_costs_a_finite_loss():
    assert loss(np.array([0, 1]), np.array([[1.0, 0.0], [1.0, 0.0]])) == pytest.approx(
        -(np.log(1 / 1.001) + np.log(0.001 / 1.001)) / 2
    )


def test_a_run_resumes_and_a_method_can_be_replaced(small, tmp_path, monkeypatch):
    monkeypatch.setattr(problems, "load_table", lambda name: small)
    monkeypatch.setattr("experiments.panel_a.__main__.data_folder", lambda: tmp_path)

    def call(kind, *options):
        fixed = ["--results", str(tmp_path), "--jobs", "1", "--repetitions", "1", "--table", "wine"]
        ended = CliRunner().invoke(app, ["run", kind, *fixed, *options])
        assert ended.exit_code == 0, ended.output
        return ended.output, read(MEASURED[kind], tmp_path)

    said, rows = call("fills", "--setting", "mcar:0.2", "--method", "means", "--method", "KNN")
    assert "2 runs to do" in said and list(rows["method"]) == ["means", "KNN"]
    assert rows["reason"].isna().all() and (rows["error"] > 0).all()
    said, rows = call("fills", "--setting", "mcar:0.2", "--method", "means")
    assert "0 runs to do" in said and len(rows) == 2
    said, rows = call("fills", "--setting", "mcar:0.2", "--redo", "means")
    assert "1 run to do" in said and list(rows["method"]) == ["KNN", "means"]
    method = ("--method", "gradient boosting", "--method", "means + indicators")
    said, rows = call("prediction", "--setting", "mcar:0.3", *method)
    assert len(rows) == 2 + 4 and (rows["accuracy"] > 0.5).all()
    said, rows = call("labels", "--setting", "mcar:0.3", "--method", "own")
    assert len(rows) == 4 + 2 and (rows["accuracy"] > 0.5).all()


def row(table, rate, repetition, method, **measured):
    """Return a row as a run leaves it."""
    axes = {"table": table, "mechanism": "mcar", "rate": rate, "repetition": repetition}
    return {**axes, "method": method, **measured}


def test_a_comparison_is_over_tables_and_leaves_out_the_five_that_gain_most():
    names = ["crx", "australian", *"abcdef"]
    gains = {"crx": 3.0, "australian": 1.0, **dict(zip("abcdef", [-1, 1, 2, 3, 4, 5], strict=True))}
    rows = pd.DataFrame(
        [
            row(name, 0.3, r, m, v=v)
            for name in names
            for r in range(3)
            for m, v in (("first", gains[name] + 0.1 * r), ("second", 0.1 * r))
        ]
    )
    found = compare(wide(rows, "v"), "first", "second")
    # Over the sources 2 (crx and australian), -1, 1, 2, 3, 4, 5
    assert (found.mean, found.median) == (pytest.approx(16 / 7), 2.0)
    assert (found.up, found.down, found.tests) == (6, 1, (6, 1))
    assert found.rest == pytest.approx(0.0) and found.p == pytest.approx(0.03125 * 1.5, abs=0.03)
    assert found.error == pytest.approx(np.std([2, -1, 1, 2, 3, 4, 5], ddof=1) / 7**0.5)
    turned = compare(wide(rows, "v"), "first", "second", sign=-1)
    assert (turned.mean, turned.up, turned.down) == (-found.mean, 1, 6)


def test_the_committed_tables_are_those_of_the_committed_rows():
    for table in tables(COMMITTED / "panel_a"):
        path = COMMITTED / "tables" / f"{table.name}.md"
        assert path.read_text(encoding="utf-8") == markdown(table)


def test_the_tools_are_measured_and_tried(problem):
    tools = "KernelImputer", "SimpleImputer", "KNNImputer", "HistGradientBoostingClassifier"
    common = {"table": "small", "repetition": 0, "reason": None}
    rows = [{**rows_of(problem, tool)[0], **common, "method": tool} for tool in tools]
    ours, means, similar, boosting = summary(pd.DataFrame(rows))
    assert ours["error"] < means["error"] == 1.0 and boosting["error"] is None
    assert similar["tables with less error than KernelImputer"] in (0, 1)
    assert all(ours["facts"].values()) and not similar["facts"]["text"]


def test_the_readme_has_the_table_of_the_committed_tools():
    table = markdown_of_tools(
        json.loads((ROOT / "benchmarks/results/tools.json").read_text("utf-8"))
    )
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search("<!-- tools begins -->\n(.*?)<!-- tools ends -->", readme, re.DOTALL)
    assert found[1].strip() == table.strip()


def test_the_picture_shows_the_committed_errors():
    picture = runpy.run_path(str(ROOT / "examples" / "picture.py"))
    errors = json.loads(picture["FIGURES"].read_text())["root_mean_square_errors"]
    assert picture["errors"](*picture["filled_cells"]()) == pytest.approx(errors, rel=1e-3)
    drawn = picture["PICTURE"].read_text(encoding="utf-8")
    assert all(picture["title"](*pair) in drawn for pair in errors.items())
