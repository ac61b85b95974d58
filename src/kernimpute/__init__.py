"""Fill the missing cells of tables, predict from such rows, and tell whether filling helps.

>>> import numpy as np
>>> from kernimpute import impute
>>> X = np.array([[0.0, 0.1], [0.2, np.nan], [np.nan, 0.9], [1.0, 0.8]])
>>> filled = impute(X, [0, 0, 1, 1]).X
"""

# Type checkers know the name; to import it from `typing` takes as long as Python's own start.
TYPE_CHECKING = False

__version__ = "0.2.0"

__all__ = [
    "VARIANTS",
    "Comparison",
    "ImputationResult",
    "KernelImputationClassifier",
    "KernelImputationRegressor",
    "KernelImputer",
    "LearnedKernel",
    "Record",
    "RecoveredFeatures",
    "Status",
    "TableImputation",
    "TableWarning",
    "Trace",
    "compare",
    "default_grid",
    "impute",
    "impute_table",
    "kernels",
    "learn_kernel",
    "load",
    "recover_features",
    "save",
    "stream",
]

if TYPE_CHECKING:
    from kernimpute import kernels, stream
    from kernimpute.comparison.verdict import Comparison, compare
    from kernimpute.core.status import Record, Status, Trace
    from kernimpute.estimators import (
        KernelImputationClassifier,
        KernelImputationRegressor,
        KernelImputer,
        default_grid,
        load,
        save,
    )
    from kernimpute.estimators.impute_table import TableImputation, TableWarning, impute_table
    from kernimpute.methods.impute import (
        VARIANTS,
        ImputationResult,
        LearnedKernel,
        impute,
        learn_kernel,
    )
    from kernimpute.methods.recover import RecoveredFeatures, recover_features
else:
    from importlib import import_module as _import_module

    _HOMES = {
        "comparison.verdict": "Comparison compare",
        "core.status": "Record Status Trace",
        "estimators": "KernelImputationClassifier KernelImputationRegressor KernelImputer "
        "default_grid load save",
        "estimators.impute_table": "TableImputation TableWarning impute_table",
        "kernels": "",
        "methods.impute": "VARIANTS ImputationResult LearnedKernel impute learn_kernel",
        "methods.recover": "RecoveredFeatures recover_features",
        "stream": "",
    }

    # A name is imported on its first use (PEP 562). All together take more than a second, and
    # `kernimpute --help` needs none of them.
    def __getattr__(name):
        if name in _HOMES:
            return _import_module(f"{__name__}.{name}")
        for home, names in _HOMES.items():
            if name in names.split():
                value = globals()[name] = getattr(_import_module(f"{__name__}.{home}"), name)
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        dunder = {name for name in globals() if name.startswith("__")}
        return sorted({*dunder, *__all__})
