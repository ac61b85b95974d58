"""Where the numbers come from: revisions, versions, machines, cost, commands."""

from __future__ import annotations

import json

import pandas as pd

from experiments.page.results import Results, Section
from experiments.words import joined, pipe_table

_UNKNOWN = "not recorded"

_NAMED = 3
"""The most methods that are named where a part of an experiment was run apart from the rest."""

_COMMANDS = """\
To make them again, for each experiment by its name:

```
export KERNIMPUTE_DATA=FOLDER
python -m experiments run classification       # resumes where it was stopped
python -m experiments export classification    # the CSV beside this page's figures
python -m experiments table classification
python -m experiments figure classification
python -m experiments page                     # this page, from all CSVs
```

Every table of this page, those of all cells included, is written as Markdown and LaTeX into
`experiments/results/tables/`."""


def provenance_section(results: Results) -> Section:
    """Return revisions, versions, machines and cost, and the commands that make all this again."""
    runs = {name: _runs(results.records(name)) for name in results.names}
    runs = {name: rows for name, rows in runs.items() if rows is not None}
    costs = [
        (results.link(name), f"{len(rows)}", f"{rows['seconds'].sum() / 60:.0f}")
        for name, rows in runs.items()
    ]
    parts = [
        *_origins(pd.concat(list(runs.values())) if runs else None),
        pipe_table(("records", "methods run, with skipped ones", "minutes of one core"), costs),
        _COMMANDS,
    ]
    return Section("Where the numbers come from", "\n\n".join(parts))


def _runs(records: pd.DataFrame | None) -> pd.DataFrame | None:
    """Return a row for each run: the rules of a method are one, and a curve's points."""
    if records is None:
        return None
    axes = list(records.columns[: list(records.columns).index("method") + 1])
    rows = records.drop_duplicates(axes)[["experiment", "method", "seconds", "machine", "versions"]]
    versions = [{} if pd.isna(text) else json.loads(text) for text in rows["versions"]]
    return rows.assign(
        revision=[one.pop("revision", _UNKNOWN) for one in versions],
        versions=[joined(f"{name} {number}" for name, number in one.items()) for one in versions],
        machine=rows["machine"].fillna(_UNKNOWN),
    )


def _origins(runs: pd.DataFrame | None) -> list[str]:
    """Return how many revisions and machines there are, and which of them made what."""
    if runs is None:
        return []
    n_machines, revisions = runs["machine"].nunique(), set(runs["revision"])
    n_known = len(revisions - {_UNKNOWN})
    sentences = [f"Made on {_number(n_machines, 'machine')}, by {_number(n_known, 'revision')} of"]
    sentences[0] += " the source that the rows name"
    if _UNKNOWN in revisions:
        unknown = int((runs["revision"] == _UNKNOWN).sum())
        sentences[0] += f"; {unknown} of {len(runs)} runs name none"
    sentences[0] += "."
    if n_machines > 1:
        sentences.append("Seconds on different machines can't be compared.")
    sentences.append("Each method ran on one thread of linear algebra.")
    origin = ["revision", "versions", "machine"]
    methods = runs.groupby("experiment")["method"].nunique()
    rows = []
    for key, group in runs.groupby(origin, sort=False):
        made = [
            f"{name} ({_methods(part, methods[name])})"
            for name, part in group.groupby("experiment", sort=False)
        ]
        rows.append((*key, str(len(group)), joined(made)))
    header = ("revision", "versions", "machine", "runs", "of what")
    return [" ".join(sentences), pipe_table(header, rows)]


def _methods(part: pd.DataFrame, of: int) -> str:
    names = part["method"].unique()
    if len(names) == of:
        return "all methods"
    if len(names) <= _NAMED:
        return joined(f"`{name}`" for name in names)
    return f"{len(names)} of {of} methods"


def _number(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
