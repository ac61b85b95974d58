"""`KernelImputer`: a transformer that fills rows by what the columns know of each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import TransformerMixin, _fit_context
from sklearn.utils._param_validation import validate_parameter_constraints
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from kernimpute.core.arrays import FloatArray
from kernimpute.core.checks import check_integer, refusal
from kernimpute.core.status import Callback
from kernimpute.estimators._base import CONSTRAINTS, FittedRows, KernelImputation, seed_of
from kernimpute.estimators._subsets import Labels
from kernimpute.joint.fills import JointReference, generator_of
from kernimpute.table.code import EncodedTable
from kernimpute.table.columns import observed_in_table
from kernimpute.table.frames import as_library, is_frame, like, with_columns


class KernelImputer(TransformerMixin, KernelImputation):
    """Fill the missing cells of a table from the observed cells of their rows.

    By default a gap gets its conditional mean under a joint normal of all columns, plus what a
    kernel ridge has learnt of what the normal leaves. No label is used, a row is filled on its own,
    and ``fit_transform(X)`` equals ``fit(X).transform(X)``. With `guidance`, the paper's method, or
    ``use_labels="own"`` labels help to fill training rows, and the two differ. Then the imputer
    belongs inside the pipeline that is cross-validated: outside, labels leak.

    Parameters
    ----------
    guidance : {None, "direct", "anchored", "paper", "appendix", "released"}, default=None
        How labels guide the fills of training rows: not at all, or by a variant of the paper's
        method, as in `kernimpute.impute`. Without it `kernel`, `C`, `gamma`, `eta`, `epsilon`,
        `class_weight`, `new_rows`, `subset_size`, `max_memory`, `tol`, `max_iter` must be left out.
    reference : {"joint", "mean", "expected"} or imputer, default="joint"
        The imputation, from which guidance starts: the joint normal and its ridge, column means
        (categories: the most frequent), or any scikit-learn imputer, fitted to numbers in [0, 1]
        and indicators of categories. "expected" is a kernel, for ``guidance="anchored"`` only.
    use_labels : {None, "posterior", "own"}, default=None
        Whether the joint normal knows of labels: a mean for each class, or a quantity as a column.
        "posterior" fills each row as if its label were unknown, "own" a training row by its own.
    kernel : str or Kernel, default="gaussian"
        A name of `kernimpute.kernels.KERNELS`, or a kernel with its own gamma.
    C : float, default=1.0
        Penalty of the support vector machine, in (0, inf).
    gamma : "auto", "scale", "scale/4", "scale*4" or float, default="auto"
        The kernel's gamma, in (0, inf). "scale" is 2 / (expected distance of two rows of
        independent columns); "auto" is a quarter of it, but the sigmoid kernel's own.
    eta : "auto", "auto/4" or float, default="auto"
        Weight that holds the cells at the reference, in (0, inf], where inf is the reference
        itself. "auto" is, for "direct", 16 C / (observed share), times the number of classes beyond
        two, or 256 C / (observed share) for a quantity; else the norm of the coefficients.
    epsilon : float, default=0.1
        Half width of the regression tube in standard deviations of y, in [0, inf).
    task : {"auto", "classification", "regression"}, default="auto"
        What y is, where it is used. "auto": text, booleans, two whole numbers, or up to ten that
        each occur twice on average are classes; other numbers are a quantity.
    class_weight : None, "balanced" or dict, default=None
        Factors of the classes' weights, as in scikit-learn's `SVC`.
    missing_values : scalar, list or dict, default=nan
        Values that stand for a gap besides NaN, None and NA; a dict has them by column.
    categorical_features : "from_dtype", None, mask, indices or names, default="from_dtype"
        Columns of numbers that are codes. Text, booleans and category dtypes are categories anyway.
    feature_range : None, (low, high), dict or array-like of shape (n_features, 2), default=None
        Ranges of fills, for all columns, by name or index, or each (NaN: none); None: as observed.
    handle_unknown : {"keep", "error"}, default="keep"
        Whether `transform` keeps a category that fit did not see, with a warning, or refuses it.
    keep_empty_features : bool, default=False
        Whether columns without any observed value are kept, filled with 0 (or the end of a declared
        range next to it), False, "missing", or the first category, or left out with a warning.
    add_indicator : bool, default=False
        Whether columns ``missingindicator_<name>`` are appended for the columns with gaps in fit.
    new_rows : {"auto", "similar", "reference"}, default="auto"
        Whether new rows are filled by the mean (categories: the most frequent) of similar filled
        training rows, or by the reference. "auto" is "reference" for the joint normal and eta=inf.
    subset_size : int or None, default=None
        Rows imputed at once at the most, in [10, inf): more are dealt out to stratified subsets.
    max_memory : float or int, default=0.75
        What a fit may take: a share of the free memory, a float in (0, 1], or bytes, an int.
    tol : float or None, default=None
        The stop rule, as in `kernimpute.impute`, in [0, inf); None takes the guidance's default.
    max_iter : int or None, default=None
        Most rounds, in [1, inf); None takes the guidance's default.
    random_state : int, RandomState or None, default=None
        Seed of the cells that the joint normal hides, and of the subsets; None is 0.
    n_jobs : int or None, default=None
        Subsets imputed at the same time, as joblib counts. The result is the same.
    verbose : bool or int, default=False
        Whether every stage of a fit, and every round of guidance, prints a line on stderr.

    Attributes
    ----------
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns in fit, and their names where all are strings.
    filled_ : ndarray of bool of shape (n_samples, n_features)
        The gaps of the training table, which `fit_transform` fills; all of an empty column.
    status_, n_iter_ : Status, int
        How the fit ended, and rounds of the longest run, its start included; 1 without guidance.
    strength_ : float
        Pseudo-rows of prior of the joint normal, in (0, inf]; inf fills with means and modes.
    classes_ : ndarray of shape (n_classes,)
        The labels in ascending order, where classes are used.
    kernel_, eta_ : Kernel, float
        With guidance, as all below: the kernel, and the anchor's weight, if "direct" or given.
    n_subsets_, n_disjoint_pairs_ : int
        Subsets imputed, and pairs of training rows of a subset that share no observed column.
    gap_, trace_ : float, Trace
        The subsets' largest relative saddle gap or slope; every round of at most ten subsets.

    See Also
    --------
    KernelImputationClassifier : Fills and classifies.
    default_grid : Candidates for scikit-learn's `GridSearchCV`.
    kernimpute.impute : The same on arrays in [0, 1].

    Notes
    -----
    The container comes back with its index and dtypes; arrays of integers become float64. Observed
    cells are not changed. In a DataFrame a column of at most ten whole numbers that each occur
    twice on average, which may be codes, is filled with the nearest of these, unless its range is
    declared. Other floats are not rounded. As indicators, only a column's 50 most frequent
    categories fill its gaps.

    With guidance, by "Data Imputation by Pursuing Better Classification: A Supervised Kernel-Based
    Method", a fit takes O(n_samples^2) memory and up to O(n_samples^3) time. With subsets both are
    linear, and new rows are filled from the rows of at most ten subsets.

    Examples
    --------
    >>> import numpy as np
    >>> from kernimpute import KernelImputer
    >>> X = np.array([[0.0, 1.0], [2.0, np.nan], [np.nan, 9.0], [10.0, 8.0]])
    >>> bool(np.isnan(KernelImputer().fit_transform(X)).any())
    False
    """

    def __init__(
        self,
        *,
        guidance: str | None = None,
        reference: Any = "joint",
        use_labels: str | None = None,
        kernel: Any = "gaussian",
        C: float = 1.0,
        gamma: Any = "auto",
        eta: Any = "auto",
        epsilon: float = 0.1,
        task: str = "auto",
        class_weight: Any = None,
        missing_values: Any = np.nan,
        categorical_features: Any = "from_dtype",
        feature_range: Any = None,
        handle_unknown: str = "keep",
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
        self._store(locals())

    def __sklearn_tags__(self) -> Any:
        """Return the tags; float32 and float64 come back as such."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @_fit_context(prefer_skip_nested_validation=False)
    def fit_transform(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Any:
        """Learn how to fill, and return the training rows filled.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`, whose errors it raises.

        Returns
        -------
        table of shape (n_samples, n_features_out)
            The filled rows, in the container that came. With `guidance` or ``use_labels="own"`` a
            row's own label helps to fill it, as it does not in `transform`.
        """
        table, frame, labels = self._read_labelled(X, y, sample_weight)
        fitted = self._learn(frame, labels)
        self._warn_of_fit(fitted.filling)
        rows = fitted.rows if fitted.counted.size == len(frame) else self._encode(frame)
        return self._output(table, frame, rows, self._filled(fitted, rows.matrix))

    def transform(self, X: Any) -> Any:
        """Return rows with their gaps filled; no labels are needed or used.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows with the columns of the training table. Each is filled on its own.

        Returns
        -------
        table of shape (n_rows, n_features_out)
            The filled rows, in the container that came.

        Raises
        ------
        NotFittedError, ValueError
            If it is not fitted, the columns are not those of fit, a number is infinite, or a
            category is unknown and `handle_unknown` is "error".
        """
        check_is_fitted(self)
        table, frame = self._read(X, reset=False)
        rows = self._encode(frame)
        return self._output(table, frame, rows, self._filled_new(rows.matrix))

    def sample(self, X: Any, n_draws: int = 1, random_state: Any = None) -> list[Any]:
        """Return completed tables whose gaps are drawn at random, given the observed cells.

        Draws spread as the missing values do. The joint normal's parameters are held fixed, so
        these are no proper multiple imputations: intervals pooled by Rubin's rules are too short.
        Guidance and own labels have no part in them.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            As in `transform`, whose errors it raises, too.
        n_draws : int, default=1
            How many tables are drawn, in [1, inf).
        random_state : int, RandomState or None, default=None
            Seed of the draws; None is 0.

        Returns
        -------
        list of table of shape (n_rows, n_features_out)
            The tables, each as `transform` returns it.

        Raises
        ------
        TypeError, ValueError
            If the reference is not "joint", or `n_draws` or `random_state` is out of its range.
        """
        self._joint("sample")
        owner = f"{type(self).__name__}.sample"
        n_draws = check_integer(owner, "n_draws", n_draws, 1)
        validate_parameter_constraints(CONSTRAINTS, {"random_state": random_state}, owner)
        table, frame = self._read(X, reset=False)
        rows = self._encode(frame)
        drawn = self._drawn(rows, n_draws, random_state)
        return [self._output(table, frame, rows, codes) for codes in drawn]

    def _drawn(self, rows: EncodedTable, n_draws: int, random_state: Any) -> Iterator[FloatArray]:
        """Yield numbers and codes with draws of the joint normal at their gaps."""
        if n_draws:
            joint, generator = self._joint("draws"), generator_of(seed_of(random_state))
            matrix = self._matrix(rows.matrix)
            for _ in range(n_draws):
                yield self._coding.codes(joint.sample(matrix, generator), rows.matrix)

    def standard_deviation(self, X: Any) -> Any:
        """Return how far the true values of the gaps may lie from their fills.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            As in `sample`, whose errors it raises.

        Returns
        -------
        DataFrame for a DataFrame, otherwise ndarray, of shape (n_rows, n_kept_features)
            The standard deviation of a number given its row, in the column's unit, parameters held
            fixed; for a category 1 - its share, an estimate of how often the fill is wrong. NaN
            where a cell is observed, and in columns with fewer than two observed values.
        """
        joint = self._joint("standard_deviation")
        table, frame = self._read(X, reset=False)
        rows = self._encode(frame)
        matrix = self._matrix(rows.matrix)
        filled, spread = joint.fill(matrix), joint.standard_deviation(matrix)
        deviation = np.full(rows.observed.shape, np.nan)
        (groups, _), categorical = self._coding.columns, self._code.categorical
        places = [place for place, one in enumerate(self._code.columns) if one.in_matrix]
        for feature, place in enumerate(places):
            own = groups == feature
            if categorical[feature]:
                deviation[:, place] = 1.0 - _largest_share(filled[:, own])
            else:
                deviation[:, place] = spread[:, own][:, 0] * self._code.scale.width[feature]
        deviation[rows.observed] = np.nan
        found = pd.DataFrame(deviation, frame.index, frame.columns).loc[:, self._kept]
        if not is_frame(table):
            return found.to_numpy()
        return like(table, found, np.ones(len(self._code.columns), dtype=bool))

    def _joint(self, method: str) -> JointReference:
        """Return the joint normal that a method needs."""
        check_is_fitted(self)
        filler = self._new_rows.filler
        if not isinstance(filler, JointReference):
            owner = type(self).__name__
            raise ValueError(refusal(owner, "reference", f"'joint' for {method}", self.reference))
        return filler

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Any:
        """Return the names of the columns that `transform` returns.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the training table's columns, where it had none, or the same names.

        Returns
        -------
        ndarray of str of shape (n_features_out,)
            The kept columns, then the indicators.
        """
        check_is_fitted(self)
        names = np.asarray(_check_feature_names_in(self, input_features), dtype=object)
        indicators = [indicator_name(name) for name in names[self._indicated]]
        return np.concatenate([names[self._kept], np.array(indicators, dtype=object)])

    def _learn(self, frame: Any, labels: Labels, callback: Callback | None = None) -> FittedRows:
        """Fit, and decide which columns come out and which get an indicator."""
        taken = [name for name in frame.columns if indicator_name(name) in frame.columns]
        if self.add_indicator and taken:
            raise ValueError(
                f"The 'add_indicator' parameter of {type(self).__name__} must be False for a table "
                f"with the columns {taken[0]!r} and {indicator_name(taken[0])!r}, the name of the "
                "indicator. Got True instead: rename the column."
            )
        fitted = super()._learn(frame, labels, callback)
        empty = np.array([column.kind == "empty" for column in self._code.columns])
        self._kept = np.full(empty.size, True) if self.keep_empty_features else ~empty
        has_gaps = ~fitted.rows.observed.all(axis=0)
        self._indicated = has_gaps & self._kept if self.add_indicator else np.zeros_like(has_gaps)
        self.filled_ = ~observed_in_table(frame, self._markers())
        return fitted

    def _filled(self, fitted: FittedRows, rows: FloatArray) -> FloatArray:
        """Return numbers and codes without gaps: of fitted rows by the fit, of others as new."""
        if fitted.X is None:
            return self._filled_new(rows)
        filled = np.empty_like(rows)
        filled[fitted.counted] = self._coding.codes(fitted.X, fitted.rows.matrix, fitted.anchor)
        others = np.setdiff1d(np.arange(len(rows)), fitted.counted)
        if others.size:
            filled[others] = self._filled_new(rows[others])
        return filled

    def _filled_new(self, rows: FloatArray) -> FloatArray:
        """Return numbers and codes of new rows without gaps, (n_rows, n_features)."""
        return self._coding.codes(self._new_rows.fill(self._matrix(rows)), rows)

    def _output(self, table: Any, frame: Any, rows: EncodedTable, codes: FloatArray) -> Any:
        """Return the filled rows in the container that came, under the names that came."""
        filled = rows.decode(codes, fill_empty=self.keep_empty_features)
        filled = filled.set_axis(frame.columns, axis=1)
        changed = np.asarray(~rows.observed.all(axis=0))
        names = [indicator_name(name) for name in filled.columns[self._indicated]]
        filled = filled.loc[:, self._kept]
        if names:
            filled = with_columns(filled, names, ~rows.observed[:, self._indicated])
        # scikit-learn would make objects of another library's columns.
        library = _get_output_config("transform", self)["dense"]
        return as_library(like(table, filled, changed), library)


def _largest_share(indicators: FloatArray) -> FloatArray:
    """Return the share of the most likely category, from its filled indicators (n_rows, n)."""
    if indicators.shape[1] == 1:
        return np.maximum(indicators[:, 0], 1.0 - indicators[:, 0])
    # Where all are clipped to 0, all are equally likely.
    even = np.full(len(indicators), 1.0 / indicators.shape[1])
    total = indicators.sum(axis=1)
    return np.divide(indicators.max(axis=1), total, out=even, where=total > 0.0)


def indicator_name(name: Any) -> Any:
    """Return the name of the column that says where a column had gaps."""
    if isinstance(name, tuple):
        return (f"missingindicator_{name[0]}", *name[1:])
    return f"missingindicator_{name}"
