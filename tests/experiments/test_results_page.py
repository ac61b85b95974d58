"""docs/results.md says what the committed tables say, and these are made from the records."""

import re
from functools import cache
from pathlib import Path

import pytest

from experiments.tables.grid import markdown
from experiments.tables.overview import OVERVIEW, Results, pairs_of, situations_table

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


@cache
def made(make):
    """Return a table of the committed records, made once."""
    return make(results(COMMITTED))


@pytest.mark.parametrize("make", OVERVIEW, ids=lambda make: make.__name__)
def test_the_committed_tables_are_those_of_the_committed_records(make):
    table = made(make)
    path = COMMITTED / "tables" / f"overview_{table.name}.md"
    assert path.read_text(encoding="utf-8") == markdown(table)


def test_in_13_of_14_situations_nothing_is_better_and_in_the_other_ten_are():
    rows = made(situations_table).blocks[0]
    better = [row[-1] for row in rows if row[-1] != "none"]
    assert (len(rows), len(better)) == (14, 1)
    assert better[0].startswith("10: ")
    for method in ("mean+svc", "K_o+refit", "direct[eta=inf]+refit"):
        assert f"`{method}`" in better[0]
    assert "`direct[labels=shuffled]+refit`" in better[0]
    assert "In 13 of 14 situations" in PAGE
    assert "ten are: the predictor, MI" in PAGE.replace("\n  ", " ")


def test_pairs_differ_in_one_part():
    methods = ["mean+svc", "K_o+refit", "direct+refit", "direct[labels=shuffled]+refit"]
    assert list(pairs_of(methods)) == [
        ("Stage II alone, over column means", "K_o+refit", "mean+svc"),
        ("the guided filling, over Stage II alone", "direct+refit", "K_o+refit"),
        ("the variant, `refit`, over MI", "direct+refit", "mean+svc"),
        ("guidance by labels, over column means", "direct+refit", "mean+svc"),
        (
            "guidance by permuted labels, over column means",
            "direct[labels=shuffled]+refit",
            "mean+svc",
        ),
        ("true labels, over permuted ones", "direct+refit", "direct[labels=shuffled]+refit"),
    ]
