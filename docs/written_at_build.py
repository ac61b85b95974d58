"""Pieces of pages that every build writes anew, so that they cannot drift."""

from __future__ import annotations

import sys
from pathlib import Path

from typer.main import get_command

from kernimpute.cli import app

__all__ = ["link_tables", "write_pieces"]

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.tables import all_tables  # noqa: E402

TABLES = ROOT / "experiments" / "results" / "tables"


def write_pieces(folder: Path) -> None:
    """Write the pieces into a folder."""
    tables = folder / "tables"
    tables.mkdir(parents=True, exist_ok=True)
    for path in TABLES.glob("*.md"):
        page = f"---\norphan: true\n---\n\n# {path.stem}\n\n" + path.read_text(encoding="utf-8")
        (tables / path.name).write_text(page, encoding="utf-8")
    for name, text in {**all_tables(), **excerpts()}.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    (folder / "commands.txt").write_text(commands(), encoding="utf-8")


def link_tables(app: object, name: str, source: list[str]) -> None:
    """Lead links to tables outside of the site to their pages in it."""
    source[0] = source[0].replace("](../experiments/results/tables/", "](generated/tables/")


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


def commands() -> str:
    """Return every command of the program with its arguments and options, in Markdown."""
    return "\n".join(_command(name, one) for name, one in get_command(app).commands.items())


def _command(name: str, command: object) -> str:
    lines = [f"## `kernimpute {name}`", "", command.help.replace("\b", ""), ""]
    lines += ["| option | meaning | default |", "|---|---|---|"]
    for parameter in command.params:
        help_text = getattr(parameter, "help", None) or ""
        names = ", ".join(f"`{one}`" for one in parameter.opts)
        if parameter.param_type_name == "argument":
            names = f"`{(parameter.metavar or parameter.name).strip('{}').upper()}`"
        is_switch = getattr(parameter, "is_flag", False)
        default = parameter.default
        shown = "" if is_switch or default in (None, (), [], "", ...) else f"`{default}`"
        lines.append(f"| {names} | {help_text} | {'required' if parameter.required else shown} |")
    return "\n".join([*lines, ""])
