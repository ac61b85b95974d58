"""Facts of a table: gaps by column, row and class, and whether they tell of the label."""

import numpy as np
import pandas as pd
import pytest

from kernimpute.comparison.facts import facts_of, gaps_tell, holm


def made_table(seed, *, n_rows=200, of_label=0.0, of_column=0.0):
    """Return a table with gaps in two columns that tell of the label, or of another column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    chance = 1.0 / (1.0 + np.exp(0.8 - of_column * X[:, 2]))
    gaps = rng.random((n_rows, 2)) < chance[:, None]
    log_odds = X[:, 2] + of_label * (gaps.sum(axis=1) - gaps.sum(axis=1).mean())
    y = (rng.random(n_rows) < 1.0 / (1.0 + np.exp(-log_odds))).astype(int)
    X[:, :2][gaps] = np.nan
    table = pd.DataFrame(X, columns=[*"abcde"])
    table["f"] = pd.Categorical(
        np.where(rng.random(n_rows) < 0.1, None, rng.choice([*"uv"], n_rows))
    )
    return table, y


def p_of(table, y, task="classification"):
    return gaps_tell(table, table.isna().to_numpy(), y, task, seed=0)


def test_gaps_that_tell_are_found_and_others_not():
    found = [p_of(*made_table(seed, of_label=1.5)) for seed in range(10)]
    assert sum(p < 0.01 for p in found) >= 9
    # Gaps that another column explains say nothing beyond it.
    explained = np.array([p_of(*made_table(seed, of_column=2.0)) for seed in range(25)])
    independent = np.array([p_of(*made_table(seed)) for seed in range(25)])
    for p in (explained, independent):
        assert (p < 0.05).sum() <= 4  # Binomial(25, .05) exceeds 4 once in 140 times.
        assert 0.3 < p.mean() < 0.7


def test_gaps_may_tell_of_a_quantity_and_of_three_classes():
    table, _ = made_table(0)
    gap = table["a"].isna().to_numpy()
    rng = np.random.default_rng(1)
    assert p_of(table, gap + rng.normal(size=len(gap)), "regression") < 0.01
    assert p_of(table, np.where(gap, 2, rng.integers(0, 3, len(gap)))) < 0.01
    assert p_of(table, rng.normal(size=len(gap)), "regression") > 0.01


@pytest.mark.parametrize("missing", ["nothing", "a whole column"])
def test_gaps_that_tell_no_rows_apart_have_no_p_value(missing):
    table = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": [1.0, 3.0, 2.0, 4.0]})
    if missing == "a whole column":
        table["b"] = np.nan
    assert p_of(table, np.array([0, 1, 0, 1])) is None


def test_facts_of_a_table_by_hand():
    table = pd.DataFrame(
        {
            "id": np.arange(24.0),
            "x": [np.nan] * 6 + [1.0] * 18,
            "c": pd.Categorical(["u"] * 22 + ["rare", None]),
        }
    )
    y = np.array(["no"] * 12 + ["yes"] * 12)
    facts = facts_of(table, y, "classification", has_groups=False, seed=0)
    assert (facts["n_rows"], facts["n_columns"], facts["n_gaps"]) == (24, 3, 7)
    assert facts["classes"] == {"no": 12, "yes": 12}
    of_x = facts["columns"][1]
    assert of_x["gaps_by_class"] == {"no": 0.5, "yes": 0.0}
    assert (of_x["kind"], of_x["n_gaps"], facts["columns"][0]["p"]) == ("number", 6, None)
    assert (facts["rows"]["complete"], facts["rows"]["empty"], facts["n_patterns"]) == (17, 0, 3)
    assert facts["patterns"][:2] == [{"columns": [], "n_rows": 17}, {"columns": ["x"], "n_rows": 6}]
    assert facts["identifiers"] == ["id"]
    assert facts["rare_categories"] == [{"column": "c", "category": "rare", "n_rows": 1}]
    assert facts["n_copies"] == 0
    assert of_x["p"] < 0.05
    grouped = facts_of(table, y, "classification", has_groups=True, seed=0)
    assert grouped["gaps_tell"]["p"] is grouped["columns"][1]["p"] is None
    assert facts_of(table[["x"]], y, "classification", has_groups=True, seed=0)["n_copies"] == 22


def test_holm_steps_down():
    assert holm(np.array([0.04, 0.01, 0.03])).tolist() == [0.06, 0.03, 0.06]
    assert holm(np.array([])).size == 0
