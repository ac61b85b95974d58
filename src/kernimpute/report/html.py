"""The report as one HTML file: no scripts, no fonts, no images from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

import numpy as np
import pandas as pd

from kernimpute import __version__
from kernimpute.core.arrays import BoolArray, FloatArray
from kernimpute.core.kernels import Kernel
from kernimpute.core.status import Record, Trace
from kernimpute.estimators.impute_table import TableImputation, kernel_text

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --ink: #1c2733; --soft: #5d6b7a; --line: #d8dee6;
  --back: #ffffff; --panel: #f5f7fa; --mark: #1f6f8b; --warn: #a1470b; }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e4e9ef; --soft: #9aa7b5;
  --line: #33404d; --back: #14191f; --panel: #1d242c; --mark: #63b7d3; --warn: #f0a35e; }} }}
body {{ font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--back);
  max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }}
h1 {{ font-size: 1.5rem; margin: 0; }} h2 {{ font-size: 1.1rem; margin: 2rem 0 .5rem; }}
p, ul {{ margin: .4rem 0; }} .soft {{ color: var(--soft); }}
.panel {{ background: var(--panel); border-left: 4px solid var(--mark); padding: .6rem 1rem;
  margin: 1rem 0; }} .warn {{ border-color: var(--warn); }}
.wide {{ overflow-x: auto; }} table {{ border-collapse: collapse; font-size: .92rem; }}
th, td {{ text-align: left; padding: .25rem .9rem .25rem 0; vertical-align: top;
  border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; }}
svg {{ display: block; max-width: 100%; }} svg path {{ fill: none; stroke: var(--mark);
  stroke-width: 1.6; }} svg text {{ fill: var(--soft); font-size: 11px; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p class="soft">kernimpute {version}</p>
<div class="panel"><p><strong>What the filled values are for.</strong> {purpose}</p></div>
{warnings}
<h2>What was done</h2>
{facts}
{notes}
<h2>Columns that were filled</h2>
{columns}
{traces}
<h2>Settings</h2>
{settings}
</body>
</html>
"""
_GUIDED = """They were chosen to help in {aim}, not to resemble the values that went missing. Train
a model on this table; do not compute means, spreads, correlations or tests from the filled
cells."""
_UNGUIDED = """Each is the most plausible value, given the cells of its row that are observed. So
filled cells spread less than the values that went missing: train a model on this table; do not
compute spreads, correlations or tests from the filled cells."""
_LEAK = """</p><p>The labels helped to fill their own rows. A score measured on these rows is
therefore too good: set the test rows aside <em>before</em> filling."""
_MOST_ROUNDS = 40
"""Rounds listed of each stage; of a longer trace the middle is left out."""
_MOST_CATEGORIES = 4


def write_report(path: Path | str, imputation: TableImputation, *, source: str = "") -> None:
    """Write the report on a filled table as an HTML file; `source` names the table."""
    Path(path).write_text(render_report(imputation, source=source), encoding="utf-8")


def render_report(imputation: TableImputation, *, source: str = "") -> str:
    """Return the report on a filled table as an HTML document."""
    imputer, target = imputation.imputer, f"<em>{escape(str(imputation.target))}</em>"
    purpose = _UNGUIDED
    if imputer.guidance is not None:
        is_regression = imputation.task == "regression"
        aim = f"predicting {target}" if is_regression else f"telling apart {target}"
        purpose = _GUIDED.format(aim=aim)
    if imputer._uses_labels:
        purpose += _LEAK
    settings = [(name, _setting(value)) for name, value in imputation.settings.items()]
    return _PAGE.format(
        title=escape(f"Filled table: {source}" if source else "Filled table"),
        version=escape(__version__),
        purpose=purpose,
        warnings=_messages("Warnings", imputation.warnings, "panel warn"),
        facts=_table(imputation.facts),
        notes=_messages("Notes", imputation.notes, "panel"),
        columns=_columns(imputation),
        traces=_traces(imputer.trace_) if imputer.guidance is not None else "",
        settings=_table(settings),
    )


def _table(rows: Iterable[Sequence[object]], head: Sequence[str] = ()) -> str:
    """Return rows as a table; the first cell of each is a heading if the columns have none."""
    lines = (
        ["<tr>" + "".join(f"<th>{escape(name)}</th>" for name in head) + "</tr>"] if head else []
    )
    for row in rows:
        first, *others = (escape(str(cell)) for cell in row)
        begin = f"<td>{first}</td>" if head else f"<th>{first}</th>"
        lines.append(f"<tr>{begin}{''.join(f'<td>{cell}</td>' for cell in others)}</tr>")
    return f'<div class="wide"><table>{"".join(lines)}</table></div>'


def _messages(heading: str, messages: Sequence[str], kind: str) -> str:
    if not messages:
        return ""
    items = "".join(f"<li>{escape(message)}</li>" for message in messages)
    return f'<div class="{kind}"><strong>{heading}</strong><ul>{items}</ul></div>'


def _setting(value: object) -> str:
    if value is None:
        return "default"
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, float):
        return f"{value:.6g}"
    return kernel_text(value) if isinstance(value, Kernel) else str(value)


# ------------------------------------------------------------------------- columns


def _columns(imputation: TableImputation) -> str:
    """Return a table that compares observed and filled values, column by column."""
    if not imputation.filled:
        return "<p>None: the table had no gap that can be filled.</p>"
    codes = imputation.settings.get("categorical", ())
    rows = []
    for name, count in imputation.filled.items():
        cells, values = imputation.filled_cells(name), imputation.table[name]
        is_category = isinstance(codes, tuple) and name in codes
        observed, filled = compare_values(values, cells, is_category)
        share = 100.0 * count / imputation.n_rows
        rows.append((name, f"{count} ({share:.1f} %)", observed, filled))
    about = "Numbers: mean ± standard deviation. Categories: the most frequent ones, with shares."
    head = ("column", "cells filled", "observed", "filled")
    return f'<p class="soft">{about}</p>{_table(rows, head)}'


def compare_values(values: pd.Series, filled: BoolArray, is_category: bool) -> tuple[str, str]:
    """Return what the observed and the filled cells of a column are like, in words."""
    is_number = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
    if is_number and not is_category:
        numbers = np.asarray(values, dtype=float)
        parts = [numbers[~filled], numbers[filled]]
        observed, new = (f"{part.mean():.4g} ± {part.std():.3g}" for part in parts)
        return observed, new
    most_frequent = list(values[~filled].value_counts().index[:_MOST_CATEGORIES])
    return _shares(values[~filled], most_frequent), _shares(values[filled], most_frequent)


def _shares(values: pd.Series, categories: list[object]) -> str:
    """Return the shares of some categories, and of the rest."""
    counts = [int((values == category).sum()) for category in categories]
    counted = zip([*categories, "others"], [*counts, len(values) - sum(counts)], strict=True)
    return ", ".join(
        f"{category} {100.0 * count / len(values):.0f} %"
        for category, count in counted
        if count or category != "others"
    )


# ------------------------------------------------------------------------- traces


def _traces(trace: Trace) -> str:
    """Return the curves and rounds of each stage."""
    stages: dict[str, list[Record]] = {}
    for record in trace.records:
        stages.setdefault(record.stage, []).append(record)
    parts = [_trace(stage or "solver", Trace(tuple(records))) for stage, records in stages.items()]
    heading = "<h2>How the solver got there</h2>"
    return heading + ("".join(parts) or "<p>No solver was needed.</p>")


def _trace(heading: str, trace: Trace) -> str:
    # The one-stage variant is certified by the slope that is left, not by a gap.
    certificate = "slope" if heading.startswith("direct") else "gap"
    curves = curve(trace.column("objective"), "objective by round") + curve(
        trace.column("gap"), f"{certificate} by round", logarithmic=True
    )
    rows = [
        (
            record.iteration,
            _number(record.objective),
            _number(record.gap),
            record.inner_iterations,
            f"{record.seconds:.3f}",
            record.note,
        )
        for record in trace.records
    ]
    n_omitted, half = len(rows) - _MOST_ROUNDS, _MOST_ROUNDS // 2
    omitted = ""
    if n_omitted > 0:
        rows = rows[:half] + rows[-half:]
        omitted = f'<p class="soft">{n_omitted} rounds in the middle are left out.</p>'
    head = ("round", "objective", certificate, "inner iterations", "seconds", "note")
    return (
        f"<h3>{escape(heading)}</h3>{curves}<details><summary>{len(trace)} records</summary>"
        f"{_table(rows, head)}{omitted}</details>"
    )


def _number(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.6g}"


def curve(values: FloatArray, title: str, *, logarithmic: bool = False) -> str:
    """Return a curve of shape (n_rounds,) as SVG, with its ends written below.

    NaN is no point; fewer than two points give nothing. A logarithmic curve needs positive values.
    """
    known = np.flatnonzero(np.isfinite(values))
    if known.size < 2:
        return ""
    heights = values[known]
    if logarithmic and (heights > 0).all():
        heights = np.log10(heights)
        title += " (logarithmic)"
    span = heights.max() - heights.min()
    scaled = (heights - heights.min()) / span if span > 0 else np.full(heights.shape, 0.5)
    # 640 by 90, with a margin of 8 and a line of text below.
    x = 8 + (known - known[0]) / (known[-1] - known[0]) * 624
    y = 8 + (1.0 - scaled) * 74
    points = " L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True))
    title = escape(title)
    return (
        f'<svg viewBox="0 0 640 108" width="640" role="img" aria-label="{title}">'
        f'<path d="M{points}"></path>'
        f'<text x="8" y="102">{title}: from {values[known[0]]:.6g}</text>'
        f'<text x="632" y="102" text-anchor="end">to {values[known[-1]]:.6g}</text></svg>'
    )
