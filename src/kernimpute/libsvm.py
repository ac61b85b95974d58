"""libsvm, asked for a machine whose problem has been checked.

scikit-learn's estimators look at labels, weights and seeds for longer than libsvm takes to solve a
problem of 300 rows. Its binding, which is not public, looks at nothing: it is asked where it has
the form that is known here, and an estimator where it has not.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR

try:
    from sklearn.svm import _libsvm as binding
except ImportError:
    binding = None

__all__ = ["libsvm_coefficients"]

FloatArray = NDArray[np.float64]

C_SVC, EPSILON_SVR = 0, 3
"""libsvm's numbers of the two problems."""


def libsvm_coefficients(
    rows: FloatArray,
    y: FloatArray,
    largest: FloatArray,
    epsilon: float | None,
    options: Mapping[str, object],
) -> tuple[FloatArray, bool]:
    """Return the signed coefficients of a machine.

    Parameters
    ----------
    rows : ndarray of shape (n, n_columns)
        The rows, or the kernel matrix where the kernel is "precomputed".
    y : ndarray of shape (n,)
        Labels -1 and 1, or targets.
    largest : ndarray of shape (n,)
        The largest magnitude of each coefficient, positive.
    epsilon : float or None
        Half width of the tube; None for a classification.
    options : mapping
        scikit-learn's options of the kernel, and of the solver.

    Returns
    -------
    coefficients : ndarray of shape (n,)
        The coefficients.
    finished : bool
        Whether libsvm met its tolerance.
    """
    penalty = float(largest.max())
    weights = largest / penalty
    found = _from_binding(rows, y, weights, penalty, epsilon, options)
    if found is None:
        found = _from_estimator(rows, y, weights, penalty, epsilon, options)
    support, values, finished = found
    coefficients = np.zeros(y.size)
    coefficients[support] = values
    return coefficients, finished


Found = tuple[NDArray[np.int32], FloatArray, bool]
"""Support vectors, their coefficients, and whether the tolerance was met."""


def _from_binding(
    rows: FloatArray,
    y: FloatArray,
    weights: FloatArray,
    penalty: float,
    epsilon: float | None,
    options: Mapping[str, object],
) -> Found | None:
    """Return what the binding finds, or None where it has another form."""
    if binding is None:
        return None
    problem: dict[str, float] = {"svm_type": C_SVC}
    if epsilon is not None:
        problem = {"svm_type": EPSILON_SVR, "epsilon": epsilon}
    try:
        binding.set_verbosity_wrap(0)
        support, _, _, values, *_, status, _ = binding.fit(
            np.ascontiguousarray(rows),
            np.ascontiguousarray(y),
            sample_weight=np.ascontiguousarray(weights),
            C=penalty,
            **problem,
            **options,
        )
    except (AttributeError, TypeError, ValueError):
        return None
    # Of two classes, libsvm's own signs are those of the first.
    return support, values[0] if epsilon is not None else -values[0], status == 0


def _from_estimator(
    rows: FloatArray,
    y: FloatArray,
    weights: FloatArray,
    penalty: float,
    epsilon: float | None,
    options: Mapping[str, object],
) -> Found:
    """Return what scikit-learn's estimators find."""
    machine = (
        SVC(C=penalty, **options) if epsilon is None else SVR(C=penalty, epsilon=epsilon, **options)
    )
    # It would draw a seed, which it has no use for, from NumPy's global generator; SVR has no
    # parameter for that.
    machine.random_state = 0
    with config_context(assume_finite=True), _without_convergence_warnings():
        machine.fit(rows, y, sample_weight=weights)
    return machine.support_, machine.dual_coef_[0], machine.fit_status_ == 0


class _SharedFilter:
    """The filter of warnings that all threads inside `_without_convergence_warnings` share."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.n_inside = 0
        self.caught: warnings.catch_warnings[None] | None = None


_FILTER = _SharedFilter()


@contextmanager
def _without_convergence_warnings() -> Iterator[None]:
    """Ignore scikit-learn's warnings of convergence, on several threads at a time too.

    `warnings.catch_warnings` saves the filters of the process and puts them back. Of two threads
    that each do so, the one that leaves last may put back what the other had set, for good. So
    the first to come in saves them, and the last to leave puts them back.
    """
    with _FILTER.lock:
        if _FILTER.n_inside == 0:
            _FILTER.caught = warnings.catch_warnings()
            _FILTER.caught.__enter__()
            warnings.simplefilter("ignore", ConvergenceWarning)
        _FILTER.n_inside += 1
    try:
        yield
    finally:
        with _FILTER.lock:
            _FILTER.n_inside -= 1
            if _FILTER.n_inside == 0 and _FILTER.caught is not None:
                _FILTER.caught.__exit__(None, None, None)
                _FILTER.caught = None
