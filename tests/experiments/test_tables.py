"""Tables say what the records say, in the paper's arrangement."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from experiments.published import CLASSIFICATION
from experiments.statistics import arranged, readings
from experiments.tables import make_tables, write_tables
from experiments.tables.fills import fill_errors, uses_labels
from experiments.tables.grid import Entry, Table, latex, markdown
from experiments.tables.reproduced import by_subsets
from tests.experiments.made_records import (
    METHODS,
    classification_records,
    recovery_records,
    subsets_records,
)

FILES = {
    "classification": ["classification", "classification_ranks", "classification_fills"],
    "life": ["life_mcar", "life_mnar", "life_ranks", "life_fills"],
    "separation": ["separation", "separation_ranks", "separation_measures", "separation_fills"],
    "inherent": ["inherent", "inherent_ranks"],
    "recovery": ["recovery"],
    "subsets": ["subsets"],
    "pca": [],
}


def records_of(name: str) -> pd.DataFrame:
    match name:
        case "recovery":
            return recovery_records()
        case "subsets":
            return subsets_records()
        case "life":
            return classification_records(
                "life", ("heart", "pima"), (0.2, 0.4), ("mcar", "mnar"), held_out="amputed"
            )
        case "separation":
            return classification_records(name, rates=(0.5,))
        case "inherent":
            datasets = ("horse", "cylinder[zeros=kept]", "cylinder")
            records = classification_records(name, datasets, (0.0,), ("inherent",))
            return records.assign(mae=np.nan, rmse=np.nan, wasserstein=np.nan)
        case _:
            return classification_records(name)


def config_of(name: str) -> SimpleNamespace:
    kind = name if name in ("recovery", "pca") else "classification"
    return SimpleNamespace(name=name, kind=kind, repetitions=10)


def lines_of(table: Table, *lead: str) -> list[str]:
    return [
        line for line in markdown(table).splitlines() if line.startswith(f"| {' | '.join(lead)}")
    ]


@pytest.mark.parametrize("name", FILES)
def test_each_table_is_written_in_both_forms(name, tmp_path):
    written = write_tables(config_of(name), records_of(name), tmp_path)
    assert [path.name for path in written] == [
        f"{stem}{ending}" for stem in FILES[name] for ending in (".md", ".tex")
    ]
    for path in written:
        assert path.parent == tmp_path / "tables"
        text = path.read_text(encoding="utf-8")
        assert "nan" not in text
        if path.suffix == ".tex":
            assert text.count(r"\begin{") == text.count(r"\end{") == 2
            body = text[text.index(r"\toprule") : text.index(r"\bottomrule")]
            counts = {line.count(" & ") for line in body.splitlines() if line.endswith(r"\\")}
            assert len(counts) == 1
        else:
            counts = {
                len(re.findall(r"(?<!\\)\|", li)) for li in text.splitlines() if li[:1] == "|"
            }
            assert len(counts) == 1


def test_without_records_there_is_no_table(tmp_path):
    with pytest.raises(ValueError, match="records of life must have at least one row; got none"):
        write_tables(config_of("life"), pd.DataFrame(), tmp_path)


def test_what_has_no_tables_leaves_no_folder(tmp_path):
    assert write_tables(config_of("pca"), records_of("pca"), tmp_path) == []
    assert not list(tmp_path.iterdir())


def only(repetitions: int, records: pd.DataFrame) -> pd.DataFrame:
    return records[records["repetition"] < repetitions]


def test_fewer_repetitions_than_the_config_asks_for_are_counted_in_brackets():
    records = only(4, classification_records())
    table = make_tables(config_of("classification"), records)[0]
    (line,) = lines_of(table, "heart", "MI", "plain")
    assert line.count(" (4)") == 4 and line.count("±") == 4
    assert "**" not in markdown(table)
    assert "In brackets: the repetitions there are, where they are fewer than all." in table.notes
    config = config_of("classification")
    config.repetitions = 4
    (line,) = lines_of(make_tables(config, records)[0], "heart", "MI", "plain")
    assert "(4)" not in line


def test_one_repetition_has_no_deviation():
    for name, records in (("classification", classification_records()), ("subsets", None)):
        records = only(1, subsets_records() if records is None else records)
        text = markdown(make_tables(config_of(name), records)[0])
        here = [line for line in text.splitlines() if "published" not in line and "|" in line]
        assert not any("±" in line for line in here)
    separation = markdown(
        make_tables(config_of("separation"), only(1, records_of("separation")))[2]
    )
    assert "| MI | here (1) |" in separation and "Means over 10 repetitions" in separation
    (recovery,) = make_tables(config_of("recovery"), only(1, recovery_records()))
    assert "here, worst (1)" in markdown(recovery)
    (recovery,) = make_tables(config_of("recovery"), recovery_records())
    assert "here, worst |" in markdown(recovery)


def test_where_nothing_is_done_there_are_no_ranks(tmp_path):
    failed = classification_records().assign(status="failed", reason="Too long.", accuracy=np.nan)
    written = write_tables(config_of("classification"), failed, tmp_path)
    assert not [path for path in written if "ranks" in path.name]
    assert "classification.md" in [path.name for path in written]


def test_accuracy_is_the_mean_and_stands_beside_the_papers():
    records = classification_records()
    table = make_tables(config_of("classification"), records)[0]
    values = readings(arranged(records)).loc[("heart", "mcar", 0.6), "mean+svc"]
    (plain,) = lines_of(table, "heart", "MI", "plain")
    assert f"{values.mean():.3f} ± {values.std(ddof=0):.3f}" in plain
    (published,) = lines_of(table, "heart", "MI", "published")
    assert [f"{one.mean:.3f} ± {one.std:.3f}" for one in CLASSIFICATION["heart"]["MI"]] == [
        cell.strip() for cell in published.split("|")[4:8]
    ]
    assert len(lines_of(table, "heart", "Ours", "published")) == 1


def test_the_best_is_bold_once_a_cell_and_marked_where_it_stands_alone():
    # NewImp has three repetitions: it is never bold, but whoever it beats doesn't stand alone.
    for level, bullets in ((0.8, 16), (0.95, 0)):
        levels = {"mean+svc": 0.7, "direct+svc": 0.9, "newimp+svc": level}
        table = make_tables(config_of("classification"), classification_records(methods=levels))[0]
        assert markdown(table).count("** •") == bullets
        assert all(line.count("**") == 8 for line in lines_of(table, "heart", "direct + SVM"))
        (line,) = lines_of(table, "heart", "NewImp + SVM", "plain")
        assert line.count("(3)") == 4
        assert "**" not in line


def test_failed_and_skipped_cells_are_shown_with_their_reason():
    records = classification_records(methods={"mean+svc": 0.7, "geom": 0.9})
    gone = (records["method"] == "geom") & (records["dataset"] == "heart")
    # What failed as a whole has no rule, and one row.
    failed = records[gone & (records["rule"] == "plain")].assign(
        status="failed", reason="Too long.", rule=None, accuracy=np.nan
    )
    table = make_tables(config_of("classification"), pd.concat([records[~gone], failed]))[0]
    for rule in ("plain", "released"):
        (line,) = lines_of(table, "heart", "GEOM", rule)
        assert line.count("| failed |") + line.count(" failed | failed") >= 2
    assert "GEOM: 40 of 160 runs failed: Too long." in table.notes
    assert "GEOM, released selection: 40 of 160 runs failed: Too long." in table.notes


def test_methods_are_ranked_and_those_with_gaps_marked():
    _, ranks, _ = make_tables(config_of("classification"), classification_records())
    (block,) = ranks.blocks
    assert len(block) == len(METHODS)
    assert block[0][0] == "anchored + logistic"
    marks = [row[2].text for row in block if row[0] == "NewImp + SVM"]
    assert marks[0].endswith("†")


def test_the_same_filled_values_are_shown_once():
    records = arranged(classification_records(methods={"mean+svc": 0.7, "mean+logistic": 0.8}))
    assert set(fill_errors(records).index.get_level_values("method")) == {
        "mean+svc",
        "mean+logistic",
    }
    same = records.assign(mae=0.1)
    assert set(fill_errors(same).index.get_level_values("method")) == {"mean+svc"}


def test_whether_labels_had_a_part_follows_from_the_name():
    with_labels = {"class_mean+logistic", "iterative_label+svc_near", "direct+refit", "paper+own"}
    without = {"mean+svc", "K_o+refit", "direct[labels=shuffled]+refit", "direct[eta=inf]+own"}
    assert all(map(uses_labels, with_labels))
    assert not any(map(uses_labels, without))


def test_recovery_is_bold_where_the_worst_is_no_worse_than_the_paper():
    (table,) = make_tables(config_of("recovery"), recovery_records())
    text = markdown(table)
    assert text.count("**") == 2 * 24
    assert "3.81e-01" in text


def test_subsets_are_read_from_the_names():
    cells = by_subsets(arranged(subsets_records())).reset_index()
    counts = cells.groupby("method")["subsets"].agg(list)
    assert counts["kernel_imputer+mlp"] == [1, 2, 5, 10, 20]
    assert counts["newimp+mlp"] == [1]
    assert cells.set_index("method").loc["newimp+mlp", "n"] == 3


def test_what_latex_reads_as_commands_is_escaped():
    entry = Entry("x_1", bold=True, bullet=True)
    table = Table("t", "50 % & more", ("a_b",), (((entry,),),), ("±",))
    text = latex(table)
    assert r"\textbf{x\_1} $\bullet$ \\" in text
    assert r"50 \% \& more" in text
    assert r"a\_b \\" in text
    assert "**x_1** •" in markdown(table)
