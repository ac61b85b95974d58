"""The interior-point method: near the solution, with one matrix of its own, by a factor none."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from kernimpute.core.dual import make_dual
from kernimpute.core.gram import DenseGram, KernelGram
from kernimpute.core.svm import near_solution
from kernimpute.kernels import Gaussian, Linear


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_it_holds_one_factor_at_a_time_and_comes_near_the_solution(task):
    generator = np.random.default_rng(0)
    X = generator.random((400, 5))
    K = Gaussian(1000.0 if task == "classification" else 1.0)(X, X)
    y = X[:, 0] + 0.1 * generator.standard_normal(400)
    dual = make_dual((y > 0.5) if task == "classification" else y, 400, C=100.0, task=task)
    problem = (dual.targets[:, 0], dual.lower[:, 0], dual.upper[:, 0], dual.epsilon)
    near_solution(K[:20, :20], *(part[:20] for part in problem[:3]), dual.epsilon)
    K.setflags(write=False)
    tracemalloc.start()
    near = near_solution(K, *problem)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 1.3 * K.nbytes
    point = dual.proximal_point(near[:, None], 0.0)
    exact = dual.solve(K)
    assert dual.value(K, point) >= (1.0 - 1e-3) * dual.value(K, exact)


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("C", [0.1, 10.0, 1e3])
def test_a_factor_leads_near_the_solution_without_a_matrix(task, C, monkeypatch):
    generator = np.random.default_rng(0)
    # Columns that go together, and some that hardly vary: the dual is badly conditioned.
    X = generator.random((900, 3)) @ generator.random((3, 12)) + 0.01 * generator.random((900, 12))
    y = X[:, 0] - X[:, 1] + 0.1 * generator.standard_normal(900)
    dual = make_dual((y > np.median(y)) if task == "classification" else y, 900, C=C, task=task)
    problem = (dual.targets[:, 0], dual.lower[:, 0], dual.upper[:, 0], dual.epsilon)
    kernel = Linear()
    monkeypatch.setattr("kernimpute.core.gram.KernelGram.matrix", None)
    tracemalloc.start()
    near = near_solution(KernelGram(kernel, X), *problem)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 0.3 * 8 * 900**2
    K = kernel(X, X)
    value = dual.value(K, dual.proximal_point(near[:, None], 0.0))
    assert value == pytest.approx(dual.value(K, dual.solve(K)), rel=1e-5)


def test_a_factor_of_weights_that_lie_far_apart():
    generator = np.random.default_rng(1)
    X = generator.random((200, 4))
    weights = 10.0 ** generator.integers(-6, 7, 200)
    dual = make_dual(np.arange(200) % 2, 200, C=1.0, sample_weight=weights)
    K = Linear()(X, X)
    by_factor = dual.solve(DenseGram(K, Linear().factor(X)))
    value = dual.value(K, by_factor)
    assert abs(dual.gap(K, by_factor)) <= 1e-8 * value
    assert value == pytest.approx(dual.value(K, dual.solve(K)), rel=1e-9)
