"""The verdicts of `compare` on simulated tables of which the right one is known.

``python -m benchmarks.verdicts`` takes tables of 300 rows and ten columns, of which five have 30 %
of gaps. In the first kind the label depends on the complete columns alone and gaps are independent,
so that no filling can matter. In the second, gaps of two columns shift the log-odds by 1.5 each, so
that indicators must be named. The candidates are the default ones. Only those that the verdict
looks at are fitted: learners on means, candidates without filling, and fillings under the best
learner. A number after the command says how many tables of each kind, by default 100.

Tables in the results file are not taken again, so that a run may be stopped at any time.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import beta

from benchmarks.setting import RESULTS, one_thread, write_results
from kernimpute.comparison import judging, verdict
from kernimpute.comparison.candidates import BASELINE, LEARNERS, candidates_of
from kernimpute.comparison.facts import facts_of

N_ROWS, N_COLUMNS, N_GAPPY = 300, 10, 5
MISSING_RATE = 0.3
LOG_ODDS = 1.5
KINDS = {"filling cannot matter": "not about filling", "gaps tell": "indicators named"}
"""The kinds of tables, and what the verdict must be."""


def table(kind: str, seed: int) -> tuple[pd.DataFrame, Any]:
    """Return a simulated table and its labels."""
    rng = np.random.default_rng([seed, [*KINDS].index(kind)])
    mixing = np.eye(N_COLUMNS) + 0.3 * rng.normal(size=(N_COLUMNS, N_COLUMNS)) / N_COLUMNS**0.5
    X = rng.normal(size=(N_ROWS, N_COLUMNS)) @ mixing
    gaps = rng.random((N_ROWS, N_GAPPY)) < MISSING_RATE
    weights = rng.normal(size=N_COLUMNS - N_GAPPY)
    if kind == "gaps tell":
        log_odds = 0.4 * X[:, N_GAPPY:] @ weights
        log_odds += LOG_ODDS * (gaps[:, :2] - MISSING_RATE).sum(axis=1)
    else:
        log_odds = 0.8 * X[:, N_GAPPY:] @ weights
        # The columns with gaps know nothing of the others, and so nothing of the label.
        X[:, :N_GAPPY] = rng.normal(size=gaps.shape)
    y = (rng.random(N_ROWS) < 1.0 / (1.0 + np.exp(-log_odds))).astype(int)
    X[:, :N_GAPPY][gaps] = np.nan
    return pd.DataFrame(X, columns=[f"x{k}" for k in range(N_COLUMNS)]), y


def verdict_on(X: pd.DataFrame, y: Any) -> verdict.Comparison:
    """Return what `compare` returns, without the candidates that the verdict does not look at."""
    data = judging.Data(X, X, y, "classification")
    candidates, _ = candidates_of("classification", None, {}, len(y), 2, 0, 0)
    facts = facts_of(X, y, "classification", has_groups=False, seed=0)
    settings = {
        **{"task": "classification", "folds": 5, "repeats": 3, "margin": 0.01},
        **{"primary": "log_loss", "baseline": f"{BASELINE}, {LEARNERS[0]}", "permuted": False},
    }
    folds = judging.make_folds(data, 5, 3, 0)
    simple = [one for one in candidates if one.filling in (None, BASELINE)]
    finished = {
        fold.number: judging.run_fold(data, simple, fold, permuted=False, seed=0) for fold in folds
    }
    choice = verdict._choose(simple, [*finished.values()], facts, settings)
    better = {one["candidate"]: one for one in choice.effects if one["finding"] == "better"}
    on_means = [one for one in simple if one.filling and one.name in better]
    learner = max(on_means, key=lambda one: better[one.name]["difference"], default=simple[0])
    others = [
        one for one in candidates if one.learner == learner.learner and one.filling != BASELINE
    ]
    for fold in folds:
        more = judging.run_fold(data, others, fold, permuted=False, seed=0)
        finished[fold.number]["scores"] |= more["scores"]
    return verdict.judge([*simple, *others], finished, facts, settings, ())


def is_right(kind: str, found: verdict.Comparison) -> bool:
    """Return whether a verdict is the right one."""
    if kind == "gaps tell":
        return "indicators" in found.verdict
    of_filling = [one for one in found.effects if one["question"] == "filling"]
    fills = found.recommendation["filling"] not in (None, BASELINE)
    return not fills and not any(one["finding"] == "better" for one in of_filling)


def main(last: int) -> None:
    """Run what is not in the results, and write them after every table."""
    path = RESULTS / "verdicts.json"
    runs = json.loads(path.read_text())["runs"] if path.exists() else []
    done = {(run["kind"], run["seed"]) for run in runs}
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(last):
            for kind in KINDS:
                if (kind, seed) in done:
                    continue
                found = verdict_on(*table(kind, seed))
                run = {"kind": kind, "seed": seed, "is_right": is_right(kind, found)}
                runs.append(run | {"candidate": found.recommendation["candidate"]})
                write_results("verdicts", {"summary": summary(runs), "runs": runs})
                print(kind, seed, found.verdict, flush=True)


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the share of right verdicts of each kind, with its exact 95 % interval."""
    shares: dict[str, Any] = {}
    for kind, must_be in KINDS.items():
        right = [run["is_right"] for run in runs if run["kind"] == kind]
        n, k = len(right), sum(right)
        low = beta.ppf(0.025, k, n - k + 1) if k else 0.0
        high = beta.ppf(0.975, k + 1, n - k) if k < n else 1.0
        shares[kind] = {"must_be": must_be, "n": n, "right": k, "interval": [low, high]}
    return shares


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
