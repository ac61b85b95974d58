"""Whether a search must judge every eta at every C and gamma.

``python -m benchmarks.searches --data-dir FOLDER``: six labelled tables of `benchmarks.real_tables`
(40 and 80 % missing; not white wine, whose 1959 training rows take four minutes a search) and the
five with a quantity of `benchmarks.regression` (30 and 70 %), ten splits each. On each, the CV
estimator of its task judges its whole default grid; what `search="eta_last"` would have chosen is
read from these scores, with all etas at no pair of C and gamma (eta = inf alone) and at the best 1,
2, 3, 5 and 8 of each kernel. The choice is fitted to all training rows, and its accuracy or R2 on
test rows, complete (as they come) and amputed at the same rate ("life"), is held against that of
the best of all. Rows are written as they come; what is there is not run again.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from kernimpute.estimators._candidates import Candidate
from kernimpute.estimators._search import judge_eta_last
from kernimpute.estimators._search_results import SearchResults
from rich.progress import track
from sklearn.exceptions import ConvergenceWarning

from benchmarks import real_tables, regression
from benchmarks.paired import counts, differences
from benchmarks.setting import RESULTS, one_thread, write_results
from kernimpute import (
    KernelImputationClassifier,
    KernelImputationClassifierCV,
    KernelImputationRegressor,
    KernelImputationRegressorCV,
)

REPETITIONS = range(10)
LABELLED = [name for name in real_tables.TABLES if name != "wine_white"]
SETTINGS = [
    *product(["classes"], LABELLED, real_tables.RATES, REPETITIONS),
    *product(["quantity"], regression.TARGETS, regression.RATES, REPETITIONS),
]
PAIRS = (0, 1, 2, 3, 5, 8)
WHERE = ["labels", "dataset", "missing_rate", "repetition"]
KEYS = ["labels", "dataset", "missing_rate", "test"]

Row = dict[str, object]
Task = tuple[Any, pd.DataFrame | np.ndarray, np.ndarray, dict[str, Any], np.ndarray]
"""Plain estimator, training rows and labels, test rows by the kind of test, their labels."""


def task_of(labels: str, dataset: str, missing_rate: float, repetition: int) -> Task:
    """Return what is learned and judged on one split."""
    if labels == "classes":
        split = real_tables.split_table(dataset, missing_rate, repetition)
        tests = {"complete": split.test, "life": split.test_life}
        return KernelImputationClassifier(), split.train, split.y_train, tests, split.y_test
    other = regression.split_table(dataset, missing_rate, repetition)
    return KernelImputationRegressor(), other.X, other.y, other.tests, other.y_test


def choices(results: SearchResults) -> dict[str, SearchResults]:
    """Return by rule the candidates that it judges, with their scores."""
    scores = {id(each): row for each, row in zip(results.candidates, results.scores, strict=True)}

    def judge(chosen: Any) -> SearchResults:
        rows = [scores[id(each)] for each in chosen]
        return SearchResults(tuple(chosen), np.reshape(rows, (-1, results.scores.shape[1])))

    pruned = {f"{n}": judge_eta_last(judge, results.candidates, n) for n in PAIRS}
    return {"all": results, **pruned}


def readings(task: Task) -> Iterator[Row]:
    """Yield a row for each rule and kind of test."""
    plain, X, y, tests, y_test = task
    is_classes = isinstance(plain, KernelImputationClassifier)
    search = KernelImputationClassifierCV if is_classes else KernelImputationRegressorCV
    found = search(search="all").fit(X, y)
    table = found.cv_results_
    results = SearchResults(
        tuple(Candidate(**params) for params in table["params"]),
        np.column_stack([table[f"split{k}_test_score"] for k in range(found.n_splits_)]),
    )
    scored: dict[str, dict[str, float]] = {}
    for rule, judged in choices(results).items():
        best = judged.candidates[judged.best_index]
        if str(best) not in scored:
            chosen = plain.set_params(**best.params).fit(X, y)
            scored[str(best)] = {
                test: float(chosen.score(rows, y_test)) for test, rows in tests.items()
            }
        for test, score in scored[str(best)].items():
            yield {
                "method": rule,
                "test": test,
                "judged": len(judged.candidates),
                "held_out": round(float(judged.scores[judged.best_index].mean()), 6),
                "score": round(score, 6),
            }


def markdown(rows: pd.DataFrame, table: pd.DataFrame) -> str:
    """Return what each rule judges, and how far its choice is from the best of all."""
    counted = counts(table, ["labels", "method"]).set_index(["labels", "method"])
    means = rows.groupby(["labels", "method"])[["judged", "held_out"]].mean()
    lines = [
        "| labels | all etas at | judged | held out | test | better | worse |",
        "|---" * 7 + "|",
    ]
    for labels, rule in counted.index:
        part, mean = counted.loc[labels, rule], means.loc[labels, rule]
        held_out = mean["held_out"] - means.loc[(labels, "all"), "held_out"]
        lines.append(
            f"| {labels} | {rule} | {mean['judged']:.0f} | {held_out:+.4f} | "
            f"{part['mean_difference']:+.4f} | {part['better']:.0f} | {part['worse']:.0f} |"
        )
    return "\n".join(lines).replace("-0", "−0")


def main() -> None:
    """Run what is not there yet, print the table and write rows and summary."""
    path = RESULTS / "searches.csv"
    rows = (
        pd.read_csv(path, dtype={"method": str}) if path.exists() else pd.DataFrame(columns=WHERE)
    )
    known = set(rows[WHERE].itertuples(index=False, name=None))
    for where in track([each for each in SETTINGS if each not in known], description="splits"):
        with one_thread(), warnings.catch_warnings():
            # Candidates far from the defaults may need more steps than they get.
            warnings.simplefilter("ignore", ConvergenceWarning)
            place = dict(zip(WHERE, where, strict=True))
            found = [{**place, **row} for row in readings(task_of(*where))]
        rows = pd.concat([rows, pd.DataFrame(found)], ignore_index=True)
        rows.to_csv(path, index=False)
    table = differences(rows, KEYS, "repetition", "score", to="all")
    print(markdown(rows, table))
    write_results(
        "searches",
        {
            "counts": counts(table, ["labels", "method"]).round(6).to_dict(orient="records"),
            "settings": table.round(6).to_dict(orient="records"),
        },
    )


if __name__ == "__main__":
    main()
