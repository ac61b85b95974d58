"""`KernelImputerCV`: an imputer that chooses its parameters on held-out rows."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import TransformerMixin, _fit_context
from sklearn.utils.validation import check_is_fitted

from kernimpute.estimators._base import TABLE_CONSTRAINTS
from kernimpute.estimators._imputer import IMPUTER_CONSTRAINTS, KernelImputer
from kernimpute.estimators._search_base import SEARCH_CONSTRAINTS, KernelImputationSearch

__all__ = ["KernelImputerCV"]


class KernelImputerCV(TransformerMixin, KernelImputationSearch):
    """Fill the gaps of a table, with kernel, C, gamma, eta and reference chosen on held-out rows.

    A candidate is judged by how well its support vector machine, learned together with the
    filling from the rows that train, predicts the labels of held-out rows, which are filled
    without them. eta = inf, the plain reference imputation, is always among the candidates, so
    that column means with a linear or gaussian machine can win.

    Parameters
    ----------
    kernels : sequence of str or Kernel, default=("linear", "gaussian")
        Kernels to choose from.
    Cs : "auto" or sequence of float, default="auto"
        Penalties, in (0, inf); "auto" is 1/16, 1/4, …, 64.
    gammas : "auto" or sequence of float, "scale" or "auto", default="auto"
        Values of gamma, in (0, inf), for kernels named that have one; "auto" in place of a
        sequence is 1/4, 1 and 4 times the scaled one.
    etas : "auto" or sequence of float or "auto", default="auto"
        Weights of the anchor, in (0, inf], inf being added; "auto" in place of a sequence is inf,
        the default of `KernelImputer` and a quarter of it.
    references : sequence of {"mean", "expected"} or imputer, default=("mean",)
        What the filled cells may be held at.
    cv : int, splitter, iterable of splits or None, default=None
        Folds; None is 5. A number of folds is lowered, with a warning, to the rows of the rarest
        class, or to half the rows of a regression; below 2 nothing is chosen and the defaults of
        `KernelImputer` are taken, with a warning.
    scoring : str, callable or None, default=None
        A scorer of scikit-learn; None is accuracy, or R2 for a regression. Scorers see
        probabilities that are not calibrated. Weights of rows count in it if it takes
        `sample_weight`, and do not if it takes none (such as "neg_max_error"). A candidate whose
        score is not finite in some fold ranks last, with a warning.
    search : {"eta_last", "all"}, default="eta_last"
        Which candidates are judged. "eta_last": those of eta = inf, and then the other etas at
        the three pairs of C and gamma that are best of these, for each kernel and reference (of
        equal ones, some that are spread over C; all, where there are no more than three). Folds
        are coded and references are fitted twice then. "all": each eta at each C and gamma, which
        takes three times as long at the default values, and ten times at 11 values of C and 11
        of gamma (276 rows).
    variant, epsilon, task, class_weight, missing_values, categorical_features, feature_range, \
handle_unknown, keep_empty_features, add_indicator, new_rows, subset_size, max_models, \
max_memory, tol, max_iter, random_state : object
        As in `KernelImputer`.
    n_jobs : int or None, default=None
        Folds at the same time, as joblib counts.
    verbose : bool or int, default=False
        Whether progress is printed.

    Attributes
    ----------
    best_estimator_ : KernelImputer
        The imputer with the best parameters, fitted to all rows.
    best_params_ : dict
        Its kernel, C, gamma, eta and reference. Of equal scores the largest eta, then the
        smallest C, then the smallest gamma.
    best_score_ : float
        Its mean score.
    best_index_ : int
        Its place in `cv_results_`.
    cv_results_ : dict
        Parameters and scores of the candidates that were judged, as `GridSearchCV` has them.
    n_splits_ : int
        Number of folds.
    n_features_in_, feature_names_in_, classes_, kernel_, eta_, n_subsets_, n_iter_, gap_, trace_, \
status_, n_disjoint_pairs_ : object
        As in `KernelImputer`, of the best one.

    See Also
    --------
    KernelImputer : With parameters of one's own.

    Notes
    -----
    The default values of gamma and eta, and "scale" and "auto" among values given, are numbers
    that come from the observed cells of the whole training table, held-out rows included, without
    any label. All else is learned anew in every fold.

    Examples
    --------
    >>> import numpy as np
    >>> from kernimpute import KernelImputerCV
    >>> X = np.array([[0.0, 1.0], [2.0, np.nan], [np.nan, 9.0], [10.0, 8.0]] * 5)
    >>> imputer = KernelImputerCV(Cs=[1.0], kernels=["linear"]).fit(X, [0, 0, 1, 1] * 5)
    >>> imputer.best_score_, imputer.n_splits_
    (1.0, 5)
    """

    _plain_class = KernelImputer
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SEARCH_CONSTRAINTS,
        **IMPUTER_CONSTRAINTS,
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
        epsilon: float = 0.1,
        task: str = "auto",
        class_weight: Any = None,
        missing_values: Any = np.nan,
        categorical_features: Any = "from_dtype",
        feature_range: Any = None,
        handle_unknown: str = "error",
        keep_empty_features: bool = False,
        add_indicator: bool = False,
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
        self.epsilon = epsilon
        self.task = task
        self.class_weight = class_weight
        self.missing_values = missing_values
        self.categorical_features = categorical_features
        self.feature_range = feature_range
        self.handle_unknown = handle_unknown
        self.keep_empty_features = keep_empty_features
        self.add_indicator = add_indicator
        self.new_rows = new_rows
        self.subset_size = subset_size
        self.max_models = max_models
        self.max_memory = max_memory
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        """Return the tags; float32 and float64 come back as such."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **params: Any
    ) -> Self:
        """Choose the parameters and learn how to fill.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            As in `KernelImputer.fit`.
        y : array-like of shape (n_samples,)
            Labels, complete.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weight of each row.
        **params : object
            What the splitter takes: ``groups``, or what metadata routing says.

        Returns
        -------
        KernelImputerCV
            The imputer itself.

        Raises
        ------
        TypeError, ValueError
            As `KernelImputer.fit`.
        """
        self._search(X, y, sample_weight, self.task, params)
        return self

    @_fit_context(prefer_skip_nested_validation=False)
    def fit_transform(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **params: Any
    ) -> Any:
        """Choose the parameters and return the training rows filled with their labels' help.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            As in `fit`.
        y : array-like of shape (n_samples,)
            As in `fit`.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            As in `fit`.
        **params : object
            As in `fit`.

        Returns
        -------
        table of shape (n_samples, n_features_out)
            The filled rows. Not what ``fit(X, y).transform(X)`` gives.
        """
        return self._search(X, y, sample_weight, self.task, params)

    def transform(self, X: Any) -> Any:
        """Return rows with their gaps filled; see `KernelImputer.transform`.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows with the columns of the training table.

        Returns
        -------
        table of shape (n_rows, n_features_out)
            The filled rows.
        """
        return self._best().transform(X)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Any:
        """Return the names of the columns that `transform` returns.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the training table's columns, where it had none.

        Returns
        -------
        ndarray of str of shape (n_features_out,)
            The names.
        """
        check_is_fitted(self)
        return self.best_estimator_.get_feature_names_out(input_features)
