"""Every measured number in the documents is in the result file that a comment after it names.

``<!-- from panel_a_aims.md: `means` & `KNN` -->`` stands behind a paragraph, list item or table.
The words after the file pick its records, so that a number can't be found just anywhere.
"""

import csv
import json
import re
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md")
PAGES = [*(ROOT / name for name in NAMES), *sorted((ROOT / "docs").glob("*.md"))]
FOLDERS = ("", "experiments/results/tables", "experiments/results", "benchmarks/results")
NUMBER = r"(?<![\w.}])[-+−]?(?:\d*\.)?\d+(?:e[-+]?\d+)?"
COMMENT = r"<!-- from (.*?) -->"
MEASURED = re.compile(  # Whole numbers alone are counts, sizes or settings: they are free.
    rf"(?P<share>{NUMBER}) ?%"
    rf"|(?P<cost>{NUMBER})[ -]?(?:ms|s|seconds?|minutes?|hours?|times|×|[KMG]i?B)(?!\w| ?\d)"
    r"|(?P<some>(?<![\w.,])\d+) of (?:the |all )?(?P<all>\d+)"
    r"|(?P<plain>(?<![\w}])[-+−]?\d*\.\d+(?:e[-+]?\d+)?|(?<![\w}])[+−]\d+)"
)
FREE = re.compile(  # Code, formulas, links, versions, parts of a paper, how much is missing.
    r"`[^`]*`|\$[^$]*\$|\]\([^)]*\)|https?://\S+|<[^!>][^>]*>|\d+\.\d+\.\d+"
    r"|\b(?:[Vv]ersions?|Python|NumPy|SciPy|pandas|scikit-learn|R|kernimpute) [<>=≥ ]*\d+\.\d+"
    r"|\[\d+\.\d+|\b(?i:section|table|figure|equation|eq\.) [\d.]+\d"
    r"|(?:\d+(?:,|,? and|,? or| to) )*\d+ % "
    r"(?:of (?:all |the |their )?cells )?(?:are )?(?:missing|removed)"
)


def numbers(text):
    text = re.sub(r"(?<=\d)[,_ ](?=\d{3}(?!\d))", "", text.replace("−", "-"))
    return [float(one) for one in re.findall(NUMBER, text)]


def objects(value, path):
    """Return the objects of JSON, each as a line: its path, keys and values."""
    named = list(value.items() if isinstance(value, dict) else enumerate(value))
    own = "; ".join(f"{key} = {one}" for key, one in named if not isinstance(one, dict | list))
    inner = [(one, f"{path}.{key}") for key, one in named if isinstance(one, dict | list)]
    return [f"{path}: {own}", *(line for one, at in inner for line in objects(one, at))]


@cache
def records(name):
    """Return the records of a file: rows of a table, objects of JSON, or else lines."""
    paths = [path for folder in FOLDERS if (path := ROOT / folder / name).is_file()]
    assert paths, f"there is no file {name}"
    text = paths[0].read_text(encoding="utf-8")
    if name.endswith(".json"):
        return objects(json.loads(text), "")
    if name.endswith(".csv"):
        return [
            "; ".join(map(" = ".join, row.items())) for row in csv.DictReader(text.splitlines())
        ]
    return text.splitlines()


def is_in(number, known, kind=""):
    """Return whether a number is among others, rounded to its decimals; no sign means either."""
    mantissa, _, power = (number := number.replace("−", "-")).partition("e")
    unit = 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))
    within = unit * (1e-6 if kind in ("some", "all") else 0.5 + 1e-6)
    known = [*known, *(100 * one for one in known if kind == "share")]
    signed = known if number[0] in "+-" else map(abs, known)
    return any(abs(float(number) - one) <= within for one in signed)


def known_by(comment, row):
    """Return the numbers that a comment vouches for, of a table's row those of its records."""
    sources, _, sums = comment.partition(" where ")
    known, own = [], rf"(?:^|[`|.:=;] ?){re.escape(row)}(?: ?[`|.:;]|$)"
    for source in sources.split("; "):
        name, _, words = source.partition(": ")
        found = [line for line in records(name) if all(one in line for one in words.split(" & "))]
        found = [line for line in found if not row or re.search(own, line)]
        assert found, f"no record of {source} {row}"
        known += [one for line in found for one in numbers(line)]
    for result, left, sign, right in re.findall(r"(\S+) = (\S+) ([-/]) (\S+?)(?:,|$)", sums):
        assert is_in(left, [1, *known]) and is_in(right, known), (
            f"{left} or {right} is in no source"
        )
        a, b = float(left), float(right)
        assert is_in(result, [a - b if sign == "-" else a / b], "share"), f"it is not {result}"
        known.append(float(result))
    return known


def unsupported(text, comments, row):
    """Return the measured numbers of a text, or all of a table's row, without their source."""
    known = [one for comment in comments for one in known_by(comment, row)]
    measured = re.compile(rf"(?P<share>{NUMBER})") if row else MEASURED
    found = [one.groupdict().items() for one in measured.finditer(FREE.sub(" ", text))]
    pairs = [(kind, one) for groups in found for kind, one in groups if one]
    return [one for kind, one in pairs if not is_in(one, known, kind)]


def units(page):
    """Return the paragraphs, list items and rows of tables of a page, with their comments."""
    page = re.sub(r"(\n## \[.*?)\n## \[.*", r"\1", page, flags=re.DOTALL)  # The newest version.
    page = re.sub(r"^( *)(```+|:::+).*?^\1\2 *$", "", page, flags=re.DOTALL | re.MULTILINE)
    page = re.sub(r"\$\$.*?\$\$|\A---\n.*?\n---\n", "", page, flags=re.DOTALL)
    page = re.sub(r"^(?:#|    +(?![-*\d ])).*$", "", page, flags=re.MULTILINE)
    for block in re.split(r"\n\s*\n(?!\s*<!--)|\n(?=\s*(?:[-*]|\d+\.) )", page):
        rows = re.findall(r"^\s*\|.*", block, flags=re.MULTILINE)
        around = re.sub(r"^\s*\|.*", "", block, flags=re.MULTILINE)
        for text in [around, *rows[2:]]:
            comments = re.findall(COMMENT, text, flags=re.DOTALL)
            row = ""
            if text is not around and not comments:
                comments = re.findall(COMMENT, around, flags=re.DOTALL)
                row = text.split("|")[1].strip(" `*") if comments else ""
            text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
            text = text.split("|", 2)[2] if row else text
            yield " ".join(text.split()), [" ".join(one.split()) for one in comments], row


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_measured_numbers_are_in_their_source(page):
    wrong = []
    for unit in units(page.read_text(encoding="utf-8")):
        try:
            missing = unsupported(*unit)
        except AssertionError as error:
            missing = str(error).partition("\n")[0]
        wrong += [f"{missing} in: {' '.join(unit[0].split())[:90]}"] if missing else []
    assert not wrong, "\n".join(wrong)


def test_every_generated_table_is_on_a_page(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    names = import_module("results_at_build").tables_of_results()
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md"))
    assert {*names, "commands"} == {*re.findall(r"```\{include\} generated/(\w+)\.txt", pages)}


OURS = "<!-- from panel_a_aims.md: | `kernimpute` & `missForest` -->"
TABLE = "| a | b |\n|---|---|\n| `means` | 1 |\n| `KNN` | .882 |\n| `mice` | 882 |\n"


@pytest.mark.parametrize(
    ("page", "missing"),
    [
        ("It has .945 of the error.", [".945"]),
        (f"It has .945 of the error. {OURS}", []),
        (f"It has .946 of the error.\n{OURS}", [".946"]),
        (f"It is better in 75 % of 110 settings.\n\n{OURS}", []),
        (f"- It has .945.\n- It is better in 74 % with .956. {OURS}", [".945", "74", ".956"]),
        ("13 of 14 with `tol=0.1` and 5 rows of version 0.2, 20 and 40 % missing", ["13", "14"]),
        (f"It loses .055. {OURS[:-4]} where .055 = 1 - .945 -->", []),
        (f"It loses .054. {OURS[:-4]} where .054 = 1 - .946 -->", None),
        ("It has .945. <!-- from panel_a_aims.md: `means` & `forest` -->", None),
        (f"It gains −.945 or +.945. {OURS}", ["−.945"]),
        (f"{TABLE}<!-- from panel_a_error.md -->", ["882"]),
    ],
)
def test_a_number_without_its_source_is_found(page, missing):
    if missing is None:
        with pytest.raises(AssertionError, match="no record of|in no source"):
            [unsupported(*unit) for unit in units(page)]
    else:
        assert [one for unit in units(page) for one in unsupported(*unit)] == missing
