"""The report as one HTML file: no scripts, no fonts, no images from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from kernimpute import __version__
from kernimpute.core.kernels import Kernel
from kernimpute.core.status import Record, Trace
from kernimpute.estimators.impute_table import TableImputation
from kernimpute.report.curves import curve
from kernimpute.report.facts import kernel_text, run_facts
from kernimpute.report.shares import ColumnComparison, compare_columns

__all__ = ["render_report", "write_report"]

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2733; --soft: #5d6b7a; --line: #d8dee6;
  --back: #ffffff; --panel: #f5f7fa; --mark: #1f6f8b; --warn: #a1470b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9ef; --soft: #9aa7b5;
  --line: #33404d; --back: #14191f; --panel: #1d242c; --mark: #63b7d3; --warn: #f0a35e; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--back);
  max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
p, ul { margin: .4rem 0; } .soft { color: var(--soft); }
.panel { background: var(--panel); border-left: 4px solid var(--mark); padding: .6rem 1rem;
  margin: 1rem 0; } .warn { border-color: var(--warn); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .92rem; }
th, td { text-align: left; padding: .25rem .9rem .25rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; } td.number, th.number { text-align: right;
  font-variant-numeric: tabular-nums; }
svg { display: block; max-width: 100%; } svg path { fill: none; stroke: var(--mark);
  stroke-width: 1.6; } svg rect { fill: var(--mark); } svg text { fill: var(--soft);
  font-size: 11px; } details { margin: .5rem 0; }
"""
_MOST_ROUNDS = 40
"""Rounds listed of each stage; the ones between are left out of a longer trace."""


def write_report(path: Path | str, imputation: TableImputation, *, source: str = "") -> None:
    """Write the report on a filled table.

    Parameters
    ----------
    path : Path or str
        The HTML file to write.
    imputation : TableImputation
        The filled table.
    source : str, default=""
        What to call the table that was filled.
    """
    Path(path).write_text(render_report(imputation, source=source), encoding="utf-8")


def render_report(imputation: TableImputation, *, source: str = "") -> str:
    """Return the report on a filled table.

    Parameters
    ----------
    imputation : TableImputation
        The filled table.
    source : str, default=""
        What to call the table that was filled.

    Returns
    -------
    str
        An HTML document.
    """
    title = f"Filled table: {source}" if source else "Filled table"
    parts = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="soft">kernimpute {escape(__version__)}</p>',
        _advice(imputation),
        _messages("Warnings", imputation.warnings, "panel warn"),
        "<h2>What was done</h2>",
        _pairs(run_facts(imputation)),
        _messages("Notes", imputation.notes, "panel"),
        "<h2>Columns that were filled</h2>",
        _columns(compare_columns(imputation)),
        "<h2>How the solver got there</h2>",
        _traces(imputation),
        "<h2>Settings</h2>",
        _pairs([(name, _setting(value)) for name, value in imputation.settings.items()]),
    ]
    body = "\n".join(part for part in parts if part)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n"
        "</body>\n</html>\n"
    )


def _advice(imputation: TableImputation) -> str:
    predicting = "predicting" if imputation.task == "regression" else "telling apart"
    return (
        '<div class="panel"><p><strong>What the filled values are for.</strong> They were chosen '
        f"to help in {predicting} <em>{escape(str(imputation.target))}</em>, not to resemble the "
        "values that went missing. Train a model on this table; do not compute means, spreads, "
        "correlations or tests from the filled cells.</p>"
        "<p>The labels guided the filling of their own rows. A score measured on these rows is "
        "therefore too good: set the test rows aside <em>before</em> filling.</p></div>"
    )


def _messages(heading: str, messages: Sequence[str], kind: str) -> str:
    if not messages:
        return ""
    items = "".join(f"<li>{escape(message)}</li>" for message in messages)
    return f'<div class="{kind}"><strong>{heading}</strong><ul>{items}</ul></div>'


def _pairs(pairs: Iterable[tuple[str, str]]) -> str:
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in pairs
    )
    return f'<div class="wide"><table>{rows}</table></div>'


def _setting(value: object) -> str:
    if value is None:
        return "default"
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, float):
        return f"{value:.6g}"
    return kernel_text(value) if isinstance(value, Kernel) else str(value)


def _columns(columns: Sequence[ColumnComparison]) -> str:
    if not columns:
        return "<p>None: the table had no gap that can be filled.</p>"
    head = (
        "<tr><th>column</th><th class=number>cells filled</th><th></th><th>observed</th>"
        "<th>filled</th></tr>"
    )
    rows = "".join(
        f"<tr><td>{escape(column.name)}</td>"
        f"<td class=number>{column.n_filled} ({100.0 * column.share:.1f} %)</td>"
        f"<td>{_bar(column.share)}</td><td>{escape(column.observed)}</td>"
        f"<td>{escape(column.filled)}</td></tr>"
        for column in columns
    )
    return (
        '<p class="soft">Numbers: mean ± standard deviation. Categories: the most frequent ones '
        "with their shares.</p>"
        f'<div class="wide"><table>{head}{rows}</table></div>'
    )


def _bar(share: float) -> str:
    return (
        f'<svg width="80" height="14" role="img" aria-label="{100.0 * share:.0f} %">'
        f'<rect y="3" width="{80.0 * share:.1f}" height="8"></rect></svg>'
    )


def _traces(imputation: TableImputation) -> str:
    result = imputation.result
    if result is None:
        return "<p>No solver was needed.</p>"
    traces = [("", result.trace)]
    if imputation.new_rows is not None and imputation.new_rows.n_sweeps:
        traces.append(("rows without a label", imputation.new_rows.trace))
    shown = [_trace(name, stage) for name, trace in traces for stage in _stages(trace)]
    return "".join(shown) or "<p>The solver left no trace.</p>"


def _stages(trace: Trace) -> list[Trace]:
    """Return a trace cut where the stage changes."""
    stages: dict[str, list[Record]] = {}
    for record in trace.records:
        stages.setdefault(record.stage, []).append(record)
    return [Trace(tuple(records)) for records in stages.values()]


def _trace(name: str, trace: Trace) -> str:
    stage = trace.records[0].stage or "solver"
    heading = f"{stage}, {name}" if name else stage
    # The certificate of the one-stage variant is the slope that is left, no gap.
    certificate = "slope" if stage == "direct" else "gap"
    curves = curve(trace.column("objective"), "objective by round") + curve(
        trace.column("gap"), f"{certificate} by round", logarithmic=True
    )
    records = list(trace.records)
    omitted = max(len(records) - _MOST_ROUNDS, 0)
    if omitted:
        records = records[: _MOST_ROUNDS // 2] + records[-(_MOST_ROUNDS // 2) :]
    head = "".join(
        f"<th class=number>{column}</th>"
        for column in ("round", "objective", certificate, "inner iterations", "seconds")
    )
    rows = "".join(_round(record) for record in records)
    left_out = (
        f'<p class="soft">{omitted} rounds in the middle are left out.</p>' if omitted else ""
    )
    return (
        f"<h3>{escape(heading)}</h3>{curves}<details><summary>{len(trace)} records</summary>"
        f'<div class="wide"><table><tr>{head}<th>note</th></tr>{rows}</table></div>{left_out}'
        "</details>"
    )


def _round(record: Record) -> str:
    numbers = (
        str(record.iteration),
        _number(record.objective),
        _number(record.gap),
        str(record.inner_iterations),
        f"{record.seconds:.3f}",
    )
    cells = "".join(f"<td class=number>{number}</td>" for number in numbers)
    return f"<tr>{cells}<td>{escape(record.note)}</td></tr>"


def _number(value: float) -> str:
    return "" if value != value else f"{value:.6g}"
