"""The reports: complete, self-contained, escaped, legible to all, small, and honest in numbers."""

import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest

from kernimpute import impute_table
from kernimpute.report import html, write_comparison_report, write_report

VOID = {"meta", "br", "wbr"}
ODD = "<b>&\"'日本_x" + "y" * 90


class Page(HTMLParser):
    """A page's tags with their attributes and parents, and its text; no tag may stay open."""

    def __init__(self, path):
        super().__init__()
        self.open, self.tags, self.text = [""], [], ""
        self.html = path.read_text(encoding="utf-8")
        self.feed(self.html)
        self.close()
        assert self.open == [""]
        self.text = " ".join(self.text.split())

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs), self.open[-1]))

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data if self.open[-1] != "style" else ""

    def find(self, tag):
        return [attrs for name, attrs, _ in self.tags if name == tag]


@pytest.fixture(scope="module")
def imputation():
    columns = [1.0, 2.5, np.nan, 4.0, 4.0, np.nan], ["x & y", "<z>", None, "<z>", "<z>", None]
    frame = pd.DataFrame({ODD: columns[0], "c": columns[1], "y": ["<no>", "yes"] * 3})
    return impute_table(frame, "y")


COMPARISON = """{
"verdict": "Gaps tell of <y>: use indicators.", "complete": true, "cautions": ["mine failed: <it>"],
"recommendation": {"command": "kernimpute fit t.csv -t y", "code": "model = (\\n    1 < 2)"},
"facts": {"n_rows": 10, "n_columns": 2, "n_gaps": 3, "task": "classification", "n_patterns": 2,
  "classes": {"a": 5, "b": 5}, "rows": {"complete": 7, "empty": 0}, "gaps_tell": {"p": 0.004},
  "columns": [{"column": "age", "n_gaps": 3, "share": 0.3, "gaps_by_class": {"a": 0.1, "b": 0.5},
    "p": 0.02}], "patterns": [{"columns": ["age"], "n_rows": 3}, {"columns": [], "n_rows": 7}],
  "rare_categories": [{"column": "c", "category": "<rare>", "n_rows": 1}], "identifiers": [],
  "fill_errors": [{"column": "age", "unit": "share wrong", "means": 0.5, "joint": 0.25}],
  "disjoint_pairs": 0},
"settings": {"folds": 5, "repeats": 3, "seed": 7, "margin": 0.01, "primary": "log_loss",
  "baseline": "means, linear", "grouped": false, "data_sha256": "ab12",
  "versions": {"python": "3.11", "numpy": "2.0"}}}"""


@pytest.fixture
def comparison():
    """Return what `Comparison.to_dict` has, with one candidate of each finding."""
    result, rows = json.loads(COMPARISON), []
    for name, low, high, finding in (
        ("means, linear", None, None, "baseline"),
        ("means, boosting", -1.2, -0.6, "worse"),
        ("means+indicators, linear", 0.012, 0.048, "better"),
        ("joint, linear", -0.004, 0.006, "equivalent"),
        (ODD, -0.03, 0.034, "undecided"),
        ("joint, boosting", 0.0, 0.2, ""),
        ("mine", None, None, ""),
    ):
        tested = {"lower": low, "upper": high, "p_holm": 0.04 if finding else None}
        tested |= {"difference": None if low is None else (low + high) / 2.0, "finding": finding}
        scores = {"log_loss": 0.5, "auc": 0.8, "seconds": 1.5, "error": "<it>" * (name == "mine")}
        rows.append({"candidate": name} | tested | scores)
    result["table"], against = rows, {"against": "means, linear"}
    result["effects"] = [
        row | against | {"question": "learner" if "boosting" in row["candidate"] else "filling"}
        for row in rows
        if row["finding"] not in ("baseline", "")
    ]
    return result


@pytest.fixture(params=["impute", "compare"])
def page(request, tmp_path, imputation, comparison):
    path = tmp_path / "report.html"
    if request.param == "impute":
        write_report(path, imputation, source="a/<t>.csv", command="run <it>", data_sha256="ab12")
    else:
        write_comparison_report(path, comparison, source="a/<t>.csv", command="run <it>")
    return Page(path)


def test_a_page_is_one_escaped_file_without_scripts_with_the_verdict_on_top(page):
    tags = {tag for tag, *_ in page.tags}
    assert not tags & {"script", "link", "img", "iframe", "object", "b", "z", "t", "no", "it", "y"}
    named = {name for _, attrs, _ in page.tags for name in attrs}
    assert not [name for name in named if name.startswith("on") or name in ("src", "href")]
    assert not re.search(r"https?:|url\(|@import", page.html)
    assert "run <it>" in page.text and "ab12" in page.text
    tags = [(tag, attrs.get("class")) for tag, attrs, _ in page.tags]
    assert tags[tags.index(("h1", None)) + 1] == ("div", "verdict")


def test_a_figure_has_a_title_and_a_description_and_is_an_image(page):
    ids = [attrs["id"] for attrs in page.find("title")[1:] + page.find("desc")]
    assert len(ids) == len(set(ids))
    figures = re.findall(r'<svg role="img".*?</svg>(?=</figure>|</td>)', page.html)
    for figure in figures:
        root = ElementTree.fromstring(figure)
        assert [child.tag for child in root[:2]] == ["title", "desc"]
        assert all(child.text for child in root[:2])
        assert root.get("aria-labelledby") == f"{root[0].get('id')} {root[1].get('id')}"
    assert len(figures) == len([1 for attrs in page.find("svg") if "role" in attrs])
    # Nothing inside needs more room than a telephone has: letters keep their size of 11.5 px.
    labels = map(unescape, re.findall(r"<text[^>]*>([^<]*)", page.html))
    assert 2 < max(map(len, labels)) <= 50


def test_tables_have_headers_with_scope_a_caption_and_their_own_scrolling(page):
    assert {attrs.get("scope") for attrs in page.find("th")} == {"col", "row"}
    assert {parent for tag, _, parent in page.tags if tag == "table"} == {"div"}
    scrolling = [attrs for attrs in page.find("div") if attrs.get("class") == "wide"]
    assert len(scrolling) == len(page.find("caption")) == len(page.find("table"))
    assert all(attrs["tabindex"] == "0" and attrs["aria-label"] for attrs in scrolling)


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
def test_colours_stand_out(mode):
    """By WCAG 2.2: 4.5 to 1 for text, 3 to 1 for what figures are made of."""
    style = files("kernimpute.report").joinpath("page.html").read_text(encoding="utf-8")
    block = style.split(":root {")[mode + 1].split("}")[0]
    colours = dict(re.findall(r"--(\w+): #(\w{6})", block))

    def luminance(name):
        parts = np.array([int(colours[name][k : k + 2], 16) for k in (0, 2, 4)]) / 255.0
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    on_both = [(name, back) for name in ("ink", "soft", "grey") for back in ("back", "panel")]
    for name, back in [*on_both, ("blue", "back"), ("orange", "back")]:
        darker, lighter = sorted([luminance(name), luminance(back)])
        least = 3.0 if name == "grey" else 4.5
        assert (lighter + 0.05) / (darker + 0.05) >= least, (name, back)


def test_the_report_says_what_was_done_and_what_comes_next(tmp_path, imputation):
    write_report(tmp_path / "r.html", imputation, source="t.csv")
    text = Page(tmp_path / "r.html").text
    for said in (
        "4 of 18 cells (22 %) in 2 columns were filled from what the columns say of each other",
        "kernimpute compare t.csv --target y",
        "4 of 6 rows (67 %) were complete",
        "Without a gap: y.",
        "random seed 0), and 0 were left missing",
        "The label (y) was neither used nor filled.",
        "scikit-learn",
    ):
        assert said in text, said


@pytest.mark.parametrize(
    ("cells", "expected", "n_constant"),
    [
        ([1.0, 2.5, 4.5, 4.0, 2.0, 4.0], "3 3 1.37 1 0.73", 0),
        ([0, 1, 0, 1, 0, 1], "0.5 0.5 0.5 0.5 1.00", 1),
        ([10**18 + k for k in range(6)], "1e+18 1e+18 0 0 0.00", 2),
        ([*"aaab", "b", "b"], "a 75\u00a0% a 0\u00a0% – – –", 0),
        ([*"abcdefgha", "a"], "a 12\u00a0% a 100\u00a0% – – –", 2),
        (pd.Categorical([1, 1, 2, 3, 1, 1]), "1 50\u00a0% 1 100\u00a0% – – –", 2),
    ],
)
def test_observed_and_filled_cells_are_compared(imputation, cells, expected, n_constant):
    table, observed = pd.DataFrame({"x": cells}), np.arange(len(cells))[:, None] < len(cells) - 2
    changed = replace(imputation, table=table, observed=observed, filled={"x": 2})
    figure, row, constant = html._filled(changed, "x", "key")
    assert " ".join(row[2:-1]) == expected
    assert constant == n_constant
    assert ("all others" in figure) == (len(set(cells)) > html.MOST_CATEGORIES)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"use_labels": "posterior"}, "labels helped to fill their own rows"),
        ({"guidance": "direct"}, "labels helped to fill their own rows"),
        ({"reference": "mean"}, "of the fills equal the mean or the most frequent value"),
    ],
)
def test_the_most_important_caution_comes_first(tmp_path, given, said):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=20), "b": rng.normal(size=20), "y": [*"np"] * 10})
    frame.loc[:4, "a"] = np.nan
    write_report(tmp_path / "r.html", impute_table(frame, "y", **given))
    text = Page(tmp_path / "r.html").text
    assert said in text[: text.index("Where the gaps were")]
    assert "Stage I" not in text


def test_a_table_without_gaps_has_a_report_too(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "y": [0, 1, 0, 1]})
    write_report(tmp_path / "r.html", replace(impute_table(frame, "y"), warnings=("look",)))
    text = Page(tmp_path / "r.html").text
    assert "The table had no gap that can be filled: it is unchanged." in text
    assert "Warningslook" in text


def test_a_report_stays_small_and_says_what_it_leaves_out(tmp_path, imputation):
    rng = np.random.default_rng(0)
    columns = {f"column_{k}_{'x' * 60}": rng.normal(size=9_000) for k in range(60)}
    columns |= {f"code_{k}_{'x' * 60}": rng.integers(0, 300, 9_000).astype(str) for k in range(40)}
    observed = rng.random((9_000, 100)) < 0.8
    filled = dict(zip(columns, (~observed).sum(axis=0).tolist(), strict=True))
    table = pd.DataFrame(columns)
    large = replace(imputation, table=table, observed=observed, filled=filled)
    write_report(tmp_path / "r.html", large)
    assert (tmp_path / "r.html").stat().st_size < 150_000
    text = Page(tmp_path / "r.html").text
    assert "Shown are the 60 columns with the most gaps, of 100." in text
    assert "Shown are the 24 columns with the most fills, of 100." in text


def test_a_comparison_says_what_was_found_and_how(tmp_path, comparison):
    write_comparison_report(tmp_path / "r.html", comparison)
    page = Page(tmp_path / "r.html")
    for said in (
        "model = ( 1 < 2)",
        "+0.012 to +0.048",
        "not tested",
        "Learners against “means, linear”",
        "3 × 5-fold cross-validation with random seed 7",
        "Nadeau and Bengio, 2003",
        "numpy 2.0",
    ):
        assert said in page.text, said
    assert "Not complete" not in page.text
    comparison["complete"] = False
    comparison["effects"] = comparison["facts"]["fill_errors"] = []
    comparison["settings"]["margin"] = 0.0
    write_comparison_report(tmp_path / "r.html", comparison)
    text = Page(tmp_path / "r.html").text
    assert text.index("Not complete.") < text.index("Candidates")


def test_a_dot_plot_marks_findings_by_shape_and_keeps_far_intervals_at_its_edge(comparison):
    root = ElementTree.fromstring(html._dot_plot(comparison))
    shapes = {}
    for group in root.iter("g"):
        line, mark = group.find("line"), group.find("svg")
        shapes[group.get("class")] = (mark[0].tag, line.get("x1"), mark.get("x"), line.get("x2"))
    assert [shape[0] for shape in shapes.values()] == ["path", "circle", "circle", "rect"]
    assert shapes["worse"][1] == "0.00%"
    left, middle, right = (float(place.rstrip("%")) for place in shapes["better"][1:])
    assert middle == pytest.approx((left + right) / 2.0, abs=0.01)


@pytest.mark.parametrize(
    ("write", "value", "expected"),
    [
        (html._number, np.nan, "–"),
        (html._number, -1234567, "−1,234,567"),
        (html._number, 1911.4, "1911"),
        (html._number, 1911, "1,911"),
        (html._number, 0.012345, "0.0123"),
        (html._percent, 0.9996, "99.9\u00a0%"),
        (html._aligned, [0.0312, None, -0.2], ["0.031", "–", "−0.200"]),
        (html._named, "a_b & CamelCase", "a_<wbr>b &amp; Camel<wbr>Case"),
        (html._joined, [*"abcdefghij"], "a, b, c, d, e, f, g, h and 2 more"),
        (html._text, "日本" * 30, "日本" * 19 + "日…"),
    ],
)
def test_numbers_and_names_for_people(write, value, expected):
    assert write(value) == expected
