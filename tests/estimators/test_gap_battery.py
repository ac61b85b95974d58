"""The battery of checks with gaps, over our imputer in its settings and scikit-learn's imputers.

Ours pass every check but what a setting cannot promise by its nature; what scikit-learn's imputers
fail stands in a table beside it, each with its reason. An entry whose check passes fails the test.
"""

from __future__ import annotations

import pytest
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

from kernimpute import KernelImputer
from tests.estimators import (  # noqa: F401
    battery_contract,
    battery_frames,
    battery_invariances,
)
from tests.estimators.battery_tools import checks

# Five rounds are too few for its own stop rule, and enough for the battery.
pytestmark = pytest.mark.filterwarnings(r"ignore:\[IterativeImputer\] Early stopping")

OURS = {
    "direct": KernelImputer(),
    "direct, near its optimum": KernelImputer(tol=1e-4, max_iter=2000),
    "direct, free": KernelImputer(eta=1.0, C=3.0, gamma=0.7),
    "direct, regression": KernelImputer(task="regression"),
    "anchored": KernelImputer(variant="anchored"),
    "anchored, near its optimum": KernelImputer(
        variant="anchored", gamma="scale", tol=1e-6, max_iter=2000
    ),
    "linear": KernelImputer(kernel="linear"),
    "laplacian": KernelImputer(kernel="laplacian"),
    "polynomial": KernelImputer(kernel="polynomial"),
    "reference alone": KernelImputer(eta=float("inf")),
    "reference KNNImputer": KernelImputer(reference=KNNImputer()),
    "indicators": KernelImputer(add_indicator=True),
    "empty columns kept": KernelImputer(keep_empty_features=True),
    "subsets": KernelImputer(subset_size=20),
    "new rows by similar ones": KernelImputer(new_rows="similar", eta=float("inf")),
    "new rows by the reference": KernelImputer(new_rows="reference"),
}

NOT_PROMISED = {
    ("subsets", "permuted_training_rows_are_filled_alike"): (
        "rows are dealt to subsets by their position, as scikit-learn deals them to folds"
    ),
    ("subsets", "equal_training_rows_with_equal_labels_get_equal_fills"): (
        "rows are dealt to subsets by their position, as scikit-learn deals them to folds"
    ),
    ("polynomial", "fills_follow_a_reflection"): (
        "(x.z + 1)^3 of 1 - x and 1 - z is another kernel; that of distances and x.z are not"
    ),
}
"""What is against a setting's nature; no other check may fail in any setting of ours."""

THEIRS = {
    "SimpleImputer, mean": SimpleImputer(),
    "SimpleImputer, most frequent": SimpleImputer(strategy="most_frequent"),
    "KNNImputer": KNNImputer(),
    "IterativeImputer": IterativeImputer(max_iter=5, random_state=0),
}

KNOWN_DIFFERENCES = {
    ("SimpleImputer, mean", "gaps_of_a_constant_column_become_the_constant"): (
        "the mean of equal numbers is rounded"
    ),
    ("SimpleImputer, most frequent", "fills_follow_a_reflection"): (
        "of values that are equally frequent it takes the smallest"
    ),
    ("KNNImputer", "fills_follow_a_change_of_units"): "distances are in the units of the columns",
    ("KNNImputer", "fills_follow_a_reflection"): "distances are in the units of the columns",
    ("IterativeImputer", "filled_values_lie_in_the_observed_range"): (
        "a linear regression extrapolates, unless min_value and max_value are given"
    ),
    ("IterativeImputer", "gaps_of_a_constant_column_become_the_constant"): (
        "a regression's prediction of a constant is rounded"
    ),
    ("IterativeImputer", "a_row_is_filled_alone_as_in_a_batch"): (
        "matrix products of other sizes round otherwise"
    ),
    ("IterativeImputer", "fills_follow_a_change_of_units"): (
        "its ridge penalty is in the units of the columns"
    ),
    ("IterativeImputer", "fills_follow_a_reflection"): (
        "its ridge penalty is in the units of the columns"
    ),
}


def cases(imputers, known):
    """Return each imputer with each check, the known differences marked as strict failures."""
    return [
        pytest.param(
            setting,
            name,
            marks=[pytest.mark.xfail(reason=known[setting, name], strict=True)]
            if (setting, name) in known
            else [],
        )
        for setting in imputers
        for name in checks
    ]


@pytest.mark.parametrize(("setting", "name"), cases(OURS, NOT_PROMISED))
def test_our_imputer(setting, name):
    checks[name](OURS[setting])


@pytest.mark.parametrize(("setting", "name"), cases(THEIRS, KNOWN_DIFFERENCES))
def test_their_imputers(setting, name):
    checks[name](THEIRS[setting])


def test_known_differences_are_those_of_checks_that_exist():
    for imputers, known in ((OURS, NOT_PROMISED), (THEIRS, KNOWN_DIFFERENCES)):
        assert {setting for setting, _ in known} <= set(imputers)
        assert {name for _, name in known} <= set(checks)
