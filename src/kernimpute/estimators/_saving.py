"""Estimators in files of skops, because a pickle can run any code when it is opened."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from json import JSONDecodeError
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, BadZipFile

from kernimpute.core.files import replacing
from kernimpute.core.kernels import KERNELS
from kernimpute.table.columns import as_given, as_stored

__all__ = ["FORMAT", "Persistent", "load", "save", "trusted_types"]

FORMAT = 5
"""Number of the layout of fitted state; raised whenever an older one can't be used as it is."""

_KEY = "_kernimpute_format"
_REQUESTS = "_metadata_request"

_TRUSTED = (
    "kernimpute.core.checks.ObservedRange",
    *(f"kernimpute.core.kernels.{kind.__name__}" for kind in KERNELS.values()),
    *(f"kernimpute.core.status.{name}" for name in ("Record", "Status", "Trace")),
    "kernimpute.estimators._base.Coding",
    "kernimpute.estimators._base.NewRows",
    "kernimpute.estimators._classifier.KernelImputationClassifier",
    "kernimpute.estimators._imputer.KernelImputer",
    *(f"kernimpute.estimators._predictor.{name}" for name in ("Forest", "Inputs", "Predictor")),
    *(f"kernimpute.estimators._predictor.{name}" for name in ("Scores", "SoftmaxMap")),
    "kernimpute.estimators._regressor.KernelImputationRegressor",
    "kernimpute.estimators._subsets.Machine",
    *(f"kernimpute.joint.fills.{name}" for name in ("Correction", "JointReference", "Remainder")),
    "kernimpute.joint.gaussian.Factors",
    "kernimpute.joint.gaussian.Normal",
    *(f"kernimpute.joint.ridge.{name}" for name in ("KernelRidge", "MixedKernel", "Rows")),
    "kernimpute.table.code.TableCode",
    "kernimpute.table.columns.Column",
    "kernimpute.table.columns.StoredValue",
    # A fitted SimpleImputer holds it, and `reference` may be one.
    "numpy.dtype",
    # What the guide puts around a support vector machine, for probabilities.
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    # skops does not know it while scikit-learn calls it experimental.
    "sklearn.impute._iterative.IterativeImputer",
    "sklearn.impute._iterative._ImputerTriplet",
)

_UNREADABLE = (BadZipFile, JSONDecodeError, AttributeError, ImportError, KeyError, TypeError)
"""What skops raises for files that it cannot read."""


class Persistent:
    """An estimator whose state, in a pickle or a file of skops, carries a format number."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes, with the format and the version that wrote them."""
        attributes: dict[str, Any] = dict(super().__getstate__())  # type: ignore[call-overload]
        if _REQUESTS in attributes:
            # scikit-learn's record of metadata requests refers back to the estimator, which skops
            # can't follow: only names and values are stored.
            attributes[_REQUESTS] = {
                method: dict(requested._requests)
                for method, requested in vars(attributes[_REQUESTS]).items()
                if hasattr(requested, "_requests")
            }
        return {**as_stored(attributes), _KEY: (FORMAT, version("kernimpute"))}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Take the attributes of a saved estimator; refuse another format, or none."""
        own = as_given(dict(state))
        number, writer = own.pop(_KEY, (None, "an unknown version"))
        if number != FORMAT:
            raise ValueError(
                f"The saved {type(self).__name__} must have format {FORMAT}, which kernimpute "
                f"{version('kernimpute')} reads. Got format {number!r}, written by kernimpute "
                f"{writer} instead: fit again, or install that version."
            )
        requests: Mapping[str, Mapping[str, Any]] | None = own.pop(_REQUESTS, None)
        super().__setstate__(own)  # type: ignore[misc]
        if requests is not None:
            record = self._get_metadata_request()  # type: ignore[attr-defined]
            for method, requested in requests.items():
                getattr(record, method)._requests.update(requested)
            setattr(self, _REQUESTS, record)


def trusted_types() -> tuple[str, ...]:
    """Return the names of the types that `load` makes, for `skops.io.load`.

    Returns
    -------
    tuple of str
        The package's own types, scikit-learn's iterative imputer, and NumPy's dtype.
    """
    return _TRUSTED


def save(estimator: Any, path: str | Path) -> None:
    """Write an estimator to a file in skops' format.

    Parameters
    ----------
    estimator : object
        An estimator, or an object that holds some, such as a pipeline.
    path : str or Path
        The file. An existing file is replaced when the new one is complete.

    Raises
    ------
    ValueError, OSError
        If the estimator holds what skops cannot write, or the file cannot be written.
    """
    import skops.io  # It takes a second, and only files need it.

    with replacing(Path(path)) as (temporary,):
        try:
            skops.io.dump(estimator, temporary, compression=ZIP_DEFLATED)
        except (RecursionError, TypeError, ValueError) as error:
            raise ValueError(
                f"The 'estimator' parameter of save must hold only what skops can write. Got "
                f"{type(estimator).__name__} with something else in it ({_line(error)}) instead."
            ) from error


def load(path: str | Path, trust: bool = False) -> Any:
    """Return the estimator in a file of `save`.

    Parameters
    ----------
    path : str or Path
        The file.
    trust : bool, default=False
        Whether types that `trusted_types` lacks may be made, which can run any code.

    Returns
    -------
    object
        What was saved.

    Raises
    ------
    ValueError, OSError
        If the file cannot be read, is of another kind or format, or needs `trust`.
    """
    import skops.io

    try:
        found = skops.io.get_untrusted_types(file=path)
        untrusted = sorted(set(found) - set(_TRUSTED))
        if any(name.startswith("kernimpute.") for name in untrusted):
            raise ValueError(
                f"{path} was written by another version of kernimpute than "
                f"{version('kernimpute')}: fit and save again."
            )
        if untrusted and not trust:
            raise ValueError(
                f"{path} holds types that kernimpute does not know ({', '.join(untrusted)}), and "
                "making them can run any code: pass trust=True if you trust its origin."
            )
        return skops.io.load(path, trusted=found)
    except _UNREADABLE as error:
        raise ValueError(
            f"{path} must be a model that kernimpute.save or 'kernimpute fit' wrote. Got a file "
            f"that skops cannot read ({_line(error)}) instead: pickles are not opened."
        ) from error


def _line(error: BaseException) -> str:
    """Return what an error says, in one line without a full stop."""
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__
