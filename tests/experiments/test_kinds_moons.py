import numpy as np
import pytest

from experiments.config import load_config
from experiments.kinds import moons

CONFIG = load_config("moons")


def parts(method):
    (unit,) = moons.units(CONFIG)
    rows = moons.rows(CONFIG, unit, method, None)
    assert {name for row in rows for name in row} == set(moons.columns)
    points = [row for row in rows if row["what"] == "point"]
    return points, [row for row in rows if row["what"] == "grid"]


@pytest.mark.parametrize("method", ["mean", "direct", "anchored"])
def test_only_the_missing_cells_differ_from_the_truth(method):
    points, grid = parts(method)
    assert len(points) == CONFIG.n_samples and len(grid) == CONFIG.grid**2
    holed = [row for row in points if row["missing_column"] is not None]
    assert [row["missing_column"] for row in holed].count(0) == CONFIG.n_missing // 2
    assert len(holed) == CONFIG.n_missing
    for row in points:
        for column in (0, 1):
            name = f"x_{column + 1}", f"true_{column + 1}"
            if column != row["missing_column"]:
                assert row[name[0]] == row[name[1]]
    assert all(0.0 <= row[f"x_{c}"] <= 1.0 for row in holed for c in (1, 2))


def test_the_mean_is_that_of_the_observed_cells():
    points, _ = parts("mean")
    for column in (0, 1):
        observed = [row[f"true_{column + 1}"] for row in points if row["missing_column"] != column]
        filled = [row[f"x_{column + 1}"] for row in points if row["missing_column"] == column]
        np.testing.assert_allclose(filled, np.mean(observed), rtol=1e-12)


def test_the_boundary_separates_the_moons():
    points, grid = parts("direct")
    right = [(row["decision"] > 0) == (row["label"] == 1) for row in points]
    assert np.mean(right) > 0.9
    decisions = [row["decision"] for row in grid]
    assert min(decisions) < 0.0 < max(decisions)
    assert (grid[0]["x_1"], grid[0]["x_2"]) == (0.0, 0.0)
    assert (grid[-1]["x_1"], grid[-1]["x_2"]) == (1.0, 1.0)


def test_methods_share_the_moons_and_repetitions_do_not():
    first, _ = parts("mean")
    second, _ = parts("direct")
    assert [row["true_1"] for row in first] == [row["true_1"] for row in second]
    units = moons.units(CONFIG.model_copy(update={"repetitions": 2}))
    other = moons.rows(CONFIG, units[1], "mean", None)
    assert [row["true_1"] for row in first] != [row["true_1"] for row in other[: len(first)]]


def test_another_method_is_refused():
    methods = (CONFIG.methods[0].model_copy(update={"name": "x"}),)
    with pytest.raises(ValueError, match="must be one of: mean, direct, anchored; got 'x'"):
        moons.units(CONFIG.model_copy(update={"methods": methods}))
