"""`KernelImputationClassifier`: fills the gaps and classifies."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if

from kernimpute.core.arrays import FloatArray
from kernimpute.core.rows import CLASSIFIER_C, CLASSIFIER_ETA, SMOOTH_OF_MANY
from kernimpute.estimators._base import (
    METHOD_CONSTRAINTS,
    PREDICTOR_CONSTRAINTS,
    TABLE_CONSTRAINTS,
    KernelImputation,
)


def _decides(classifier: KernelImputationClassifier) -> bool:
    # What is fitted says so, whatever the parameters have been set to since.
    return hasattr(classifier, "_machines") or (
        classifier.machine == "svm" and not hasattr(classifier, "_predictors")
    )


def _has_probabilities(classifier: KernelImputationClassifier) -> bool:
    return not _decides(classifier)


class KernelImputationClassifier(ClassifierMixin, KernelImputation):
    """Classify rows with gaps, learnt from labelled rows with gaps.

    All rows are filled by the reference, each on its own and without its label. Three kinds of
    machine are learnt on the filled rows, and told which cells were gaps: a kernel ridge, a
    logistic regression and extremely randomised trees. Their probabilities are blended. On request
    it is a support vector machine, and labels may guide the fills of its training rows.

    Parameters
    ----------
    machine : {"average", "svm"}, default="average"
        The blend of three kinds, with `predict_proba`; or the paper's support vector machine, with
        `decision_function`. Parameters that the chosen one does not use must be left out.
    n_draws : int or None, default=None
        Draws of the fills, in [1, inf), each with a blend of its own, whose probabilities are
        averaged; they need ``reference="joint"``. None takes the expected fills.
    guidance : {None, "direct", "anchored", "paper", "appendix", "released"}, default=None
        How labels guide the fills of training rows, as in `KernelImputer`. With "svm" only, as all
        down to `eta`. Only with guidance are `eta`, `new_rows` and `tol` used.
    reference : {"joint", "mean", "expected"} or imputer, default="joint"
        The imputation, which guidance starts from, as in `KernelImputer`. With any machine.
    use_labels : {None, "posterior", "own"}, default=None
        Whether the joint normal knows of labels, as in `KernelImputer`.
    kernel : str or Kernel, default="gaussian"
        A name of `kernimpute.kernels.KERNELS`, or a kernel with its own gamma.
    C : float, default=4.0
        Penalty of the support vector machine, in (0, inf).
    gamma : "auto", "scale", "scale/4", "scale*4" or float, default="auto"
        The kernel's gamma, in (0, inf), as in `KernelImputer`; for more than two classes "auto"
        is half of "scale".
    eta : "auto", "auto/4" or float, default="auto"
        Weight that holds the filled cells at the reference, in (0, inf], as in `KernelImputer`,
        but for "direct" 32 in place of 16.
    class_weight : None, "balanced" or dict, default=None
        Factors of the classes' weights, as in scikit-learn's `SVC`.
    missing_values : scalar, list or dict, default=nan
        Values that stand for a gap besides NaN, None and NA; a dict has them by column.
    categorical_features : "from_dtype", None, mask, indices or names, default="from_dtype"
        Columns of numbers that are codes, as in `KernelImputer`.
    feature_range : None, (low, high), dict or array-like of shape (n_features, 2), default=None
        Ranges that filled numbers stay in, as in `KernelImputer`.
    handle_unknown : {"keep", "error"}, default="keep"
        What is done with a category that fit did not see: its cell counts as a gap ("keep"), with
        a warning, or it is refused.
    new_rows : {"auto", "similar", "reference"}, default="auto"
        What fills new rows, as in `KernelImputer`.
    subset_size : int or None, default=None
        Rows imputed at once at the most, at least 10; the decision values of at most ten
        subsets are averaged. With "svm" only, as `max_memory`.
    max_memory : float or int, default=0.75
        Memory that a fit may take, as in `KernelImputer`.
    tol : float or None, default=None
        The stop rule of guidance, as in `kernimpute.impute`, in [0, inf); None is its default.
    max_iter : int or None, default=None
        Most rounds, in [1, inf); None takes the guidance's default.
    random_state : int, RandomState or None, default=None
        Seed of all that is drawn: hidden cells, folds, trees, draws, subsets; None is 0.
    n_jobs : int or None, default=None
        Subsets or draws fitted at the same time, as joblib counts. The result is the same.
    verbose : bool or int, default=False
        Whether every stage of a fit, and every round of guidance, prints a line on stderr.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in ascending order.
    n_features_in_ : int
        Number of columns in fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where all are strings.
    strength_ : float
        With ``reference="joint"``: the strength of the joint normal, as in `KernelImputer`.
    status_ : Status
        How the fit ended.
    n_iter_ : int
        Rounds of the longest run; 1 without guidance.
    kernel_ : Kernel
        With "svm", as all below: the kernel, with its gamma.
    eta_ : float
        With guidance: the weight of the anchor, for "direct" or where it is given.
    n_subsets_, n_disjoint_pairs_, gap_, trace_
        As in `KernelImputer`.

    See Also
    --------
    KernelImputer : Returns the filled table.
    default_grid : Candidates for scikit-learn's `GridSearchCV`.

    Notes
    -----
    The kernel ridge is chosen by leave-one-out errors in closed form [1]_, the penalty of the
    logistic regression in five folds, and trees judge rows out of bag. Their log probabilities are
    added with weights that these held-out predictions decide; few rows leave the weights equal.
    Skewed columns are coded by normal scores, which end at the training range. Beyond 1,000 rows
    the kernel ridge is chosen on a sample and fitted by Nystroem's features.

    With "svm" more than two classes share one filling and have a machine each, one against the
    rest, and `predict` follows the decision values. Without any gap this is scikit-learn's `SVC`
    on columns scaled to [0, 1]. Its probabilities are those of `CalibratedClassifierCV` around it.

    References
    ----------
    .. [1] R. M. Rifkin and R. A. Lippert (2007). Notes on regularized least squares. MIT.

    Examples
    --------
    >>> import numpy as np
    >>> from kernimpute import KernelImputationClassifier
    >>> X = np.array([[0.0, 0.1], [0.2, np.nan], [np.nan, 0.9], [1.0, 0.8]] * 5)
    >>> classifier = KernelImputationClassifier().fit(X, ["no", "no", "yes", "yes"] * 5)
    >>> classifier.predict([[0.1, np.nan], [np.nan, 1.0]]).tolist()
    ['no', 'yes']
    """

    _eta_factor, _smooth_of_many = CLASSIFIER_ETA, SMOOTH_OF_MANY
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PREDICTOR_CONSTRAINTS,
        **METHOD_CONSTRAINTS,
        "class_weight": [StrOptions({"balanced"}), dict, None],
        **TABLE_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        machine: str = "average",
        n_draws: int | None = None,
        guidance: str | None = None,
        reference: Any = "joint",
        use_labels: str | None = None,
        kernel: Any = "gaussian",
        C: float = CLASSIFIER_C,
        gamma: Any = "auto",
        eta: Any = "auto",
        class_weight: Any = None,
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

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn to classify from labelled rows with gaps.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Rows with gaps: array-like, or a DataFrame of pandas, polars or pyarrow.
        y : array-like of shape (n_samples,)
            Their labels, complete, of two or more classes that recur: beyond 20, each class has
            three rows on average. It must be given.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weight of each row, at least 0, relative to the others. Give repeated rows by weights:
            held-out predictions would see the copies of a row.

        Returns
        -------
        KernelImputationClassifier
            The classifier itself.

        Raises
        ------
        TypeError, ValueError
            If a parameter, the table or the labels are not as described, or the fit of a support
            vector machine would take more memory than it may; before any long work.
        """
        _, frame, labels = self._read_labelled(X, y, sample_weight, task="classification")
        self._warn_of_fit(self._fit_frame(frame, labels).filling)
        return self

    @available_if(_decides)
    def decision_function(self, X: Any) -> FloatArray:
        """Return the decision values of the support vector machine; with "svm" only.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows with the columns of the training table, gaps allowed.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            Positive for the second of two classes; of more classes the largest one decides.

        Raises
        ------
        NotFittedError, ValueError
            If it is not fitted, the columns are not those of fit, a number is infinite, or a
            category is unknown and `handle_unknown` is "error".
        """
        values = self._predicted(X)
        return values[:, 0] if values.shape[1] == 1 else values

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the labels of rows.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows with the columns of the training table, gaps allowed.

        Returns
        -------
        ndarray of shape (n_rows,)
            Labels, from `classes_`: the most probable, or those of the decision values.

        Raises
        ------
        NotFittedError, ValueError
            As `decision_function`.
        """
        values = self._predicted(X)
        is_binary = values.shape[1] == 1
        chosen = (values[:, 0] > 0.0).astype(int) if is_binary else values.argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the classes; with ``machine="average"`` only.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Rows that sum to 1, in the order of `classes_`.

        Raises
        ------
        NotFittedError, ValueError
            As `decision_function`.
        """
        return self._predicted(X)

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithms of `predict_proba`.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The logarithms, minus infinity where a probability is 0.

        Raises
        ------
        NotFittedError, ValueError
            As `decision_function`.
        """
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))
