"""Start here: fill the gaps of labelled rows so that they become easier to classify.

`impute` runs one of five variants. `direct` moves the features themselves down the gradient of
the support vector machine's dual (`kernimpute.methods.direct`). The others are Algorithm 1 of the
paper (`kernimpute.two_stage`): Stage I learns a kernel matrix jointly with the machine
(`kernimpute.stage_one`), Stage II recovers the features from it (`kernimpute.stage_two`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernimpute.core.checks import check_choice, refusal
from kernimpute.core.kernels import Kernel
from kernimpute.core.rows import LabelledRows, check_labelled_rows
from kernimpute.core.status import Callback, Status, StopRule, Trace
from kernimpute.joint.reference import Reference, reference_table
from kernimpute.methods.direct import impute_directly
from kernimpute.methods.recover import RecoveredFeatures
from kernimpute.stage_one import VARIANTS as STAGE_ONE_VARIANTS
from kernimpute.stage_one import LearnedKernel, StageOneOptions, stage_one_options
from kernimpute.two_stage import impute_in_two_stages

__all__ = ["VARIANTS", "ImputationResult", "impute"]

FloatArray = NDArray[np.float64]
OWNER = "impute"

VARIANTS = ("direct", *STAGE_ONE_VARIANTS)
"""The names of the variants; the first is the default."""

DIRECT_ETA = 16.0
"""Default weight of `direct`'s anchor, in units of C. A row at its bound C pulls on a cell with C
times the slope of the decision function, a few units across the range [0, 1]: at 16 C it starts
by moving the cell about a tenth of that range. See ``benchmarks/README.md``."""

DIRECT_STOP = StopRule(tol=0.3, max_iter=100)
"""Default stop rule of `direct`. Tighter ones gain nothing in test accuracy: see
``benchmarks/README.md``."""


@dataclass(frozen=True)
class ImputationResult:
    """Completed rows, the support vector machine that guided them, and how the run ended.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The completed rows; observed cells are those that came, to the last bit.
    dual_coef : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Signed coefficients; a column for each class where there are more than two.
    intercept : float or ndarray of shape (n_classes,)
        Intercepts; the decision function is ``kernel(Z, X) @ dual_coef + intercept``.
    classes : ndarray of shape (n_classes,) or None
        The labels in ascending order; None for a regression.
    kernel : Kernel
        The kernel used.
    status : Status
        How the run ended: of two stages, the first that did not meet its stop rule.
    trace : Trace
        One record a round, Stage I before Stage II.
    stage_one : LearnedKernel or None
        Stage I's own result; None for `direct`.
    stage_two : RecoveredFeatures or None
        Stage II's own result; None for `direct`.
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
    device: str | None = None,
) -> ImputationResult:
    """Fill the gaps of labelled rows so that they become easier to classify.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows with NaN at the gaps; numeric columns in [0, 1], categorical ones hold codes. Rows
        without any observed cell are allowed.
    y : array-like of shape (n_samples,)
        Labels of two or more classes, or targets for ``task="regression"``; complete.
    variant : {"direct", "anchored", "paper", "appendix", "released"}, default="direct"
        The method; see the module's first lines and `kernimpute.stage_one.variants`.
    kernel : Kernel, str or None, default=None
        The kernel, or the name of one whose gamma is then fitted to the table; None is
        "gaussian". See `kernimpute.core.rows.scaled_kernel`.
    C : float, default=1.0
        Penalty of the support vector machine, in (0, inf).
    eta : float or None, default=None
        Weight of the anchor, in (0, inf]; with inf, `direct` and `anchored` are the machine on
        the reference. None is 16 C for `direct`, and the norm of the dual coefficients of the
        machine on the reference for the others.
    rho, radius : float or None, default=None
        The perturbation's, as in `learn_kernel`; `direct` and `anchored` have none.
    epsilon : float, default=0.1
        Half width of the regression tube, in [0, inf).
    task : {"classification", "regression"}, default="classification"
        What y holds. C and `epsilon` of a regression are in the units of y, and the pull of the
        labels grows with them: bring y to unit variance, as `impute_table` does.
    categorical : array-like or None, default=None
        Mask or indices of the columns that hold category codes.
    reference : None, "mean", "expected", array-like or fitted imputer, default=None
        What `direct` starts from and is anchored at, and what `anchored` is anchored at; see
        `kernimpute.joint.reference`. "expected" is a kernel without a table: not for `direct`.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights of the rows, finite, nonnegative and not all 0; a weight w counts as w copies of
        the row, None as ones. They enter the machine, a gamma fitted to the table, the means of
        the reference and `direct`'s anchor; not the four others' anchor on the kernel matrix,
        which weighs all pairs alike, nor Stage II. A row of weight 0 is filled (by `direct` with
        its reference) and has no say otherwise; a class needs a row of positive weight.
    tol : float or None, default=None
        The stop rule. For `direct` the norm of the projected gradient (the smallest convex
        combination of the last ten) relative to that at the start (0.3), or five steps that bring
        less than 0.1 tol^2 of the fall so far; for the others as in `learn_kernel`. None takes
        the variant's default.
    max_iter : int or None, default=None
        Rounds of Stage I, or descent steps of `direct` (100). None takes the variant's default.
    callback : callable or None, default=None
        Called with the `Record` of each round; a true answer stops the stage with the best so
        far. A Stage II still follows an interrupted Stage I, so that the rows come back filled.
    device : str or None, default=None
        Where Stage I is computed, as in `learn_kernel`; Stage II and `direct` are computed on the
        CPU, and `direct` refuses a device.

    Returns
    -------
    ImputationResult
        The completed rows, the machine, and how the run ended. Nothing is warned of here: look at
        `ImputationResult.status`.

    Raises
    ------
    ImportError
        If a device is given and torch is not installed.
    TypeError, ValueError
        If a parameter is out of its range, X is not as described, y has gaps or a single class,
        the kernel does not suit the variant, or the device cannot be used; before any long work.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.1], [0.2, np.nan], [np.nan, 0.9], [1.0, 0.8]])
    >>> result = impute(X, ["no", "no", "yes", "yes"])
    >>> bool(np.isnan(result.X).any()), result.classes.tolist()
    (False, ['no', 'yes'])
    """
    check_choice(OWNER, "variant", variant, VARIANTS)
    if variant == "direct" and device is not None:
        must_be = "None for variant='direct', which computes on the CPU"
        raise ValueError(refusal(OWNER, "device", must_be, device))
    rows = check_labelled_rows(
        X,
        y,
        "gaussian" if kernel is None else kernel,
        owner=OWNER,
        C=C,
        task=task,
        epsilon=epsilon,
        categorical=categorical,
        sample_weight=sample_weight,
    )
    options = stage_one_options(
        OWNER,
        eta=eta,
        rho=rho,
        radius=radius,
        reference=reference,
        tol=tol,
        max_iter=max_iter,
        callback=callback,
        device=device,
    )
    if variant == "direct":
        return _direct(rows, options)
    stages = impute_in_two_stages(rows, variant, options)
    learned, recovered = stages.learned, stages.recovered
    return ImputationResult(
        X=recovered.X,
        dual_coef=learned.dual_coef,
        intercept=learned.intercept,
        classes=learned.classes,
        kernel=rows.kernel,
        status=_combined(learned.status, recovered.status),
        trace=Trace(learned.trace.records + recovered.trace.records),
        stage_one=learned,
        stage_two=recovered,
    )


def _combined(first: Status, second: Status) -> Status:
    """Return the status of two stages: the first that failed, else what the first has to say."""
    if not first.success:
        return first
    if not second.success or first is Status.CONVERGED:
        return second
    return first


def _direct(rows: LabelledRows, options: StageOneOptions) -> ImputationResult:
    eta = DIRECT_ETA * rows.dual.C if options.eta is None else options.eta
    stop = options.stop(DIRECT_STOP)
    start = reference_table(rows.X, rows.kernel, options.reference, OWNER, rows.sample_weight)
    found = impute_directly(rows, start, eta=eta, stop=stop, callback=options.callback)
    dual_coef, intercept = rows.dual.shaped(found.dual_coef, found.intercept)
    return ImputationResult(
        X=found.X,
        dual_coef=dual_coef,
        intercept=intercept,
        classes=rows.dual.classes,
        kernel=rows.kernel,
        status=found.status,
        trace=found.trace,
        stage_one=None,
        stage_two=None,
    )
