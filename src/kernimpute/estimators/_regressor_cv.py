"""`KernelImputationRegressorCV`: a regressor that chooses its parameters on held-out rows."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin, _fit_context

from kernimpute.estimators._base import TABLE_CONSTRAINTS
from kernimpute.estimators._imputer import IMPUTER_CONSTRAINTS
from kernimpute.estimators._regressor import KernelImputationRegressor
from kernimpute.estimators._search_base import SEARCH_CONSTRAINTS, KernelImputationSearch

__all__ = ["KernelImputationRegressorCV"]

FloatArray = NDArray[np.float64]


class KernelImputationRegressorCV(RegressorMixin, KernelImputationSearch):
    """Fill and predict a quantity, all parameters of the method chosen on held-out rows.

    eta = inf, the machine on the plain reference imputation, is always among the candidates.

    Parameters
    ----------
    kernels : sequence of str or Kernel, default=("linear", "gaussian")
        Kernels to choose from.
    Cs, gammas, etas : "auto" or sequence, default="auto"
        Values to choose from, as in `KernelImputerCV`.
    references : sequence of {"mean", "expected"} or imputer, default=("mean",)
        What the filled cells may be held at.
    cv : int, splitter, iterable of splits or None, default=None
        Folds; None is 5. A number of folds is lowered to half the rows, with a warning; of fewer
        than 4 rows the default parameters are taken.
    scoring : str, callable or None, default=None
        A scorer of scikit-learn; None is R2, which needs 2 rows in every fold. Weights of rows
        count in it if it takes `sample_weight`, and do not if it takes none.
    search : {"eta_last", "all"}, default="eta_last"
        Which candidates are judged, as in `KernelImputerCV`.
    epsilon, variant, missing_values, categorical_features, feature_range, handle_unknown, \
new_rows, subset_size, max_models, max_memory, tol, max_iter, random_state : object
        As in `KernelImputationRegressor`.
    n_jobs : int or None, default=None
        Folds at the same time, as joblib counts.
    verbose : bool or int, default=False
        Whether progress is printed.

    Attributes
    ----------
    best_estimator_ : KernelImputationRegressor
        The regressor with the best parameters, fitted to all rows.
    best_params_, best_score_, best_index_, cv_results_, n_splits_ : object
        As in `KernelImputerCV`.
    n_features_in_, feature_names_in_, kernel_, eta_, n_subsets_, n_iter_, gap_, trace_, status_, \
n_disjoint_pairs_ : object
        As in `KernelImputationRegressor`, of the best one.

    See Also
    --------
    KernelImputationRegressor : With parameters of one's own.

    Notes
    -----
    The default values of gamma and eta come from the whole training table; see `KernelImputerCV`.

    Examples
    --------
    >>> import numpy as np
    >>> from kernimpute import KernelImputationRegressorCV
    >>> X = np.array([[0.0, 0.1], [0.2, np.nan], [np.nan, 0.9], [1.0, 0.8]] * 5)
    >>> regressor = KernelImputationRegressorCV(Cs=[1.0], kernels=["linear"])
    >>> bool(regressor.fit(X, [1.0, 2.0, 9.0, 10.0] * 5).best_score_ > 0.5)
    True
    """

    _plain_class = KernelImputationRegressor
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SEARCH_CONSTRAINTS,
        "epsilon": IMPUTER_CONSTRAINTS["epsilon"],
        **TABLE_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        kernels: Any = ("linear", "gaussian"),
        Cs: Any = "auto",
        gammas: Any = "auto",
        etas: Any = "auto",
        references: Any = ("mean",),
        cv: Any = None,
        scoring: Any = None,
        search: str = "eta_last",
        epsilon: float = 0.1,
        variant: str = "direct",
        missing_values: Any = np.nan,
        categorical_features: Any = "from_dtype",
        feature_range: Any = None,
        handle_unknown: str = "error",
        new_rows: str = "auto",
        subset_size: int | None = None,
        max_models: int | None = 10,
        max_memory: float | int = 0.75,
        tol: float | None = None,
        max_iter: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.kernels = kernels
        self.Cs = Cs
        self.gammas = gammas
        self.etas = etas
        self.references = references
        self.cv = cv
        self.scoring = scoring
        self.search = search
        self.epsilon = epsilon
        self.variant = variant
        self.missing_values = missing_values
        self.categorical_features = categorical_features
        self.feature_range = feature_range
        self.handle_unknown = handle_unknown
        self.new_rows = new_rows
        self.subset_size = subset_size
        self.max_models = max_models
        self.max_memory = max_memory
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **params: Any
    ) -> Self:
        """Choose the parameters, fill labelled rows and learn to predict.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            As in `KernelImputationRegressor.fit`.
        y : array-like of shape (n_samples,)
            Targets, complete and finite.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weight of each row.
        **params : object
            What the splitter takes: ``groups``, or what metadata routing says.

        Returns
        -------
        KernelImputationRegressorCV
            The regressor itself.

        Raises
        ------
        TypeError, ValueError
            As `KernelImputationRegressor.fit`.
        """
        self._search(X, y, sample_weight, "regression", params)
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
        return self._best().predict(X)
