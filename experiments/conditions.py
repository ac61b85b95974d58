"""What must be there before a run: datasets, the authors' splits, torch.

What a run lacks as a whole would else be found by each of its methods, and be written as a failure
of each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from experiments.kind import kind_of
from experiments.make_problem import check_setting
from experiments.method_names import parts_of
from experiments.naming import parse_name
from experiments.plan import Plan
from experiments.problem import Setting


def check_conditions(plan: Plan, data_dir: Path | None) -> None:
    """Refuse a run that lacks what its methods need, before any work."""
    try:
        for setting in _settings(plan):
            check_setting(setting, data_dir)
        if find_spec("torch") is None and "newimp" in _fillers(plan):
            raise ImportError("NewImp needs torch, which the extra 'kernimpute[torch]' installs.")
    except (ValueError, OSError, ImportError) as error:
        raise ValueError(f"{plan.config.name}: {' '.join(str(error).split())}") from None


def _settings(plan: Plan) -> Iterator[Setting]:
    """Yield the problems that will be made, of those that differ in repetition the last."""
    kind = kind_of(plan.config)
    last: dict[Setting, Setting] = {}
    for work in plan.work:
        if all(entry.reason_to_skip(work.unit) for entry in work.methods):
            continue
        setting = kind.setting(plan.config, work.unit)
        if setting is not None:
            first = replace(setting, repetition=0)
            last[first] = max(last.get(first, first), setting, key=lambda one: one.repetition)
    yield from last.values()


def _fillers(plan: Plan) -> set[str]:
    """Return the names of what fills in the methods that will be run."""
    methods = {
        entry.name
        for work in plan.work
        for entry in work.methods
        if entry.reason_to_skip(work.unit) is None
    }
    return {parse_name(parts_of(method).filler).base for method in methods}
