"""Small problems of Stage I that several files look at."""

from __future__ import annotations

import numpy as np
import pytest

from kernimpute.core.rows import LabelledRows, check_labelled_rows
from kernimpute.kernels import Gaussian
from kernimpute.stage_one import VARIANTS
from kernimpute.stage_one.problem import ReferenceMachine, StageOneProblem


def small_rows(
    n_samples: int = 12,
    missing_rate: float = 0.4,
    seed: int = 0,
    kernel: object = None,
    n_complete: int = 0,
    labels: object = None,
) -> LabelledRows:
    """Return rows with two clusters, some complete, read-only."""
    generator = np.random.default_rng(seed)
    y = np.arange(n_samples) % 2
    X = np.clip(0.3 + 0.4 * y[:, None] + 0.15 * generator.standard_normal((n_samples, 4)), 0, 1)
    gaps = generator.random(X.shape) < missing_rate
    gaps[:n_complete] = False
    gaps[n_complete:, 0] |= ~gaps[n_complete:].any(axis=1)
    X[gaps] = np.nan
    X.setflags(write=False)
    return check_labelled_rows(
        X,
        y if labels is None else labels,
        Gaussian(gamma=1.0) if kernel is None else kernel,
        owner="test",
        C=1.0,
        task="classification",
        epsilon=0.1,
        categorical=None,
    )


def problem_of(
    rows: LabelledRows, variant: str, eta: float = 1.0, rho: float = 5.0
) -> StageOneProblem:
    """Return the problem that a variant makes of rows."""
    machine = ReferenceMachine(rows, None)
    relaxation = VARIANTS[variant].relax(rows.X, rows.observed, rows.kernel, machine)
    return StageOneProblem(
        rows.X, rows.observed, rows.kernel, rows.dual, relaxation, eta, rho, radius=1.0
    )


@pytest.fixture
def rows() -> LabelledRows:
    return small_rows()
