"""`KernelImputationRegressor`: fills the gaps and predicts a quantity with one machine."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin, _fit_context
from sklearn.utils._param_validation import Interval

from kernimpute.estimators._base import METHOD_CONSTRAINTS, TABLE_CONSTRAINTS, KernelImputation

__all__ = ["KernelImputationRegressor"]

FloatArray = NDArray[np.float64]


class KernelImputationRegressor(RegressorMixin, KernelImputation):
    """Fill the gaps of labelled rows and learn to predict a quantity, gaps allowed in both.

    The extension of the method to support vector regression (the paper's appendix E). The target
    is brought to mean 0 and variance 1 for the machine, and back in `predict`, so that C, eta and
    epsilon mean the same in any unit.

    Parameters
    ----------
    kernel : str or Kernel, default="gaussian"
        A name of `kernimpute.kernels.KERNELS`, or a kernel with its own gamma.
    C : float, default=1.0
        Penalty of the support vector machine, in (0, inf).
    gamma : "auto", "scale", "scale/4", "scale*4" or float, default="auto"
        The kernel's gamma, in (0, inf), as in `KernelImputer`.
    eta : "auto", "auto/4" or float, default="auto"
        Weight that holds the filled cells at the reference, in (0, inf]; the smaller, the further
        the target moves them. "auto" is 256 C / (observed share of the cells) for "direct", and
        the norm of the machine's coefficients for the other variants. With inf: the machine on
        the reference imputation.
    epsilon : float, default=0.1
        Half width of the tube in standard deviations of y, in [0, inf).
    variant : {"direct", "anchored", "paper", "appendix", "released"}, default="direct"
        The method; see `kernimpute.impute`.
    reference : {"mean", "expected"} or imputer, default="mean"
        The imputation that fills start from and are held at, as in `KernelImputer`.
    missing_values, categorical_features, feature_range, handle_unknown, new_rows
        How tables are read and new rows are filled, as in `KernelImputer`.
    subset_size : int or None, default=None
        Rows imputed at once at the most, at least 10. The predictions of at most ten
        subsets, evenly spread, are averaged.
    max_memory, tol, max_iter, random_state, n_jobs, verbose
        Limits and progress of the fit, as in `KernelImputer`.

    Attributes
    ----------
    n_features_in_, feature_names_in_
        Number and names of the columns in fit.
    kernel_, eta_, n_subsets_, n_iter_, gap_, trace_, status_, n_disjoint_pairs_
        How the rows were filled, as in `KernelImputer`.

    See Also
    --------
    KernelImputer : Returns the filled table.
    default_grid : Candidates for scikit-learn's `GridSearchCV`.

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **METHOD_CONSTRAINTS,
        "epsilon": [Interval(Real, 0, None, closed="left")],
        **TABLE_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        kernel: Any = "gaussian",
        C: float = 1.0,
        gamma: Any = "auto",
        eta: Any = "auto",
        epsilon: float = 0.1,
        variant: str = "direct",
        reference: Any = "mean",
        missing_values: Any = np.nan,
        categorical_features: Any = "from_dtype",
        feature_range: Any = None,
        handle_unknown: str = "error",
        new_rows: str = "auto",
        subset_size: int | None = None,
        max_memory: float | int = 0.75,
        tol: float | None = None,
        max_iter: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.gamma = gamma
        self.eta = eta
        self.epsilon = epsilon
        self.variant = variant
        self.reference = reference
        self.missing_values = missing_values
        self.categorical_features = categorical_features
        self.feature_range = feature_range
        self.handle_unknown = handle_unknown
        self.new_rows = new_rows
        self.subset_size = subset_size
        self.max_memory = max_memory
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fill labelled rows and learn to predict.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Rows with gaps: array-like, or a DataFrame of pandas, polars or pyarrow.
        y : array-like of shape (n_samples,)
            Their targets, complete and finite.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weight of each row, at least 0; a row of weight 2 counts as two rows.

        Returns
        -------
        KernelImputationRegressor
            The regressor itself.

        Raises
        ------
        TypeError, ValueError
            If a parameter, the table or the targets are not as described, or the fit would take
            more memory than it may; before any long work.
        """
        _, frame, labels = self._read_labelled(X, y, sample_weight, task="regression")
        self._warn_of_fit(self._fit_whole(frame, labels).filling)
        self._centre, self._spread = labels.centre, labels.spread
        return self

    def predict(self, X: Any) -> FloatArray:
        """Return the predictions for rows.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows with the columns of the training table, gaps allowed.

        Returns
        -------
        ndarray of shape (n_rows,)
            Predictions, in the unit of y.
        """
        decision = self._decision(X)[:, 0]
        return np.asarray(self._centre + self._spread * decision)
