"""docs/results.md says what the committed tables say, and these are made from the records."""

import re
from functools import cache
from pathlib import Path

import pytest

from experiments.tables.grid import markdown
from experiments.tables.overview import OVERVIEW, Results

ROOT = Path(__file__).resolve().parents[2]
COMMITTED = ROOT / "experiments" / "results"
PAGE = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
SECTIONS = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]


def prose_of(text):
    """Return a text without included files, code and the targets of links."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return re.sub(r"`[^`]*`|\]\([^)]*\)", "", text)


def numbers(text):
    return set(re.findall(r"\d+(?:\.\d+)?", text))


def is_in(number, known):
    """Return whether a number is among others, as they are or rounded to its decimals."""
    decimals = len(number.partition(".")[2])
    return number in known or (
        decimals > 0 and any(f"{float(other):.{decimals}f}" == number for other in known)
    )


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.partition("\n")[0])
def test_every_number_of_the_prose_is_in_a_table_of_its_section(section):
    tables = re.findall(r"results/tables/(\w+\.md)", section)
    if section.startswith("In short"):
        tables = [path.name for path in (COMMITTED / "tables").glob("overview_*.md")]
    known = {
        number
        for name in tables
        for number in numbers((COMMITTED / "tables" / name).read_text(encoding="utf-8"))
    }
    assert [one for one in numbers(prose_of(section)) if not is_in(one, known)] == []


def test_the_prose_is_short():
    assert len(prose_of(PAGE).split()) <= 2000


results = cache(Results)


@pytest.mark.parametrize("make", OVERVIEW, ids=lambda make: make.__name__)
def test_the_committed_tables_are_those_of_the_committed_records(make):
    table = make(results(COMMITTED))
    path = COMMITTED / "tables" / f"overview_{table.name}.md"
    assert path.read_text(encoding="utf-8") == markdown(table)
