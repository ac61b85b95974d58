"""The page says what the records say, in the records' own words."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments.page import make_page, write_page
from experiments.page.ablations import pairs_of
from experiments.page.ours import against_published
from experiments.page.rivals import gap_by_rate
from experiments.page.settings import at_edges, settings_note
from experiments.published import CLASSIFICATION
from experiments.records import export_csv
from experiments.statistics import arranged, readings
from experiments.words import called, joined, share, signed, towards
from tests.experiments.made_records import (
    METHODS,
    classification_records,
    recovery_records,
    subsets_records,
)

ROOT = Path(__file__).resolve().parents[2]
COMMITTED = ROOT / "experiments" / "results"


def page_of(folder: Path, **experiments: pd.DataFrame) -> str:
    for name, records in experiments.items():
        export_csv(records, folder / "results" / f"{name}.csv")
    return write_page(folder / "results", folder / "docs" / "results.md").read_text("utf-8")


def section(page: str, title: str) -> str:
    found = re.search(rf"^## {re.escape(title)}.*?(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert found is not None, title
    return found[0]


def life_records() -> pd.DataFrame:
    rates, mechanisms = (0.2, 0.4), ("mcar", "mnar")
    return classification_records("life", ("heart",), rates, mechanisms, held_out="amputed")


@pytest.mark.skipif(not list(COMMITTED.glob("*.csv")), reason="no results are committed yet")
def test_the_committed_page_is_what_the_committed_records_say():
    page = ROOT / "docs" / "results.md"
    assert make_page(COMMITTED, page) == page.read_text("utf-8")


@pytest.mark.parametrize("name, complaint", [("mine", "mine.csv"), ("life", "life.csv must have")])
def test_a_stray_csv_is_refused_by_its_name(tmp_path, name, complaint):
    export_csv(classification_records(), tmp_path / "classification.csv")
    (tmp_path / f"{name}.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=complaint) as refused:
        write_page(tmp_path, tmp_path / "results.md")
    assert str(tmp_path / f"{name}.csv") in str(refused.value)
    assert not (tmp_path / "results.md").exists()


def test_without_records_there_is_no_page(tmp_path):
    with pytest.raises(ValueError, match="must hold records as CSV"):
        write_page(tmp_path, tmp_path / "results.md")


def test_a_page_of_everything_has_no_hole(tmp_path):
    page = page_of(
        tmp_path,
        classification=classification_records(),
        life=life_records(),
        inherent=classification_records("inherent", ("horse",), (0.0,), ("inherent",)),
        mlp=classification_records("mlp", rates=(0.5,), methods={"mean+mlp": 0.7, "knn+mlp": 0.8}),
        separation=classification_records("separation", rates=(0.5,)),
        recovery=recovery_records(),
        subsets=subsets_records(),
    )
    assert "not among the committed results" not in page
    assert not re.search(r"\bnan\b|None|np\.", page)
    assert page.count("\n## ") == len(set(re.findall(r"^## .*$", page, re.MULTILINE)))
    for table in re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1


def test_absent_experiments_are_said_to_be_absent(tmp_path):
    page = page_of(tmp_path, recovery=recovery_records())
    for title in ("Accuracy against", "The rivals", "Which method", "What each part"):
        assert "not among the committed results yet" in section(page, title)
    assert "all 24 cells" in section(page, "Recovery")


def test_an_experiment_of_failures_is_absent_but_listed(tmp_path):
    failed = life_records().assign(status="failed", reason="No data.", accuracy=np.nan)
    page = page_of(tmp_path, recovery=recovery_records(), life=failed)
    assert "`life.csv`" in section(page, "Which method")
    assert "no run is done" in section(page, "Failed and skipped")


def test_the_cells_reached_are_counted_against_the_paper():
    published = {
        (dataset, rate): reading
        for dataset, methods in CLASSIFICATION.items()
        for rate, reading in zip((0.2, 0.4, 0.6, 0.8), methods["Ours"], strict=True)
    }
    records = classification_records(methods={"direct+refit": 0.0, "mean+svc": 0.0})
    offsets = {"australian": 0.0, "german": -0.4, "heart": -0.6, "pima": 0.1}
    means = [
        published[row.dataset, row.missing_rate].mean
        + offsets[row.dataset] * published[row.dataset, row.missing_rate].std
        for row in records.itertuples()
    ]
    wide = readings(arranged(records.assign(accuracy=means)))
    found = against_published(wide, ["direct+refit"])
    by_dataset = found.groupby(level="dataset")[["within", "at_least"]].sum()
    assert by_dataset["within"].to_dict() == {"australian": 4, "german": 4, "heart": 0, "pima": 4}
    assert by_dataset.loc["australian", "at_least"] == by_dataset.loc["pima", "at_least"] == 4
    assert by_dataset.loc["heart", "at_least"] == 0
    assert set(found["method"]) == {"direct+refit"}


def test_the_gap_is_taken_apart_by_rate():
    gap = gap_by_rate(arranged(classification_records()))
    assert list(gap.index) == [0.2, 0.4, 0.6, 0.8]
    # The made records lose a tenth of the missing rate by the released rule.
    np.testing.assert_allclose(gap["plain"] - gap["released"], 0.1 * gap.index, atol=0.003)
    expected = np.mean([methods["MI"][3].mean for methods in CLASSIFICATION.values()])
    assert gap.loc[0.8, "published"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("level", "says"),
    [(0.9, "use it"), (0.823, "`mean+logistic` does as well"), (0.7, "simple method is the best")],
)
def test_the_advice_follows_the_numbers(level, says, tmp_path):
    methods = {"mean+logistic": 0.82, "direct+svc": level}
    page = page_of(tmp_path, classification=classification_records(methods=methods))
    advice = section(page, "Which method")
    assert all(says in line for line in advice.splitlines() if line.startswith("- **"))
    count = "all 4 situations" if level == 0.9 else "none of 4 situations"
    assert count in advice
    assert ("there it is one of ours in 4 of 4" in advice) == (level == 0.9)


@pytest.mark.parametrize(("level", "says"), [(0.8, "within two"), (0.81, "not within two")])
def test_the_control_is_judged_by_its_standard_error(level, says, tmp_path):
    methods = {"mean+svc": 0.8, "direct+svc": 0.83, "direct[labels=shuffled]+svc": level}
    page = page_of(tmp_path, classification=classification_records(methods=methods))
    assert f", {says} standard errors of zero" in section(page, "What each part")


@pytest.mark.parametrize(("with_labels", "says"), [(0.3, "no less"), (0.1, "less")])
def test_what_labels_do_to_the_values_is_worded_by_their_errors(with_labels, says, tmp_path):
    records = classification_records(methods={"mean+svc": 0.8, "direct+svc": 0.8})
    rmse = np.where(records["method"] == "mean+svc", 0.2, with_labels)
    page = page_of(tmp_path, classification=records.assign(rmse=rmse))
    found = section(page, "What label guidance")
    assert f", {says}): " in found
    cells = "all 16" if with_labels > 0.2 else "none of 16"
    difference = signed(with_labels - 0.2, 4)
    assert f"| `direct+svc` | {difference} ± 0.0000 | {cells} |" in found


def test_pairs_differ_in_one_part():
    methods = [*METHODS, "direct+refit", "direct+own", "appendix+refit", "K_o+refit"]
    methods += ["appendix[perturbation=no]+refit", "kernel_imputer[labels=shuffled]+logistic"]
    pairs = {(first, second): part for part, first, second in pairs_of(methods)}
    assert pairs["direct+refit", "direct+own"].startswith("refitting")
    assert pairs["appendix+refit", "appendix[perturbation=no]+refit"] == "the perturbation"
    assert pairs["direct[labels=shuffled]+svc", "mean+svc"].startswith("guidance by permuted")
    assert ("kernel_imputer[labels=shuffled]+logistic", "mean+logistic") in pairs
    assert ("direct+refit", "K_o+refit") in pairs
    assert {name for pair in pairs for name in pair} <= set(methods)


def test_words_follow_numbers():
    assert (share(0, 4), share(3, 4), share(4, 4)) == ("none of 4", "3 of 4", "all 4")
    assert (signed(-0.01204), signed(0.0001), signed(0.5, 1)) == ("−0.012", "0.000", "+0.5")
    assert (towards(0.01), towards(-0.01), towards(0.0)) == (
        "0.010 above",
        "0.010 below",
        "level with",
    )
    assert joined(["a", "b", "c"]) == "a, b and c"
    assert joined([]) == "none"
    assert called("mean+svc") == "MI (`mean+svc`)"


def test_the_best_of_ours_is_told_apart_by_its_use_of_labels(tmp_path):
    methods = {"expected_kernel": 0.99, "direct+refit": 0.0, "mean+svc": 0.8}
    page = page_of(tmp_path, classification=classification_records(methods=methods))
    found = section(page, "Accuracy against")
    assert "at or above the paper's mean in all 16 cells" in found
    assert "in all 16 cells; the best of those that fill by labels is at or above" in found
    assert "paper's mean in none of 16 cells" in found


def test_variants_at_one_setting_are_named_with_what_they_ran_on():
    records = classification_records(methods={"paper+own": 0.8, "direct+own": 0.8})
    records = records[records["dataset"].isin(["heart", "pima"]) & (records["repetition"] < 2)]
    note = settings_note(arranged(records))
    assert "`paper`, at most 150 rounds (heart and pima; 2 repetitions)." in note
    assert settings_note(records[records["method"] == "direct+own"]) == ""


def test_settings_at_the_edges_of_their_grids_are_counted():
    records = classification_records(methods={"mean+svc": 0.8, "genrbf[grid=wide]": 0.8})
    records = records[records["rule"] == "plain"]
    chosen = [
        f'{{"C": {2.0**power}, "gamma": {2.0**-power}}}'
        for power, _ in zip(itertools.cycle((5, 3)), records.index, strict=False)
    ]
    edges = at_edges(records.assign(parameters=chosen))
    assert edges.loc["mean+svc", "plain", "C"].tolist() == [0, 160, 160]
    assert edges.loc["mean+svc", "plain", "gamma"].tolist() == [160, 0, 160]
    assert edges.loc["genrbf[grid=wide]", "plain", "gamma"].tolist() == [0, 0, 160]


def test_a_wide_grid_is_held_against_the_plain_one_on_common_runs(tmp_path):
    records = classification_records(methods={"karma": 0.8, "karma[grid=wide]": 0.9})
    few = records[(records["method"] == "karma") | (records["repetition"] < 3)]
    found = section(page_of(tmp_path, classification=few), "Grids and their edges")
    row = r"^\| classification \| `karma` \| \+0\.\d+ ± 0\.\d+ \| 16 \| 48 \| significant at 5 %"
    assert re.search(row, found, re.MULTILINE)


def test_revisions_and_machines_are_told_apart(tmp_path):
    records = classification_records(methods={"mean+svc": 0.8, "knn+svc": 0.8})
    newer = records["method"] == "knn+svc"
    versions = records["versions"].where(~newer, '{"kernimpute": "0.1.0", "revision": "abc"}')
    machine = records["machine"].where(~newer, "another")
    page = page_of(tmp_path, classification=records.assign(versions=versions, machine=machine))
    found = section(page, "Where the numbers")
    assert "2 machines, by 1 revision of the source that the rows name; 160 of 320 runs" in found
    assert "| abc | kernimpute 0.1.0 | another | 160 | classification (`knn+svc`) |" in found


def test_figures_are_linked_from_the_page(tmp_path):
    picture = tmp_path / "results" / "figures" / "life.png"
    picture.parent.mkdir(parents=True)
    picture.write_bytes(b"")
    page = page_of(tmp_path, recovery=recovery_records())
    assert "](../results/figures/life.png)" in section(page, "Figures")
