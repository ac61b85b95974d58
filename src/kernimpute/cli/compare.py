"""The command `compare`, which tells whether filling is worth it on a table, and with what.

The library is imported by the command itself, so that `--help` need not wait for it.
"""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernimpute.cli import options
from kernimpute.cli.messages import (
    Progress,
    RefusedError,
    StoppedError,
    in_options,
    print_or_ignore,
    refusals,
)

if TYPE_CHECKING:
    from kernimpute.comparison.verdict import Comparison

Label = Annotated[
    str,
    typer.Option("--target", "-t", metavar="COLUMN", help="The label column.", show_default=False),
]
Task = Annotated[
    options.TaskName, typer.Option(help="What the label is; auto decides by its values.")
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Compare these only: means, means+indicators, knn, iterative, joint, "
        "joint+indicators, guided; linear, svm, boosting; unfilled, kernimpute, catboost, "
        "lightgbm. Repeatable; also a,b,c. By default all that are installed.",
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Rows with the same value here are never parted, such as the visits of a patient.",
    ),
]
Json = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Also write everything as JSON, after every fold anew; - for standard output, in "
        "place of the text.",
    ),
]
Markdown = Annotated[
    Path | None, typer.Option(metavar="OUT.md", help="Write verdict and scores as Markdown.")
]
Resume = Annotated[
    Path | None,
    typer.Option(metavar="FILE.json", help="Keep the finished folds of a --json file."),
]


def compare(
    table: options.Table,
    target: Label,
    task: Task = options.TaskName.AUTO,
    methods: Methods = None,
    groups: Groups = None,
    ignore: options.Ignore = None,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    missing_values: options.MissingValues = None,
    keep_values: options.KeepValues = None,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    folds: Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")] = 5,
    repeats: Annotated[int, typer.Option(min=1, help="Times that it is repeated.")] = 3,
    margin: Annotated[
        float,
        typer.Option(min=0.0, help="Differences up to this (log loss, or R²) do not matter."),
    ] = 0.01,
    permuted_labels: Annotated[
        bool, typer.Option("--permuted-labels", help="Also check that permuted labels stay chance.")
    ] = False,
    max_rows: Annotated[
        int, typer.Option(min=50, help="Of a larger table a random sample is compared.")
    ] = 5000,
    time_limit: Annotated[
        float | None, typer.Option(min=0.0, metavar="SECONDS", help="Stop with what is finished.")
    ] = None,
    jobs: Annotated[
        int, typer.Option("--jobs", "--n-jobs", help="Folds at the same time; -1: one a core.")
    ] = -1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all that is random.")] = 0,
    report: options.Report = None,
    json: Json = None,
    markdown: Markdown = None,
    resume: Resume = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Tell whether filling the gaps of TABLE helps to predict its label, and with what.

    Fillings, learners and learners that need no filling are compared by repeated cross-validation,
    in which everything is learnt inside the folds. The verdict is one sentence, with the command
    or the Python that does it.

    Ctrl-C and --time-limit end with the folds that are finished.

    Example: `kernimpute compare patients.csv --target outcome --report report.html`
    """
    from kernimpute.cli.files import STANDARD, check_own_file, open_table, read_with_roles
    from kernimpute.comparison.verdict import compare as compare_candidates
    from kernimpute.core.files import before_leaving

    asked = {"JSON": json, "Markdown": markdown, "report": report}
    outputs = {path: what for what, path in asked.items() if path is not None}
    reading = options.Reading(
        delimiter, decimal, encoding, tuple(missing_values or ()), tuple(keep_values or ())
    )
    file = open_table(table, reading)
    taken: list[Path] = []
    for what, path in asked.items():
        if path is not None:
            check_own_file(what, path, [table], taken, force=force or path == resume)
            taken.append(path)
    columns = {"drop": drop, "ignore": ignore, "categorical": categorical}
    values, roles = read_with_roles(file, target, task.value, columns, reading)
    if groups is not None and groups not in values.frame.columns:
        raise RefusedError(f"--groups: there is no column {groups!r}.")
    unused = [*roles["drop"], *roles["ignore"], *([] if groups is None else [groups])]
    if target in unused:
        raise RefusedError(f"--drop, --ignore, --groups: the label column {target!r} is needed.")
    unused = [*dict.fromkeys(unused)]
    features = values.frame.drop(columns=[target, *unused])
    names = [part.strip() for name in methods or () for part in name.split(",")]
    prelude = _reading(table, target, unused, roles["categorical"], reading)
    latest: list[Comparison] = []
    start = time.perf_counter()

    def told(found: Comparison) -> Comparison:
        """Return a comparison that knows its table, its command and how to read the table."""
        how = dict(found.recommendation)
        how["command"] = _command(how, table, target)
        if how["code"] is not None:
            how["code"] = f"{prelude}\n{how['code']}model.fit(X, y)\n"
        settings = found.settings | {"command": shlex.join(["kernimpute", *sys.argv[1:]])}
        facts = {"target": target} | found.facts
        return replace(found, recommendation=how, facts=facts, settings=settings)

    def after_fold(found: Comparison) -> None:
        latest.append(told(found))
        done, of = len(found.folds), folds * repeats
        left = (time.perf_counter() - start) / len(latest) * (of - done)
        progress.show(f"fold {done} of {of}, about {left:.0f} s left")
        if json is not None and json != STANDARD:
            _write(latest[-1], {json: "JSON"})

    def write() -> str | None:
        """Write what is finished, and return what to say of it after an interrupt."""
        if not (latest and outputs):
            return None
        _write(latest[-1], outputs, str(table))
        names = ", ".join(map(str, outputs))
        return f"{len(latest[-1].folds)} of {folds * repeats} folds are finished: wrote {names}."

    is_interrupted = False
    with before_leaving(write), Progress(quiet=quiet) as progress, refusals(OSError):
        try:
            found = compare_candidates(
                features,
                values.frame[target].rename(target),
                groups=None if groups is None else values.frame[groups],
                methods=names or None,
                task=task.value,
                categorical=[name for name in roles["categorical"] if name in features],
                folds=folds,
                repeats=repeats,
                margin=margin,
                permuted=permuted_labels,
                max_rows=max_rows,
                time_limit=time_limit,
                resume=resume,
                random_state=seed,
                n_jobs=jobs,
                callback=after_fold,
            )
            latest.append(told(found))
        except KeyboardInterrupt:
            if not latest:
                raise
            is_interrupted = True
        written = write()
    found = latest[-1]
    print_or_ignore(lambda: _print(found, values.cautions, [*outputs], quiet=quiet))
    if is_interrupted:
        said = written or f"the verdict is that of {len(found.folds)} of {folds * repeats} folds."
        raise StoppedError(f"interrupted; {said}")


def _write(found: Comparison, outputs: Mapping[Path, str], source: str = "") -> None:
    """Write a comparison to files, all or none."""
    from kernimpute.cli.files import replacing_outputs

    with replacing_outputs(*outputs) as temporary:
        for path, kind in zip(temporary, outputs.values(), strict=True):
            if kind == "report":
                from kernimpute.report import write_comparison_report

                how = found.settings["command"]
                write_comparison_report(path, found.to_dict(), source=source, command=how)
            else:
                text = found.to_json() if kind == "JSON" else found.to_markdown()
                path.write_text(text, encoding="utf-8")


# ------------------------------------------------------------------------- what is printed


def _print(
    found: Comparison, cautions: Sequence[str], outputs: Sequence[Path], *, quiet: bool
) -> None:
    """Print warnings, facts, candidates, verdict and what to do; quietly the verdict alone."""
    for caution in dict.fromkeys([*cautions, *found.cautions]):
        typer.echo("warning: " + " ".join(in_options(caution).split()), err=True)
    if Path("-") in outputs:
        return
    if not quiet:
        facts = _facts(found)
        width = max(len(name) for name, _ in facts)
        lines = [f"{name:<{width}}  {text}" for name, text in facts]
        typer.echo("\n".join([*lines, "", *_columns(found.cells()), ""]))
    typer.echo(found.verdict)
    if quiet:
        return
    how = found.recommendation
    if how["command"] is not None:
        typer.echo(f"\n{how['command']}")
    elif how["code"] is not None:
        typer.echo(f"\n{how['code']}")
    typer.echo("\n".join(f"wrote {path}" for path in outputs), nl=bool(outputs))


def _facts(found: Comparison) -> list[tuple[str, str]]:
    """Return what one should know of the table before any candidate."""
    facts = found.facts
    n_cells = facts["n_rows"] * facts["n_columns"]
    classes = ", ".join(f"{label} {n}" for label, n in list(facts["classes"].items())[:10])
    gappy = sorted(
        (one for one in facts["columns"] if one["n_gaps"]), key=lambda one: -one["share"]
    )
    most = ", ".join(f"{one['column']} {100 * one['share']:.0f} %" for one in gappy[:5])
    rows = facts["rows"]
    p = facts["gaps_tell"]["p"]
    telling = [one["column"] for one in gappy if one["p"] is not None and one["p"] < 0.05]
    lines = [
        ("table", f"{facts['n_rows']} rows, {facts['n_columns']} columns"),
        ("label", f"{facts['target']} ({facts['task']}{': ' + classes if classes else ''})"),
        ("gaps", f"{facts['n_gaps']} of {n_cells} cells ({100 * facts['n_gaps'] / n_cells:.3g} %)"),
        (
            "by column",
            f"{len(gappy)} of {facts['n_columns']} columns have gaps"
            + (f": {most}" if most else ""),
        ),
        (
            "by row",
            f"{rows['complete']} complete, {rows['empty']} empty; {facts['n_patterns']} patterns",
        ),
    ]
    if p is not None:
        says = "gaps tell of the label" if p < 0.01 else "no sign that gaps tell of the label"
        lines.append(("gaps and label", f"{says} (p = {p:.3f})"))
    if telling:
        lines.append(("", f"shares of gaps differ in {', '.join(telling[:8])}"))
    for name, what in (("identifiers", "identifiers?"), ("disjoint_pairs", "disjoint rows")):
        if facts[name]:
            value = facts[name]
            lines.append((what, ", ".join(value) if isinstance(value, list) else f"{value} pairs"))
    if facts["n_copies"]:
        lines.append(("copies", f"{facts['n_copies']} rows repeat another one"))
    if facts["rare_categories"]:
        lines.append(("rare categories", f"{len(facts['rare_categories'])} of fewer than 10 rows"))
    return lines


def _columns(cells: Sequence[Sequence[str]]) -> list[str]:
    """Return a table as lines, its first column to the left."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            text.ljust(width) if place in (0, len(row) - 2) else text.rjust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]


# ------------------------------------------------------------------------- what to do


def _command(how: Mapping[str, Any], table: Path, target: str) -> str | None:
    """Return the command that does what is recommended, if there is one."""
    given = ["kernimpute", "impute", str(table), "--target", target, "-o", "filled.csv"]
    fills = {"means": ["--reference", "mean"], "joint": [], "guided": ["--guidance", "direct"]}
    if how["candidate"] == "kernimpute":
        given[1], given[-1] = "fit", "model.skops"
        return shlex.join([*given, "--predict"])
    return shlex.join(given + fills[how["filling"]]) if how["filling"] in fills else None


def _reading(
    table: Path,
    target: str,
    unused: Sequence[str],
    codes: Sequence[str],
    reading: options.Reading,
) -> str:
    """Return Python that reads a table as X and y."""
    name = table.name.lower()
    kinds = {".parquet": "parquet", ".feather": "feather", ".xlsx": "excel", ".jsonl": "json"}
    kind = next((kind for end, kind in kinds.items() if end in name), "csv")
    given: dict[str, Any] = {"lines": True} if kind == "json" else {}
    if kind == "csv":
        delimiter = reading.delimiter or ("\t" if ".tsv" in name else None)
        given = {"sep": delimiter, "decimal": reading.decimal, "encoding": reading.encoding}
        given["na_values"] = [*reading.missing_values] or None
    said = [f"{option}={value!r}" for option, value in given.items() if value is not None]
    read = f"table = pd.read_{kind}({', '.join([repr(str(table)), *said])})"
    of_columns = any("=" in text for text in reading.missing_values) or reading.keep_values
    if of_columns or table == Path("-"):
        read = "# Read the table here, as `table`, with None at its gaps."
    names = "texts" + (f".union({[*codes]!r})" if codes else "")
    lines = [
        "import pandas as pd",
        "",
        read,
        f"table = table.dropna(subset=[{target!r}])",
        f"X, y = table.drop(columns={[target, *unused]!r}), table[{target!r}]",
        'texts = X.select_dtypes(exclude="number").columns',
        f'X = X.astype(dict.fromkeys({names}, "category"))',
    ]
    return "\n".join(lines) + "\n"
