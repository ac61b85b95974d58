"""Estimators with scikit-learn's interface: an imputer, a classifier and a regressor."""

from kernimpute.estimators._base import default_grid
from kernimpute.estimators._classifier import KernelImputationClassifier
from kernimpute.estimators._imputer import KernelImputer
from kernimpute.estimators._regressor import KernelImputationRegressor
from kernimpute.estimators._saving import load, save, trusted_types

__all__ = [
    "KernelImputationClassifier",
    "KernelImputationRegressor",
    "KernelImputer",
    "default_grid",
    "load",
    "save",
    "trusted_types",
]
