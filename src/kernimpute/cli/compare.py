"""The command `compare`, which itself imports the library, so that `--help` need not wait."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernimpute.cli import messages, options
from kernimpute.cli.messages import Progress, RefusedError, StoppedError, refusals
from kernimpute.cli.options import option

if TYPE_CHECKING:
    from kernimpute.comparison.verdict import Comparison


@dataclass(frozen=True)
class Design:
    """How candidates are compared: parameters of `kernimpute.compare`, by their names there."""

    task: options.TaskName = option(
        "What the label is; auto decides by its values.", default=options.TaskName.AUTO
    )
    methods: list[str] = option(
        "Compare these only: means, means+indicators, knn, iterative, joint, joint+indicators, "
        "guided; linear, svm, boosting; unfilled, kernimpute, catboost, lightgbm. Repeatable; also "
        "a,b,c. By default all that are installed.",
        default=[],
        metavar="NAME",
    )
    groups: str | None = option(
        "Rows with the same value here are never parted, such as the visits of a patient.",
        metavar="COLUMN",
    )
    folds: int = option("Folds of the cross-validation.", default=5, min=2)
    repeats: int = option("Times that it is repeated.", default=3, min=1)
    margin: float = option(
        "Differences up to this (log loss, or R²) do not matter.", default=0.01, min=0.0
    )
    permuted: bool = option(
        "Also check that permuted labels stay chance.", "--permuted-labels", default=False
    )
    max_rows: int = option("Of a larger table a random sample is compared.", default=5000, min=50)
    time_limit: float | None = option("Stop with what is finished.", metavar="SECONDS", min=1.0)
    n_jobs: int = option(
        "Folds at the same time; -1: one a core.", "--jobs", "--n-jobs", default=-1
    )
    random_state: int = option("Seed of all that is random.", "--seed", default=0, min=0)
    resume: Path | None = option("Keep the finished folds of a --json file.", metavar="FILE.json")
    report: Path | None = option("Also write a report.", metavar="FILE.html")
    markdown: Path | None = option("Write verdict and scores as Markdown.", metavar="OUT.md")


@options.grouped
def compare(
    table: options.Table,
    target: Annotated[
        str,
        typer.Option(
            "--target", "-t", metavar="COLUMN", help="The label column.", show_default=False
        ),
    ],
    columns: options.Columns,
    reading: options.Reading,
    design: Design,
    how: options.Output,
) -> None:
    """Tell whether filling the missing cells of TABLE helps to predict its label, and with what.

    Fillings, learners and learners that need no filling are compared by repeated cross-validation,
    in which everything is learnt inside the folds. The verdict is one sentence, with the command
    or the Python that does it. --json is written anew after every fold.

    Ctrl-C and --time-limit end with the folds that are finished.

    Example: `kernimpute compare patients.csv --target outcome --report report.html`
    """
    from kernimpute.cli.files import STANDARD, check_outputs, open_table, read_with_roles
    from kernimpute.comparison.verdict import compare as compare_candidates
    from kernimpute.core.files import before_leaving

    given = vars(design).copy()
    asked = {"JSON": how.json, "Markdown": given.pop("markdown"), "report": given.pop("report")}
    outputs = {path: what for what, path in asked.items() if path is not None}
    file = open_table(table, reading)
    check_outputs([table], [], asked, force=how.force, resumed=design.resume)
    values, roles = read_with_roles(file, target, design.task.value, columns, reading)
    groups = given.pop("groups")
    if groups is not None and groups not in values.frame.columns:
        raise RefusedError(f"--groups: there is no column {groups!r}.")
    unused = [*roles["drop"], *roles["ignore"], *([] if groups is None else [groups])]
    if target in unused:
        raise RefusedError(f"--drop, --ignore, --groups: the label column {target!r} is needed.")
    unused = [*dict.fromkeys(unused)]
    features = values.frame.drop(columns=[target, *unused])
    names = [part.strip() for name in given.pop("methods") for part in name.split(",")]
    n_folds = design.folds * design.repeats
    codes = [name for name in roles["categorical"] if name in features]
    latest: list[Comparison] = []
    start = time.perf_counter()

    def told(found: Comparison) -> Comparison:
        """Return a comparison that knows its table, its command and how to read the table."""
        what = dict(found.recommendation)
        what["command"] = _command(what, table, target, unused, codes, reading)
        if what["code"] is not None:
            prelude = _reading(table, target, found.facts, reading)
            what["code"] = f"{prelude}\n{what['code']}model.fit(X, y)\n"
        settings = found.settings | {"command": shlex.join(["kernimpute", *sys.argv[1:]])}
        facts = {"target": target} | found.facts
        return replace(found, recommendation=what, facts=facts, settings=settings)

    def after_fold(found: Comparison) -> None:
        latest.append(told(found))
        done = len(found.folds)
        left = (time.perf_counter() - start) / len(latest) * (n_folds - done)
        progress.show(f"fold {done} of {n_folds}, about {left:.0f} s left")
        if how.json is not None and how.json != STANDARD:
            _write(latest[-1], {how.json: "JSON"})

    def write() -> str | None:
        """Write what is finished, and return what to say of it after an interrupt."""
        if not (latest and outputs):
            return None
        _write(latest[-1], outputs, str(table))
        names = ", ".join(map(str, outputs))
        return f"{len(latest[-1].folds)} of {n_folds} folds are finished: wrote {names}."

    is_interrupted = False
    with before_leaving(write), Progress(quiet=how.quiet) as progress, refusals(OSError):
        try:
            found = compare_candidates(
                features,
                values.frame[target].rename(target),
                groups=None if groups is None else values.frame[groups],
                methods=names or None,
                categorical=codes,
                callback=after_fold,
                **{**given, "task": design.task.value},
            )
            latest.append(told(found))
        except KeyboardInterrupt:
            if not latest:
                raise
            is_interrupted = True
        written = write()
    found = latest[-1]
    messages.print_or_ignore(lambda: _print(found, values.cautions, [*outputs], quiet=how.quiet))
    if is_interrupted:
        said = written or f"the verdict is that of {len(found.folds)} of {n_folds} folds."
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


def _print(
    found: Comparison, cautions: Sequence[str], outputs: Sequence[Path], *, quiet: bool
) -> None:
    """Print warnings, facts, candidates, verdict and what to do; quietly the verdict alone."""
    for caution in dict.fromkeys([*cautions, *found.cautions]):
        typer.echo("warning: " + " ".join(messages.in_options(caution).split()), err=True)
    if Path("-") in outputs:
        return
    if not quiet:
        cells = found.cells()
        scores = messages.aligned(cells, left=(0, len(cells[0]) - 2))
        typer.echo("\n".join([*messages.aligned(_facts(found), left=(0, 1)), "", *scores, ""]))
    typer.echo(found.verdict)
    if quiet:
        return
    typer.echo("(Intervals are of one comparison each; findings are corrected for their number.)")
    for what in ("command", "code"):
        if found.recommendation[what]:
            typer.echo(f"\n{found.recommendation[what]}")
    typer.echo("\n".join(f"wrote {path}" for path in outputs), nl=bool(outputs))


def _facts(found: Comparison) -> list[tuple[str, str]]:
    """Return what one should know of the table before any candidate."""
    facts, rows, p = found.facts, found.facts["rows"], found.facts["gaps_tell"]["p"]
    n_cells = facts["n_rows"] * facts["n_columns"]
    classes = ", ".join(f"{label} {n}" for label, n in list(facts["classes"].items())[:10])
    gappy = sorted(
        (one for one in facts["columns"] if one["n_gaps"]), key=lambda one: -one["share"]
    )
    most = ", ".join(f"{one['column']} {100 * one['share']:.0f} %" for one in gappy[:5])
    telling = [one["column"] for one in gappy if one["p"] is not None and one["p"] < 0.05]
    lines = [
        ("table", f"{facts['n_rows']} rows, {facts['n_columns']} columns"),
        ("label", f"{facts['target']} ({': '.join(filter(None, [facts['task'], classes]))})"),
        ("gaps", f"{facts['n_gaps']} of {n_cells} cells ({100 * facts['n_gaps'] / n_cells:.3g} %)"),
        (
            "by column",
            f"{len(gappy)} of {facts['n_columns']} columns have gaps{': ' * bool(most)}{most}",
        ),
        (
            "by row",
            f"{rows['complete']} complete, {rows['empty']} empty; {facts['n_patterns']} patterns",
        ),
    ]
    if p is not None:
        says = "gaps tell" if p < 0.01 else "gaps are not shown to tell"
        lines.append(("gaps and label", f"{says} more than the columns do (p = {p:.3f})"))
    for name, value in {
        "": telling and f"shares of gaps differ with the label in {', '.join(telling[:8])}",
        "identifiers?": ", ".join(facts["identifiers"]),
        "disjoint rows": facts["disjoint_pairs"] and f"{facts['disjoint_pairs']} pairs",
        "copies": facts["n_copies"] and f"{facts['n_copies']} rows repeat another one",
        "rare categories": facts["rare_categories"]
        and f"{len(facts['rare_categories'])} of fewer than 10 rows",
    }.items():
        if value:
            lines.append((name, value))
    return lines


def _command(
    how: Mapping[str, Any],
    table: Path,
    target: str,
    unused: Sequence[str],
    codes: Sequence[str],
    reading: options.Reading,
) -> str | None:
    """Return the command that does what is recommended, if there is one, with the same columns."""
    fills = {"means": ["--reference", "mean"], "joint": [], "guided": ["--guidance", "direct"]}
    is_own = how["candidate"] == "kernimpute"
    if not is_own and how["filling"] not in fills:
        return None
    given = ["kernimpute", "fit" if is_own else "impute", str(table), "--target", target]
    given += ["--predict", "-o", "model.skops"] if is_own else ["-o", "filled.csv"]
    given += [] if is_own else fills[how["filling"]]
    for name, values in {"ignore": unused, "categorical": codes, **vars(reading)}.items():
        for value in [values] if isinstance(values, str) else values or ():
            given += [f"--{name.replace('_', '-')}", value]
    return shlex.join(given)


def _reading(table: Path, target: str, facts: Mapping[str, Any], reading: options.Reading) -> str:
    """Return Python that reads a table as X and y, with the columns and kinds of `facts`."""
    kinds = {".parquet": "parquet", ".feather": "feather", ".xlsx": "excel", ".jsonl": "json"}
    kind = next((kind for end, kind in kinds.items() if end in table.name.lower()), "csv")
    names = [one["column"] for one in facts["columns"]]
    texts = [one["column"] for one in facts["columns"] if one["kind"] == "category"]
    given: dict[str, Any] = {"lines": True} if kind == "json" else {}
    if kind == "csv":
        delimiter = reading.delimiter or ("\t" if ".tsv" in table.name.lower() else None)
        given = {"sep": delimiter, "decimal": reading.decimal, "encoding": reading.encoding}
        given["na_values"] = [*reading.missing_values] or None
    said = [f"{option}={value!r}" for option, value in given.items() if value is not None]
    said += ["dtype=dict.fromkeys(texts, str)"] if kind in ("csv", "excel") and texts else []
    read = f"table = pd.read_{kind}({', '.join([repr(str(table)), *said])})"
    of_columns = any("=" in text for text in reading.missing_values) or reading.keep_values
    if of_columns or table == Path("-"):
        read = "# Read the table here, as `table`, with None at its gaps."
    return f"""import pandas as pd

texts = {texts!r}
{read}
table = table.dropna(subset=[{target!r}])
X, y = table[{names!r}], table[{target!r}]
X = X.astype(dict.fromkeys(texts, "category"))
"""
