"""The overview tables of docs/paper_results.md are made from the committed records."""

from functools import cache
from pathlib import Path

import pytest

from experiments.tables.grid import markdown
from experiments.tables.overview import OVERVIEW, Results

COMMITTED = Path(__file__).resolve().parents[2] / "experiments" / "results"
results = cache(Results)


@pytest.mark.parametrize("make", OVERVIEW, ids=lambda make: make.__name__)
def test_the_committed_tables_are_those_of_the_committed_records(make):
    table = make(results(COMMITTED))
    path = COMMITTED / "tables" / f"overview_{table.name}.md"
    assert path.read_text(encoding="utf-8") == markdown(table)
