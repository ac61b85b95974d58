"""Filled training rows, seen in the plane of the complete rows' first two principal components."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from experiments.config import PcaConfig
from experiments.make_problem import make_problem
from experiments.methods.candidates import Rule, choose
from experiments.methods.named import method as method_named
from experiments.problem import Problem, Setting
from experiments.registry import parts_of

COMPLETE = "complete"
"""The method that is the rows before cells were removed."""

columns = ("point", "label", "component_1", "component_2", "parameters")
"""One row a training row: its number, its class, its coordinates, and what was selected."""


def units(config: PcaConfig) -> list[dict[str, Any]]:
    """Return the axes: each repetition."""
    for entry in config.methods:
        if entry.name != COMPLETE:
            method_named(entry.name)
            if not parts_of(entry.name).classifier:
                raise _no_filling(entry.name)
    return [
        {"dataset": config.dataset, "missing_rate": config.missing_rate, "repetition": repetition}
        for repetition in range(config.repetitions)
    ]


def setting(config: PcaConfig, unit: dict[str, Any]) -> Setting:
    """Return the problem that a unit is of."""
    return Setting(unit["dataset"], "mcar", unit["missing_rate"], unit["repetition"])


def rows(
    config: PcaConfig, unit: dict[str, Any], method: str, data_dir: Path | None
) -> list[dict[str, Any]]:
    """Return the filled training rows of one method in the plane."""
    problem = make_problem(setting(config, unit), data_dir)
    filled, parameters = _filled(problem, method)
    # The plane is that of the complete rows for every method, as in the paper.
    plane = PCA(n_components=2, svd_solver="full").fit(problem.train.truth)
    return [
        {
            "point": point,
            "label": int(label),
            "component_1": float(first),
            "component_2": float(second),
            "parameters": parameters,
        }
        for point, (label, (first, second)) in enumerate(
            zip(problem.train.y, plane.transform(filled), strict=True)
        )
    ]


def _filled(problem: Problem, name: str) -> tuple[NDArray[np.float64], str | None]:
    """Return a method's filled training rows, and the parameters that it selected, as JSON."""
    if name == COMPLETE:
        return problem.train.truth, None
    method = method_named(name)
    rules: tuple[Rule, ...] = ("plain",)
    candidate = choose(method.candidates(problem), problem, rules)["plain"].candidate
    if candidate.filled is None:
        raise _no_filling(name)
    return candidate.filled, json.dumps(dict(candidate.parameters), default=str)


def _no_filling(name: str) -> ValueError:
    return ValueError(f"A method of pca must fill the training rows; got {name!r}.")
