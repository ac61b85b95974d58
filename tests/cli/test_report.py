"""The report: complete, self-contained, escaped, and honest about its numbers."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from kernimpute.core.status import Record, Trace
from kernimpute.estimators.impute_table import impute_table
from kernimpute.report import render_report, write_report
from kernimpute.report.curves import curve
from kernimpute.report.shares import compare_columns

VOID = {"meta", "br", "hr", "img", "input", "link"}


class Balance(HTMLParser):
    """Collects the tags, and fails where one is closed that is not open."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.text = [], set(), ""

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        assert not any(name in ("src", "href", "onload", "onclick") for name, _ in attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def parsed(html):
    balance = Balance()
    balance.feed(html)
    balance.close()
    assert balance.open == []
    return balance


@pytest.fixture
def imputation(typical):
    frame = pd.DataFrame(
        {
            "n<b>": [1.0, 2.5, np.nan, 4.0, 4.0, np.nan],
            "c": ["x & y", "z", None, "z", "z", None],
            "y": ["<no>", "yes", "yes", "<no>", "yes", "<no>"],
        }
    )
    return impute_table(frame, "y", callback=lambda record: None)


def test_the_report_is_one_well_formed_page_without_anything_from_elsewhere(imputation):
    html = render_report(imputation, source="<t>.csv")
    page = parsed(html)
    assert not page.seen & {"script", "link", "img", "iframe"}
    assert not re.search(r"https?://|url\(|@import", html)
    assert "<t>" not in html
    assert "n<b>" not in html
    assert "Filled table: <t>.csv" in page.text


def test_the_report_says_what_was_done_and_what_it_is_for(imputation):
    text = " ".join(parsed(render_report(imputation)).text.split())
    for said in (
        "do not compute means",
        "set the test rows aside before filling",
        "4 of 18 cells (22.2 %)",
        "direct, gaussian kernel, gamma 1",
        "Converged: the stop rule is met.",
        "2 (33.3 %)",
        "max_iterdefault",
    ):
        assert said in text


def test_observed_and_filled_are_compared(imputation):
    number, category = compare_columns(imputation)
    assert (number.name, number.n_filled, number.share) == ("n<b>", 2, 2 / 6)
    assert number.observed == "2.875 ± 1.24"
    assert number.filled == "2.875 ± 0"
    assert category.observed == "z 75 %, x & y 25 %"
    assert category.filled == "z 100 %, x & y 0 %"


def test_many_categories_are_summed_up(typical):
    frame = pd.DataFrame({"c": [*"aaabbbccddef", None], "y": [0, 1] * 6 + [0]})
    (comparison,) = compare_columns(impute_table(frame, "y", callback=lambda record: None))
    assert comparison.observed == "a 25 %, b 25 %, c 17 %, d 17 %, others 17 %"


def test_long_traces_are_cut_in_the_middle(imputation):
    records = [Record(iteration=k, objective=1.0 / (k + 1), stage="Stage I") for k in range(100)]
    records += [
        Record(iteration=k, objective=1.0, stage="Stage II", note="a <note>") for k in (0, 1)
    ]
    result = replace(imputation.result, trace=Trace(tuple(records)))
    html = render_report(replace(imputation, result=result))
    text = parsed(html).text
    assert "Stage I" in text
    assert "Stage II" in text
    assert "60 rounds in the middle are left out" in text
    assert "a <note>" in text


def test_a_table_without_gaps_has_a_report_too(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "y": [0, 1, 0, 1]})
    write_report(tmp_path / "r.html", impute_table(frame, "y"))
    text = parsed((tmp_path / "r.html").read_text(encoding="utf-8")).text
    assert "the table had no gap that can be filled" in text
    assert "No solver was needed" in text


def test_curves():
    assert curve(np.array([1.0, np.nan]), "gap by round") == ""
    flat = curve(np.array([2.0, np.nan, 2.0]), "objective by round")
    assert "from 2" in flat
    steep = curve(np.array([1.0, 0.1, 0.01]), "gap by round", logarithmic=True)
    assert "M8.0 8.0 L320.0 45.0 L632.0 82.0" in steep
    assert "(logarithmic)" in steep
    assert "(logarithmic)" not in curve(np.array([1.0, 0.0]), "gap", logarithmic=True)
