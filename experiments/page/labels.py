"""What guidance by labels does to the filled values themselves."""

from __future__ import annotations

import pandas as pd

from experiments.page.results import Results, Section
from experiments.statistics import CELL, gain, readings
from experiments.tables.fills import fill_errors, fills_table, uses_labels
from experiments.tables.grid import markdown
from experiments.words import absent, called, pipe_table, share, signed


def labels_section(results: Results) -> Section:
    """Return how far filled values are from what was removed, with labels and without."""
    title = "What label guidance does to the filled values"
    records = results.records("classification")
    table = None if records is None else fills_table("classification", records)
    if records is None or table is None:
        return Section(title, absent("classification"))
    errors = fill_errors(records)["rmse"]
    methods = list(dict.fromkeys(errors.index.get_level_values("method")))
    rmse = readings(records, "rmse")[methods]
    mean = next((method for method in methods if method.startswith("mean+")), None)
    complete = [method for method in methods if rmse[method].count() == rmse.count().max()]
    without = [method for method in complete if not uses_labels(method)]
    if not without:
        return Section(title, markdown(table))
    averages = rmse.mean()
    nearest = min(without, key=lambda method: averages[method])
    guided = [method for method in methods if uses_labels(method)]
    references = list(dict.fromkeys(filter(None, (mean, nearest))))
    header = ["filling with labels"]
    for reference in references:
        header += [f"error minus `{reference}`'s", "farther from the truth (cells)"]
    rows = [
        (f"`{method}`", *(one for base in references for one in _against(rmse, method, base)))
        for method in guided
    ]
    brief = _verdict(averages, complete, nearest)
    lead = (
        "Root mean square errors of the filled training cells, in units of a column's range; "
        "differences with the standard error over repetitions:"
    )
    guided_table = f"{lead}\n\n{pipe_table(header, rows)}" if rows else ""
    body = [brief, guided_table, markdown(table).rstrip()]
    return Section(title, "\n\n".join(filter(None, body)), (brief,))


def _against(rmse: pd.DataFrame, method: str, reference: str) -> tuple[str, str]:
    common = rmse[[method, reference]].dropna()
    cells = common.groupby(level=list(CELL), sort=False, dropna=False).mean()
    farther = int((cells[method] > cells[reference] + 1e-9).sum())
    test = gain(rmse, method, reference)
    error = f" ± {test.standard_error:.4f}" if test.n > 1 else ""
    return f"{signed(test.difference, 4)}{error}", share(farther, len(cells))


def _verdict(averages: pd.Series, complete: list[str], nearest: str) -> str:
    guided = [method for method in complete if uses_labels(method)]
    lead = (
        f"Of the fillings without labels {called(nearest)} is nearest to what was removed (root "
        f"mean square error {averages[nearest]:.3f} of a column's range"
    )
    if not guided:
        return f"{lead}); no filling with labels was run in full."
    best = min(guided, key=lambda method: averages[method])
    nearer = averages[best] < averages[nearest]
    advice = (
        "a filling with labels is the nearer one here, but it knows the labels: what it says about "
        "the relation of columns and labels is its own doing"
        if nearer
        else "a table that is filled with labels serves the classifier, not inference about the "
        "values"
    )
    return (
        f"{lead}); of those with labels {called(best)} ({averages[best]:.3f}, "
        f"{'less' if nearer else 'no less'}): {advice}."
    )
