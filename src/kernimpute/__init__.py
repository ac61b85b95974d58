"""Supervised kernel-based imputation of labelled tables with gaps.

>>> import numpy as np
>>> from kernimpute import impute
>>> X = np.array([[0.0, 0.1], [0.2, np.nan], [np.nan, 0.9], [1.0, 0.8]])
>>> filled = impute(X, [0, 0, 1, 1]).X
"""

from kernimpute import kernels
from kernimpute.convergence import Record, Status, Trace
from kernimpute.estimators import (
    KernelImputationClassifier,
    KernelImputationClassifierCV,
    KernelImputationRegressor,
    KernelImputationRegressorCV,
    KernelImputer,
    KernelImputerCV,
    load,
    save,
)
from kernimpute.imputation import VARIANTS, ImputationResult, impute
from kernimpute.stage_one import LearnedKernel, learn_kernel
from kernimpute.stage_two import RecoveredFeatures, recover_features, recover_new_rows
from kernimpute.tables import TableImputation, TableWarning, impute_table

__version__ = "0.1.0"

__all__ = [
    "VARIANTS",
    "ImputationResult",
    "KernelImputationClassifier",
    "KernelImputationClassifierCV",
    "KernelImputationRegressor",
    "KernelImputationRegressorCV",
    "KernelImputer",
    "KernelImputerCV",
    "LearnedKernel",
    "Record",
    "RecoveredFeatures",
    "Status",
    "TableImputation",
    "TableWarning",
    "Trace",
    "impute",
    "impute_table",
    "kernels",
    "learn_kernel",
    "load",
    "recover_features",
    "recover_new_rows",
    "save",
]
