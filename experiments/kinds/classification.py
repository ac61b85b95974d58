"""Methods compared by what their classifiers get right, and by the rows they fill."""

from __future__ import annotations

import json
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

from experiments.config import ClassificationConfig
from experiments.make_problem import make_problem
from experiments.methods.candidates import Chosen, Rule, choose
from experiments.methods.named import method
from experiments.metrics import (
    FILLING_SCORES,
    PREDICTION_SCORES,
    SEPARATION_SCORES,
    filling_scores,
    prediction_scores,
    separation_scores,
)
from experiments.problem import Problem, Setting

columns = (
    "rule",
    *PREDICTION_SCORES,
    "holdout_accuracy",
    "train_accuracy",
    *FILLING_SCORES,
    *SEPARATION_SCORES,
    "parameters",
    "solver_status",
)
"""What a row holds beside its axes."""


def units(config: ClassificationConfig) -> list[dict[str, Any]]:
    """Return the axes of each unit of work: those of a `Setting`."""
    for entry in config.methods:
        method(entry.name)
    return [
        Setting(
            dataset=dataset,
            mechanism=mechanism,
            missing_rate=missing_rate,
            repetition=repetition,
            held_out=config.held_out,
            scaling=config.scaling,
            splits=config.splits,
        ).axes
        for repetition, dataset, mechanism, missing_rate in product(
            range(config.repetitions), config.datasets, config.mechanisms, config.missing_rates
        )
    ]


def setting(config: ClassificationConfig, unit: dict[str, Any]) -> Setting:
    """Return the problem that a unit is of."""
    return Setting(**unit)


def rows(
    config: ClassificationConfig, unit: dict[str, Any], method_name: str, data_dir: Path | None
) -> list[dict[str, Any]]:
    """Return what a method reaches on a unit, a row for each selection rule."""
    compared = method(method_name)
    problem = _problem(setting(config, unit), data_dir)
    selected = choose(compared.candidates(problem), problem, compared.rules)
    return [
        _row(problem, rule, selected[rule]) if rule in selected else _failed(rule)
        for rule in compared.rules
    ]


@lru_cache(maxsize=1)
def _problem(of: Setting, data_dir: Path | None) -> Problem:
    """Return the problem of a setting, one object for all methods, which keep work by it."""
    return make_problem(of, data_dir)


def _row(problem: Problem, rule: Rule, chosen: Chosen) -> dict[str, Any]:
    candidate = chosen.candidate
    return {
        "rule": rule,
        **prediction_scores(candidate.model, problem.test),
        "holdout_accuracy": chosen.holdout_accuracy,
        "train_accuracy": candidate.train_accuracy,
        **filling_scores(candidate.filled, problem.train),
        **separation_scores(candidate.filled, problem.train.y),
        "parameters": json.dumps(dict(candidate.parameters)),
        "solver_status": candidate.solver_status,
    }


def _failed(rule: Rule) -> dict[str, Any]:
    return {
        "rule": rule,
        "status": "failed",
        "reason": "No candidate has a training accuracy above its holdout accuracy.",
    }
