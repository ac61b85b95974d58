"""`KernelImputationClassifier`: fills the gaps and classifies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from kernimpute.core.arrays import FloatArray
from kernimpute.core.rows import CLASSIFIER_C, CLASSIFIER_ETA, SMOOTH_OF_MANY
from kernimpute.estimators._base import KernelPredictor


def _decides(classifier: KernelImputationClassifier) -> bool:
    # What is fitted says so, whatever the parameters have been set to since.
    return hasattr(classifier, "_machines") or (
        classifier.machine == "svm" and not hasattr(classifier, "_predictors")
    )


class KernelImputationClassifier(ClassifierMixin, KernelPredictor):
    """Classify rows with gaps, learnt from labelled rows with gaps.

    Rows are filled by the reference, each without its label. A kernel ridge, a logistic regression
    and extremely randomised trees learn from the filled rows and from where gaps were; their
    probabilities are blended. Or it is a support vector machine, whose fills labels may guide.

    Parameters
    ----------
    machine : {"average", "svm"}, default="average"
        The blend, with `predict_proba`; or the paper's support vector machine, with
        `decision_function`. Parameters that the chosen one does not use must be left out.
    n_draws : int or None, default=None
        Draws of the joint normal, in [1, inf), whose blends are averaged; None: expected fills.
    guidance, use_labels, kernel, new_rows, subset_size, max_memory, tol
        As in `KernelImputer`, with "svm" only; `new_rows` and `tol` only with guidance. Decision
        values of at most ten subsets are averaged.
    reference, missing_values, categorical_features, feature_range, max_iter
        As in `KernelImputer`, with any machine.
    C : float, default=4.0
        Penalty of the support vector machine, in (0, inf).
    gamma : "auto", "scale", "scale/4", "scale*4" or float, default="auto"
        As in `KernelImputer`, with "svm" only; beyond two classes "auto" is half of "scale".
    eta : "auto", "auto/4" or float, default="auto"
        As in `KernelImputer`, with guidance only; "auto" has 32 in place of 16 for "direct".
    class_weight : None, "balanced" or dict, default=None
        Factors of the classes' weights, as in scikit-learn's `SVC`.
    handle_unknown : {"keep", "error"}, default="keep"
        Whether a category that fit did not see counts as a gap, with a warning, or is refused.
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
    n_features_in_, feature_names_in_, status_, n_iter_, strength_
        As in `KernelImputer`.
    kernel_, eta_, n_subsets_, n_disjoint_pairs_, gap_, trace_
        With "svm", `eta_` with guidance: as in `KernelImputer`.

    See Also
    --------
    KernelImputer : Returns the filled table.
    default_grid : Candidates for scikit-learn's `GridSearchCV`.

    Notes
    -----
    The kernel ridge is chosen by leave-one-out errors in closed form [1]_, the penalty of the
    logistic regression in five folds, and trees judge rows out of bag. These held-out predictions
    decide the weights of the blend; few rows leave them equal. Skewed columns are coded by normal
    scores, which end at the training range. Beyond 1,000 rows the kernel ridge is chosen on a
    sample and fitted by Nystroem's features.

    With "svm" more than two classes share one filling, each with a machine against the rest.
    Without gaps this is `SVC` on columns in [0, 1]; `CalibratedClassifierCV` adds probabilities.

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
    _task = "classification"

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

    @available_if(_decides)
    def decision_function(self, X: Any) -> FloatArray:
        """Return the decision values of the support vector machine; with "svm" only.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            As in `predict`, whose errors it raises.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            Positive for the second of two classes; of more classes the largest one decides.
        """
        values = self._predicted(X)
        return values[:, 0] if values.shape[1] == 1 else values

    def _answers(self, values: FloatArray) -> NDArray[Any]:
        """Return the labels that decision values or probabilities mean."""
        is_binary = values.shape[1] == 1
        chosen = (values[:, 0] > 0.0).astype(int) if is_binary else values.argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    @available_if(lambda classifier: not _decides(classifier))
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the classes; with ``machine="average"`` only.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            As in `predict`, whose errors it raises.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Rows that sum to 1, in the order of `classes_`.
        """
        return self._predicted(X)

    @available_if(lambda classifier: not _decides(classifier))
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithms of `predict_proba`, minus infinity where one is 0.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            As in `predict`, whose errors it raises.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The logarithms, in the order of `classes_`.
        """
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))
