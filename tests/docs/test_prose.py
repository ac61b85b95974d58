"""The documents are short, in short sentences."""

import re
import statistics
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "benchmarks/README.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]
MOST_WORDS = 12_000
LONGEST_SENTENCE = 35
MEDIAN_SENTENCE = 18


def paragraphs(page):
    """Return the prose of a page: no code, tables, headings, comments or directives."""
    text = re.sub(r"^---\n.*?^---\n", "", page, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^( *)(```+).*?^\1\2 *$", "\n", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"\$\$.*?\$\$", "\n", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->|<[^>]+>", "", text, flags=re.DOTALL)
    lines = [
        "" if re.match(r"\s*(\||#|!\[|:::|\+\+\+|:[\w-]+:)|    (?![ \-*\d])", line) else line
        for line in text.splitlines()
    ]
    parts = re.split(r"\n\s*\n|\n\s*(?:[-*]|\d+\.) ", "\n".join(["", *lines]))
    cleaned = (re.sub(r"\]\([^)]*\)", "]", part) for part in parts)
    return [" ".join(part.split()) for part in cleaned if part.strip()]


def words(text):
    return [word for word in text.split() if re.search(r"\w", word)]


def sentences(page):
    """Return the sentences of a page, each a list of words."""
    ends = r"(?<=[.!?:])[)*\"]*\s+(?=[A-Z0-9`*\[(“\"$])"
    return [words(one) for part in paragraphs(page) for one in re.split(ends, part) if words(one)]


def test_all_pages_together_are_short():
    counts = [(len(words(" ".join(paragraphs(page.read_text())))), page.name) for page in PAGES]
    assert sum(count for count, _ in counts) <= MOST_WORDS, counts


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_sentences_are_short(page):
    found = sentences(page.read_text(encoding="utf-8"))
    assert [" ".join(one) for one in found if len(one) > LONGEST_SENTENCE] == []
    lengths = [len(one) for one in found if len(one) > 3]
    assert not lengths or statistics.median(lengths) < MEDIAN_SENTENCE
