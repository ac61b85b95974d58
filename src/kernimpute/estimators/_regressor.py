"""`KernelImputationRegressor`: fills the gaps and predicts a quantity."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin, _fit_context
from sklearn.utils._param_validation import Interval

from kernimpute.core.arrays import FloatArray
from kernimpute.estimators._base import (
    METHOD_CONSTRAINTS,
    PREDICTOR_CONSTRAINTS,
    TABLE_CONSTRAINTS,
    KernelImputation,
)


class KernelImputationRegressor(RegressorMixin, KernelImputation):
    """Predict a quantity from rows with gaps, learnt from such rows.

    All rows are filled by the reference, each on its own and without its target. Three kinds of
    machine are learnt on the filled rows, and told which cells were gaps: a kernel ridge, a linear
    ridge and extremely randomised trees. Their predictions are blended. On request it is a support
    vector regression, and the target may guide the fills of its training rows: the extension of
    the method to regression (the paper's appendix E).

    The target is brought to mean 0 and variance 1 for the machine, and back in `predict`, so that
    parameters mean the same in any unit.

    Parameters
    ----------
    machine : {"average", "svm"}, default="average"
        The blend of three kinds, or the support vector regression. Parameters that the chosen one
        does not use must be left out.
    n_draws : int or None, default=None
        Draws of the fills, in [1, inf), each with a blend of its own, whose predictions are
        averaged; they need ``reference="joint"``. None takes the expected fills.
    guidance : {None, "direct", "anchored", "paper", "appendix", "released"}, default=None
        How labels guide the fills of training rows, as in `KernelImputer`. With "svm" only, as all
        down to `epsilon`. Only with guidance are `eta`, `new_rows` and `tol` used.
    reference : {"joint", "mean", "expected"} or imputer, default="joint"
        The imputation, which guidance starts from, as in `KernelImputer`. With any machine.
    use_labels : {None, "posterior", "own"}, default=None
        Whether the joint normal knows of labels, as in `KernelImputer`.
    kernel : str or Kernel, default="gaussian"
        A name of `kernimpute.kernels.KERNELS`, or a kernel with its own gamma.
    C : float, default=1.0
        Penalty of the support vector machine, in (0, inf).
    gamma : "auto", "scale", "scale/4", "scale*4" or float, default="auto"
        The kernel's gamma, in (0, inf), as in `KernelImputer`.
    eta : "auto", "auto/4" or float, default="auto"
        Weight that holds the filled cells at the reference, in (0, inf], as in `KernelImputer`.
    epsilon : float, default=0.1
        Half width of the tube in standard deviations of y, in [0, inf).
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
        Rows imputed at once at the most, at least 10; the predictions of at most ten
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
    Predictions may leave the range of y. Predict the logarithm of a skewed positive quantity, with
    scikit-learn's `TransformedTargetRegressor`.

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
        **PREDICTOR_CONSTRAINTS,
        **METHOD_CONSTRAINTS,
        "epsilon": [Interval(Real, 0, None, closed="left")],
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

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn to predict from rows with gaps.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Rows with gaps: array-like, or a DataFrame of pandas, polars or pyarrow.
        y : array-like of shape (n_samples,)
            Their targets, complete and finite. It must be given.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weight of each row, at least 0, relative to the others. Give repeated rows by weights:
            held-out predictions would see the copies of a row.

        Returns
        -------
        KernelImputationRegressor
            The regressor itself.

        Raises
        ------
        TypeError, ValueError
            If a parameter, the table or the targets are not as described, or the fit of a support
            vector machine would take more memory than it may; before any long work.
        """
        _, frame, labels = self._read_labelled(X, y, sample_weight, task="regression")
        self._warn_of_fit(self._fit_frame(frame, labels).filling)
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

        Raises
        ------
        NotFittedError, ValueError
            If it is not fitted, the columns are not those of fit, a number is infinite, or a
            category is unknown and `handle_unknown` is "error".
        """
        standardised = self._predicted(X)[:, 0]
        return np.asarray(self._centre + self._spread * standardised)
