"""A problem of forty rows, for tests of methods."""

import numpy as np

from experiments.problem import Problem, Rows, Setting


def small_problem(
    *, held_out: str = "complete", empty_column: bool = False, n_classes: int = 2, n_rows: int = 40
) -> Problem:
    """Return classes a little apart in four columns, a third of the cells missing in training."""
    generator = np.random.default_rng(7)

    def rows(n: int, gaps: bool) -> Rows:
        y = np.arange(n) % n_classes
        truth = np.clip(0.3 * y[:, None] + 0.15 * generator.normal(size=(n, 4)) + 0.3, 0.0, 1.0)
        X = truth.copy()
        if gaps:
            X[generator.random(X.shape) < 1 / 3] = np.nan
        return Rows(X, truth, y)

    train = rows(n_rows, True)
    if empty_column:
        train.X[:, 2] = np.nan
    gappy = held_out == "amputed"
    setting = Setting("made", "mcar", 0.3, 0, held_out=held_out)
    problem = Problem(setting, train, rows(30, gappy), rows(30, gappy))
    for part in (problem.train, problem.holdout, problem.test):
        for array in (part.X, part.truth, part.y):
            array.flags.writeable = False
    return problem
