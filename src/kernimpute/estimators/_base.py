"""What the estimators share: reading tables, filling the training rows, filling new rows."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    MissingValues,
    RealNotInt,
    StrOptions,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from kernimpute.core.arrays import BoolArray, FloatArray
from kernimpute.core.checks import (
    SMALLEST_SUBSET,
    check_sample_weight,
    free_memory,
    refusal,
    unmasked,
)
from kernimpute.core.kernels import KERNELS, Gaussian, Kernel, make_kernel
from kernimpute.core.rows import SMOOTH, anchor_weight, default_kernel, imputer_eta
from kernimpute.core.status import COMPILING, Callback, Record, Status
from kernimpute.estimators._predictor import Predictor, drawn_rows, fit_predictor
from kernimpute.estimators._saving import Persistent
from kernimpute.estimators._subsets import (
    Filling,
    Labels,
    Machine,
    check_one_label,
    fill,
    kept_subsets,
    one_thread,
    read_labels,
    run_all,
    stratified_subsets,
)
from kernimpute.joint.fills import JointReference, fit_joint, generator_of
from kernimpute.joint.reference import (
    FittedImputer,
    fill_from_similar,
    reference_table,
    typical_row,
)
from kernimpute.table.code import EncodedTable, TableCode, checked_range, learn_code, unknown_cells
from kernimpute.table.columns import GapValues, check_distinct_names
from kernimpute.table.frames import check_in_memory, is_frame, names_of, to_pandas

GAMMA_PARTS = {"scale/4": 0.25, "scale": 1.0, "scale*4": 4.0}
"""What a named gamma takes of the gamma that is scaled to the rows."""
ETA_PARTS = {"auto": 1.0, "auto/4": 0.25}
"""What a named eta takes of the default weight of the anchor."""
_FITTED_AT_TIMES = (
    "kernel_ eta_ n_subsets_ n_disjoint_pairs_ gap_ trace_ classes_ strength_ "
    "_machines _predictors _draw_seed"
).split()
"""Attributes that only some fits leave, and the next fit removes."""
MANY_ROWS, SUBSET_SIZE = 10_000, 500
"""More rows at once than these get a hint, before the work, at subsets of such a size."""
FARTHEST = 1e6  # new numbers are taken to be so far from [0, 1]: powers of them stay floats
_A_COUNT = [None, Interval(Integral, 1, None, closed="left")]

CONSTRAINTS: dict[str, list[Any]] = {
    # The method.
    "kernel": [StrOptions(set(KERNELS)), Kernel],
    "C": [Interval(Real, 0, None, closed="neither")],
    "gamma": [StrOptions({"auto", *GAMMA_PARTS}), Interval(Real, 0, None, closed="neither")],
    "eta": [StrOptions(set(ETA_PARTS)), Interval(Real, 0, None, closed="right")],
    "guidance": [None, StrOptions({"direct", "anchored", "paper", "appendix", "released"})],
    "reference": [StrOptions({"joint", "mean", "expected"}), HasMethods(["fit", "transform"])],
    "use_labels": [None, StrOptions({"posterior", "own"})],
    "epsilon": [Interval(Real, 0, None, closed="left")],
    "class_weight": [StrOptions({"balanced"}), dict, None],
    "task": [StrOptions({"auto", "classification", "regression"})],
    "tol": [None, Interval(Real, 0, None, closed="left")],
    "max_iter": _A_COUNT,
    # What predicts.
    "machine": [StrOptions({"average", "svm"})],
    "n_draws": _A_COUNT,
    # How tables are read, shared out and filled.
    "missing_values": [MissingValues(), list, tuple, dict],
    "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
    "feature_range": [None, dict, "array-like"],
    "handle_unknown": [StrOptions({"keep", "error"})],
    "keep_empty_features": ["boolean"],
    "add_indicator": ["boolean"],
    "new_rows": [StrOptions({"auto", "similar", "reference"})],
    "subset_size": [None, Interval(Integral, SMALLEST_SUBSET, None, closed="left")],
    "max_memory": [
        Interval(RealNotInt, 0, 1, closed="right"),
        Interval(Integral, 1, None, closed="left"),
    ],
    "random_state": ["random_state"],
    "n_jobs": [*_A_COUNT, Interval(Integral, None, -1, closed="right")],
    "verbose": ["verbose"],
}
"""Constraints of the parameters of all estimators, by scikit-learn's validation."""

USED_BY = {
    "task": "labels",
    **dict.fromkeys(("eta", "new_rows", "tol"), "guidance"),
    **dict.fromkeys(("kernel", "C", "gamma", "epsilon"), "svm"),
    **dict.fromkeys(("subset_size", "max_memory"), "svm"),
    **dict.fromkeys(("class_weight", "max_iter"), "machine"),
    "n_draws": "average",
}
"""What alone uses a parameter; svm is a support vector machine, and machine any that predicts.
No predictor refuses `max_iter`, because scikit-learn's own checks set it."""


def default_grid(prefix: str = "") -> list[dict[str, list[Any]]]:
    """Return the candidates that are worth comparing, for scikit-learn's `GridSearchCV`.

    Parameters
    ----------
    prefix : str, default=""
        What precedes each name, such as ``"kernelimputer__"``; empty, or ending in "__".

    Returns
    -------
    list of dict of str to list
        72 candidates, 18 with a linear kernel, all with ``guidance="direct"``, which predictors
        take with ``machine="svm"`` only: six penalties C in [1/16, 64], three gammas, three anchors
        eta. The first anchor, inf, is the reference, which so wins among equal scores.

    Examples
    --------
    >>> from kernimpute import default_grid
    >>> from sklearn.model_selection import ParameterGrid
    >>> len(ParameterGrid(default_grid()))
    72
    """
    if prefix and not prefix.endswith("__"):
        raise ValueError(refusal("default_grid", "prefix", "empty, or end with '__'", prefix))
    penalties, anchors = [4.0**power for power in range(-2, 4)], [math.inf, *ETA_PARTS]
    shared: dict[str, list[Any]] = {"guidance": ["direct"], "C": penalties, "eta": anchors}
    linear, gaussian = {"kernel": ["linear"]}, {"kernel": ["gaussian"], "gamma": [*GAMMA_PARTS]}
    return [
        {prefix + name: values for name, values in {**kind, **shared}.items()}
        for kind in (linear, gaussian)
    ]


@dataclass(frozen=True)
class Coding:
    """How categories enter the kernel: as codes, where it has a term for them, or as indicators."""

    code: TableCode
    uses_indicators: bool

    @property
    def categorical(self) -> tuple[int, ...]:
        """The columns of the matrix that hold codes."""
        if self.uses_indicators:
            return ()
        return tuple(np.flatnonzero(self.code.categorical).tolist())

    @property
    def columns(self) -> tuple[NDArray[np.intp], BoolArray]:
        """The table's column, by its place, behind each indicator or number; which are numbers."""
        places, categories = zip(*self.code.indicator_columns or [(0, None)], strict=True)
        return np.array(places, dtype=np.intp), np.array([one is None for one in categories])

    def matrix(self, rows: FloatArray) -> FloatArray:
        """Return numbers and codes as the solvers see them, (n_rows, n_columns), NaN at gaps."""
        matrix = self.code.to_indicators(rows) if self.uses_indicators else rows
        # A table of constants leaves no column, and the solvers need one.
        return matrix if matrix.shape[1] else np.zeros((matrix.shape[0], 1))

    def codes(
        self, filled: FloatArray, rows: FloatArray, reference: FloatArray | None = None
    ) -> FloatArray:
        """Return rows of numbers and codes, with their gaps from a filled matrix."""
        if not self.uses_indicators:
            return filled[:, : rows.shape[1]]
        width = len(self.code.indicator_columns)
        start = None if reference is None else reference[:, :width]
        return self.code.to_codes(filled[:, :width], rows, start)


Filler = FloatArray | FittedImputer | JointReference
"""What a reference has for gaps: a value for each column, (n_columns,), or a fitted imputer."""


@dataclass(frozen=True)
class NewRows:
    """What rows without labels are filled from."""

    filler: Filler
    categorical: tuple[int, ...]  # the columns that hold codes
    training: FloatArray | None = None  # (n_training, n_columns), filled; None: by the reference
    weights: FloatArray | None = None  # (n_training,)

    def fill(self, matrix: FloatArray) -> FloatArray:
        """Return new rows (n_rows, n_columns) with their gaps filled, each row on its own."""
        metric = Gaussian(categorical=self.categorical)
        if self.training is not None:
            return fill_from_similar(matrix, self.training, metric, self.weights)
        if isinstance(self.filler, np.ndarray):
            return np.where(np.isnan(matrix), self.filler, matrix)
        filled, gappy = matrix.copy(), np.isnan(matrix).any(axis=1)
        if not gappy.any():
            return filled
        if isinstance(self.filler, JointReference):
            filled[gappy] = self.filler.fill(matrix[gappy])
        else:
            filled[gappy] = reference_table(matrix[gappy], metric, self.filler)
        return filled


@dataclass(frozen=True)
class FittedRows:
    """The training rows of a fit, which are needed once and not kept."""

    rows: EncodedTable  # those of positive weight
    counted: NDArray[np.intp]  # their places in the table
    X: FloatArray | None = None  # (n_counted, n_columns), filled; None fills them as new rows
    anchor: FloatArray | None = None  # their fills before labels moved them, the same shape
    filling: Filling | None = None  # how guidance ended


class KernelImputation(Persistent, BaseEstimator):
    """An estimator that fills rows by its reference, or training rows guided by their labels."""

    _predicts = False  # so that categories enter as indicators in any case
    _eta_factor: float | None = None  # eta in C / (observed share) a machine; None: an imputer's
    _smooth_of_many = SMOOTH  # the part of "scale" that is gamma="auto" beyond two classes
    _of_frame = False  # whether the training table is a DataFrame
    _task = "auto"  # what labels are where there is no parameter `task`

    def _store(self, arguments: Mapping[str, Any]) -> None:
        """Keep the arguments of `__init__`, its `locals()`, as they are under their names."""
        for name, value in arguments.items():
            if name != "self":
                setattr(self, name, value)

    @property
    def _has_svm(self) -> bool:
        return self.machine == "svm" if self._predicts else self.guidance is not None

    @property
    def _uses_labels(self) -> bool:
        return self._predicts or self._has_svm or self.use_labels is not None

    def __sklearn_tags__(self) -> Any:
        """Return the tags: gaps and categories are welcome, labels needed where they are used."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.target_tags.required = self._uses_labels
        return tags

    # ------------------------------------------------------------------ parameters

    @property
    def _parameter_constraints(self) -> dict[str, list[Any]]:
        return {name: CONSTRAINTS[name] for name in self._get_param_names() if name in CONSTRAINTS}

    def _validate_params(self) -> None:
        """Refuse parameters out of their ranges, contradictory, or without any use."""
        super()._validate_params()
        owner = type(self).__name__
        if self.reference == "expected" and self.guidance != "anchored":
            must_be = "'joint', 'mean' or an imputer, because 'expected' is a kernel and no table"
            instead = "use guidance='anchored', which takes a kernel"
            instead += ", with machine='svm'" if self._predicts else ""
            raise ValueError(_refusal_but(owner, "reference", must_be, "expected", instead))
        if self.use_labels is not None and self.reference != "joint":
            must_be = "None unless reference='joint'"
            raise ValueError(refusal(owner, "use_labels", must_be, self.use_labels))
        known = signature(type(self).__init__).parameters
        averages = self._predicts and self.machine == "average"
        in_use = {
            "labels": self._uses_labels,
            "guidance": self.guidance is not None,
            "svm": self._has_svm,
            "machine": self._predicts or self._has_svm,
            "average": averages,
        }
        of_svm = dict.fromkeys(("guidance", "use_labels"), "svm") if averages else {}
        for name, user in {**of_svm, **USED_BY}.items():
            if in_use[user] or name not in known or getattr(self, name) == known[name].default:
                continue
            unless, instead = "without guidance", "add guidance='direct' or leave it out"
            if user == "labels":
                unless = "where labels are not used"
            elif user == "average":
                unless, instead = "with machine='svm'", "leave it out"
            elif averages:
                needed = "machine='svm'" + (" and guidance" if user == "guidance" else "")
                unless, instead = "unless machine='svm'", f"add {needed} or leave it out"
            got = getattr(self, name)
            raise ValueError(_refusal_but(owner, name, f"left out {unless}", got, instead))
        if averages and self.n_draws is not None and self.reference != "joint":
            must_be = "None unless reference='joint'"
            raise ValueError(refusal(owner, "n_draws", must_be, self.n_draws))

    # ------------------------------------------------------------------ reading tables

    def _read(self, X: Any, *, reset: bool) -> tuple[Any, Any]:
        """Return the table after scikit-learn's own checks, and as a DataFrame."""
        check_in_memory(X, "X", type(self).__name__)
        X = unmasked(X)
        if reset:
            self._of_frame = is_frame(X)
        if not is_frame(X):
            given: dict[str, Any] = {"dtype": None, "ensure_all_finite": False}
            checked = validate_data(self, _own_dtype(X), reset=reset, **given)
            return checked, to_pandas(checked)
        check_distinct_names(names_of(X), f"the table that {type(self).__name__} got")
        validate_data(self, X, reset=reset, skip_check_array=True)
        frame = to_pandas(X)
        for count, what in zip(frame.shape, ("sample(s)", "feature(s)"), strict=True):
            if count == 0:
                raise ValueError(
                    f"Found array with 0 {what} (shape={frame.shape}) while a minimum of 1 is "
                    f"required by {type(self).__name__}."
                )
        return X, frame

    def _read_labelled(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Labels]:
        """Return the training table, its frame and its labels; refuse what cannot be fitted."""
        table, frame = self._read(X, reset=True)
        name = type(self).__name__
        check_in_memory(y, "y", name)
        if not self._uses_labels:
            if y is not None:
                check_one_label(y, name)
                check_consistent_length(frame, y)
            weights = check_sample_weight(f"{name}.fit", sample_weight, len(frame))
            # A constant stands for labels.
            return table, frame, Labels(np.zeros(len(frame)), weights, weights, "regression", None)
        if y is None:
            raise ValueError(
                f"This {name} estimator requires y to be passed, but the target y is None: call "
                "fit(X, y) with the label of each row."
            )
        task, class_weight = getattr(self, "task", self._task), getattr(self, "class_weight", None)
        labels = read_labels(
            y, frame, sample_weight, task=task, class_weight=class_weight, owner=name
        )
        unused, where = ("epsilon", "y is made of classes")
        if labels.classes is None:
            unused, where = ("class_weight", "y is a quantity")
        default = signature(type(self).__init__).parameters.get(unused)
        if default is not None and getattr(self, unused) != default.default:
            must_be = f"left out where {where}"
            raise ValueError(refusal(name, unused, must_be, getattr(self, unused)))
        return table, frame, labels

    def _coded(self, code: TableCode, frame: Any, handle_unknown: str = "keep") -> EncodedTable:
        """Return rows in a code, gaps where `missing_values` says so."""
        return code.encode(frame, missing_values=self._markers(), handle_unknown=handle_unknown)

    def _encode(self, frame: Any) -> EncodedTable:
        """Return new rows in the training table's code, with a warning for unknown categories."""
        # scikit-learn has checked the names where both tables have them; else places count.
        names = [column.name for column in self._code.columns]
        rows = self._coded(self._code, frame.set_axis(names, axis=1), self.handle_unknown)
        if rows.unknown:
            done = "count as gaps" if self._predicts else "are kept, and not used"
            self._warn(f"categories that fit did not see {done}: {unknown_cells(rows.unknown)}.")
        return rows

    def _matrix(self, rows: FloatArray) -> FloatArray:
        """Return new rows as the kernel takes them, no number farther off than `FARTHEST`."""
        matrix = self._coding.matrix(rows)
        if n_far := count_far(matrix):
            self._warn(f"{far_caution(n_far)}.")
        return within_reach(matrix)

    def _markers(self) -> GapValues:
        """Return the values that stand for a gap besides NaN, None and NA, or these by column."""
        given = self.missing_values
        return given if isinstance(given, (list, tuple, dict)) else (given,)

    def _learn_code(self, frame: Any) -> TableCode:
        """Return the code of the training table, by the three parameters about its columns."""
        owner, names = type(self).__name__, list(frame.columns)
        codes = _coded_columns(self.categorical_features, names, owner)
        options: dict[str, Any] = {"categorical": codes, "missing_values": self._markers()}
        # A frame's columns are what their values say; those of an array are mere numbers.
        options["whole"] = "few" if self._of_frame else "dtype"
        given = {} if self.feature_range is None else self.feature_range
        if not isinstance(given, Mapping) and np.shape(given) == (2,):
            checked_range(given, "feature_range", owner)
            # One range for all columns of numbers; a code without ranges says which these are.
            given = {
                column.name: given
                for column in learn_code(frame, **options).columns
                if not column.categorical
                and (column.kind != "empty" or column.family in ("integer", "float"))
            }
        return learn_code(frame, ranges=_column_ranges(given, names, owner), **options)

    # ------------------------------------------------------------------ fitting

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn to fill, and to predict, from rows with gaps.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Rows with gaps: array-like, or a DataFrame of pandas, polars or pyarrow.
        y : array-like of shape (n_samples,) or None, default=None
            Their labels, complete: finite numbers, or 2 to 300 classes, beyond 20 of three rows on
            average. An imputer needs them with `guidance` or `use_labels` only.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weight of each row, at least 0. A row of weight 2 fills as two rows do. Give a predictor
            repeated rows by weights: held-out predictions would see the copies.

        Returns
        -------
        Self
            The estimator itself.

        Raises
        ------
        TypeError, ValueError
            If a parameter, the table or the labels are not as described, nothing uses a parameter,
            or the fit would take more memory than it may; before any long work.
        """
        _, frame, labels = self._read_labelled(X, y, sample_weight)
        self._warn_of_fit(self._learn(frame, labels).filling)
        return self

    def _learn(self, frame: Any, labels: Labels, callback: Callback | None = None) -> FittedRows:
        """Learn the code, fill the rows of positive weight, and keep what new rows need."""
        for stale in _FITTED_AT_TIMES:
            self.__dict__.pop(stale, None)
        # Rows of weight zero are left out, because they have no effect.
        every, counted = frame, labels.counted
        frame, labels = frame.iloc[counted], labels.of(counted)
        code = self._learn_code(frame)
        rows = self._coded(code, frame)
        if len(frame) < len(every) and not self._predicts:
            # The imputer returns rows of weight zero, too: refuse what it could not fill.
            self._coded(code, every, self.handle_unknown)
        coding = self._coding_for(code)
        matrix = coding.matrix(rows.matrix)
        if self._has_svm:
            kernel = self._kernel_for(matrix, coding, labels)
            subsets = stratified_subsets(labels, self.subset_size, seed_of(self.random_state))
            if self._predicts or np.isnan(matrix).any():
                self._check_memory(matrix.shape, subsets, kernel)
                n_at_once = max(subset.size for subset in subsets)
                if n_at_once > MANY_ROWS:
                    self._warn(
                        f"{n_at_once} rows at once take long, and twice the rows four times as "
                        f"long: subset_size={SUBSET_SIZE} deals them out."
                    )
        new_rows = NewRows(self._fitted_filler(matrix, coding, labels), coding.categorical)
        self._code, self._coding, self._new_rows = code, coding, new_rows
        if isinstance(new_rows.filler, JointReference):
            self.strength_ = new_rows.filler.strength
        if labels.classes is not None:
            self.classes_ = labels.classes
        if not self._has_svm:
            self.n_iter_, has_gaps = 1, np.isnan(matrix).any()
            self.status_ = Status.CONVERGED if has_gaps else Status.NOTHING_MISSING
            own = self._reference_table(matrix, labels) if self.use_labels == "own" else None
            return FittedRows(rows, counted, own)
        is_table = self.reference != "expected"
        reference = self._reference_table(matrix, labels) if is_table else "expected"
        eta = self._eta_for(matrix, labels)
        filling = fill(
            matrix,
            labels,
            kernel,
            reference,
            subsets,
            {
                "variant": self.guidance or "direct",
                "C": float(self.C),
                "eta": eta,
                "epsilon": float(getattr(self, "epsilon", 0.1)),
                "tol": self.tol,
                "max_iter": self.max_iter,
            },
            has_machines=self._predicts,
            n_jobs=self.n_jobs,
            callback=callback or self._printer(),
        )
        by_reference = isinstance(new_rows.filler, JointReference) or eta == math.inf
        if self.new_rows == "similar" or (self.new_rows == "auto" and not by_reference):
            kept = np.unique(np.concatenate([subsets[one] for one in kept_subsets(len(subsets))]))
            weights = labels.weights[kept]
            self._new_rows = replace(new_rows, training=filling.X[kept], weights=weights)
        self._machines = filling.machines
        self.kernel_ = kernel
        if eta is not None and self.guidance is not None:
            self.eta_ = eta
        self.n_subsets_, self.n_iter_, self.status_ = len(subsets), filling.n_iter, filling.status
        self.gap_, self.trace_ = filling.gap, filling.trace
        # Rows of different subsets never meet.
        self.n_disjoint_pairs_ = sum(disjoint_pairs(rows.observed[some]) for some in subsets)
        anchor = None if isinstance(reference, str) else reference
        return FittedRows(rows, counted, filling.X, anchor, filling)

    def _coding_for(self, code: TableCode) -> Coding:
        """Return codes where the method has a term for them and a gap must become a category."""
        kind = KERNELS[self.kernel] if isinstance(self.kernel, str) else type(self.kernel)
        has_term = kind.is_distance and self.guidance != "released"
        is_simple = self.reference == "mean" or self.reference == "expected"
        takes_codes = has_term and is_simple and not self._predicts
        return Coding(code, uses_indicators=not takes_codes)

    def _kernel_for(self, matrix: FloatArray, coding: Coding, labels: Labels) -> Kernel:
        """Return the kernel with its gamma and its categorical columns."""
        kernel, gamma, categorical = self.kernel, self.gamma, coding.categorical
        if isinstance(kernel, Kernel):
            return kernel.with_categorical(np.array(categorical, dtype=int), matrix.shape[1])
        if isinstance(gamma, str) or "gamma" not in KERNELS[kernel].__dataclass_fields__:
            smooth = SMOOTH if labels.n_machines == 1 else self._smooth_of_many
            part = GAMMA_PARTS.get(gamma, smooth)
            return default_kernel(kernel, matrix, categorical, labels.weights, part=part)
        return make_kernel(kernel, float(gamma), categorical)

    def _eta_for(self, matrix: FloatArray, labels: Labels) -> float | None:
        """Return the weight of the anchor; None leaves it to guidance that finds its own."""
        if self.guidance is None:
            return math.inf
        if not isinstance(self.eta, str):
            return float(self.eta)
        if self.guidance != "direct":
            return None
        factor = ETA_PARTS[self.eta] * labels.n_machines
        factor *= self._eta_factor or imputer_eta(labels.task)
        return anchor_weight(float(self.C), matrix, factor, labels.weights)

    def _fitted_filler(self, matrix: FloatArray, coding: Coding, labels: Labels) -> Filler:
        """Return what the reference learns from the training rows."""
        # Not the weights of classes: without `use_labels` the reference knows of no labels.
        weights = labels.sample_weight
        if isinstance(self.reference, str):
            if self.reference != "joint":
                return typical_row(matrix, Gaussian(categorical=coding.categorical), weights)
            given = {} if self.use_labels is None else _for_joint(labels)
            seed = seed_of(self.random_state)
            if self.verbose:
                print(f"{self._prefix()}joint normal of {len(matrix)} rows", file=sys.stderr)
            # Its matrices are small: more threads of BLAS would wait for each other.
            with one_thread():
                return fit_joint(matrix, *coding.columns, weights, seed, **given)
        imputer: FittedImputer = clone(self.reference).fit(matrix)
        n_columns = np.shape(imputer.transform(matrix[:1]))[1]
        if n_columns != matrix.shape[1]:
            raise ValueError(
                f"The 'reference' parameter of {type(self).__name__} must be an imputer that "
                f"returns every column once. Got {type(imputer).__name__}, which returned "
                f"{n_columns} for {matrix.shape[1]} columns, instead."
            )
        return imputer

    def _reference_table(self, matrix: FloatArray, labels: Labels) -> FloatArray:
        """Return the training rows as the reference fills them."""
        filler = self._new_rows.filler
        if isinstance(filler, JointReference) and self.use_labels == "own":
            return filler.fill(matrix, **_for_joint(labels))
        return self._new_rows.fill(matrix)

    def _check_memory(
        self, shape: tuple[int, ...], subsets: Sequence[NDArray[np.intp]], kernel: Kernel
    ) -> None:
        """Refuse a fit that would not fit into memory, before anything large is allocated."""
        n_samples, n_columns = shape
        rows = max(subset.size for subset in subsets)
        at_once = min(effective_n_jobs(self.n_jobs), len(subsets))
        need = at_once * estimated_memory(rows, n_columns, self.guidance or "direct", kernel)
        is_share = isinstance(self.max_memory, float)
        allowed = self.max_memory * free_memory() if is_share else self.max_memory
        if need <= allowed:
            return
        # Memory is at most quadratic in the rows of a subset.
        size = min(SUBSET_SIZE, int(rows * math.sqrt(allowed / need) / 2))
        deal = f"deal the rows out, such as by subset_size={size}, or "
        advice = f"{deal if size >= SMALLEST_SUBSET else ''}raise max_memory"
        jobs = f" in each of {at_once} jobs" if at_once > 1 else ""
        raise ValueError(
            f"{type(self).__name__}.fit with N = {n_samples} rows, {rows} at once{jobs}, needs "
            f"about {need / 2**30:.3g} GiB, and max_memory={self.max_memory!r} allows "
            f"{allowed / 2**30:.3g} GiB: {advice}."
        )

    # ------------------------------------------------------------------ messages

    def _prefix(self) -> str:
        """Return how lines of progress begin; nothing where `verbose` does not ask for them."""
        return f"[{type(self).__name__}] " if self.verbose else ""

    def _printer(self) -> Callback | None:
        """Return what prints each round on stderr, where `verbose` asks for it."""
        prefix = self._prefix()

        def show(record: Record) -> None:
            done = COMPILING
            if record.note != COMPILING:
                done = f"round {record.iteration}, objective {record.objective:.6g}, "
                done += f"gap {record.gap:.2g}, {record.seconds:.1f} s"
            print(f"{prefix}{record.stage}: {done}", file=sys.stderr)

        return show if prefix else None

    def _warn(self, message: str, category: type[Warning] = UserWarning) -> None:
        warnings.warn(f"{type(self).__name__}: {message}", category, stacklevel=3)

    def _warn_of_fit(self, filling: Filling | None) -> None:
        """Warn of what the fit left out or did not finish."""
        empty = self._code.left_missing
        if empty and not getattr(self, "keep_empty_features", False):
            names = ", ".join(map(repr, empty))
            self._warn(f"columns without any observed value are left out: {names}.")
        for caution in self._code.cautions:
            self._warn(f"{caution}.")
        unfinished = dict.fromkeys(filling.unfinished if filling else ())
        if unfinished:
            said = " ".join(f"{stage}: {status.value}" for stage, status in unfinished)
            self._warn(said, ConvergenceWarning)


class KernelPredictor(KernelImputation):
    """An estimator that fills rows and predicts from them."""

    machine: str
    n_draws: int | None
    _predicts = True
    _machines: tuple[Machine, ...]
    _predictors: tuple[Predictor, ...]
    _draw_seed: int | None

    def _learn(self, frame: Any, labels: Labels, callback: Callback | None = None) -> FittedRows:
        """Fill, and fit what predicts."""
        fitted = super()._learn(frame, labels, callback)
        if self.machine == "average":
            self._fit_predictors(fitted.rows.matrix, labels.of(fitted.counted))
        self._centre, self._spread = labels.centre, labels.spread
        return fitted

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the labels of rows, or the values of a quantity.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows with the columns of the training table, gaps allowed.

        Returns
        -------
        ndarray of shape (n_rows,)
            Labels from `classes_`, or a regressor's predictions, in the unit of y.

        Raises
        ------
        NotFittedError, ValueError
            If it is not fitted, the columns are not those of fit, a number is infinite, or a
            category is unknown and `handle_unknown` is "error".
        """
        return self._answers(self._predicted(X))

    def _answers(self, values: FloatArray) -> NDArray[Any]:
        raise NotImplementedError

    def _fit_predictors(self, rows: FloatArray, labels: Labels) -> None:
        """Fit the predictor of the filled rows, or one of each draw of them."""
        matrix, known = self._coding.matrix(rows), ~np.isnan(rows)
        seed, n_draws, filler = seed_of(self.random_state), self.n_draws, self._new_rows.filler
        self._draw_seed = None if n_draws is None else seed
        if n_draws is not None and isinstance(filler, JointReference):
            generator = generator_of(seed)
            tables = [filler.sample(matrix, generator) for _ in range(n_draws)]
        else:
            tables = [self._new_rows.fill(matrix)]
        shared = matrix, known, labels
        calls = [(X, *shared, seed + k, self._prefix()) for k, X in enumerate(tables)]
        self._predictors = tuple(run_all(fit_predictor, calls, self.n_jobs))

    def _predicted(self, X: Any) -> FloatArray:
        """Return decision values (n_rows, n_problems), or what the average of kinds predicts."""
        check_is_fitted(self)
        _, frame = self._read(X, reset=False)
        rows = self._encode(frame)
        matrix = self._matrix(rows.matrix)
        filler, known = self._new_rows.filler, ~np.isnan(rows.matrix)
        if hasattr(self, "_machines"):
            filled = self._new_rows.fill(matrix)
            predicted = [machine.decision(filled) for machine in self._machines]
        elif self._draw_seed is not None and isinstance(filler, JointReference):
            predicted = [
                predictor.predict(drawn_rows(filler, matrix, self._draw_seed, draw), known)
                for draw, predictor in enumerate(self._predictors)
            ]
        else:
            predicted = [self._predictors[0].predict(self._new_rows.fill(matrix), known)]
        return np.asarray(np.mean(predicted, axis=0))


# ------------------------------------------------------------------------------ what is given


def _refusal_but(owner: str, name: str, must_be: str, got: object, instead: str) -> str:
    """Return the sentence that refuses a parameter, and what to do instead."""
    return f"{refusal(owner, name, must_be, got).removesuffix('.')}: {instead}."


def seed_of(random_state: Any) -> int:
    """Return an integer for a `random_state`; None is 0."""
    if random_state is None or isinstance(random_state, Integral):
        return int(random_state or 0)
    return int(check_random_state(random_state).randint(2**31 - 1))


def _for_joint(labels: Labels) -> dict[str, NDArray[Any]]:
    """Return labels as the joint normal takes them: codes of classes, or a target."""
    if labels.classes is None:
        return {"target": labels.values}
    return {"classes": labels.values.astype(np.intp)}


def _own_dtype(X: Any) -> Any:
    """Return lists that mix text and numbers as objects, because NumPy makes text of them."""
    if not isinstance(X, (list, tuple)):
        return X
    return np.asarray(X, dtype=object) if np.asarray(X).dtype.kind == "U" else X


def _coded_columns(chosen: Any, names: Sequence[Hashable], owner: str) -> tuple[Hashable, ...]:
    """Return the columns that `categorical_features` adds to those that are so by their dtype."""
    if chosen is None or isinstance(chosen, str):
        return ()
    given = np.asarray(chosen)
    is_mask = given.dtype.kind == "b"
    if given.ndim != 1 or (is_mask and given.size != len(names)):
        raise ValueError(
            f"The 'categorical_features' parameter of {owner} must be a mask over, or indices or "
            f"names of, the {len(names)} columns. Got {chosen!r} instead."
        )
    keys = np.flatnonzero(given) if is_mask else given
    return tuple(_column(key, names, "categorical_features", owner) for key in keys.tolist())


def _column(key: Any, names: Sequence[Hashable], parameter: str, owner: str) -> Hashable:
    """Return the name of the column that a name or an index means; refuse one that means none."""
    if key in names:
        return key
    if isinstance(key, (int, np.integer)) and 0 <= key < len(names):
        return names[int(key)]
    raise ValueError(
        f"The {parameter!r} parameter of {owner} must have names or indices of the {len(names)} "
        f"columns. Got {key!r} instead."
    )


def _column_ranges(
    given: Any, names: Sequence[Hashable], owner: str
) -> dict[Hashable, tuple[float, float]]:
    """Return the ranges that a mapping, or an array with NaN where none, declares for columns."""
    if not isinstance(given, Mapping):
        pairs = np.asarray(given, dtype=float)
        if pairs.shape != (len(names), 2):
            raise ValueError(
                f"The 'feature_range' parameter of {owner} must be a pair, a mapping from columns "
                f"to pairs, or an array of shape ({len(names)}, 2). Got {given!r} instead."
            )
        given = {place: pair for place, pair in enumerate(pairs) if not np.isnan(pair).all()}
    return {
        _column(key, names, "feature_range", owner): checked_range(pair, "feature_range", owner)
        for key, pair in given.items()
    }


# ------------------------------------------------------------------------------- measurements


def count_far(matrix: FloatArray) -> int:
    """Return how many rows have a number farther off than `FARTHEST`."""
    return int((np.abs(matrix) > FARTHEST).any(axis=1).sum())


def far_caution(n_rows: int) -> str:
    """Return what happens to numbers farther off than `FARTHEST`."""
    numbers = f"numbers farther than {FARTHEST:g} times the training range from it"
    return f"{numbers}, in {n_rows} row(s), are taken to be that far"


def within_reach(matrix: FloatArray) -> FloatArray:
    """Return new rows with no number farther off than `FARTHEST`; gaps stay gaps."""
    return np.asarray(np.clip(matrix, -FARTHEST, FARTHEST))


def estimated_memory(n_samples: int, n_columns: int, guidance: str, kernel: Kernel) -> int:
    """Return the bytes that a fit takes at its peak: matrices of rows x rows, and 42 tables."""
    # Counted by tracemalloc: 3.1 for `direct` with every coefficient between its bounds (1.7 as a
    # rule), 4.7 to 5.9 for its kernels of absolute values, 10.8 for one that must be projected.
    matrices = {"direct": 3, "anchored": 16, "paper": 28, "appendix": 28, "released": 25}[guidance]
    if guidance == "direct":
        matrices += 3 * (not kernel.is_euclidean)
        matrices += 8 * (not kernel.is_positive_semidefinite)
    return 8 * (matrices * n_samples**2 + 42 * n_samples * n_columns)


def disjoint_pairs(observed: BoolArray) -> int:
    """Return how many pairs of rows (n_samples, n_columns) share no observed cell."""
    mask = observed.astype(np.float32)
    blocks = (mask[first : first + 1024] for first in range(0, len(mask), 1024))
    n_disjoint = sum(int((block @ mask.T == 0.0).sum()) for block in blocks)
    # A row of gaps shares nothing with itself, which is no pair; each pair comes twice.
    return (n_disjoint - int((~observed.any(axis=1)).sum())) // 2
