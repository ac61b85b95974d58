"""Tables say what the records say, in the paper's arrangement."""

import re
from functools import cache
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from experiments.published import CLASSIFICATION
from experiments.statistics import in_order, readings
from experiments.tables import make_tables, write_tables
from experiments.tables.grid import Table, markdown
from tests.experiments.made_records import COMMITTED, classification_records, committed

CONFIG = SimpleNamespace(name="classification", kind="classification", repetitions=10)
THREE = (("mean+svc", 0.8), ("direct+svc", 0.81), ("knn+svc", 0.79))
usual_tables = cache(lambda: make_tables(CONFIG, classification_records()))


def lines_of(table: Table, *lead: str) -> list[str]:
    start = f"| {' | '.join(lead)}"
    return [line for line in markdown(table).splitlines() if line.startswith(start)]


@pytest.mark.parametrize("name", ["recovery", "subsets", "separation", "inherent", "mlp"])
def test_the_committed_tables_are_those_of_the_committed_records(name, tmp_path):
    kind = "recovery" if name == "recovery" else "classification"
    repetitions = 8 if name == "separation" else 10
    config = SimpleNamespace(name=name, kind=kind, repetitions=repetitions)
    for path in write_tables(config, committed(name), tmp_path):
        text = path.read_text(encoding="utf-8")
        assert (COMMITTED / "tables" / path.name).read_text(encoding="utf-8") == text
        if path.suffix == ".tex":
            assert text.count(r"\begin{") == text.count(r"\end{") == 2
        lines = [line for line in text.splitlines() if line[:1] == "|" or line.endswith(r"\\")]
        columns = {len(re.findall(r"(?<!\\)\|| & ", line)) for line in lines}
        assert len(columns) == 1


def test_accuracy_is_the_mean_and_stands_beside_the_papers():
    table = usual_tables()[0]
    values = readings(in_order(classification_records())).loc[("heart", "mcar", 0.6), "mean+svc"]
    (plain,) = lines_of(table, "heart", "MI", "plain")
    assert f"{values.mean():.3f} ± {values.std(ddof=0):.3f}" in plain
    (published,) = lines_of(table, "heart", "MI", "published")
    assert [f"{one.mean:.3f} ± {one.std:.3f}" for one in CLASSIFICATION["heart"]["MI"]] == [
        cell.strip() for cell in published.split("|")[4:8]
    ]
    assert len(lines_of(table, "heart", "Ours", "published")) == 1


@pytest.mark.parametrize(("level", "bullets"), [(0.8, 16), (0.95, 0)])
def test_the_best_is_bold_once_a_cell_and_marked_where_it_stands_alone(level, bullets):
    # NewImp has three repetitions: it is never bold, but whoever it beats doesn't stand alone.
    levels = (("mean+svc", 0.7), ("direct+svc", 0.9), ("newimp+svc", level))
    table = make_tables(CONFIG, classification_records(methods=levels))[0]
    assert markdown(table).count("** •") == bullets
    assert all(line.count("**") == 8 for line in lines_of(table, "heart", "direct + SVM"))
    (line,) = lines_of(table, "heart", "NewImp + SVM", "plain")
    assert line.count("(3)") == 4 and "**" not in line


def test_failed_and_skipped_cells_are_shown_with_their_reason():
    records = classification_records(methods=(("mean+svc", 0.7), ("geom", 0.9)))
    gone = (records["method"] == "geom") & (records["dataset"] == "heart")
    # What failed as a whole has no rule, and one row.
    failed = records[gone & (records["rule"] == "plain")].assign(
        status="failed", reason="Too long.", rule=None, accuracy=np.nan
    )
    table = make_tables(CONFIG, pd.concat([records[~gone], failed]))[0]
    for rule in ("plain", "released"):
        (line,) = lines_of(table, "heart", "GEOM", rule)
        assert line.count(" failed |") == 4
    assert "GEOM: 40 of 160 runs failed: Too long." in table.notes
