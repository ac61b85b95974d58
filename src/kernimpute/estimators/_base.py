"""What the estimators share: reading tables, filling the training rows, warning once."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    MissingValues,
    RealNotInt,
    StrOptions,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from kernimpute.core.checks import SMALLEST_SUBSET
from kernimpute.core.kernels import KERNELS, Gaussian, Kernel
from kernimpute.core.rows import SMOOTH, anchor_weight, imputer_eta, number_of_machines
from kernimpute.core.status import Record
from kernimpute.estimators._coding import (
    FARTHEST,
    CodeColumns,
    Coding,
    IndicatorColumns,
    within_reach,
)
from kernimpute.estimators._filling import Filling, Settings, fill, fitted_kernel
from kernimpute.estimators._labels import Labels, read_labels
from kernimpute.estimators._memory import check_memory
from kernimpute.estimators._persistence import Persistent
from kernimpute.estimators._references import NewRows, fitted_reference
from kernimpute.estimators._subsets import stratified_subsets
from kernimpute.estimators._tables import learn_table_code, markers, own_dtype
from kernimpute.methods.impute import VARIANTS
from kernimpute.table.code import EncodedTable, TableCode
from kernimpute.table.frames import check_names, is_frame, to_pandas

__all__ = ["METHOD_CONSTRAINTS", "TABLE_CONSTRAINTS", "KernelImputation"]

FloatArray = NDArray[np.float64]
BLOCK_ROWS = 1024

TABLE_CONSTRAINTS: dict[str, list[Any]] = {
    "variant": [StrOptions(set(VARIANTS))],
    "missing_values": [MissingValues(), list, tuple],
    "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
    "feature_range": [None, dict, "array-like"],
    "handle_unknown": [StrOptions({"error", "missing"})],
    "new_rows": [StrOptions({"auto", "similar", "reference"})],
    "subset_size": [None, Interval(Integral, SMALLEST_SUBSET, None, closed="left")],
    "max_models": [None, Interval(Integral, 1, None, closed="left")],
    "max_memory": [
        Interval(RealNotInt, 0, 1, closed="right"),
        Interval(Integral, 1, None, closed="left"),
    ],
    "tol": [None, Interval(Real, 0, None, closed="left")],
    "max_iter": [None, Interval(Integral, 1, None, closed="left")],
    "random_state": ["random_state"],
    "n_jobs": [
        None,
        Interval(Integral, None, -1, closed="right"),
        Interval(Integral, 1, None, closed="left"),
    ],
    "verbose": ["verbose"],
}
"""Constraints of the parameters that every estimator has."""

METHOD_CONSTRAINTS: dict[str, list[Any]] = {
    "kernel": [StrOptions(set(KERNELS)), Kernel],
    "C": [Interval(Real, 0, None, closed="neither")],
    "gamma": [StrOptions({"auto", "scale"}), Interval(Real, 0, None, closed="neither")],
    "eta": [StrOptions({"auto"}), Interval(Real, 0, None, closed="right")],
    "reference": [StrOptions({"mean", "expected"}), HasMethods(["fit", "transform"])],
}
"""Constraints of the parameters that the CV estimators choose."""


@dataclass(frozen=True)
class FittedRows:
    """The training rows of a fit: what is needed once, and not kept.

    Parameters
    ----------
    rows : EncodedTable
        The rows of positive weight.
    reference : ndarray of shape (n_counted, n_matrix_columns) or "expected"
        What they are held at.
    subsets : sequence of ndarray of int
        Rows of each subset.
    filling : Filling
        Them filled.
    """

    rows: EncodedTable
    reference: FloatArray | str
    subsets: Sequence[NDArray[np.intp]]
    filling: Filling


class KernelImputation(Persistent, BaseEstimator):
    """An estimator that fills labelled training rows with their labels' help."""

    _soft_categories = True
    """Whether a gap in a column of categories may be filled with their frequencies."""
    _callback: Callable[[Record], object] | None = None
    """What shows each round in place of `verbose`; the command line sets it while it fits."""

    def __sklearn_tags__(self) -> Any:
        """Return the tags: gaps and categories are welcome, labels are needed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags

    # ------------------------------------------------------------------ reading tables

    def _read(self, X: Any, *, reset: bool) -> tuple[Any, Any]:
        """Return the table after scikit-learn's own checks, and as a DataFrame."""
        if not is_frame(X):
            checked = validate_data(
                self, own_dtype(X), reset=reset, dtype=None, ensure_all_finite=False
            )
            return checked, to_pandas(checked)
        check_names(X, type(self).__name__)
        validate_data(self, X, reset=reset, skip_check_array=True)
        frame = to_pandas(X)
        for count, what in zip(frame.shape, ("sample(s)", "feature(s)"), strict=True):
            if count == 0:
                raise ValueError(
                    f"Found array with 0 {what} (shape={frame.shape}) while a minimum of 1 is "
                    f"required by {type(self).__name__}."
                )
        return X, frame

    def _coded(self, code: TableCode, frame: Any, handle_unknown: str = "error") -> EncodedTable:
        """Return rows in a code, gaps where `missing_values` says so."""
        return code.encode(
            frame, missing_values=markers(self.missing_values), handle_unknown=handle_unknown
        )

    def _encode(self, frame: Any) -> EncodedTable:
        """Return new rows in the training table's code, with a warning for unknown categories."""
        # scikit-learn has checked the names, where both tables have them; else places count.
        names = [column.name for column in self._code.columns]
        rows = self._coded(self._code, frame.set_axis(names, axis=1), self.handle_unknown)
        if rows.unknown:
            listed = "; ".join(
                f"{name!r}: {', '.join(map(repr, categories))} in {count} cell(s)"
                for name, categories, count in rows.unknown
            )
            self._warn(f"categories that were not there in fit are taken for gaps ({listed}).")
        return rows

    def _decision(self, X: Any) -> FloatArray:
        """Return the machines' decision values of new rows, of shape (n_rows, n_problems)."""
        check_is_fitted(self)
        _, frame = self._read(X, reset=False)
        return self._machines.decision(self._new_rows.fill(self._matrix(self._encode(frame))))

    def _matrix(self, rows: EncodedTable) -> FloatArray:
        """Return new rows as the kernel takes them; numbers no farther off than it can hold."""
        matrix = self._coding.matrix(rows)
        far = np.abs(matrix) > FARTHEST
        if far.any():
            count = int(far.any(axis=1).sum())
            self._warn(
                f"numbers farther than {FARTHEST:g} times the training range from it, in {count} "
                "row(s), are taken to be that far."
            )
        return within_reach(matrix)

    def _read_labelled(
        self, X: Any, y: Any, sample_weight: Any, *, task: str
    ) -> tuple[Any, Any, Labels]:
        """Return the training table, its frame and its labels, or refuse to fit them."""
        table, frame = self._read(X, reset=True)
        labels = read_labels(
            self._needed(y),
            frame,
            sample_weight,
            task=task,
            class_weight=getattr(self, "class_weight", None),
            owner=type(self).__name__,
        )
        self._check_fit(*frame.shape)
        return table, frame, labels

    def _needed(self, y: Any) -> Any:
        """Return the labels, or say that they are needed."""
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )
        return y

    # ------------------------------------------------------------------ fitting

    def _check_fit(self, n_samples: int, n_columns: int) -> None:
        """Refuse what can't be done before anything large is allocated."""
        if self.variant == "direct" and self._uses_expected():
            raise ValueError(
                f"The 'reference' parameter of {type(self).__name__} must be 'mean' or an imputer "
                "for variant='direct', which moves a table. Got 'expected', which is a kernel, "
                "instead: use variant='anchored'."
            )
        largest = n_samples if self.subset_size is None else min(n_samples, self.subset_size)
        self._check_memory(n_samples, n_columns, largest)

    def _check_memory(self, n_samples: int, n_columns: int, largest: int) -> None:
        """Refuse a fit of subsets of so many rows, or of the folds, that would be too large."""
        n_jobs = effective_n_jobs(self.n_jobs)
        fits = [(min(n_jobs, math.ceil(n_samples / largest)), largest)]
        n_folds = self._n_folds()
        if n_folds:
            in_fold = math.ceil(n_samples * (n_folds - 1) / n_folds)
            fits.append((min(n_jobs, n_folds), min(largest, in_fold)))
        check_memory(
            f"{type(self).__name__}.fit",
            n_samples,
            n_columns,
            self.variant,
            self.max_memory,
            fits,
            self._kernel_classes(),
        )

    def _kernel_classes(self) -> list[type[Kernel]]:
        """Return the classes of the kernels that a fit may have, those not known left out."""
        asked = self.kernels if hasattr(self, "kernels") else [self.kernel]
        found = [
            KERNELS.get(kernel) if isinstance(kernel, str) else type(kernel) for kernel in asked
        ]
        return [kernel for kernel in found if kernel and issubclass(kernel, Kernel)] or [Gaussian]

    def _n_folds(self) -> int:
        """Return in how many folds the fit is repeated; 5 where the splits are not counted."""
        cv = getattr(self, "cv", None)
        if isinstance(cv, Integral):
            return int(cv)
        return 0 if cv is None else 5

    def _uses_expected(self) -> bool:
        return isinstance(self.reference, str) and self.reference == "expected"

    def _learn_code(self, frame: Any) -> TableCode:
        return learn_table_code(
            frame,
            missing_values=self.missing_values,
            categorical_features=self.categorical_features,
            feature_range=self.feature_range,
            owner=type(self).__name__,
        )

    def _coding_for(self, code: TableCode) -> Coding:
        """Return codes where the kernel has a term for them and gaps must become one category."""
        kind = KERNELS[self.kernel] if isinstance(self.kernel, str) else type(self.kernel)
        takes_codes = kind.is_distance and isinstance(self.reference, str)
        if self._soft_categories or not takes_codes:
            return IndicatorColumns(code)
        return CodeColumns(code)

    def _fit_frame(self, frame: Any, labels: Labels) -> FittedRows:
        """Learn the table's code, fill its rows of positive weight, keep what new rows need."""
        for stale in ("eta_", "classes_", "_calibration"):
            self.__dict__.pop(stale, None)
        every, frame, labels = frame, frame.iloc[labels.counted], labels.of(labels.counted)
        code = self._learn_code(frame)
        rows = self._coded(code, frame)
        if len(frame) < len(every):
            self._check_uncounted(code, every)
        coding = self._coding_for(code)
        matrix = coding.matrix(rows)
        kernel = self._kernel_for(matrix, coding, labels)
        reference, filler = fitted_reference(
            self.reference, matrix, kernel, labels.weights, type(self).__name__
        )
        subsets = stratified_subsets(labels, self.subset_size, self._seed())
        n_samples, n_columns = matrix.shape
        self._check_memory(n_samples, n_columns, max(members.size for members in subsets))
        eta = self._eta_for(matrix, labels)
        filling = fill(
            matrix,
            labels,
            kernel,
            reference,
            subsets,
            self._settings(eta),
            max_models=self.max_models,
            n_jobs=self.n_jobs,
            progress=self._progress(),
        )
        self._code, self._coding, self._machines = code, coding, filling.machines
        self._new_rows = NewRows(
            None if self._fills_by_reference(eta) else filling.X[filling.kept],
            labels.weights[filling.kept],
            Gaussian(categorical=coding.categorical),
            filler,
        )
        self.kernel_ = kernel
        if eta is not None:
            self.eta_ = eta
        self.n_subsets_ = len(subsets)
        self.n_iter_ = filling.n_iter
        self.gap_ = filling.gap
        self.trace_ = filling.trace
        self.status_ = filling.status
        if labels.classes is not None:
            self.classes_ = labels.classes
        return FittedRows(rows, reference, subsets, filling)

    def _fit_whole(self, frame: Any, labels: Labels) -> FittedRows:
        """Fit as `_fit_frame` does, to what the user gave and not to a fold of it, and warn."""
        fitted = self._fit_frame(frame, labels)
        observed = fitted.rows.observed
        # Rows of different subsets never meet.
        self.n_disjoint_pairs_ = sum(disjoint_pairs(observed[rows]) for rows in fitted.subsets)
        self._warn_of_fit(fitted.filling)
        return fitted

    def _fills_by_reference(self, eta: float | None) -> bool:
        """Return whether new rows are filled by the reference, with such a weight on the anchor."""
        if self.new_rows == "auto":
            return eta is not None and math.isinf(eta)
        return bool(self.new_rows == "reference")

    def _check_uncounted(self, code: TableCode, frame: Any) -> None:
        """Refuse rows of weight zero that can't be returned filled; most estimators return none."""

    def _kernel_for(self, matrix: FloatArray, coding: Coding, labels: Labels) -> Kernel:
        return fitted_kernel(
            self.kernel,
            self.gamma,
            matrix,
            coding.categorical,
            labels.weights,
            self._gamma_part(labels),
        )

    def _gamma_part(self, labels: Labels) -> float:
        """Return the part of the scaled gamma that gamma="auto" takes."""
        return SMOOTH

    def _eta_for(self, matrix: FloatArray, labels: Labels) -> float | None:
        """Return the weight of the anchor; None leaves it to a variant that finds its own."""
        if not isinstance(self.eta, str):
            return float(self.eta)
        if self.variant != "direct":
            return None
        n_machines = number_of_machines(None if labels.classes is None else labels.classes.size)
        factor = n_machines * self._eta_factor(labels)
        return anchor_weight(float(self.C), matrix, factor, labels.weights)

    def _eta_factor(self, labels: Labels) -> float:
        """Return the default eta in units of C / (observed share), for each machine."""
        return imputer_eta(labels.task)

    def _settings(self, eta: float | None) -> Settings:
        return Settings(
            variant=self.variant,
            C=float(self.C),
            eta=eta,
            epsilon=float(getattr(self, "epsilon", 0.1)),
            tol=self.tol,
            max_iter=self.max_iter,
        )

    def _seed(self) -> int:
        """Return the seed of the shuffling; None is 0, never the global generator."""
        if self.random_state is None:
            return 0
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _progress(self) -> Callable[[Record], object] | None:
        """Return what prints each round, where it is asked for."""
        if not self.verbose:
            return self._callback
        name = type(self).__name__

        def show(record: Record) -> None:
            print(
                f"[{name}] {record.stage}: round {record.iteration}, objective "
                f"{record.objective:.6g}, gap {record.gap:.2g}, {record.seconds:.1f} s",
                file=sys.stderr,
            )

        return show

    # ------------------------------------------------------------------ warnings

    def _warn(self, message: str, category: type[Warning] = UserWarning) -> None:
        warnings.warn(f"{type(self).__name__}: {message}", category, stacklevel=_callers_level())

    def _warn_of_fit(self, filling: Filling) -> None:
        """Warn of what the fit left out or did not finish."""
        empty = self._code.left_missing
        if empty and not getattr(self, "keep_empty_features", False):
            listed = ", ".join(map(repr, empty))
            self._warn(f"columns without any observed value are left out: {listed}.")
        for caution in self._code.cautions:
            self._warn(f"{caution}.")
        unfinished = dict.fromkeys(filling.unfinished)
        if unfinished:
            self._warn(
                " ".join(f"{stage}: {status.value}" for stage, status in unfinished),
                ConvergenceWarning,
            )


def _callers_level() -> int:
    """Return the stack level, for a warning of the function that asks, of the user's own line."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_LIBRARIES):
        frame, level = frame.f_back, level + 1
    return level


_LIBRARIES = ("kernimpute.", "sklearn.", "joblib.")


def disjoint_pairs(observed: NDArray[np.bool_]) -> int:
    """Return how many pairs of rows share no observed cell.

    Parameters
    ----------
    observed : ndarray of bool of shape (n_samples, n_columns)
        True where a cell is observed.

    Returns
    -------
    int
        The number of unordered pairs.
    """
    # Of two rows that share nothing, one has at most half of the columns.
    n_observed = observed.sum(axis=1)
    light = 2 * n_observed <= observed.shape[1]
    mask = observed.astype(np.float32)
    few = mask[light]
    ordered = within = 0
    for first in range(0, few.shape[0], BLOCK_ROWS):
        disjoint = few[first : first + BLOCK_ROWS] @ mask.T == 0.0
        ordered += int(disjoint.sum())
        within += int(disjoint[:, light].sum())
    # A row of gaps shares nothing with itself, which is no pair; two such rows come twice.
    itself = int((n_observed == 0).sum())
    return ordered - within + (within - itself) // 2
