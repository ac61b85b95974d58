"""What filling in subsets costs: accuracy and seconds by the number of subsets."""

from __future__ import annotations

import pandas as pd

from experiments.method_names import label_of, parts_of, without_option
from experiments.naming import parse_name
from experiments.statistics import summary
from experiments.tables.accuracy import with_deviation
from experiments.tables.grid import Row, Table
from experiments.tables.notes import notes_on_gaps


def by_subsets(records: pd.DataFrame) -> pd.DataFrame:
    """Return accuracy and seconds by method and number of subsets."""
    plain = records[records["rule"] == "plain"]
    options = [parse_name(parts_of(method).filler).options for method in plain["method"]]
    plain = plain.assign(
        subsets=[int(option.get("subsets", 1)) for option in options],
        method=[without_option(method, "subsets") for method in plain["method"]],
    )
    keys = ["dataset", "method", "subsets"]
    seconds = summary(plain, keys, "seconds")["mean"]
    return summary(plain, keys).assign(seconds=seconds).sort_index(level="subsets", kind="stable")


def subsets_table(experiment: str, records: pd.DataFrame) -> Table:
    """Return accuracy and seconds, a row for each method and number of subsets."""
    cells = by_subsets(records)
    blocks: dict[tuple[str, str], list[Row]] = {}
    for (dataset, method, subsets), row in cells.iterrows():
        accuracy = with_deviation(row) if row["n"] else "–"
        seconds = f"{row['seconds']:.1f}" if row["n"] else "–"
        lead = (dataset, label_of(method), str(subsets))
        blocks.setdefault((dataset, method), []).append((*lead, accuracy, seconds, str(row["n"])))
    header = ("dataset", "method", "subsets", "accuracy", "seconds", "repetitions")
    caption = "Accuracy on test rows where the training rows are filled in subsets."
    notes = ("Seconds: a run with its classifier, mean.", *notes_on_gaps(records))
    return Table(experiment, caption, header, tuple(map(tuple, blocks.values())), notes)
