"""Tables with gaps and their targets, which several files of these tests look at."""

from __future__ import annotations

import numpy as np

from kernimpute.kernels import Chi2, Gaussian, Laplacian, Linear, Polynomial, Sigmoid
from kernimpute.methods.starts import STARTS, recovery_problem

KERNELS = (Gaussian(), Laplacian(), Linear(), Polynomial(), Sigmoid(), Chi2())
DISTANCES = (Gaussian(), Laplacian())


def read_only(*arrays):
    """Return the arrays, protected, so that a test fails where one is written to."""
    for array in arrays:
        array.setflags(write=False)
    return arrays[0] if len(arrays) == 1 else arrays


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
    return problem, STARTS["half"](problem, np.random.default_rng(0))
