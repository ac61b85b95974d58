"""Small labelled tables with gaps, tables with targets, and Stage II's objective by definition."""

import numpy as np
from scipy.optimize import minimize_scalar

from kernimpute.core.rows import LabelledRows, check_labelled_rows
from kernimpute.kernels import KERNELS as KINDS
from kernimpute.kernels import Gaussian
from kernimpute.methods.recover import STARTS, recovery_problem
from tests.conftest import read_only

KERNELS = tuple(kind() for kind in KINDS.values())
DISTANCES = tuple(kernel for kernel in KERNELS if kernel.is_distance)
CASES = [(kernel, ()) for kernel in KERNELS]
CASES += [(kernel, columns) for kernel in DISTANCES for columns in ((1, 3), (0, 1, 2, 3, 4))]
"""Every kernel on numbers, and those of a distance on tables with codes, five columns each."""

GAUSSIAN = Gaussian(1.0)

GRID = np.linspace(0.0, 1.0, 201) ** 4
"""Dense near 0, where the chi-squared term bends."""


def with_gaps(table, rate, seed=0):
    """Return a protected table in which a share of the cells, to the cell, is NaN."""
    n_gaps = round(table.size * rate)
    flat = table.ravel().copy()
    flat[np.random.default_rng(seed).permutation(table.size)[:n_gaps]] = np.nan
    return read_only(flat.reshape(table.shape))


def random_table(n_samples, n_features, categorical=(), seed=0):
    """Return a protected table with the ends of [0, 1] and, where asked for, codes."""
    generator = np.random.default_rng(seed)
    table = generator.random((n_samples, n_features))
    table[generator.random(table.shape) < 0.1] = 0.0
    table[generator.random(table.shape) < 0.1] = 1.0
    for column in categorical:
        table[:, column] = generator.choice([-2.5, 0.0, 7.0], n_samples)
    return read_only(table)


def random_target(kernel, table, noise=0.0, seed=0):
    """Return the protected sums of a table, symmetric noise added."""
    target = kernel.sums(table, table)
    errors = noise * np.random.default_rng(seed).normal(size=target.shape)
    return read_only(target + errors + errors.T)


def random_weights(n_samples, seed=0):
    """Return protected symmetric weights, some of them 0."""
    generator = np.random.default_rng(seed)
    weights = generator.random((n_samples, n_samples))
    weights[generator.random(weights.shape) < 0.1] = 0.0
    return read_only(weights * weights.T)


def small_problem(kernel, *, categorical=(), weighted=False, noise=0.2, n=25, d=5, rate=0.5):
    """Return a checked problem and its start at the half."""
    kernel = kernel.with_categorical(list(categorical), d)
    table = random_table(n, d, categorical)
    problem = recovery_problem(
        with_gaps(table, rate),
        random_target(kernel, table, noise),
        kernel=kernel,
        weights=random_weights(n) if weighted else None,
    )
    return problem, STARTS["half"](problem)


def row_objectives(problem, table, row, candidates):
    """Return a row's share of the objective with each of the candidates, (n, d), in its place."""
    kernel, n = problem.kernel, table.shape[0]
    weights = np.broadcast_to(problem.weights, (n, n))[row]
    others = np.arange(n) != row
    residuals = kernel.sums(candidates, table[others]) - problem.target[row, others]
    own = 0.0 if kernel.is_distance else kernel.feature_term(candidates, candidates).sum(axis=1)
    # The row's pair with itself counts once in the objective, its other pairs twice.
    own_part = weights[row] * (own - problem.target[row, row]) ** 2
    return 2.0 * (weights[others] * residuals**2).sum(axis=1) + own_part


def lowest_by_cell(problem, table, row, column):
    """Return the least share of the objective over all values of one cell, by trial."""

    def at(values):
        candidates = np.repeat(table[row : row + 1], len(values), axis=0)
        candidates[:, column] = values
        return row_objectives(problem, table, row, candidates)

    codes = problem.codes[column]
    if codes.size:
        return at(codes).min()
    values = at(GRID)
    lowest = values.min()
    for node in np.argsort(values)[:3]:
        found = minimize_scalar(
            lambda value: at([value])[0],
            bounds=(GRID[max(node - 1, 0)], GRID[min(node + 1, GRID.size - 1)]),
            method="bounded",
            options={"xatol": 1e-12},
        )
        lowest = min(lowest, found.fun)
    return lowest


class Cauchy(Gaussian):
    """A kernel whose link falls without being an exponential."""

    is_exponential = False

    def link(self, sums):
        """Return ``1 / (1 + gamma s)``."""
        return 1.0 / (1.0 + self.gamma * np.asarray(sums))


def labelled(X, y, kernel=GAUSSIAN, **options) -> LabelledRows:
    """Return checked rows with the usual options but those given."""
    usual = {"C": 1.0, "task": "classification", "epsilon": 0.1, "categorical": None}
    return check_labelled_rows(X, y, kernel, owner="test", **usual | options)


def small_rows(
    n_samples=12, missing_rate=0.4, seed=0, kernel=GAUSSIAN, n_complete=0, labels=None, **options
) -> LabelledRows:
    """Return read-only rows of two clusters, of which some are complete and the others are not."""
    generator = np.random.default_rng(seed)
    y = np.arange(n_samples) % 2
    X = np.clip(0.3 + 0.4 * y[:, None] + 0.15 * generator.standard_normal((n_samples, 4)), 0, 1)
    gaps = generator.random(X.shape) < missing_rate
    gaps[:n_complete] = False
    gaps[n_complete:, 0] |= ~gaps[n_complete:].any(axis=1)
    X[gaps] = np.nan
    X.setflags(write=False)
    return labelled(X, y if labels is None else labels, kernel, **options)


def labels_of(rows):
    """Return the labels of two classes, as -1 and 1."""
    return rows.dual.targets[:, 0].astype(int)


def completions(rows, n_completions=100, seed=1):
    """Yield completed tables, uniform in the gaps."""
    generator = np.random.default_rng(seed)
    for _ in range(n_completions):
        yield np.where(rows.observed, rows.X, generator.random(rows.X.shape))


def feasible_coefficients(dual, seed=3):
    """Return generic coefficients that are feasible in the dual."""
    noise = np.random.default_rng(seed).random(dual.targets.shape)
    return dual.proximal_point(dual.lower + noise * (dual.upper - dual.lower), 0.0)
