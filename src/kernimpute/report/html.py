"""The reports on a filled table and on a comparison: one HTML file each.

Figures are SVG without a `viewBox`: places across are percentages and letters keep their size, so
that a figure fits a phone and a sheet of paper. Where not everything is shown, the page says so.
"""

from __future__ import annotations

import platform
import re
import shlex
import unicodedata
from collections.abc import Hashable, Iterable, Mapping, Sequence
from html import escape
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
import pandas as pd

from kernimpute import __version__
from kernimpute.core.arrays import BoolArray, FloatArray
from kernimpute.estimators.impute_table import TableImputation, method_text
from kernimpute.table.columns import counted

MOST_ROWS, MOST_DRAWN, MOST_CATEGORIES = 60, 24, 6
"""Rows of a table, columns whose distributions are drawn, and categories of one."""
_SCORES = {"log_loss": "log loss", "auc": "AUC", "accuracy": "accuracy", "r2": "R²"}
_SCORES |= {"mae": "mean absolute error"}
_MARKS = {
    "better": '<circle class="dot" r="4.5"/>',
    "equivalent": '<rect class="dot" x="-4" y="-4" width="8" height="8"/>',
    "worse": '<path class="dot" d="M-4-4L4 4M-4 4L4-4"/>',
}


# ------------------------------------------------------------------------- a filled table


def write_report(
    path: Path | str,
    imputation: TableImputation,
    *,
    source: str = "",
    command: str = "",
    data_sha256: str = "",
) -> None:
    """Write the report on a filled table as one HTML file, which holds no rows, but statistics.

    Parameters
    ----------
    path : Path or str
        The file; one that exists is replaced.
    imputation : TableImputation
        What `impute_table` returned.
    source, command, data_sha256 : str, default=""
        Path of the table, the command line that filled it, and SHA-256 of the table's file.
    """
    columns = sorted(imputation.filled, key=lambda name: -imputation.filled[name])
    filled = [_filled(imputation, name, f"values-{k}") for k, name in enumerate(columns)]
    _write(
        path,
        f"Filled table: {Path(source).name}" if source else "Filled table",
        "kernimpute impute",
        _verdict_of_filling(imputation, sum(constant for *_, constant in filled), source),
        _facts((name, _text(fact, 200)) for name, fact in imputation.facts),
        _messages("Warnings", imputation.warnings, "notice warning"),
        _messages("Notes", imputation.notes),
        _gaps(imputation),
        _fills([figure for figure, *_ in filled], [row for _, row, _ in filled]),
        _methods(_methods_of_filling(imputation), imputation.settings, command, data_sha256),
    )


def _verdict_of_filling(imputation: TableImputation, n_constant: int, source: str) -> str:
    """Return how many cells were filled, the most important caution, and what to do next."""
    n_filled, n_cells, imputer = imputation.n_filled, imputation.table.size, imputation.imputer
    by = f"by {method_text(imputer)}"
    if by == "by joint normal":
        by = "from what the columns say of each other (joint normal)"
    first = (
        f"{_number(n_filled)} of {_number(n_cells)} cells ({_percent(n_filled / n_cells)}) in "
        f"{counted(len(imputation.filled), 'column')} were filled {by}."
    )
    caution = (
        "Filled cells spread less than the values that went missing: train a model on this table, "
        "but do not compute spreads, correlations or tests from the filled cells."
    )
    if not n_filled:
        first, caution = "The table had no gap that can be filled: it is unchanged.", ""
    elif imputer._uses_labels:
        caution = (
            "The labels helped to fill their own rows, so a score measured on these rows is too "
            f"good: set the test rows aside before filling. {caution}"
        )
    elif n_constant > 0.5 * n_filled:
        caution = (
            f"{_percent(n_constant / n_filled)} of the fills equal the mean or the most frequent "
            f"value of their column, so that they say nothing of their row. {caution}"
        )
    settings: Mapping[str, Any] = imputation.settings
    target = "COLUMN" if imputation.target is None else str(imputation.target)
    words = ["kernimpute", "compare", source or "TABLE.csv", "--target", target]
    words += [f"--ignore={name}" for name in (*settings["ignore"], *settings["drop"])]
    return (
        f'<div class="verdict"><p>{_text(first, 400)}</p><p>{_text(caution, 600)}</p><p>Does '
        "filling help a model that predicts a column? Compare it with not filling, and with other "
        f"fillings:</p>{_code(shlex.join(words))}</div>"
    )


def _gaps(imputation: TableImputation) -> str:
    """Return a table of the columns with gaps, each with a strip of where they are."""
    gaps, n_rows, names = ~imputation.observed, imputation.n_rows, [*imputation.table.columns]
    n_gaps, n_complete = gaps.sum(axis=0), int((~gaps.any(axis=1)).sum())
    order = [k for k in np.argsort(-n_gaps, kind="stable").tolist() if n_gaps[k]]
    if not order:
        return ""
    n_bars, shown = min(n_rows, 90), order[:MOST_ROWS]
    without = [name for name, count in zip(names, n_gaps, strict=True) if not count]
    columns = {
        "column": [_named(names[k]) for k in shown],
        "first to last row": [_strip(f"gaps-{k}", names[k], gaps[:, k], n_bars) for k in shown],
        "gaps": [_number(n_gaps[k]) for k in shown],
        "share": [_percent(n_gaps[k] / n_rows) for k in shown],
        "filled": [_number(imputation.filled.get(names[k], 0)) for k in shown],
    }
    return (
        f"<h2>Where the gaps were</h2><p>{_number(n_complete)} of {_number(n_rows)} rows "
        f"({_percent(n_complete / n_rows)}) were complete. A strip shows a column from the first "
        f"row to the last: each bar stands for {counted(round(n_rows / n_bars), 'row')}, and its "
        f"height for the share of gaps.{_capped(len(order), 'columns with the most gaps')}</p>"
        f"{_table('Gaps by column', columns, 'two')}<p>Without a gap: {_joined(without)}.</p>"
    )


def _filled(imputation: TableImputation, name: Hashable, key: str) -> tuple[str, list[str], int]:
    """Return a filled column's figure, its row of the table, and how many fills are constant."""
    values, gaps, n = imputation.table[name], imputation.filled_cells(name), imputation.filled[name]
    settings: Mapping[str, Any] = imputation.settings
    is_number = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
    if is_number and name not in settings["categorical"]:
        numbers = values.to_numpy(dtype=float)
        seen, new = numbers[~gaps], numbers[gaps]
        with np.errstate(over="ignore"):  # a deviation beyond the range of floats is shown as –
            mean, deviation = seen.mean(), seen.std()
        off = np.abs(new - mean)
        is_whole = (numbers == np.rint(numbers)).all()
        n_constant = int((new == np.rint(mean) if is_whole else off <= 0.005 * deviation).sum())
        distance = off.mean() / deviation if deviation > 0 else 0.0
        row = [*map(_number, (mean, new.mean(), deviation, new.std())), f"{distance:.2f}"]
        said = f"Mean: observed {row[0]}, filled {row[1]}. Standard deviation: {row[2]}, {row[3]}."
        height, shapes = 84, _histograms(seen, new)
    else:
        words = values.astype(str)
        of_observed = words[~gaps].value_counts(normalize=True)
        of_fills = words[gaps].value_counts(normalize=True).reindex(of_observed.index, fill_value=0)
        shares = [*zip(map(str, of_observed.index), of_observed, of_fills, strict=True)]
        mode, *both = shares[0]
        n_constant = round(n * both[1])
        row = [*(f"{_text(mode, 30)} {_percent(share)}" for share in both), *"–––"]
        if len(shares) > MOST_CATEGORIES:
            _, rest, rest_filled = zip(*shares[MOST_CATEGORIES:], strict=True)
            shares[MOST_CATEGORIES:] = [("all others", sum(rest), sum(rest_filled))]
        said = "; ".join(f"{_short(c, 30)} {_percent(a)}, {_percent(b)}" for c, a, b in shares)
        said = f"Shares, observed and filled: {said}."
        height, shapes = 20 * len(shares) + 2, ""
        for y, (category, share, new_share) in zip(range(0, height - 2, 20), shares, strict=True):
            shapes += (
                f'<text class="ink" y="{y + 13}">{_text(category, 11)}</text><rect '
                f'class="observed" x="42%" y="{y + 3}" width="{34 * share:.1f}%" height="6"/><rect '
                f'class="filled" x="42%" y="{y + 10}" width="{34 * new_share:.1f}%" height="5"/>'
                f'<text x="100%" y="{y + 13}" text-anchor="end">{_percent(new_share)}</text>'
            )
    title = f"Observed and filled values of {_short(name, 40)}"
    figure = (
        f"<figure><figcaption><strong>{_named(name)}</strong>{_number(n)} filled, "
        f"{_percent(n / gaps.size)} of its cells</figcaption>"
        f"{_svg(key, title, said, height, shapes)}</figure>"
    )
    return figure, [_named(name), _number(n), *row, _percent(n_constant / n)], n_constant


def _fills(figures: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return the distributions of observed and filled cells, and the table that compares them."""
    if not figures:
        return ""
    head = ["column", "filled", "mean or most frequent, observed", "the same, filled"]
    head += ["SD observed", "SD filled", "distance from mean", "constant"]
    columns = dict(zip(head, zip(*rows[:MOST_ROWS], strict=True), strict=True))
    return (
        "<h2>Observed and filled values</h2><p>Grey areas and upper bars are shares of the "
        "observed cells. Blue lines and lower bars, with the percentage, are shares of the filled "
        "cells. Numbers beyond 99 % of the observed ones are counted at the ends."
        f"{_capped(len(figures), 'columns with the most fills', MOST_DRAWN)}</p>"
        f'<div class="small">{"".join(figures[:MOST_DRAWN])}</div>'
        "<h2>How far fills are from means</h2><p>SD is the standard deviation. The distance is the "
        "mean of |fill − observed mean| in SD of the observed cells. A fill is constant if it "
        "rounds to the observed mean, or is the most frequent category: where most are, filling "
        f"adds little.{_capped(len(rows), 'columns with the most fills')}</p>"
        + _table("Observed and filled cells by column", columns)
    )


def _methods_of_filling(imputation: TableImputation) -> str:
    """Return what TRIPOD+AI asks a paper to tell about missing data."""
    gaps, settings, target = ~imputation.observed, imputation.settings, imputation.target
    n_gaps, shares = int(gaps.sum()), gaps.mean(axis=0)
    labels = "" if target is None else f" The label ({target}) was neither used nor filled."
    if imputation.imputer._uses_labels:
        labels = f" The label ({target}) helped to fill the cells of its row."
    packages = ("numpy", "scipy", "scikit-learn", "pandas")
    return (
        f"The table had {_number(imputation.n_rows)} rows and {counted(gaps.shape[1], 'column')}. "
        f"Of {_number(gaps.size)} cells {_number(n_gaps)} ({_percent(n_gaps / gaps.size)}) were "
        f"missing: {_percent(shares.min())} to {_percent(shares.max())} of a column; "
        f"{_number((~gaps.any(axis=1)).sum())} rows were complete. No row was left out. By single "
        f"imputation {_number(imputation.n_filled)} missing cells were filled (method: "
        f"{method_text(imputation.imputer)}; random seed {settings['random_state'] or 0}), and "
        f"{_number(n_gaps - imputation.n_filled)} were left missing. Observed cells were not "
        f"changed.{labels} Columns not used: {_setting(settings['ignore'])}; left out: "
        f"{_setting(settings['drop'])}. A single imputation carries no uncertainty: standard "
        f"errors computed from the table are too small. Software: kernimpute {__version__}, Python "
        f"{platform.python_version()}, {', '.join(f'{one} {version(one)}' for one in packages)}."
    )


# ------------------------------------------------------------------------- a comparison


def write_comparison_report(
    path: Path | str, result: Mapping[str, Any], *, source: str = "", command: str = ""
) -> None:
    """Write the report on a comparison as one HTML file, without rows, but with rare categories.

    Parameters
    ----------
    path : Path or str
        The file; one that exists is replaced.
    result : mapping of str to object
        What `Comparison.to_dict` returned, or its JSON.
    source, command : str, default=""
        Path of the table, and the command line that compared.
    """
    settings, known = result["settings"], result["facts"]
    told = ("versions", "data_sha256", "candidates")
    others = {name: value for name, value in settings.items() if name not in told}
    _write(
        path,
        f"Comparison: {Path(source).name}" if source else "Comparison",
        "kernimpute compare",
        _verdict_of_comparison(result),
        _messages("Warnings", result["cautions"], "notice warning"),
        _candidates(result),
        _facts_of_table(known),
        _fill_errors(known["fill_errors"]) if known["fill_errors"] else "",
        _methods(_methods_of_comparison(result), others, command, settings["data_sha256"]),
    )


def _verdict_of_comparison(result: Mapping[str, Any]) -> str:
    """Return the verdict, and what does it."""
    command, program = (result["recommendation"].get(how) for how in ("command", "code"))
    stopped = (
        '<p class="notice warning"><strong>Not complete.</strong> The comparison was stopped '
        "before every candidate had all its folds. The verdict may change.</p>"
    )
    shown = "" if result["complete"] else stopped
    shown += _code(command) if command else ""
    in_python = "<details><summary>What is recommended, in Python</summary>"
    shown += f"{in_python}{_code(program)}</details>" if program else ""
    return f'<div class="verdict"><p>{_text(result["verdict"], 1000)}</p>{shown}</div>'


def _candidates(result: Mapping[str, Any]) -> str:
    """Return the plot of the tests, and the table of all candidates."""
    settings, rows = result["settings"], pd.DataFrame(result["table"][:MOST_ROWS])
    finding = rows["error"].where(rows["error"] != "", rows["finding"].replace("", "not tested"))
    ends = zip(_aligned(rows["lower"], "+"), _aligned(rows["upper"], "+"), strict=True)
    columns = {
        "candidate": map(_named, rows["candidate"]),
        "finding": map(_text, finding),
        "difference": _aligned(rows["difference"], "+"),
        "95 % interval": (f"{low} to {high}" if low != "–" else low for low, high in ends),
        "p (Holm)": _aligned(rows["p_holm"]),
        **{_SCORES[name]: _aligned(rows[name]) for name in _SCORES if name in rows},
        "seconds": _aligned(rows["seconds"]),
    }
    primary = _SCORES[settings["primary"]]
    return (
        f"<h2>Candidates</h2><figure><figcaption><strong>Differences in {primary}</strong>Right of "
        "0 is better. A line is the 95 % interval, and goes on where it leaves the axis. The band "
        f"is the zone of practical equivalence, ± {_number(settings['margin'])}. Full discs are "
        "better, crosses worse, squares equivalent, rings undecided.</figcaption>"
        f"{_dot_plot(result)}</figure><p>The table has the difference of every candidate to "
        f"“{_named(settings['baseline'])}” in {primary}, positive where it is better, and the mean "
        f"scores.{_capped(len(result['table']), 'first candidates')}</p>"
        + _table("Candidates", columns, "two")
    )


def _dot_plot(result: Mapping[str, Any]) -> str:
    """Return the tests of a comparison: differences with their intervals."""
    margin, rows = float(result["settings"]["margin"]), result["effects"][:MOST_ROWS]
    ends = np.array([[row["lower"], row["upper"]] for row in rows] or [[0.0, 0.0]], dtype=float)
    # The axis shows most intervals whole: a few that are far off would press all others to 0.
    reach = max(2.0 * margin, 1.6 * float(np.quantile(np.abs(ends), 0.75)))
    least = 1.5 * margin or 1e-6
    low = min(-least, max(float(ends.min()), -reach))
    high = max(least, min(float(ends.max()), reach))

    def x(value: float) -> str:
        # The axis is from 2 % to 98 %, and what lies beyond it is drawn at the edge.
        return f"{min(max(2.0 + 96.0 * (value - low) / (high - low), 0.0), 100.0):.2f}%"

    shapes, said, y = "", "", 22
    for question in dict.fromkeys((row["question"], row["against"]) for row in rows):
        heading = _text("{}s against “{}”".format(*question).capitalize(), 50)
        shapes += f'<text class="ink family" y="{y + 20}">{heading}</text>'
        y += 28
        members = [row for row in rows if (row["question"], row["against"]) == question]
        for row in sorted(members, key=lambda row: -row["difference"]):
            finding, line = _text(row["finding"]), y + 24
            shapes += (
                f'<g class="{finding}"><text class="ink" y="{y + 14}">'
                f'{_text(row["candidate"], 46)}</text><text x="100%" y="{y + 14}" '
                f'text-anchor="end">{finding}</text><line class="dot" x1="{x(row["lower"])}" '
                f'x2="{x(row["upper"])}" y1="{line}" y2="{line}"/><svg x="{x(row["difference"])}" '
                f'y="{line}">{_MARKS.get(finding, _MARKS["better"])}</svg></g>'
            )
            y += 34
            between = " to ".join(_aligned((row["lower"], row["upper"]), "+"))
            said += f"{row['candidate']} against {row['against']}: {between}, {row['finding']}. "
    y += 8
    back = (
        f'<rect class="zone" x="{x(-margin)}" width="{192.0 * margin / (high - low):.2f}%" '
        f'y="18" height="{y - 18}"/><line class="axis" x1="2%" x2="98%" y1="{y}" y2="{y}"/>'
        f'<text x="{x(0.0)}" y="12" dx="-8" text-anchor="end">← worse</text>'
        f'<text x="{x(0.0)}" y="12" dx="8">better →</text>'
    )
    for place, kind in ((-margin, "edge"), (margin, "edge"), (0.0, "axis")):
        back += f'<line class="{kind}" x1="{x(place)}" x2="{x(place)}" y1="18" y2="{y}"/>'
    step = 10.0 ** np.floor(np.log10((high - low) / 3.0))
    step *= max(k for k in (1, 2, 5) if (high - low) / (k * step) >= 3.0)
    for tick in step * np.arange(np.ceil(low / step), np.floor(high / step) + 1):
        label = _number(round(float(tick), 12))
        back += f'<text x="{x(tick)}" y="{y + 15}" text-anchor="middle">{label}</text>'
    title = f"Differences in {_SCORES[result['settings']['primary']]} with 95 % intervals"
    return _svg("differences", title, said or "No test yet.", y + 22, back + shapes)


def _facts_of_table(known: Mapping[str, Any]) -> str:
    """Return what was found in the table before anything was compared."""
    classes, n_gaps, rare = known["classes"], known["n_gaps"], known["rare_categories"]
    pairs = {
        "table": f"{_number(known['n_rows'])} rows, {counted(known['n_columns'], 'column')}",
        "gaps": f"{_number(n_gaps)} ({_percent(n_gaps / (known['n_rows'] * known['n_columns']))})",
        "task": known["task"],
        "classes": _joined([f"{label}: {n}" for label, n in classes.items()]),
        "complete rows": _number(known["rows"]["complete"]),
        "rows without a value": _number(known["rows"]["empty"]),
        "patterns of gaps": _number(known["n_patterns"]),
        "gaps tell of the label, p": _number(known["gaps_tell"]["p"], 2),
        "columns that count rows": _joined(known["identifiers"]),
        "pairs of rows that share no column": _number(known["disjoint_pairs"]),
        "rare categories": _joined([f"{one['column']}: {one['category']}" for one in rare]),
    }
    gappy = sorted((one for one in known["columns"] if one["n_gaps"]), key=lambda c: -c["n_gaps"])
    labels, shown = [*classes][:MOST_CATEGORIES], gappy[:MOST_ROWS]
    columns = {
        "column": [_named(one["column"]) for one in shown],
        "gaps": [_number(one["n_gaps"]) for one in shown],
        "share": [_percent(one["share"]) for one in shown],
        **{f"in {k}": [_percent(one["gaps_by_class"][k]) for one in shown] for k in labels},
        "p (Holm)": _aligned(one["p"] for one in shown),
    }
    return (
        f"<h2>The table</h2>{_facts(pairs.items())}<p>Where gaps are more frequent in one class "
        "than in another they tell of the label, and indicators of gaps may help; p is that of the "
        f"difference.{_capped(len(gappy), 'columns with the most gaps')}"
        f"{_capped(len(classes), 'first classes', MOST_CATEGORIES)}"
        f"</p>{_table('Gaps by column', columns)}"
    )


def _fill_errors(errors: Sequence[Mapping[str, Any]]) -> str:
    """Return the errors of fills on hidden cells, by column."""
    columns: dict[Any, Iterable[str]] = {
        name: map(_text, cells) if name in ("column", "unit") else _aligned(cells)
        for name, cells in pd.DataFrame(errors[:MOST_ROWS]).items()
    }
    return (
        "<h2>Errors of fills on hidden cells</h2><p>Observed cells were hidden and filled. The "
        "error is a root mean square in standard deviations of the column, or the share of wrong "
        "categories. Closer fills need not make a better model."
        f"{_capped(len(errors), 'first columns')}</p>{_table('Errors of fills', columns, 'two')}"
    )


def _methods_of_comparison(result: Mapping[str, Any]) -> str:
    """Return what a paper should tell about the comparison."""
    settings, known = result["settings"], result["facts"]
    return (
        f"{len(result['table'])} candidates were compared on {_number(known['n_rows'])} rows and "
        f"{counted(known['n_columns'], 'column')} with {_number(known['n_gaps'])} missing cells, "
        f"by {settings['repeats']} × {settings['folds']}-fold cross-validation with random seed "
        f"{settings['seed']}"
        f"{'; rows of one group were never parted' if settings['grouped'] else ''}. All candidates "
        "had the same folds. Filling, scaling, tuning and every choice used the training rows of a "
        f"fold only. The primary score was {_SCORES[settings['primary']]}. Differences have 95 % "
        "intervals and p values of the corrected resampled t test (Nadeau and Bengio, 2003), which "
        "allows for training sets that overlap. Learners were compared on one filling, and "
        "fillings under one learner; p values are corrected for the number of comparisons of each "
        "question by Holm's method (1979). Within "
        f"± {_number(settings['margin'])} a difference counts as none in practice. Software: "
        f"{', '.join(f'{name} {value}' for name, value in settings['versions'].items())}."
        f"{'' if result['complete'] else ' The comparison was stopped before it was complete.'}"
    )


# ------------------------------------------------------------------------- parts of a page


def _write(path: Path | str, title: str, kind: str, *parts: str) -> None:
    """Write a page of parts that are HTML; title and kind are text."""
    page = files("kernimpute.report").joinpath("page.html").read_text(encoding="utf-8")
    content = {"title": _text(title), "kind": kind, "body": "\n".join(parts)}
    written = Template(page).substitute(content, version=__version__)
    Path(path).write_text(written, encoding="utf-8")


def _methods(said: str, settings: Mapping[str, Any], command: str, data_sha256: str) -> str:
    """Return a paragraph to be quoted, and what it takes to repeat the work."""
    listed = "; ".join(f"{name}: {_short(_setting(one), 200)}" for name, one in settings.items())
    digest = f"<p>SHA-256 of the data: {data_sha256}</p>" if data_sha256 else ""
    return (
        f"<h2>Methods, to be quoted</h2><p>{_text(said, 3000)}</p>{digest}"
        f'{_code(command) if command else ""}<p class="soft">Settings: {_text(listed, 3000)}.</p>'
    )


def _setting(value: object) -> str:
    if isinstance(value, (tuple, list)):
        return ", ".join(map(str, value)) or "none"
    return "default" if value is None else str(value)


def _capped(n: int, what: str, most: int = MOST_ROWS) -> str:
    """Return that not all are shown, where this is so."""
    return f" Shown are the {most} {what}, of {_number(n)}." if n > most else ""


def _table(caption: str, columns: Mapping[str, Iterable[str]], kind: str = "") -> str:
    """Return HTML cells as a table; the first column, or with kind "two" two, stand on the left."""
    heads = "".join(f'<th scope="col">{_text(name)}</th>' for name in columns)
    rows = "".join(
        f'<tr><th scope="row">{first}</th><td>{"</td><td>".join(others)}</td></tr>'
        for first, *others in zip(*columns.values(), strict=True)
    )
    return (
        f'<div class="wide" role="region" tabindex="0" aria-label="{caption}">'
        f"<table{kind and ' class=' + kind}><caption><span>{caption}</span></caption>"
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Return names, which are text, and values, which are HTML, as a list."""
    items = "".join(f"<div><dt>{name}</dt><dd>{fact}</dd></div>" for name, fact in pairs)
    return f"<dl>{items}</dl>"


def _messages(heading: str, lines: Sequence[str], kind: str = "notice") -> str:
    """Return messages, which are text, under a heading; nothing if there are none."""
    items = "".join(f"<li>{_text(line, 600)}</li>" for line in lines)
    return f'<div class="{kind}"><strong>{heading}</strong><ul>{items}</ul></div>' if lines else ""


def _code(lines: str) -> str:
    """Return a command, which breaks between words, or a program, which scrolls by itself."""
    if "\n" in lines:
        return f'<pre class="wide" tabindex="0"><code>{escape(lines)}</code></pre>'
    words = " ".join(f"<span>{escape(word)}</span>" for word in lines.split(" "))
    return f"<pre><code>{words}</code></pre>"


# ------------------------------------------------------------------------- text


def _short(value: object, width: int) -> str:
    """Return text of bounded width, in letters; a wide letter counts twice."""
    written = str(value)
    widths = np.cumsum([1 + (unicodedata.east_asian_width(one) in "WF") for one in written])
    n_kept = int(np.searchsorted(widths, width, side="right"))
    return written if n_kept == len(written) else written[: max(n_kept - 1, 1)] + "…"


def _text(value: object, width: int = 80) -> str:
    """Return a value as escaped text of bounded width."""
    return escape(_short(value, width))


def _named(name: object) -> str:
    """Return a name as escaped text that may break inside, as in a_name and aName."""
    return re.sub("(_|[a-z](?=[A-Z]))", r"\1<wbr>", _text(name))


def _joined(names: Sequence[object], most: int = 8) -> str:
    """Return names as escaped text, at most so many, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(_named, names[:most])) + more or "none"


def _number(value: float | None, digits: int = 3) -> str:
    """Return a number for people; a dash where there is none."""
    if value is None or not np.isfinite(value):
        return "–"
    size = abs(value)
    is_count = isinstance(value, (int, np.integer))
    is_whole = size < 1e15 and (size >= 1000.0 or value == int(value))
    form = ".0f" if is_whole else f".{digits}g"
    return f"{value:{',' if is_count or size >= 1e4 else ''}{form}}".replace("-", "−")


def _aligned(values: Iterable[float | None], sign: str = "") -> list[str]:
    """Return numbers with the same number of decimals; `sign="+"` shows every sign."""
    known = np.array([np.nan if value is None else value for value in values], dtype=float)
    largest = float(np.abs(known[np.isfinite(known)]).max(initial=0.0)) or 1.0
    decimals = max(2 - int(np.floor(np.log10(largest))), 3 if largest < 10.0 else 0)
    written = (f"{value:{sign},.{decimals}f}" for value in known)
    return ["–" if "nan" in one else one.replace("-", "−") for one in written]


def _percent(share: float) -> str:
    """Return a share as a percentage that is 0 or 100 only where it is exactly that."""
    form = ".1g" if 0.0 < share < 0.01 else ".1f" if 0.99 < share < 1.0 else ".0f"
    return f"{100.0 * (share if share == 1.0 else min(share, 0.999)):{form}}\u00a0%"


# ------------------------------------------------------------------------- figures


def _svg(key: str, title: str, description: str, height: int, shapes: str) -> str:
    """Return a figure as wide as there is room; `key` is its own within the page."""
    return (
        f'<svg role="img" aria-labelledby="{key}-t {key}-d" width="100%" height="{height}">'
        f'<title id="{key}-t">{escape(title)}</title>'
        f'<desc id="{key}-d">{escape(description)}</desc>{shapes}</svg>'
    )


def _bars(kind: str, heights: FloatArray, box: str) -> str:
    """Return bars side by side, of heights from 0 to 1, as one path stretched to a box."""
    path, last = "M0 100", 100
    for place, height in enumerate(heights):
        top = round(100 - 100 * float(height))
        if top != last:
            path += f"H{place}V{top}"
            last = top
    return (
        f'<svg {box} viewBox="0 0 {len(heights)} 100" preserveAspectRatio="none"><path '
        f'class="{kind}" d="{path}H{len(heights)}V100" vector-effect="non-scaling-stroke"/></svg>'
    )


def _strip(key: str, name: object, gaps: BoolArray, n_bars: int) -> str:
    """Return where the gaps of a column are: a bar's height is their share in a block of rows."""
    edges = np.linspace(0, gaps.size, n_bars + 1).astype(int)
    shares = np.add.reduceat(gaps, edges[:-1], dtype=float) / np.diff(edges)
    # A block with any gap is seen.
    drawn = _bars("filled", np.where(shares > 0, np.maximum(shares, 0.08), 0.0), 'height="18"')
    drawn += '<line class="axis" x2="100%" y1="18" y2="18"/>'
    said = f"{_percent(gaps.mean())} of the rows have a gap."
    return _svg(key, f"Gaps of {_short(name, 40)} by row", said, 19, drawn)


def _histograms(observed: FloatArray, filled: FloatArray) -> str:
    """Return the shapes, 84 high, of observed numbers as an area and filled ones as a line."""
    both = np.concatenate([observed, filled])
    # From 0 on, numbers that are large and close together still have edges between them.
    least, both = both.min(), both - both.min()
    if (both == np.rint(both)).all() and both.max() <= 20:
        low, high = 0.0, both.max()
        edges = np.arange(-0.5, high + 1)
    else:
        low, high = np.quantile(both[: observed.size], [0.005, 0.995])
        edges = np.histogram_bin_edges(np.clip(both, low, high), 24)
    shares = [
        np.histogram(np.clip(part, low, high), edges)[0] / part.size
        for part in (both[: observed.size], both[observed.size :])
    ]
    tallest, box = max(share.max() for share in shares), 'y="2" height="62"'
    first = ("≤ " if low > 0.0 else "") + _number(low + least, 4)
    last = ("≥ " if both.max() > high else "") + _number(high + least, 4)
    return (
        _bars("observed", shares[0] / tallest, box)
        + _bars("outline", shares[1] / tallest, box)
        + f'<line class="axis" x2="100%" y1="64" y2="64"/><text y="78">{first}</text>'
        f'<text x="100%" y="78" text-anchor="end">{last}</text>'
    )
