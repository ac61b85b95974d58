"""The work behind every fit: labels, stratified subsets of rows, and the filling of each subset."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from threading import Lock
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from threadpoolctl import ThreadpoolController

from kernimpute.core.arrays import FloatArray
from kernimpute.core.checks import (
    Task,
    check_sample_weight,
    classes_recur,
    codes_and_weights,
    infer_task,
    plain_labels,
)
from kernimpute.core.dual import make_dual
from kernimpute.core.kernels import Kernel, row_blocks
from kernimpute.core.rows import number_of_machines
from kernimpute.core.status import Callback, Status, Trace, overall
from kernimpute.methods.impute import ImputationResult, impute

Rows = NDArray[np.intp]
ClassWeight = str | Mapping[object, float] | None

LARGEST_TARGET = 1e300  # predictions of larger targets could overflow
MOST_KEPT = 10  # subsets whose rows and machines are kept, which bounds the cost of a new row

# ------------------------------------------------------------------------------------ labels


@dataclass(frozen=True)
class Labels:
    """The labels of the training rows, as the solvers take them."""

    values: NDArray[Any]  # (n_samples,): class codes 0, 1, …; or the target, mean 0, variance 1
    sample_weight: FloatArray  # (n_samples,), as given
    weights: FloatArray  # (n_samples,): the same times the weight of the row's class
    task: Task
    classes: NDArray[np.generic] | None  # ascending; None for a regression
    centre: float = 0.0  # mean of the target
    spread: float = 1.0  # and its standard deviation

    @property
    def counted(self) -> Rows:
        """The rows of positive weight."""
        return np.flatnonzero(self.weights > 0.0)

    @property
    def n_machines(self) -> int:
        """How many machines share a filling."""
        return number_of_machines(None if self.classes is None else self.classes.size)

    def of(self, rows: Rows) -> Labels:
        """Return the labels of some of the rows, coded and weighted as these are."""
        values, given, weights = self.values[rows], self.sample_weight[rows], self.weights[rows]
        return replace(self, values=values, sample_weight=given, weights=weights)


def read_labels(
    y: ArrayLike,
    X: object,
    sample_weight: ArrayLike | None,
    *,
    task: str,
    class_weight: ClassWeight,
    owner: str,
) -> Labels:
    """Return the checked labels of the rows X; refuse those that cannot guide a fit."""
    labels = plain_labels(y, owner)
    check_one_label(labels, owner)
    labels = column_or_1d(labels, warn=True)
    check_consistent_length(X, labels)
    weights = check_sample_weight(f"{owner}.fit", sample_weight, labels.size)
    if (infer_task(labels) if task == "auto" else task) == "regression":
        return _target(labels, weights, owner)
    return _classes(labels, weights, class_weight, owner)


def check_one_label(y: ArrayLike, owner: str) -> None:
    """Refuse labels in several columns."""
    shape = np.asarray(y).shape
    if len(shape) == 2 and shape[1] != 1:
        raise ValueError(
            f"The 'y' parameter of {owner}.fit must hold one label a row. "
            f"Got an array of shape {shape} instead."
        )


def _target(labels: NDArray[np.generic], sample_weight: FloatArray, owner: str) -> Labels:
    """Return a target in units in which its mean is 0 and its variance 1."""
    try:
        target = labels.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"The 'y' parameter of {owner}.fit must hold numbers for a regression, with a point "
            f"before decimals. Got text such as {str(labels.ravel()[0])!r} instead."
        ) from error
    refused = ~(np.abs(target) <= LARGEST_TARGET)
    if refused.any():
        raise ValueError(
            f"The 'y' parameter of {owner}.fit must hold numbers of at most {LARGEST_TARGET:g}. "
            f"Got {float(target[refused][0])!r} instead."
        )
    # Rows of weight zero have no say, not even in how sums round.
    counted, weights = target[sample_weight > 0.0], sample_weight[sample_weight > 0.0]
    # Divided by the largest value first, because sums and squares may overflow.
    size = float(np.abs(counted).max()) or 1.0
    centre = size * float(np.average(counted / size, weights=weights))
    farthest = float(np.abs(counted - centre).max())
    spread = 1.0
    # A constant target has no unit; it guides nothing and is predicted as it is.
    if farthest > 1e-12 * abs(centre):
        squares = ((counted - centre) / farthest) ** 2
        spread = farthest * float(np.sqrt(np.average(squares, weights=weights)))
    values = (target - centre) / (spread or 1.0)
    return Labels(values, sample_weight, sample_weight, "regression", None, centre, spread)


def _classes(
    labels: NDArray[np.generic], sample_weight: FloatArray, class_weight: ClassWeight, owner: str
) -> Labels:
    """Return classes by their codes, with the weights of their rows."""
    classes, codes = np.unique(labels, return_inverse=True)
    if labels.dtype.kind == "f" and (classes != np.rint(classes)).any():
        raise ValueError(
            f"The 'y' parameter of {owner}.fit must hold classes. Got fractions, such as "
            f"{float(classes[classes != np.rint(classes)][0])!r}, instead: continuous labels need "
            "regression."
        )
    if not classes_recur(classes.size, labels.size):
        raise ValueError(
            f"The 'y' parameter of {owner}.fit must hold at most 300 classes, beyond 20 of three "
            f"rows on average. Got {classes.size} distinct values in {labels.size} rows instead: "
            "is y an identifier, or a quantity, which needs regression?"
        )
    if isinstance(class_weight, str):
        # Each class counts as much as the others, weights of rows included.
        totals = np.bincount(codes, weights=sample_weight, minlength=classes.size)
        share = float(totals.sum()) / int(np.count_nonzero(totals))
        factors = np.divide(share, totals, out=np.zeros(classes.size), where=totals > 0.0)
    else:
        # scikit-learn refuses what is not a mapping of classes, but no negative factor.
        factors = compute_class_weight(class_weight, classes=classes, y=labels)
        if not (np.isfinite(factors).all() and (factors >= 0.0).all()):
            raise ValueError(
                f"The 'class_weight' parameter of {owner} must hold weights in [0, inf). "
                f"Got {class_weight!r} instead."
            )
    weights = sample_weight * factors[codes]
    present = np.unique(codes[weights > 0.0])
    if present.size < 2:
        got = f"1 class ({classes[present].tolist()[0]!r})" if present.size else "no weight at all"
        of_weight = " of positive weight" if classes.size > 1 else ""
        raise ValueError(
            f"The 'y' parameter of {owner}.fit must hold at least 2 classes{of_weight}. "
            f"Got {got} in {labels.size} rows instead: there is nothing to tell apart."
        )
    return Labels(codes, sample_weight, weights, "classification", classes)


# ----------------------------------------------------------------------------------- subsets


def stratified_subsets(labels: Labels, subset_size: int | None, seed: int) -> list[Rows]:
    """Return the rows of each subset, ascending; every subset has its share of every class."""
    n_samples = labels.values.size
    if subset_size is None or n_samples <= subset_size:
        return [np.arange(n_samples)]
    n_subsets = math.ceil(n_samples / subset_size)
    # Dealt round robin in the order of labels, so every subset spans a target's range, too.
    shuffled = np.random.default_rng(seed).permutation(n_samples)
    order = shuffled[np.argsort(labels.values[shuffled], kind="stable")]
    dealt = [order[first::n_subsets] for first in range(n_subsets)]
    if labels.classes is not None:
        for code in range(labels.classes.size):
            members = order[labels.values[order] == code]
            for turn in range(n_subsets if 0 < members.size < n_subsets else 0):
                # A rare class lends each subset two of its rows, in turn, or its only one.
                lent = members[(turn + np.arange(2)) % members.size]
                if np.isin(members, dealt[turn]).sum() < min(2, members.size):
                    dealt[turn] = np.union1d(dealt[turn], lent)
    return [np.sort(rows) for rows in dealt]


def kept_subsets(n_subsets: int, most: int = MOST_KEPT) -> Rows:
    """Return the places of the subsets from which new rows are filled and predicted."""
    n_kept = min(n_subsets, most)
    # The middles of equal shares: the first subsets hold the smallest target of each round.
    return (2 * np.arange(n_kept) + 1) * n_subsets // (2 * n_kept)


# ----------------------------------------------------------------------------------- filling


@dataclass(frozen=True)
class Machine:
    """Decision functions ``kernel(Z, support) @ dual_coef + intercept``."""

    support: FloatArray  # (n_support, n_columns)
    dual_coef: FloatArray  # (n_support, n_problems), signed
    intercept: FloatArray  # (n_problems,)
    kernel: Kernel

    def decision(self, Z: FloatArray) -> FloatArray:
        """Return the decision values of complete rows, of shape (n_rows, n_problems)."""
        values = np.tile(self.intercept, (Z.shape[0], 1))
        if len(self.support):
            for rows in row_blocks(len(Z), len(self.support)):
                values[rows] += self.kernel(Z[rows], self.support) @ self.dual_coef
        return values


@dataclass(frozen=True)
class Filling:
    """Filled training rows, of one subset or of all, and what is kept of it."""

    X: FloatArray  # (n_samples, n_columns)
    machines: tuple[Machine, ...]  # of the kept subsets, if asked for
    unfinished: tuple[tuple[str, Status], ...]  # stage and status of runs that stopped early
    status: Status
    gap: float  # the largest certificate of the subsets
    trace: Trace  # of the kept subsets, one after the other
    n_iter: int = 1  # rounds of the longest run, its start included


def fill(
    matrix: FloatArray,
    labels: Labels,
    kernel: Kernel,
    reference: FloatArray | str,
    subsets: Sequence[Rows],
    options: Mapping[str, Any],
    *,
    has_machines: bool = True,
    n_jobs: int | None = None,
    callback: Callback | None = None,
) -> Filling:
    """Fill the rows (n_samples, n_columns) subset by subset; options as in `kernimpute.impute`."""
    if len(subsets) == 1:
        return fill_subset(matrix, labels, kernel, reference, options, has_machines, callback)
    kept = kept_subsets(len(subsets))
    told = callback if effective_n_jobs(n_jobs) == 1 else None
    calls = []
    for place, rows in enumerate(subsets):
        own = reference if isinstance(reference, str) else reference[rows]
        has_machine = has_machines and place in kept
        calls.append((matrix[rows], labels.of(rows), kernel, own, options, has_machine, told))
    done = run_all(fill_subset, calls, n_jobs)
    # A row in several subsets is filled in the first.
    X = np.empty_like(matrix)
    for rows, one in zip(reversed(subsets), reversed(done), strict=True):
        X[rows] = one.X
    return Filling(
        X=X,
        machines=tuple(machine for one in done for machine in one.machines),
        unfinished=tuple(ending for one in done for ending in one.unfinished),
        status=overall(one.status for one in done),
        gap=max(one.gap for one in done),
        trace=Trace(tuple(record for place in kept for record in done[place].trace.records)),
        n_iter=max(one.n_iter for one in done),
    )


def fill_subset(
    matrix: FloatArray,
    labels: Labels,
    kernel: Kernel,
    reference: FloatArray | str,
    options: Mapping[str, Any],
    has_machine: bool,
    callback: Callback | None,
) -> Filling:
    """Fill the rows (n_rows, n_columns) of one subset, whose labels are coded as the table's."""
    if not (has_machine or np.isnan(matrix).any()):
        return Filling(matrix, (), (), Status.NOTHING_MISSING, 0.0, Trace())
    if not isinstance(reference, str):
        matrix, reference = _with_own_codes(matrix, reference, kernel, labels.weights)
    result = impute(
        matrix,
        labels.values,
        kernel=kernel,
        task=labels.task,
        reference=reference,
        sample_weight=labels.weights,
        callback=callback,
        **options,
    )
    if result.stage_one is None or result.stage_two is None:
        endings = [("direct", result.status)]
        # The last slope, or 0 where there was nothing to do.
        known = [record.gap for record in result.trace.records if not math.isnan(record.gap)]
        gap = known[-1] if known else 0.0
    else:
        endings = [("Stage I", result.stage_one.status), ("Stage II", result.stage_two.status)]
        gap = float(result.stage_one.gap)
    return Filling(
        X=result.X,
        machines=(_machine(result, labels, options),) if has_machine else (),
        unfinished=tuple(ending for ending in endings if not ending[1].success),
        status=result.status,
        gap=gap,
        trace=result.trace,
        n_iter=max(1, len(result.trace)),
    )


def _with_own_codes(
    matrix: FloatArray, reference: FloatArray, kernel: Kernel, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return rows and reference of a subset that observes every code of its reference."""
    # A subset may not observe the table's most frequent code, and the solvers would refuse it.
    X, table = matrix.copy(), reference.copy()
    for column in kernel.categorical:
        known = ~np.isnan(matrix[:, column])
        if not known.any():
            X[:, column] = table[:, column]
            continue
        codes, shares = codes_and_weights(matrix[known, column], weights[known])
        unobserved = ~np.isin(table[:, column], codes)
        table[unobserved, column] = codes[shares.argmax()]
    return X, table


def _machine(result: ImputationResult, labels: Labels, options: Mapping[str, Any]) -> Machine:
    """Return the machine on the filled rows, with a column for every class of the whole table."""
    if result.stage_one is None:
        dual_coef = result.dual_coef.reshape(result.X.shape[0], -1)
        intercept = np.atleast_1d(np.asarray(result.intercept, dtype=float))
    else:
        # Stage I's coefficients belong to the learned kernel, not to the recovered features.
        dual = make_dual(
            labels.values,
            labels.values.size,
            C=options["C"],
            task=labels.task,
            epsilon=options["epsilon"],
            sample_weight=labels.weights,
        )
        K = result.kernel(result.X, result.X)
        dual_coef = dual.solve(K)
        intercept = dual.intercept(K, dual_coef)
    dual_coef, intercept = _for_all_classes(dual_coef, intercept, result.classes, labels)
    support = np.any(dual_coef != 0.0, axis=1)
    return Machine(result.X[support], dual_coef[support], intercept, result.kernel)


def _for_all_classes(
    dual_coef: FloatArray,
    intercept: FloatArray,
    present: NDArray[np.generic] | None,
    labels: Labels,
) -> tuple[FloatArray, FloatArray]:
    """Return coefficients and intercepts of all classes; one that the subset lacks gets -1."""
    if present is None or labels.classes is None or present.size == labels.classes.size:
        return dual_coef, intercept
    if present.size == 2:
        dual_coef = np.hstack([-dual_coef, dual_coef])
        intercept = np.append(-intercept, intercept)
    all_coef = np.zeros((dual_coef.shape[0], labels.classes.size))
    all_intercepts = np.full(labels.classes.size, -1.0)
    codes = present.astype(int)
    all_coef[:, codes], all_intercepts[codes] = dual_coef, intercept
    return all_coef, all_intercepts


# -------------------------------------------------------------------------- at the same time


_limits_lock = Lock()
_limits: list[Any] = []
"""The limits of all who are inside `one_thread`; the first alone found BLAS as it was."""


@cache
def _blas() -> Any:
    """Return the libraries of BLAS, all loaded before the first call; a search takes 3 ms."""
    # Not those of OpenMP, because its threads are each thread's own.
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_thread() -> Iterator[None]:
    """Give BLAS one thread until the last who is inside leaves, in whichever order they do."""
    with _limits_lock:
        _limits.append(_blas().limit(limits=1).__enter__())
    try:
        yield
    finally:
        with _limits_lock:
            _limits.pop().__exit__(None, None, None)


def on_one_thread(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Return what a function returns where BLAS has one thread."""
    with one_thread():
        return function(*arguments)


def run_all(
    function: Callable[..., Any], calls: Iterable[tuple[Any, ...]], n_jobs: int | None
) -> list[Any]:
    """Return what a function of a module's top level returns for each tuple of arguments."""
    # With more threads of BLAS the last bits of sums would depend on n_jobs.
    # Also around all calls: threads then find the limit of one thread, and put back one thread.
    with one_thread():
        return list(
            Parallel(n_jobs=n_jobs)(delayed(on_one_thread)(function, call) for call in calls)
        )
