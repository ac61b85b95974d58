"""Every check that scikit-learn has for estimators, over all of ours."""

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernimpute import KernelImputationClassifier, KernelImputationRegressor, KernelImputer

ESTIMATORS = [
    KernelImputer(),
    KernelImputationClassifier(),
    KernelImputationRegressor(),
    KernelImputer(
        guidance="direct",
        reference="mean",
        kernel="linear",
        subset_size=15,
        add_indicator=True,
        keep_empty_features=True,
    ),
    KernelImputationClassifier(machine="svm", guidance="direct", kernel="laplacian", eta=np.inf),
    KernelImputationRegressor(
        machine="svm", guidance="direct", kernel="polynomial", reference=SimpleImputer()
    ),
]
"""All three, and some in other settings."""


def expected_failures(estimator):
    """Return the checks that an estimator fails, with the reason."""
    if getattr(estimator, "machine", "svm") == "svm":
        return {}
    return {
        "check_sample_weight_equivalence_on_dense_data": (
            "held-out predictions see copies of a row as other rows"
        )
    }


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
