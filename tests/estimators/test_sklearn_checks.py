"""Every check that scikit-learn has for estimators, over all of ours, with no expected failure."""

import numpy as np
import pytest
from sklearn.impute import SimpleImputer
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernimpute import KernelImputationClassifier, KernelImputationRegressor, KernelImputer

# Some checks fit a class of one row, which is announced.
pytestmark = pytest.mark.filterwarnings("ignore:.*a class with a single row:UserWarning")


ESTIMATORS = [
    KernelImputer(),
    KernelImputationClassifier(cv=3),
    KernelImputationRegressor(),
    KernelImputer(use_labels="own"),
    KernelImputer(guidance="anchored"),
    KernelImputer(
        guidance="direct",
        reference="mean",
        kernel="linear",
        subset_size=15,
        add_indicator=True,
        keep_empty_features=True,
    ),
    KernelImputationClassifier(guidance="direct", kernel="laplacian", eta=np.inf, cv=None),
    KernelImputationRegressor(guidance="direct", kernel="polynomial", reference=SimpleImputer()),
]
"""All three, and some in other settings."""


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
