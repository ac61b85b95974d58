"""`KernelImputationClassifierCV`: a classifier that chooses its parameters on held-out rows."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, _fit_context

from kernimpute.estimators._base import TABLE_CONSTRAINTS
from kernimpute.estimators._classifier import KernelImputationClassifier
from kernimpute.estimators._imputer import IMPUTER_CONSTRAINTS
from kernimpute.estimators._search_base import SEARCH_CONSTRAINTS, KernelImputationSearch

__all__ = ["KernelImputationClassifierCV"]

FloatArray = NDArray[np.float64]


class KernelImputationClassifierCV(ClassifierMixin, KernelImputationSearch):
    """Fill and classify, with kernel, C, gamma, eta and reference chosen on held-out rows.

    eta = inf, the machine on the plain reference imputation, is always among the candidates, so
    that mean imputation with a linear or gaussian support vector machine can win.

    Parameters
    ----------
    kernels : sequence of str or Kernel, default=("linear", "gaussian")
        Kernels to choose from.
    Cs, gammas, etas : "auto" or sequence, default="auto"
        Values to choose from, as in `KernelImputerCV`.
    references : sequence of {"mean", "expected"} or imputer, default=("mean",)
        What the filled cells may be held at.
    cv : int, splitter, iterable of splits or None, default=None
        Folds, of the choice and of the calibration of `predict_proba`; None is 5. A number of
        folds is lowered to the rows of the rarest class, with a warning.
    scoring : str, callable or None, default=None
        A scorer of scikit-learn; None is accuracy. Scorers see probabilities that are not
        calibrated: the logistic function of decision values. Weights of rows count in it if it
        takes `sample_weight`, and do not if it takes none.
    search : {"eta_last", "all"}, default="eta_last"
        Which candidates are judged, as in `KernelImputerCV`.
    variant, class_weight, missing_values, categorical_features, feature_range, handle_unknown, \
new_rows, subset_size, max_models, max_memory, tol, max_iter, random_state : object
        As in `KernelImputationClassifier`.
    n_jobs : int or None, default=None
        Folds at the same time, as joblib counts.
    verbose : bool or int, default=False
        Whether progress is printed.

    Attributes
    ----------
    best_estimator_ : KernelImputationClassifier
        The classifier with the best parameters, fitted to all rows.
    best_params_, best_score_, best_index_, cv_results_, n_splits_ : object
        As in `KernelImputerCV`.
    classes_, n_features_in_, feature_names_in_, kernel_, eta_, n_subsets_, n_iter_, gap_, trace_, \
status_, n_disjoint_pairs_ : object
        As in `KernelImputationClassifier`, of the best one.

    See Also
    --------
    KernelImputationClassifier : With parameters of one's own.

    Notes
    -----
    The probabilities are calibrated on the held-out rows of the folds that chose the parameters,
    with the chosen ones alone, so they are slightly optimistic. The default values of
    gamma and eta come from the whole training table; see `KernelImputerCV`.

    Examples
    --------
    >>> import numpy as np
    >>> from kernimpute import KernelImputationClassifierCV
    >>> X = np.array([[0.0, 0.1], [0.2, np.nan], [np.nan, 0.9], [1.0, 0.8]] * 5)
    >>> classifier = KernelImputationClassifierCV(Cs=[1.0], kernels=["linear"])
    >>> classifier.fit(X, ["no", "no", "yes", "yes"] * 5).best_score_
    1.0
    """

    _plain_class = KernelImputationClassifier
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SEARCH_CONSTRAINTS,
        "class_weight": IMPUTER_CONSTRAINTS["class_weight"],
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
        variant: str = "direct",
        class_weight: Any = None,
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
        self.variant = variant
        self.class_weight = class_weight
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
        """Choose the parameters, fill labelled rows and learn to classify.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            As in `KernelImputationClassifier.fit`.
        y : array-like of shape (n_samples,)
            Labels, complete, of two or more classes.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weight of each row.
        **params : object
            What the splitter takes: ``groups``, or what metadata routing says.

        Returns
        -------
        KernelImputationClassifierCV
            The classifier itself.

        Raises
        ------
        TypeError, ValueError
            As `KernelImputationClassifier.fit`.
        """
        self._search(X, y, sample_weight, "classification", params)
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Return decision values; see `KernelImputationClassifier.decision_function`.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows with the columns of the training table, gaps allowed.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            The values.
        """
        return self._best().decision_function(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the labels of rows.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            As in `decision_function`.

        Returns
        -------
        ndarray of shape (n_rows,)
            Labels, from `classes_`.
        """
        return self._best().predict(X)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the classes, calibrated on held-out rows.

        These rows chose the parameters too, so that the probabilities are slightly optimistic.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            As in `decision_function`.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Rows that sum to 1, in the order of `classes_`.
        """
        return self._best().predict_proba(X)

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithms of `predict_proba`.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            As in `decision_function`.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The logarithms.
        """
        return self._best().predict_log_proba(X)
