"""The interior-point method stands beside the matrix that it is given with one of its own."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from kernimpute.dual import make_dual
from kernimpute.interior_point import near_solution
from kernimpute.kernels import Gaussian


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
