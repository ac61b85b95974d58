"""Tables of results that the build of the documents writes anew, so that none is typed by hand."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLES = ROOT / "experiments" / "results" / "tables"
sys.path.insert(0, str(ROOT))

from benchmarks.tables import all_tables  # noqa: E402

__all__ = ["tables_of_results"]


def tables_of_results() -> dict[str, str]:
    """Return the tables of the benchmarks, and parts of the panels' tables."""
    return {**all_tables(), **excerpts()}


def excerpts() -> dict[str, str]:
    """Return the parts of the panels' tables that the front page of the results shows."""
    tools = ["kernimpute", "chained ridge, tuned", "missForest", "KNN, k tuned", "KNN"]
    tools += ["IterativeImputer", "means"]
    methods = ["kernimpute predictor", "kernimpute + SVM", "kernimpute + logistic"]
    methods += ["means + SVM", "extra trees on means", "gradient boosting"]
    own = ["kernimpute predictor", "means + indicators + SVM", "means + indicators + logistic"]
    own += ["extra trees on means", "kernimpute + SVM", "means + SVM", "kernimpute + logistic"]
    squared = ["kernimpute predictor", "means + SVR", "extra trees on means"]
    squared += ["IterativeImputer + RidgeCV", "kernimpute + RidgeCV", "gradient boosting"]
    gains = {1: "log loss", 2: "tables better : worse"}
    return {
        "fills": excerpt("panel_a_error", tools, {0: "fill", 6: "error", 8: "seconds"}),
        "prediction": excerpt(
            "panel_a_prediction_gaps", methods, {0: "panel A", **gains, 5: "accuracy"}
        ),
        "own_gaps": excerpt(
            "panel_b_log_loss", own, {0: "panel B", 1: "log loss", 3: "tables better : worse"}
        ),
        "quantities": excerpt(
            "panel_r_error",
            squared,
            {0: "panel R", 1: "ratio", 3: "largest", 5: "tables better : worse"},
        ),
    }


def excerpt(name: str, rows: list[str], columns: dict[int, str]) -> str:
    """Return some rows and columns of a committed table, under other names of the columns."""
    lines = (TABLES / f"{name}.md").read_text(encoding="utf-8").splitlines()
    cells = [line.strip("| ").split(" | ") for line in lines if line.startswith("|")]
    by = {one[0].strip("`"): one for one in cells[2:]}
    chosen = [columns, cells[1], *(by[row] for row in rows)]
    return "".join(f"| {' | '.join(one[i] for i in columns)} |\n" for one in chosen)
