"""Estimators in files: `save` writes skops, `load` reads nothing that it doesn't know.

A pickle can run any code when it is opened. skops files name the types they hold, and `load`
makes only those of a fixed list: the package's own, none of which does anything when it is made,
and a few of scikit-learn's that parameters may be.
"""

from __future__ import annotations

import importlib
import json
import pickletools
import zipfile
from pathlib import Path
from typing import Any

import joblib

from kernimpute.core.checks import ObservedRange
from kernimpute.core.files import replacing
from kernimpute.core.kernels import KERNELS
from kernimpute.core.status import Record, Status, Trace
from kernimpute.estimators._calibration import Calibration
from kernimpute.estimators._classifier import KernelImputationClassifier
from kernimpute.estimators._classifier_cv import KernelImputationClassifierCV
from kernimpute.estimators._coding import CodeColumns, IndicatorColumns
from kernimpute.estimators._imputer import KernelImputer
from kernimpute.estimators._imputer_cv import KernelImputerCV
from kernimpute.estimators._machines import Machine, Machines
from kernimpute.estimators._references import NewRows
from kernimpute.estimators._regressor import KernelImputationRegressor
from kernimpute.estimators._regressor_cv import KernelImputationRegressorCV
from kernimpute.table.code import TableCode
from kernimpute.table.columns import Column
from kernimpute.table.stored import StoredValue

__all__ = ["load", "save", "trusted_types"]

_OWN_TYPES: tuple[type, ...] = (
    KernelImputer,
    KernelImputationClassifier,
    KernelImputationRegressor,
    KernelImputerCV,
    KernelImputationClassifierCV,
    KernelImputationRegressorCV,
    *KERNELS.values(),
    Calibration,
    CodeColumns,
    Column,
    IndicatorColumns,
    Machine,
    Machines,
    NewRows,
    ObservedRange,
    Record,
    Status,
    StoredValue,
    TableCode,
    Trace,
)

_SPLITTERS = (
    "GroupKFold",
    "GroupShuffleSplit",
    "KFold",
    "LeaveOneGroupOut",
    "LeaveOneOut",
    "LeavePGroupsOut",
    "LeavePOut",
    "PredefinedSplit",
    "RepeatedKFold",
    "RepeatedStratifiedKFold",
    "ShuffleSplit",
    "StratifiedGroupKFold",
    "StratifiedKFold",
    "StratifiedShuffleSplit",
    "TimeSeriesSplit",
)

_PARAMETER_TYPES = (
    # In a fitted SimpleImputer, and in what is fitted with one.
    "numpy.dtype",
    # skops doesn't know it while it is experimental.
    "sklearn.impute._iterative.IterativeImputer",
    "sklearn.impute._iterative._ImputerTriplet",
    *(f"sklearn.model_selection._split.{name}" for name in _SPLITTERS),
)
"""Types of scikit-learn and NumPy that `reference` and `cv` may bring along."""

_ZIP = b"PK\x03\x04"
_PICKLES = (
    # Pickle's protocols 2 to 5, then what joblib compresses with: zlib, gzip, bz2, xz, lzma, lz4.
    *(bytes((0x80, protocol)) for protocol in range(2, 6)),
    *(bytes((0x78, level)) for level in (0x01, 0x5E, 0x9C, 0xDA)),
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zXZ\x00",
    b"\x5d\x00\x00",
    b"\x04\x22\x4d\x18",
)
"""How pickles begin, and files of joblib."""


def trusted_types() -> tuple[str, ...]:
    """Return the names of the types that `load` makes, for `skops.io.load`.

    Returns
    -------
    tuple of str
        The package's own types, scikit-learn's splitters and its iterative imputer, and NumPy's
        dtype; besides those that skops itself trusts.
    """
    own = (f"{one.__module__}.{one.__qualname__}" for one in _OWN_TYPES)
    return (*sorted(own), *_PARAMETER_TYPES)


def save(estimator: Any, path: str | Path) -> None:
    """Write an estimator to a file in skops' format.

    Parameters
    ----------
    estimator : object
        An estimator, or what holds some, such as a pipeline.
    path : str or Path
        The file; an existing one is replaced, once the new one is whole.

    Raises
    ------
    ValueError
        If something in it can't be saved in this format.

    See Also
    --------
    load : Reads it.

    Examples
    --------
    >>> import kernimpute, numpy as np, tempfile
    >>> X = np.array([[0.0, 0.1], [0.2, np.nan], [np.nan, 0.9], [1.0, 0.8]])
    >>> imputer = kernimpute.KernelImputer().fit(X, [0, 0, 1, 1])
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     kernimpute.save(imputer, file.name)
    ...     same = kernimpute.load(file.name)
    >>> np.array_equal(same.transform(X), imputer.transform(X))
    True
    """
    with replacing(Path(path)) as (temporary,):
        skops_io = _skops_io()
        try:
            skops_io.dump(estimator, temporary, compression=zipfile.ZIP_DEFLATED)
        except (RecursionError, TypeError, ValueError) as error:
            raise ValueError(
                f"The 'estimator' parameter of save must hold only what skops can write. Got "
                f"{type(estimator).__name__} with something else in it ({_line(error)}): "
                "pickle it, or do without."
            ) from error


def load(path: str | Path, trust: bool = False) -> Any:
    """Return the estimator in a file.

    Parameters
    ----------
    path : str or Path
        A file of `save`. With `trust`, also any other skops file, a pickle or a file of joblib.
    trust : bool, default=False
        Whether types that are not in `trusted_types` may be made, and pickles opened. Either
        can run any code: only for files whose origin you trust.

    Returns
    -------
    object
        What was saved.

    Raises
    ------
    OSError
        If the file can't be read.
    ValueError
        If it is no such file, needs `trust`, or holds a state of another format.

    See Also
    --------
    save : Writes the file.
    """
    kind = _kind(Path(path))
    if kind == "skops":
        return _read_skops(Path(path), trust)
    if kind == "other":
        raise ValueError(f"{path} is neither a skops file nor a pickle: it holds no estimator.")
    if not trust:
        raise ValueError(
            f"{path} is a pickle or a file of joblib, which can run any code when it is opened: "
            "save it with kernimpute.save, or pass trust=True (--trust) if you trust its origin."
        )
    try:
        return joblib.load(path)
    except Exception as error:
        raise ValueError(f"{path} can't be unpickled: {_line(error)}") from error


def _kind(path: Path) -> str:
    """Return what a file is by its content; nothing of it is run."""
    with path.open("rb") as file:
        head = file.read(8)
    if head.startswith(_ZIP):
        return "skops"
    if head.startswith(_PICKLES) or _parses_as_pickle(path):
        return "pickle"
    return "other"


def _parses_as_pickle(path: Path) -> bool:
    """Return whether a file is a pickle of the old protocols, which begin with no mark."""
    with path.open("rb") as file:
        try:
            return sum(1 for _ in pickletools.genops(file)) > 0
        except (ValueError, IndexError):
            return False


_UNREADABLE = (
    zipfile.BadZipFile,
    json.JSONDecodeError,
    AttributeError,
    ImportError,
    KeyError,
    TypeError,
)
"""What skops raises for files that it can't make sense of."""


def _skops_io() -> Any:
    # Imported where it is used: it takes a second, in which it imports all of scikit-learn.
    return importlib.import_module("skops.io")


def _read_skops(path: Path, trust: bool) -> Any:
    skops_io = _skops_io()
    try:
        found = skops_io.get_untrusted_types(file=path)
        strange = sorted(set(found) - set(trusted_types()))
        if strange and not trust:
            raise ValueError(
                f"{path} holds types that kernimpute does not know ({', '.join(strange)}), and "
                "making them can run any code: pass trust=True (--trust) if you trust its origin."
            )
        return skops_io.load(path, trusted=found)
    except _UNREADABLE as error:
        raise ValueError(f"{path} holds nothing that skops can read: {_line(error)}") from error


def _line(error: BaseException) -> str:
    """Return what an error says, in one line that ends a sentence."""
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__
