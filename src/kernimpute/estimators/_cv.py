"""The estimators that choose kernel, C, gamma, eta and reference by cross-validation."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import (
    ClassifierMixin,
    RegressorMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from kernimpute.estimators._base import TABLE_CONSTRAINTS, KernelImputation
from kernimpute.estimators._classifier import KernelImputationClassifier
from kernimpute.estimators._folds import Fold, folds_of
from kernimpute.estimators._imputer import IMPUTER_CONSTRAINTS, KernelImputer
from kernimpute.estimators._labels import Labels, read_labels
from kernimpute.estimators._regressor import KernelImputationRegressor
from kernimpute.estimators._search import (
    Candidate,
    SearchResults,
    candidates_of,
    default_scales,
    judge_all,
)

__all__ = ["KernelImputationClassifierCV", "KernelImputationRegressorCV", "KernelImputerCV"]

FloatArray = NDArray[np.float64]

SEARCH_CONSTRAINTS: dict[str, list[Any]] = {
    "kernels": ["array-like"],
    "Cs": [StrOptions({"auto"}), "array-like"],
    "gammas": [StrOptions({"auto"}), "array-like"],
    "etas": [StrOptions({"auto"}), "array-like"],
    "references": ["array-like"],
    "cv": ["cv_object"],
    "scoring": [StrOptions(set(get_scorer_names())), callable, None],
}

FALLBACK = Candidate("gaussian", 1.0, "auto", "auto", "mean")
"""What is fitted where nothing can be held out: the plain estimators' defaults."""

FITTED = (
    "kernel_",
    "eta_",
    "n_subsets_",
    "n_iter_",
    "gap_",
    "trace_",
    "status_",
    "n_disjoint_pairs_",
)


class KernelImputationSearch(KernelImputation):
    """An estimator that judges candidates on held-out rows and refits the best on all of them."""

    _plain_class: ClassVar[type[KernelImputation]]

    def get_metadata_routing(self) -> MetadataRouter:
        """Return what `fit` hands on: to the splitter, such as groups.

        Returns
        -------
        MetadataRouter
            The routing.
        """
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                splitter=check_cv(self.cv),
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
        )

    def _search(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, task: str, params: Any
    ) -> Any:
        """Judge all candidates, fit the best one, and return the filled rows, of an imputer."""
        _, frame = self._read(X, reset=True)
        owner = type(self).__name__
        labels = read_labels(
            self._needed(y),
            frame,
            sample_weight,
            task=task,
            class_weight=getattr(self, "class_weight", None),
            owner=owner,
        )
        self._check_kernels()
        self._check_fit(len(frame))
        folds = folds_of(
            self.cv, frame, labels, warn=self._warn, **self._split_params(sample_weight, params)
        )
        plain = self._plain_class().set_params(**self._shared_params(labels.task))
        best = FALLBACK
        if folds:
            results = self._judged(plain, frame, labels, folds, sample_weight)
            best = results.candidates[results.best_index]
            self.best_index_ = results.best_index
            self.best_score_ = float(results.scores[results.best_index].mean())
            self.cv_results_ = results.cv_results()
        else:
            self._warn(
                "a class with a single row leaves nothing to hold out: the default parameters "
                "are taken without a choice."
            )
        self.n_splits_ = len(folds)
        self.best_params_ = best.params
        plain.set_params(**best.params)
        if "cv" in plain.get_params(deep=False) and folds:
            plain.set_params(cv=[(fold.train, fold.test) for fold in folds])
        filled = None
        if isinstance(plain, KernelImputer):
            filled = plain.fit_transform(X, y, sample_weight=sample_weight)
        else:
            plain.fit(X, y, sample_weight=sample_weight)
        self.best_estimator_ = plain
        for name in FITTED:
            if hasattr(plain, name):
                setattr(self, name, getattr(plain, name))
        if labels.classes is not None:
            self.classes_ = labels.classes
        return filled

    def _best_for(self, X: Any) -> Any:
        """Return the best estimator, after the checks of new rows in this one's name."""
        check_is_fitted(self)
        self._read(X, reset=False)
        return self.best_estimator_

    def _judged(
        self,
        plain: KernelImputation,
        frame: Any,
        labels: Labels,
        folds: list[Fold],
        sample_weight: ArrayLike | None,
    ) -> SearchResults:
        scales, anchor = default_scales(plain, frame, labels, self.kernels)
        candidates = candidates_of(
            kernels=self.kernels,
            Cs=self.Cs,
            gammas=self.gammas,
            etas=self.etas,
            references=self.references,
            scales=scales,
            anchor=anchor,
        )
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, frame, dtype=np.float64)
        return judge_all(
            plain, frame, labels, folds, candidates, self._scorer(labels), score_weights=weights
        )

    def _scorer(self, labels: Labels) -> Any:
        if callable(self.scoring):
            return self.scoring
        default = "r2" if labels.classes is None else "accuracy"
        return get_scorer(self.scoring or default)

    def _check_kernels(self) -> None:
        """Refuse candidates that the plain estimator would; at least one of each is needed."""
        checked = self._plain_class()
        for name in ("kernels", "references", "Cs", "gammas", "etas"):
            values = getattr(self, name)
            if isinstance(values, str):
                continue
            # Without an eta of its own a search has inf.
            if len(values) == 0 and name != "etas":
                raise ValueError(
                    f"The {name!r} parameter of {type(self).__name__} must hold at least one "
                    f"value. Got {values!r} instead."
                )
            for value in values:
                checked.set_params(**{name.rstrip("s"): value})._validate_params()

    def _uses_expected(self) -> bool:
        return any(isinstance(each, str) and each == "expected" for each in self.references)

    def _shared_params(self, task: str) -> dict[str, Any]:
        """Return the parameters that the plain estimator has too and that are not searched."""
        names = set(self._plain_class().get_params(deep=False))
        own = self.get_params(deep=False)
        shared = {name: own[name] for name in names & set(own) - {"cv"}}
        return {**shared, "task": task} if "task" in names else shared

    def _split_params(self, sample_weight: ArrayLike | None, params: Any) -> dict[str, Any]:
        """Return what the splitter takes besides rows and labels."""
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", sample_weight=sample_weight, **params)
            return dict(routed.splitter.split)
        unknown = sorted(set(params) - {"groups"})
        if unknown:
            raise TypeError(
                f"{type(self).__name__}.fit takes only groups besides X, y and sample_weight "
                f"where metadata routing is off. Got {', '.join(unknown)}."
            )
        return dict(params)


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
    gammas : "auto" or sequence of float, default="auto"
        Values of gamma, in (0, inf), for kernels named that have one; "auto" is 1/4, 1 and 4
        times the scaled one of the training table.
    etas : "auto" or sequence of float, default="auto"
        Weights of the anchor, in (0, inf], inf being added; "auto" is inf, the default of
        `KernelImputer` and a quarter of it.
    references : sequence of {"mean", "expected"} or imputer, default=("mean",)
        What the filled cells may be held at.
    cv : int, splitter, iterable of splits or None, default=None
        Folds; None is 5. A class with fewer rows than folds reduces their number, with a warning;
        with a single row nothing is chosen and the defaults of `KernelImputer` are taken.
    scoring : str, callable or None, default=None
        A scorer of scikit-learn; None is accuracy, or R2 for a regression. Scorers see
        probabilities that are not calibrated. Weights of rows count in it.
    variant, epsilon, task, class_weight, missing_values, categorical_features, feature_range, \
handle_unknown, keep_empty_features, add_indicator, new_rows, subset_size, max_memory, tol, \
max_iter, random_state : object
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
        Parameters and scores of all candidates, as `GridSearchCV` has them.
    n_splits_ : int
        Number of folds.
    n_features_in_, feature_names_in_, classes_, kernel_, eta_, n_subsets_, n_iter_, gap_, trace_, \
status_, n_disjoint_pairs_ : object
        As in `KernelImputer`, of the best one.

    See Also
    --------
    KernelImputer : With parameters of one's own.

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
        return self._best_for(X).transform(X)

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


class KernelImputationClassifierCV(ClassifierMixin, KernelImputationSearch):
    """Fill and classify, with kernel, C, gamma, eta and reference chosen on held-out rows.

    eta = inf, the machine on the plain reference imputation, is always among the candidates, so
    that mean imputation with a linear or gaussian support vector machine can win.

    Parameters
    ----------
    kernels : sequence of str or Kernel, default=("linear", "gaussian")
        Kernels to choose from.
    Cs, gammas, etas : "auto" or sequence of float, default="auto"
        Values to choose from, as in `KernelImputerCV`.
    references : sequence of {"mean", "expected"} or imputer, default=("mean",)
        What the filled cells may be held at.
    cv : int, splitter, iterable of splits or None, default=None
        Folds, of the choice and of the calibration of `predict_proba`; None is 5.
    scoring : str, callable or None, default=None
        A scorer of scikit-learn; None is accuracy. Scorers see probabilities that are not
        calibrated. Weights of rows count in it.
    variant, class_weight, missing_values, categorical_features, feature_range, handle_unknown, \
new_rows, subset_size, max_memory, tol, max_iter, random_state : object
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
        variant: str = "direct",
        class_weight: Any = None,
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
        self.kernels = kernels
        self.Cs = Cs
        self.gammas = gammas
        self.etas = etas
        self.references = references
        self.cv = cv
        self.scoring = scoring
        self.variant = variant
        self.class_weight = class_weight
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
        return self._best_for(X).decision_function(X)

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
        return self._best_for(X).predict(X)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the classes, calibrated on held-out rows.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            As in `decision_function`.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Rows that sum to 1, in the order of `classes_`.
        """
        return self._best_for(X).predict_proba(X)

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
        return self._best_for(X).predict_log_proba(X)


class KernelImputationRegressorCV(RegressorMixin, KernelImputationSearch):
    """Fill and predict a quantity, all parameters of the method chosen on held-out rows.

    eta = inf, the machine on the plain reference imputation, is always among the candidates.

    Parameters
    ----------
    kernels : sequence of str or Kernel, default=("linear", "gaussian")
        Kernels to choose from.
    Cs, gammas, etas : "auto" or sequence of float, default="auto"
        Values to choose from, as in `KernelImputerCV`.
    references : sequence of {"mean", "expected"} or imputer, default=("mean",)
        What the filled cells may be held at.
    cv : int, splitter, iterable of splits or None, default=None
        Folds; None is 5.
    scoring : str, callable or None, default=None
        A scorer of scikit-learn; None is R2. Weights of rows count in it.
    epsilon, variant, missing_values, categorical_features, feature_range, handle_unknown, \
new_rows, subset_size, max_memory, tol, max_iter, random_state : object
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
        epsilon: float = 0.1,
        variant: str = "direct",
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
        self.kernels = kernels
        self.Cs = Cs
        self.gammas = gammas
        self.etas = etas
        self.references = references
        self.cv = cv
        self.scoring = scoring
        self.epsilon = epsilon
        self.variant = variant
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
        return self._best_for(X).predict(X)
