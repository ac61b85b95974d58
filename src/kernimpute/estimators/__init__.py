"""Estimators with scikit-learn's interface: imputer, classifier, regressor, each also with CV."""

from kernimpute.estimators._classifier import KernelImputationClassifier
from kernimpute.estimators._classifier_cv import KernelImputationClassifierCV
from kernimpute.estimators._imputer import KernelImputer
from kernimpute.estimators._imputer_cv import KernelImputerCV
from kernimpute.estimators._regressor import KernelImputationRegressor
from kernimpute.estimators._regressor_cv import KernelImputationRegressorCV
from kernimpute.estimators._saving import load, save, trusted_types

__all__ = [
    "KernelImputationClassifier",
    "KernelImputationClassifierCV",
    "KernelImputationRegressor",
    "KernelImputationRegressorCV",
    "KernelImputer",
    "KernelImputerCV",
    "load",
    "save",
    "trusted_types",
]
