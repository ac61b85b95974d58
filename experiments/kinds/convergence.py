"""The objective of each variant, round by round."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from experiments.config import ConvergenceConfig, check_methods
from experiments.make_problem import make_problem
from experiments.problem import Setting
from kernimpute import VARIANTS, impute
from kernimpute.kernels import Gaussian

columns = (
    "stage",
    "iteration",
    "objective",
    "difference",
    "gap",
    "largest_step",
    "elapsed",
    "solver_status",
)
"""One row a round: the objective after it, less that after the round before, the certificate,
the largest relative step of a moving variable, the seconds since the stage began; and how the
whole run ended. What a variant does not evaluate is missing."""

ALL_ROUNDS = 300
"""So many rounds of a stage have a row each; `released` takes thousands."""


def units(config: ConvergenceConfig) -> list[dict[str, Any]]:
    """Return the axes: each repetition."""
    check_methods(config, VARIANTS)
    return [
        {
            "dataset": config.dataset,
            "missing_rate": config.missing_rate,
            "C": config.C,
            "gamma": config.gamma,
            "repetition": repetition,
        }
        for repetition in range(config.repetitions)
    ]


def setting(config: ConvergenceConfig, unit: dict[str, Any]) -> Setting:
    """Return the problem that a unit is of."""
    return Setting(unit["dataset"], "mcar", unit["missing_rate"], unit["repetition"])


def rows(
    config: ConvergenceConfig, unit: dict[str, Any], method: str, data_dir: Path | None
) -> list[dict[str, Any]]:
    """Return the rounds of one variant."""
    problem = make_problem(setting(config, unit), data_dir)
    result = impute(
        problem.train.X,
        problem.train.y,
        variant=method,
        kernel=Gaussian(unit["gamma"]),
        C=unit["C"],
    )
    found = []
    for stage, records in groupby(result.trace.records, key=lambda record: record.stage):
        rounds = list(records)
        for last, record in zip([None, *rounds], rounds, strict=False):
            if record.iteration > ALL_ROUNDS and record.iteration % 10 and record is not rounds[-1]:
                continue
            found.append(
                {
                    "stage": stage,
                    "iteration": record.iteration,
                    "objective": record.objective,
                    "difference": np.nan if last is None else record.objective - last.objective,
                    "gap": record.gap,
                    "largest_step": max(record.step_norms.values(), default=np.nan),
                    "elapsed": record.seconds,
                    "solver_status": result.status.name,
                }
            )
    return found
