"""Which kernel, C, gamma, eta and reference: judged on held-out rows, the plain reference included.

In every fold the rows that train are coded, filled and learned from anew; the held-out rows are
filled without their labels. Candidates that share a kernel matrix are judged together: with eta =
inf a fold needs one table per reference, one matrix of sums per kernel, one matrix of kernel
values per gamma, and along a fine grid of C each machine starts from the one before.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from itertools import groupby
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone

from kernimpute.estimators._calibration import UNCALIBRATED
from kernimpute.estimators._filling import (
    Filling,
    NewRows,
    Settings,
    dual_of,
    fill,
    fitted_reference,
    for_all_classes,
)
from kernimpute.estimators._folds import Fold
from kernimpute.estimators._labels import Labels
from kernimpute.estimators._machines import Machine, make_machine
from kernimpute.estimators._subsets import stratified_subsets
from kernimpute.estimators._tables import markers
from kernimpute.kernels import KERNELS, Gaussian, Kernel

__all__ = ["Candidate", "SearchResults", "candidates_of", "default_scales", "judge_all"]

FloatArray = NDArray[np.float64]

DEFAULT_CS = tuple(2.0**power for power in range(-4, 7, 2))
GAMMA_FACTORS = (0.25, 1.0, 4.0)
ETA_FACTORS = (1.0, 0.25)
"""Default etas of `direct`, in units of its default: that, and a stronger pull of the labels."""

NEAR = 1.5
"""Ratio of C up to which a machine starts from the one before: at 1.1 that takes a quarter to half
of the time (276 and 1000 rows), at 1.4 half to all of it, at 2 it can take longer."""


@dataclass(frozen=True)
class Candidate:
    """One choice of the parameters.

    Parameters
    ----------
    kernel : str or Kernel
        The kernel.
    C : float
        Penalty.
    gamma : float or "scale"
        The kernel's gamma; "scale" for a kernel that has none, or that has its own.
    eta : float or "auto"
        Weight of the anchor.
    reference : "mean", "expected" or imputer
        What the filling is anchored at.
    """

    kernel: Kernel | str
    C: float
    gamma: float | str
    eta: float | str
    reference: Any

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of the plain estimator."""
        return {
            "kernel": self.kernel,
            "C": self.C,
            "gamma": self.gamma,
            "eta": self.eta,
            "reference": self.reference,
        }

    @property
    def is_plain(self) -> bool:
        """Whether this is the machine on the reference imputation."""
        return isinstance(self.eta, float) and math.isinf(self.eta)

    @property
    def preference(self) -> tuple[float, float, float]:
        """What decides between equal scores: the largest eta, the smallest C, then gamma."""
        eta = self.eta if isinstance(self.eta, float) else 0.0
        gamma = self.gamma if isinstance(self.gamma, float) else 0.0
        return (-eta, self.C, gamma)


def candidates_of(
    *,
    kernels: Sequence[Any],
    Cs: Any,
    gammas: Any,
    etas: Any,
    references: Sequence[Any],
    scales: Mapping[str, float],
    anchor: float | None,
) -> tuple[Candidate, ...]:
    """Return all candidates; those that share a kernel matrix stand together.

    Parameters
    ----------
    kernels : sequence of str or Kernel
        The kernels.
    Cs, gammas, etas : "auto" or sequence of float
        Values of the parameters; eta = inf is added where it is not among them.
    references : sequence of "mean", "expected" or imputer
        The references.
    scales : mapping of str to float
        The default gamma of each kernel that has one, which "auto" multiplies.
    anchor : float or None
        The default eta for C = 1, which "auto" multiplies; None for a variant that finds its own.

    Returns
    -------
    tuple of Candidate
        At least one for each kernel and reference.
    """
    penalties = DEFAULT_CS if isinstance(Cs, str) else tuple(sorted({float(C) for C in Cs}))
    found = []
    for reference in references:
        for kernel in kernels:
            for gamma in _gammas(kernel, gammas, scales):
                for C in penalties:
                    for eta in _etas(etas, C, anchor):
                        found.append(Candidate(kernel, C, gamma, eta, reference))
    return tuple(dict.fromkeys(found))


def _gammas(kernel: Any, gammas: Any, scales: Mapping[str, float]) -> tuple[float | str, ...]:
    if not isinstance(kernel, str) or kernel not in scales:
        return ("scale",)
    if isinstance(gammas, str):
        return tuple(factor * scales[kernel] for factor in GAMMA_FACTORS)
    return tuple(sorted({float(gamma) for gamma in gammas}))


def _etas(etas: Any, C: float, anchor: float | None) -> tuple[float | str, ...]:
    if not isinstance(etas, str):
        return tuple(sorted({math.inf, *(float(eta) for eta in etas)}, reverse=True))
    if anchor is None:
        return (math.inf, "auto")
    return (math.inf, *(factor * C * anchor for factor in ETA_FACTORS))


@dataclass(frozen=True)
class SearchResults:
    """The scores of all candidates.

    Parameters
    ----------
    candidates : tuple of Candidate
        The candidates.
    scores : ndarray of shape (n_candidates, n_folds)
        The larger the better; NaN where a candidate could not be judged.
    """

    candidates: tuple[Candidate, ...]
    scores: FloatArray

    @property
    def best_index(self) -> int:
        """The candidate of the highest mean score; of equal ones the most preferred."""
        means = np.where(np.isnan(self.scores).any(axis=1), -np.inf, self.scores.mean(axis=1))
        # Means of equal scores may differ in their last bits by the order of the folds.
        best = np.flatnonzero(means >= means.max() - 1e-12 * max(1.0, abs(float(means.max()))))
        return int(min(best, key=lambda index: (*self.candidates[index].preference, index)))

    def cv_results(self) -> dict[str, Any]:
        """Return the scores in the form of scikit-learn's `GridSearchCV`."""
        n_candidates, n_folds = self.scores.shape
        means = self.scores.mean(axis=1)
        results: dict[str, Any] = {
            "params": [candidate.params for candidate in self.candidates],
            "mean_test_score": means,
            "std_test_score": self.scores.std(axis=1),
            "rank_test_score": _ranks(means),
        }
        for k in range(n_folds):
            results[f"split{k}_test_score"] = self.scores[:, k]
        for name in ("kernel", "C", "gamma", "eta", "reference"):
            column = np.empty(n_candidates, dtype=object)
            column[:] = [candidate.params[name] for candidate in self.candidates]
            results[f"param_{name}"] = column
        return results


def _ranks(means: FloatArray) -> NDArray[np.int32]:
    """Return ranks from 1, the highest mean first; equal means share the smallest, NaN is last."""
    keys = np.nan_to_num(-means, nan=np.inf)
    return (1 + np.searchsorted(np.sort(keys), keys)).astype(np.int32)


def judge_all(
    template: Any,
    frame: Any,
    labels: Labels,
    folds: Sequence[Fold],
    candidates: Sequence[Candidate],
    scorer: Any,
    *,
    score_weights: FloatArray | None,
) -> SearchResults:
    """Judge all candidates on all folds.

    Parameters
    ----------
    template : estimator
        A plain estimator with the parameters that are not searched.
    frame : DataFrame of shape (n_samples, n_columns)
        The training table.
    labels : Labels
        Its labels.
    folds : sequence of Fold
        The folds.
    candidates : sequence of Candidate
        The candidates.
    scorer : callable
        ``scorer(estimator, X, y)``; larger is better.
    score_weights : ndarray of shape (n_samples,) or None
        Weights of the rows in the score.

    Returns
    -------
    SearchResults
        The scores.
    """
    columns = Parallel(n_jobs=template.n_jobs, verbose=int(template.verbose))(
        delayed(_judge_fold)(
            clone(template).set_params(n_jobs=None, verbose=False),
            frame,
            labels,
            fold,
            candidates,
            scorer,
            score_weights,
        )
        for fold in folds
    )
    return SearchResults(tuple(candidates), np.column_stack(columns))


def _judge_fold(
    template: Any,
    frame: Any,
    labels: Labels,
    fold: Fold,
    candidates: Sequence[Candidate],
    scorer: Any,
    score_weights: FloatArray | None,
) -> FloatArray:
    """Return the scores of all candidates on one fold, of shape (n_candidates,)."""
    bench = _Bench(template, frame, labels, fold)
    truth = _truth(labels, fold)
    weights = None if score_weights is None else score_weights[fold.test]
    scores = np.full(len(candidates), np.nan)
    for index, Z, decide in bench.judged(candidates):
        judge = (_RegressionJudge if labels.classes is None else _ClassJudge)(decide, bench.labels)
        scores[index] = _score(scorer, judge, Z, truth, weights)
    return scores


def _truth(labels: Labels, fold: Fold) -> NDArray[Any]:
    values = labels.values[fold.test]
    if labels.classes is None:
        return np.asarray(labels.centre + labels.spread * values.astype(float))
    return np.asarray(labels.classes[values.astype(int)])


def _score(
    scorer: Any, judge: Any, Z: FloatArray, truth: NDArray[Any], weights: FloatArray | None
) -> float:
    if weights is not None and _takes_weights(scorer):
        return float(scorer(judge, Z, truth, sample_weight=weights))
    return float(scorer(judge, Z, truth))


def _takes_weights(scorer: Any) -> bool:
    names = signature(scorer).parameters
    return "sample_weight" in names or any(p.kind is p.VAR_KEYWORD for p in names.values())


class _Bench:
    """One fold: its training rows, coded and filled, as far as candidates share them."""

    def __init__(self, template: Any, frame: Any, labels: Labels, fold: Fold) -> None:
        self.template = template
        train = fold.train[labels.weights[fold.train] > 0.0]
        self.labels = labels.learned_from(train)
        gaps = markers(template.missing_values)
        training = frame.iloc[train]
        code = template._learn_code(training)
        self.rows = code.encode(training, missing_values=gaps)
        self.new = code.encode(frame.iloc[fold.test], missing_values=gaps, handle_unknown="missing")
        self.code = code
        self.subsets = stratified_subsets(self.labels, template.subset_size, template._seed())

    def judged(
        self, candidates: Sequence[Candidate]
    ) -> Iterator[tuple[int, FloatArray, Filling | Machine]]:
        """Yield each candidate's place, the held-out rows filled its way, and what decides."""
        by_setting = groupby(
            enumerate(candidates), key=lambda item: (id(item[1].reference), item[1].kernel)
        )
        for _, group in by_setting:
            yield from self._of_one_kernel(list(group))

    def _of_one_kernel(
        self, group: list[tuple[int, Candidate]]
    ) -> Iterator[tuple[int, FloatArray, Filling | Machine]]:
        """Yield the candidates of one reference and one kernel, gamma by gamma."""
        first = group[0][1]
        self.template.set_params(kernel=first.kernel, reference=first.reference)
        coding = self.template._coding_for(self.code)
        matrix, new = coding.matrix(self.rows), coding.matrix(self.new)
        metric = Gaussian(categorical=coding.categorical)
        reference, filler = fitted_reference(first.reference, matrix, metric, self.labels.weights)
        plain = NewRows(None, self.labels.weights, metric, filler).fill(new)

        def filled_new(training: FloatArray, candidate: Candidate) -> FloatArray:
            if self._by_reference(candidate):
                return plain
            return NewRows(training, self.labels.weights, metric, filler).fill(new)

        # The machines of eta = inf share one table; not so where there is none, or are subsets.
        table = None if isinstance(reference, str) or len(self.subsets) > 1 else reference
        sums: FloatArray | None = None
        for gamma, members in groupby(group, key=lambda item: item[1].gamma):
            kernel = self.template.set_params(gamma=gamma)._kernel_for(matrix, coding, self.labels)
            chosen = list(members)
            if table is not None:
                sums = kernel.sums(table, table) if sums is None else sums
                plain_ones = [item for item in chosen if item[1].is_plain]
                for index, machine in self._along_C(plain_ones, kernel, table, sums):
                    yield index, filled_new(table, plain_ones[0][1]), machine
                chosen = [item for item in chosen if not item[1].is_plain]
            for index, candidate in chosen:
                settings = self._settings(candidate)
                filling = fill(matrix, self.labels, kernel, reference, self.subsets, settings)
                yield index, filled_new(filling.X, candidate), filling

    def _by_reference(self, candidate: Candidate) -> bool:
        how = self.template.new_rows
        return how == "reference" or (how == "auto" and candidate.is_plain)

    def _along_C(
        self,
        members: Iterable[tuple[int, Candidate]],
        kernel: Kernel,
        table: FloatArray,
        sums: FloatArray,
    ) -> Iterator[tuple[int, Machine]]:
        """Yield the machines on the reference, each started from that of a C a little smaller."""
        K = kernel.link(sums)
        before: tuple[float, FloatArray] | None = None
        for index, candidate in members:
            dual = dual_of(self.labels, self._settings(candidate))
            guess = None
            if before is not None and candidate.C <= NEAR * before[0]:
                guess = before[1] * (candidate.C / before[0])
            dual_coef = dual.solve(K, start=guess)
            before = candidate.C, dual_coef
            columns = for_all_classes(
                dual_coef, dual.intercept(K, dual_coef), dual.classes, self.labels
            )
            yield index, make_machine(table, *columns, kernel)

    def _settings(self, candidate: Candidate) -> Settings:
        eta = candidate.eta if isinstance(candidate.eta, float) else None
        return replace(self.template._settings(eta), C=candidate.C)


class _Judge(BaseEstimator):
    """What a scorer sees of a candidate: an estimator on rows that are filled already."""

    def __init__(self, decide: Any, labels: Labels) -> None:
        self.decide = decide
        self.labels = labels


class _ClassJudge(ClassifierMixin, _Judge):
    """A fitted classifier; its probabilities are not calibrated."""

    @property
    def classes_(self) -> NDArray[Any] | None:
        return self.labels.classes

    def decision_function(self, Z: FloatArray) -> FloatArray:
        """Return decision values."""
        values = self.decide.decision(Z)
        return np.asarray(values[:, 0] if values.shape[1] == 1 else values)

    def predict(self, Z: FloatArray) -> NDArray[Any]:
        """Return labels."""
        values = self.decision_function(Z)
        chosen = (values > 0.0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
        return np.asarray(self.labels.classes)[chosen]

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Return the logistic function of decision values, normalised."""
        return UNCALIBRATED.probabilities(self.decide.decision(Z))


class _RegressionJudge(RegressorMixin, _Judge):
    """A fitted regressor."""

    def predict(self, Z: FloatArray) -> FloatArray:
        """Return predictions in the unit of the target."""
        values = self.decide.decision(Z)[:, 0]
        return np.asarray(self.labels.centre + self.labels.spread * values)


def default_scales(
    template: Any, frame: Any, labels: Labels, kernels: Sequence[Any]
) -> tuple[dict[str, float], float | None]:
    """Return the scaled gammas and the default eta for C = 1, on the whole training table.

    Parameters
    ----------
    template : estimator
        A plain estimator.
    frame : DataFrame of shape (n_samples, n_columns)
        The training table.
    labels : Labels
        Its labels, for the weights.
    kernels : sequence of str or Kernel
        The kernels.

    Returns
    -------
    scales : dict of str to float
        Gamma by the name of each kernel that has one.
    anchor : float or None
        Eta; None for a variant that finds its own.
    """
    scales: dict[str, float] = {}
    frame, labels = frame.iloc[labels.counted], labels.of(labels.counted)
    code = template._learn_code(frame)
    rows = code.encode(frame, missing_values=markers(template.missing_values))
    template = clone(template).set_params(gamma="scale", C=1.0, eta="auto")
    anchor = None
    for each in kernels:
        coding = template.set_params(kernel=each)._coding_for(code)
        matrix = coding.matrix(rows)
        anchor = template._eta_for(matrix, labels)
        if isinstance(each, str) and "gamma" in KERNELS[each].__dataclass_fields__:
            kernel = template._kernel_for(matrix, coding, labels)
            scales[each] = float(kernel.gamma)
    return scales, anchor
