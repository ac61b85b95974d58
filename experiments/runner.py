"""Run an experiment on several processes.

A unit of work is run by one process, one method after another, and each method's rows are written
as soon as it ends. What is written is not done again; so a run may end at any point, and the next
one goes on from there.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed, parallel_config

from experiments.config import Config, MethodEntry
from experiments.kinds import Kind, kind_of
from experiments.make_problem import check_setting
from experiments.measure import machine, measured, versions
from experiments.plan import Plan, Work, key_of
from experiments.problem import Setting, seed_of
from experiments.records import OUTCOME, status_of
from experiments.registry import needs_of


def run(plan: Plan, *, data_dir: Path | None = None, jobs: int = 1) -> Iterator[list[str]]:
    """Run the work of a plan; yield how the methods of each unit ended."""
    calls = (
        delayed(_do)(plan.config, work, plan.folder, data_dir, os.getpid()) for work in plan.work
    )
    # What workers load later than the limit is set is bound by their environment.
    with parallel_config(backend="loky", n_jobs=jobs, inner_max_num_threads=1):
        parallel = Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="2*n_jobs")
        with _interrupts_blocked():
            finished = parallel(calls)
        yield from finished


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Block Ctrl-C in this process until the block ends, and for good in those it starts.

    Only the first process handles it and ends the others, which would print tracebacks.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _do(
    config: Config, work: Work, folder: Path, data_dir: Path | None, first_process: int
) -> list[str]:
    """Run what is left of a unit, write each method's rows, and return how they ended."""
    if os.getpid() != first_process:
        # A thread that a library starts may take the signal in spite of the mask.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    kind = kind_of(config)
    ended: list[str] = []
    for entry in work.methods:
        if _is_abandoned(first_process):
            break
        rows = _rows(kind, config, work.unit, entry, data_dir)
        key_of(config, work.unit, entry).write(folder, rows)
        ended.append(status_of([row["status"] for row in rows]))
    return ended


def _is_abandoned(first_process: int) -> bool:
    """Return whether the process that waits for this one was killed."""
    return first_process not in (os.getpid(), os.getppid())


def _rows(
    kind: Kind, config: Config, unit: dict[str, Any], entry: MethodEntry, data_dir: Path | None
) -> list[dict[str, Any]]:
    """Return the complete rows of one method in a unit, also if it fails."""
    leading = {"experiment": config.name, **unit, "method": entry.name}
    names = list(dict.fromkeys([*leading, *kind.columns, *OUTCOME]))
    on = {"seed": seed_of(*unit.values()), "versions": versions(), "machine": machine()}
    empty = dict.fromkeys(names) | on | leading
    reason = entry.reason_to_skip(unit)
    if reason is not None:
        return [empty | {"status": "skipped", "reason": reason}]
    outcome = measured(partial(_checked, kind, config, unit, entry.name, data_dir, names))
    took = {
        "seconds": outcome.seconds,
        "peak_memory_mib": outcome.peak_memory_mib,
        "warnings": outcome.warnings,
    }
    if outcome.error is not None:
        return [empty | took | {"status": "failed", "reason": outcome.reason}]
    return [empty | took | {"status": "done"} | row for row in outcome.value]


def _checked(
    kind: Kind,
    config: Config,
    unit: dict[str, Any],
    method: str,
    data_dir: Path | None,
    names: Sequence[str],
) -> list[dict[str, Any]]:
    """Return a kind's rows, of which there must be one, with no unknown columns."""
    rows = kind.rows(config, unit, method, data_dir)
    if not rows:
        raise ValueError(f"{config.kind} must give at least one row for {method}; got none.")
    unknown = sorted({name for row in rows for name in row if name not in names})
    if unknown:
        raise ValueError(f"Rows of {config.kind} must keep to its columns; got also {unknown}.")
    return rows


def check_conditions(plan: Plan, data_dir: Path | None) -> None:
    """Refuse a run that lacks what its methods need, before any work."""
    try:
        for setting in _settings(plan):
            check_setting(setting, data_dir)
        for package, method in _needed_packages(plan):
            if find_spec(package) is None:
                raise ImportError(f"The method {method} needs {package}: pip install {package}.")
    except (ValueError, OSError, ImportError) as error:
        raise ValueError(f"{plan.config.name}: {' '.join(str(error).split())}") from None


def _settings(plan: Plan) -> Iterator[Setting]:
    """Yield the problems to be made, with only the last repetition of each."""
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


def _needed_packages(plan: Plan) -> set[tuple[str, str]]:
    """Return the packages that the methods to be run need, with a method that needs each."""
    methods = {
        entry.name
        for work in plan.work
        for entry in work.methods
        if entry.reason_to_skip(work.unit) is None
    }
    return {(package, name) for name in methods if (package := needs_of(name))}
