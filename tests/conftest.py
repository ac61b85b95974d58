"""What all tests share: one BLAS thread, derandomised properties, the kernels, the real tables."""

import os
import signal
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import settings
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

from kernimpute.kernels import Chi2, Gaussian, Laplacian, Linear, Polynomial, Sigmoid

settings.register_profile("kernimpute", derandomize=True, deadline=None)
settings.load_profile("kernimpute")

# A shell starts what runs in its background without it, and processes of tests would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[1]

N_FEATURES = 5
"""Columns of the tables that the kernels of `BATTERY` are for."""

BATTERY = (
    Gaussian(0.3),
    Gaussian(8.0),
    Gaussian(1.0, categorical=(1, 3)),
    Gaussian(0.5, categorical=tuple(range(N_FEATURES))),
    Laplacian(0.5),
    Laplacian(4.0),
    Laplacian(1.0, categorical=(0, 4)),
    Linear(),
    Linear(0.0),
    Polynomial(),
    Polynomial(2, 0.0),
    Polynomial(1, 0.5),
    Sigmoid(),
    Sigmoid(0.7, 0.0),
    Chi2(),
    Chi2(0.0),
)

TERMS = {
    "Gaussian": lambda x, z: (x - z) ** 2,
    "Laplacian": lambda x, z: abs(x - z),
    "Linear": lambda x, z: x * z,
    "Polynomial": lambda x, z: x * z,
    "Sigmoid": lambda x, z: x * z,
    "Chi2": lambda x, z: 2.0 * x * z / (x + z) if x + z > 0.0 else 0.0,
}
"""The kernels' feature terms of two numbers, as the paper's appendix A has them."""


def read_only(*arrays):
    """Return the arrays, protected, so that a test fails where one is written to."""
    for array in arrays:
        array.setflags(write=False)
    return arrays[0] if len(arrays) == 1 else arrays


def peak_memory(action):
    """Return the most memory, in bytes, that an action took at once."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.fixture(scope="session", autouse=True)
def one_blas_thread():
    """Keep the linear algebra on one thread, so that times and roundings repeat."""
    with threadpool_limits(limits=1):
        yield


@pytest.fixture(scope="session", params=BATTERY, ids=repr)
def any_kernel(request):
    """Return each kernel of the battery in turn, for tables of `N_FEATURES` columns."""
    return request.param


@pytest.fixture(scope="session")
def data_dir():
    """Return the directory of the real tables; skip where it is absent."""
    path = Path(os.environ.get("KERNIMPUTE_DATA", ROOT.parent / "shared" / "data"))
    if not path.is_dir():
        pytest.skip(f"the real tables are not at {path}; set KERNIMPUTE_DATA")
    return path


def third_of_a_grid(estimator, grid, **how):
    """Return a search of every third setting, for time."""
    return GridSearchCV(estimator, {name: each[::3] for name, each in grid.items()}, **how)


@pytest.fixture(scope="module", autouse=True)
def quick_predictors(request):
    """Grow few trees and compare few penalties in few folds, for time; some modules have all."""
    whole = ("test_predictor", "test_docs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kernimpute.comparison.candidates.GridSearchCV", third_of_a_grid)
        if not request.module.__name__.endswith(whole):
            patch.setattr("kernimpute.estimators._predictor.N_TREES", 5)
            patch.setattr("kernimpute.estimators._predictor.FOLDS", 2)
            patch.setattr("kernimpute.estimators._predictor.LOGISTIC_C", (0.1, 1.0))
        yield
