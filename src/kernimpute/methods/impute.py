"""Start here: fill the gaps of labelled rows so that they become easier to classify.

The variant `direct` moves the features down the gradient of the support vector machine's dual. The
others have two stages: Stage I (`learn_kernel`) learns a kernel matrix jointly with the machine,
Stage II recovers the features from it. In Stage I's steps for adjustment, perturbation and machine,

- `paper` (Algorithm 1 as printed) solves the eigenvalue program, projects E's closed form, and
  takes an Adam step, clipped and centred;
- `appendix` (which the paper's theorem is about) projects exactly in all three;
- `released` equals the authors' code: Adam steps in all three, and its own Stage II;
- `anchored` has the kernel matrix itself as the variable, which makes the problem convex-concave,
  so that a gap certifies the result.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernimpute.core import checks
from kernimpute.core.arrays import FloatArray
from kernimpute.core.kernels import Gaussian, Kernel
from kernimpute.core.rows import LabelledRows, check_labelled_rows
from kernimpute.core.status import Callback, Status, StopRule, Trace
from kernimpute.joint.reference import Reference, reference_kernel, reference_table
from kernimpute.methods.direct import impute_directly
from kernimpute.methods.paper import LearnedKernel, finish

if TYPE_CHECKING:
    from kernimpute.methods.recover import RecoveredFeatures

__all__ = ["VARIANTS", "ImputationResult", "LearnedKernel", "impute", "learn_kernel"]

STOP_RULES = {
    # Tighter ones gain nothing in test accuracy: see ``docs/benchmarks.md``.
    "direct": StopRule(tol=0.3, max_iter=100),
    "paper": StopRule(tol=1e-3, max_iter=500),
    "appendix": StopRule(tol=1e-3, max_iter=500),
    "released": StopRule(tol=1e-4, max_iter=10_000),
    "anchored": StopRule(tol=1e-3, max_iter=1000),
}
VARIANTS = tuple(STOP_RULES)
"""The names of the variants; the first is the default."""
DIRECT_ETA = 16.0
"""Default weight of `direct`'s anchor, in units of C; see ``docs/benchmarks.md``."""
LARGEST = 1e40
"""Largest bound of a coefficient, finite eta and rho in Stage I: their products can be squared."""
FARTHEST = 1e100
"""Largest sum that Stage II is asked to fit."""


@dataclass(frozen=True)
class ImputationResult:
    """Completed rows, the support vector machine that guided them, and how the run ended.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The completed rows; observed cells are returned to the last bit.
    dual_coef : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Signed coefficients; one column for each class where there are more than two.
    intercept : float or ndarray of shape (n_classes,)
        Of ``kernel(Z, X) @ dual_coef + intercept`` for `direct`; for the others the machine belongs
        to Stage I's kernel matrix, not to the rows recovered.
    classes : ndarray of shape (n_classes,) or None
        The labels in ascending order; None for a regression.
    kernel : Kernel
        The kernel used.
    status : Status
        How the run ended; of two stages, the first that did not meet its stop rule.
    trace : Trace
        One record for each round, Stage I before Stage II.
    stage_one, stage_two : LearnedKernel, RecoveredFeatures or None
        The stages' own results; None for `direct`.
    """

    X: FloatArray
    dual_coef: FloatArray
    intercept: float | FloatArray
    classes: NDArray[np.generic] | None
    kernel: Kernel
    status: Status
    trace: Trace
    stage_one: LearnedKernel | None
    stage_two: RecoveredFeatures | None


def impute(
    X: ArrayLike,
    y: ArrayLike,
    *,
    variant: str = "direct",
    kernel: Kernel | str | None = None,
    C: float = 1.0,
    eta: float | None = None,
    rho: float | None = None,
    radius: float | None = None,
    epsilon: float = 0.1,
    task: str = "classification",
    categorical: ArrayLike | None = None,
    reference: Reference = None,
    sample_weight: ArrayLike | None = None,
    tol: float | None = None,
    max_iter: int | None = None,
    callback: Callback | None = None,
) -> ImputationResult:
    """Fill the missing cells of labelled rows so that they become easier to classify.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows with NaN at the gaps; numeric columns in [0, 1], categorical ones hold codes.
    y : array-like of shape (n_samples,)
        Labels of two or more classes, or targets; complete.
    variant : {"direct", "paper", "appendix", "released", "anchored"}, default="direct"
        The method; see `kernimpute.methods.impute`.
    kernel : Kernel, str or None, default=None
        The kernel, or the name of one whose gamma is then fitted to the table by
        `kernimpute.core.rows.scaled_kernel`; None is "gaussian".
    C : float, default=1.0
        Penalty of the support vector machine, in (0, inf).
    eta : float or None, default=None
        Weight of the anchor, in (0, inf]; None is 16 C for `direct`, else as in `learn_kernel`.
    rho, radius : float or None, default=None
        Those of the perturbation, as in `learn_kernel`; `direct` and `anchored` have none.
    epsilon : float, default=0.1
        Half width of the regression tube, in [0, inf).
    task : {"classification", "regression"}, default="classification"
        What y holds. C and `epsilon` of a regression are in the units of y, and the pull of the
        labels grows with them: bring y to unit variance, as `impute_table` does.
    categorical : array-like or None, default=None
        Mask or indices of the columns that hold category codes; None keeps the kernel's own.
    reference : None, "mean", "expected", array-like or fitted imputer, default=None
        What `direct` starts from and is anchored at, and what `anchored` is anchored at; see
        `kernimpute.joint.reference`. "expected" is a kernel without a table, and not for `direct`.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights of the rows, finite, nonnegative and not all 0 in a class. A weight w counts as w
        copies in the machine, a fitted gamma, the means of the reference and `direct`'s anchor;
        other anchors and Stage II weigh all rows alike. A row of weight 0 is filled all the same.
    tol : float or None, default=None
        The stop rule; for `direct` the slope relative to that at the start (None is 0.3), for the
        others as in `learn_kernel`.
    max_iter : int or None, default=None
        Rounds of Stage I, or descent steps of `direct` (100). None takes the variant's default.
    callback : callable or None, default=None
        Called with the `Record` of each round; a true answer stops the stage with the best result
        so far. Stage II still follows an interrupted Stage I, so that the rows come back filled.

    Returns
    -------
    ImputationResult
        The completed rows, the machine, and how the run ended: this function never warns.

    Raises
    ------
    TypeError, ValueError
        If X, y or a parameter is not as described, or the kernel does not suit the variant.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.1], [0.2, np.nan], [np.nan, 0.9], [1.0, 0.8]])
    >>> result = impute(X, ["no", "no", "yes", "yes"])
    >>> bool(np.isnan(result.X).any()), result.classes.tolist()
    (False, ['no', 'yes'])
    """
    options = _Options("impute", variant, eta, rho, radius, reference, tol, max_iter, callback)
    kernel = "gaussian" if kernel is None else kernel
    rows = check_labelled_rows(
        X, y, kernel, C, task, epsilon, categorical, sample_weight, owner="impute"
    )
    stop = options.stop(VARIANTS)
    if variant == "direct":
        start = reference_table(rows.X, rows.kernel, reference, "impute", rows.sample_weight)
        weight = DIRECT_ETA * rows.dual.C if eta is None else eta
        found = impute_directly(rows, start, eta=weight, stop=stop, callback=callback)
        filled, b, intercept, status, trace = found
        machine = *rows.dual.shaped(b, intercept), rows.dual.classes
        return ImputationResult(filled, *machine, rows.kernel, status, trace, None, None)
    one = _learn(rows, options, stop)
    # Stage II: cell by cell exactly, or by the released descent where there is one.
    if variant == "released" and isinstance(rows.kernel, Gaussian):
        from kernimpute.methods import released

        two = released.stage_two(rows.X, one.target, callback=callback)
    else:
        from kernimpute.methods.recover import recover_features

        # A target of `released` has no bounds; beyond these all sums are equally out of reach.
        target = np.clip(one.target, -FARTHEST, FARTHEST)
        two = recover_features(rows.X, target, kernel=rows.kernel, callback=callback)
    # NOT_PSD and RAISED say more than a Stage II that converged.
    says_more = two.status.success and one.status is not Status.CONVERGED
    status = one.status if says_more or not one.status.success else two.status
    trace = Trace(one.trace.records + two.trace.records)
    machine = one.dual_coef, one.intercept, one.classes
    return ImputationResult(two.X, *machine, rows.kernel, status, trace, one, two)


def learn_kernel(
    X: ArrayLike,
    y: ArrayLike,
    *,
    kernel: Kernel | str,
    C: float = 1.0,
    eta: float | None = None,
    rho: float | None = None,
    radius: float | None = None,
    epsilon: float = 0.1,
    variant: str = "anchored",
    task: str = "classification",
    categorical: ArrayLike | None = None,
    reference: Reference = None,
    sample_weight: ArrayLike | None = None,
    tol: float | None = None,
    max_iter: int | None = None,
    callback: Callback | None = None,
) -> LearnedKernel:
    """Learn a kernel matrix jointly with a support vector machine: Stage I, eq. (Stage1).

    Parameters
    ----------
    X, y, kernel, C, epsilon, task, categorical, reference, sample_weight, max_iter, callback
        As in `impute`. More than two classes are learned one against the rest, with one kernel.
    eta : float or None, default=None
        Weight that holds the adjustment at its anchor, in (0, inf]. None takes the paper's rule,
        the norm of the machine's dual coefficients on the reference kernel.
    rho : float or None, default=None
        Weight that holds the perturbation, in (0, inf], for `paper` and `appendix`. None takes the
        paper's rule, ``5 C / m`` with m the share of missing cells.
    radius : float or None, default=None
        Radius of the perturbation's ball, in [0, inf), for `released`; None is its ``0.2 N m``.
    variant : {"anchored", "paper", "appendix", "released"}, default="anchored"
        The method; see `kernimpute.methods.impute`.
    tol : float or None, default=None
        The stop rule: for `anchored` the relative saddle gap (1e-3), for `paper` and
        `appendix` the largest relative step (1e-3), for `released` the norm of the step of the
        coefficients (1e-4). None takes the value in brackets.

    Returns
    -------
    LearnedKernel
        The kernel matrix, the coefficients, and how the run ended.

    Raises
    ------
    TypeError, ValueError
        As `impute`.
    """
    options = _Options(
        "learn_kernel", variant, eta, rho, radius, reference, tol, max_iter, callback
    )
    rows = check_labelled_rows(
        X, y, kernel, C, task, epsilon, categorical, sample_weight, owner="learn_kernel"
    )
    return _learn(rows, options, options.stop(VARIANTS[1:]))


class _Options(NamedTuple):
    """The variant and its parameters, in the name of the function that they were given to."""

    owner: str
    variant: str
    eta: float | None
    rho: float | None
    radius: float | None
    reference: Reference
    tol: float | None
    max_iter: int | None
    callback: Callback | None

    def stop(self, variants: tuple[str, ...]) -> StopRule:
        """Return the stop rule, or refuse what of all this is outside its range."""
        checks.check_choice(self.owner, "variant", self.variant, variants)
        for name, value in (("eta", self.eta), ("rho", self.rho)):
            if value is not None:
                checks.check_real(self.owner, name, value, 0.0, inf_included=True)
        for name, value in (("radius", self.radius), ("tol", self.tol)):
            if value is not None:
                checks.check_real(self.owner, name, value, 0.0, low_included=True)
        if self.max_iter is not None:
            checks.check_integer(self.owner, "max_iter", self.max_iter, 0)
        default = STOP_RULES[self.variant]
        tol = default.tol if self.tol is None else self.tol
        return StopRule(tol, default.max_iter if self.max_iter is None else self.max_iter)


def _learn(rows: LabelledRows, options: _Options, stop: StopRule) -> LearnedKernel:
    """Run Stage I on checked rows, with the default rules for what is None."""
    dual, missing_rate = rows.dual, float((~rows.observed).mean())
    if not missing_rate:
        sums = rows.kernel.sums(rows.X, rows.X)
        K = rows.kernel.link(sums)
        b = dual.solve(K)
        intercept, status = dual.intercept(K, b), Status.NOTHING_MISSING
        return finish(rows, K, b, intercept, status, [], target=sums, gap=0.0)
    _check_suits(rows, options)
    owner, variant, eta, rho, radius, reference, *_, callback = options
    K_reference = reference_kernel(rows.X, rows.kernel, reference, owner, rows.sample_weight)
    guess = None
    if eta is None:
        guess = dual.solve(K_reference)
        # A machine without support vectors has norm 0, and eta must be positive.
        eta = float(np.linalg.norm(guess)) or dual.C
    # A variant is imported when it is asked for: `direct` needs neither the others nor numba.
    if variant == "anchored":
        from kernimpute.methods import anchored

        return anchored.stage_one(rows, K_reference, guess, eta, stop, callback)
    if variant == "released":
        from kernimpute.methods import released

        radius = 0.2 * rows.X.shape[0] * missing_rate if radius is None else radius
        return released.stage_one(rows, eta, radius, stop, callback)
    from kernimpute.methods import paper

    rho = 5.0 * dual.C / missing_rate if rho is None else rho
    return paper.stage_one(rows, eta, rho, stop, callback, appendix=variant == "appendix")


def _check_suits(rows: LabelledRows, options: _Options) -> None:
    """Refuse numbers too extreme to be squared, and kernels for which the variant is undefined."""
    owner, variant, kernel = options.owner, options.variant, rows.kernel
    for name, weight in (("eta", options.eta), ("rho", options.rho)):
        if weight is not None and not math.isinf(weight) and not 1 / LARGEST <= weight <= LARGEST:
            must_be = f"in [{1 / LARGEST:g}, {LARGEST:g}], or inf, for a variant of Stage I"
            raise ValueError(checks.refusal(owner, name, must_be, weight))
    bound = float(np.maximum(rows.dual.upper, -rows.dual.lower).max())
    if bound > LARGEST:
        must_be = f"at most {LARGEST:g}, times the largest weight, for a variant of Stage I"
        raise ValueError(checks.refusal(owner, "C", must_be, bound))
    if variant == "released":
        if not kernel.is_distance or kernel.categorical:
            must_be = "gaussian or laplacian, without categorical columns, for variant='released'"
            raise ValueError(checks.refusal(owner, "kernel", must_be, kernel))
        if options.eta is not None and math.isinf(options.eta):
            # Adam's step along an infinite gradient is undefined.
            must_be = "a float in (0, inf) for variant='released'"
            raise ValueError(checks.refusal(owner, "eta", must_be, options.eta))
    elif variant == "anchored" or kernel.is_exponential:
        # `anchored` divides by nothing; the others take the ratio of exponentials from the sums.
        return
    K_observed = kernel.link(kernel.observed_sums(rows.X, rows.observed))
    if not (K_observed > 0.0).all():
        i, j = (int(index) for index in np.argwhere(~(K_observed > 0.0))[0])
        remedy = "lower its gamma" if kernel.is_exponential else "raise its offset"
        must_be = f"one whose observed kernel is positive for every pair ({remedy})"
        got = f"{kernel!r}, which gives {K_observed[i, j]:g} for rows {i} and {j}"
        raise ValueError(checks.refusal_in_words(owner, "kernel", must_be, got))
