"""`KernelImputationRegressor`: fills the gaps and predicts a quantity."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from kernimpute.core.arrays import FloatArray
from kernimpute.estimators._base import KernelPredictor


class KernelImputationRegressor(RegressorMixin, KernelPredictor):
    """Predict a quantity from rows with gaps, learnt from such rows.

    As `KernelImputationClassifier`, with a linear ridge for the logistic regression. The support
    vector regression, whose fills the target may guide, is the paper's appendix E. The target is
    standardised, and in its own unit again in `predict`.

    Parameters
    ----------
    machine : {"average", "svm"}, default="average"
        The blend, or the support vector regression; parameters it does not use must be left out.
    guidance, use_labels, kernel, gamma, new_rows, subset_size, max_memory, tol
        As in `KernelImputer`, with "svm" only; `new_rows` and `tol` only with guidance.
    C : float, default=1.0
        Penalty of the support vector machine, in (0, inf).
    eta : "auto", "auto/4" or float, default="auto"
        As in `KernelImputer`, with guidance only.
    epsilon : float, default=0.1
        Half width of the tube in standard deviations of y, in [0, inf). With "svm" only.
    n_draws, reference, missing_values, categorical_features, feature_range, handle_unknown
        As in `KernelImputationClassifier`.
    max_iter, random_state, n_jobs, verbose
        As in `KernelImputationClassifier`.

    Attributes
    ----------
    n_features_in_, feature_names_in_, status_, n_iter_, strength_
        As in `KernelImputer`.
    kernel_, eta_, n_subsets_, n_disjoint_pairs_, gap_, trace_
        With "svm", `eta_` with guidance: as in `KernelImputer`.

    See Also
    --------
    KernelImputer : Returns the filled table.
    KernelImputationClassifier : Predicts classes.

    Notes
    -----
    Predictions may leave the range of y; `TransformedTargetRegressor` can predict logarithms.

    Examples
    --------
    >>> import numpy as np
    >>> from kernimpute import KernelImputationRegressor
    >>> X = np.array([[0.0, 0.1], [0.2, np.nan], [np.nan, 0.9], [1.0, 0.8]] * 5)
    >>> regressor = KernelImputationRegressor().fit(X, [1.0, 2.0, 9.0, 10.0] * 5)
    >>> low, high = regressor.predict([[0.1, np.nan], [np.nan, 1.0]])
    >>> bool(low < 4.0 < 7.0 < high)
    True
    """

    _task = "regression"

    def __init__(
        self,
        *,
        machine: str = "average",
        n_draws: int | None = None,
        guidance: str | None = None,
        reference: Any = "joint",
        use_labels: str | None = None,
        kernel: Any = "gaussian",
        C: float = 1.0,
        gamma: Any = "auto",
        eta: Any = "auto",
        epsilon: float = 0.1,
        missing_values: Any = np.nan,
        categorical_features: Any = "from_dtype",
        feature_range: Any = None,
        handle_unknown: str = "keep",
        new_rows: str = "auto",
        subset_size: int | None = None,
        max_memory: float | int = 0.75,
        tol: float | None = None,
        max_iter: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool | int = False,
    ) -> None:
        self._store(locals())

    def _answers(self, values: FloatArray) -> FloatArray:
        """Return standardised predictions in the unit of y."""
        return np.asarray(self._centre + self._spread * values[:, 0])
