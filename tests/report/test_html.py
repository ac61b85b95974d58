"""The report: complete, self-contained, escaped, and honest about its numbers."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from kernimpute import impute_table
from kernimpute.core.status import Record, Trace
from kernimpute.report import render_report, write_report
from kernimpute.report.html import compare_values, curve

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


@pytest.fixture(scope="module")
def imputation():
    frame = pd.DataFrame(
        {
            "n<b>": [1.0, 2.5, np.nan, 4.0, 4.0, np.nan],
            "c": ["x & y", "z", None, "z", "z", None],
            "y": ["<no>", "yes", "yes", "<no>", "yes", "<no>"],
        }
    )
    return impute_table(frame, "y", guidance="direct")


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
    facts = (f"{name}{fact}" for name, fact in imputation.facts)
    for said in ("do not compute means", *facts, "2 (33.3 %)", "max_iterdefault"):
        assert said in text


@pytest.mark.parametrize(
    ("cells", "is_category", "observed", "filled"),
    [
        ([1.0, 2.5, 4.0, 4.0, 2.0, 4.0], False, "2.875 ± 1.24", "3 ± 1"),
        ([1, 1, 2, 3, 1, 1], True, "1 50 %, 2 25 %, 3 25 %", "1 100 %, 2 0 %, 3 0 %"),
        ([True, False, True, True, True, False], False, "True 75 %, False 25 %", "True 50 %"),
        ([*"aaabbbccddefaa"], False, "a 25 %, b 25 %, c 17 %, d 17 %, others 17 %", "a 100"),
    ],
)
def test_observed_and_filled_are_compared(cells, is_category, observed, filled):
    is_filled = np.arange(len(cells)) >= len(cells) - 2
    compared = compare_values(pd.Series(cells), is_filled, is_category)
    assert compared[0] == observed
    assert compared[1].startswith(filled)


def test_without_guidance_there_is_no_solver_and_no_leak_to_tell_of():
    frame = pd.DataFrame({"a": [1.0, None, 3.5, 4.0], "b": [2.0, 4.5, None, 8.0]})
    text = " ".join(parsed(render_report(impute_table(frame))).text.split())
    for said in ("the most plausible value", "methodjoint normal", "referencejoint"):
        assert said in text
    for unsaid in ("labels helped", "solver", "max_iter"):
        assert unsaid not in text
    labelled = impute_table(frame.assign(y=[*"nnyy"]), "y", use_labels="posterior")
    assert "labels helped" in parsed(render_report(labelled)).text


def test_long_traces_are_cut_in_the_middle(imputation, monkeypatch):
    records = [Record(iteration=k, objective=1.0 / (k + 1), stage="Stage I") for k in range(100)]
    records += [Record(iteration=k, stage="Stage II", note="a <note>") for k in (0, 1)]
    monkeypatch.setattr(imputation.imputer, "trace_", Trace(tuple(records)))
    text = parsed(render_report(imputation)).text
    for said in ("Stage I", "Stage II", "60 rounds in the middle are left out", "a <note>"):
        assert said in text


def test_a_table_without_gaps_has_a_report_too(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "y": [0, 1, 0, 1]})
    imputation = replace(impute_table(frame, "y"), warnings=("look",), notes=())
    write_report(tmp_path / "r.html", imputation)
    text = parsed((tmp_path / "r.html").read_text(encoding="utf-8")).text
    assert "the table had no gap that can be filled" in text
    assert "Warningslook" in text
    assert "Notes" not in text


def test_curves():
    assert curve(np.array([1.0, np.nan]), "gap by round") == ""
    assert "from 2" in curve(np.array([2.0, np.nan, 2.0]), "objective by round")
    steep = curve(np.array([1.0, 0.1, 0.01]), "gap by round", logarithmic=True)
    assert "M8.0 8.0 L320.0 45.0 L632.0 82.0" in steep
    assert "(logarithmic)" in steep
    assert "(logarithmic)" not in curve(np.array([1.0, 0.0]), "gap", logarithmic=True)
