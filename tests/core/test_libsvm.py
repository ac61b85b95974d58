"""libsvm by its binding: the coefficients of the estimators, which stand in where it is not."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.svm import SVC, SVR

from kernimpute.core import svm as libsvm
from kernimpute.core.svm import libsvm_coefficients
from kernimpute.kernels import Gaussian

OPTIONS = {"tol": 1e-3, "max_iter": 2000, "cache_size": 200}


def problem(n=70, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.random((n, 4))
    target = X[:, 0] + 0.3 * generator.standard_normal(n)
    return X, target, generator.choice([0.2, 1.0, 2.5], n)


def other_form(*given, **named):
    raise TypeError("fit() got an unexpected keyword argument")


@pytest.fixture(params=["as it is", "absent", "of another form"])
def binding(request, monkeypatch):
    """Have scikit-learn's binding in one of three forms."""
    if request.param == "absent":
        monkeypatch.setattr(libsvm, "binding", None)
    if request.param == "of another form":
        other = SimpleNamespace(set_verbosity_wrap=abs, fit=other_form)
        monkeypatch.setattr(libsvm, "binding", other)
    return request.param


@pytest.mark.parametrize("kernel", ["precomputed", "rbf"])
def test_labels_have_the_coefficients_of_the_estimator(kernel, binding):
    X, target, largest = problem()
    y = np.where(target > 0.5, 1.0, -1.0)
    rows = Gaussian(0.7)(X, X) if kernel == "precomputed" else X
    options = {"kernel": kernel, "gamma": 0.7, **OPTIONS}
    machine = estimator(SVC, rows, y, largest, options)
    found, finished = libsvm_coefficients(rows, y, largest, None, options)
    assert finished
    np.testing.assert_array_equal(np.flatnonzero(found), np.sort(machine.support_))
    np.testing.assert_array_equal(found[machine.support_], machine.dual_coef_[0])
    # The signs are those of the labels.
    assert (found * y >= 0.0).all()


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_targets_have_the_coefficients_of_the_estimator(epsilon, binding):
    X, target, largest = problem()
    rows = Gaussian(0.7)(X, X)
    options = {"kernel": "precomputed", **OPTIONS}
    machine = estimator(SVR, rows, target, largest, options, epsilon=epsilon)
    found, finished = libsvm_coefficients(rows, target, largest, epsilon, options)
    assert finished
    np.testing.assert_array_equal(found[machine.support_], machine.dual_coef_[0])


def estimator(kind, rows, y, largest, options, **more):
    machine = kind(C=largest.max(), **options, **more)
    return machine.fit(rows, y, sample_weight=largest / largest.max())


def test_out_of_iterations_it_says_so_and_is_silent(binding, capfd):
    X, target, largest = problem()
    y = np.where(target > 0.5, 1.0, -1.0)
    options = {"kernel": "rbf", "gamma": 0.7, **OPTIONS, "max_iter": 2}
    finished = libsvm_coefficients(X, y, largest, None, options)[1]
    assert not finished
    assert capfd.readouterr() == ("", "")


def test_numpys_global_generator_is_left_alone(binding):
    X, target, largest = problem()
    before = np.random.get_state()[1].copy()
    libsvm_coefficients(X, target, largest, 0.1, {"kernel": "linear", **OPTIONS})
    np.testing.assert_array_equal(np.random.get_state()[1], before)
