"""The judging of a search's candidates on held-out rows, the plain reference included.

In every fold the rows that train are coded, filled and learned from anew; the held-out rows are
filled without their labels. What each candidate then decides is shown to the scorer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone

from kernimpute.estimators._bench import Bench
from kernimpute.estimators._calibration import UNCALIBRATED
from kernimpute.estimators._candidates import Candidate
from kernimpute.estimators._folds import Fold
from kernimpute.estimators._labels import Labels
from kernimpute.estimators._machines import decided, shown
from kernimpute.estimators._parallel import run_all
from kernimpute.estimators._search_results import SearchResults

__all__ = ["accuracy", "judge_all", "judge_eta_last"]

FloatArray = NDArray[np.float64]

N_PAIRS = 3
"""Pairs of C and gamma at which `judge_eta_last` judges every eta; ``benchmarks.searches`` holds
other numbers against it."""


def accuracy(
    judge: Any, Z: FloatArray, truth: NDArray[Any], sample_weight: FloatArray | None = None
) -> float:
    """Return the share of rows that are labelled right; scikit-learn's scorer of that name.

    Its checks of labels take as long as the machine of some hundred rows.

    Parameters
    ----------
    judge : _ClassJudge
        A fitted classifier.
    Z : ndarray of shape (n_held_out, n_coded_columns)
        The held-out rows.
    truth : ndarray of shape (n_held_out,)
        Their labels.
    sample_weight : ndarray of shape (n_held_out,) or None, default=None
        Their weights.

    Returns
    -------
    float
        The share.
    """
    return float(np.average(judge.predict(Z) == truth, weights=sample_weight))


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
        Weights of the rows in the score, if the scorer takes any.

    Returns
    -------
    SearchResults
        The scores.
    """
    if score_weights is not None and not _takes_weights(scorer):
        score_weights = None
    calls = [
        (
            # The folds are what is shared out, not the subsets in them.
            clone(template).set_params(n_jobs=1, verbose=False),
            frame,
            labels,
            fold,
            candidates,
            scorer,
            score_weights,
        )
        for fold in folds
    ]
    columns = run_all(_judge_fold, calls, template.n_jobs, verbose=int(template.verbose))
    return SearchResults(tuple(candidates), np.column_stack(columns))


def judge_eta_last(
    judge: Callable[[Sequence[Candidate]], SearchResults],
    candidates: Sequence[Candidate],
    n_pairs: int = N_PAIRS,
) -> SearchResults:
    """Judge the candidates of eta = inf, and the other etas where these are best.

    Parameters
    ----------
    judge : callable
        Judges some candidates.
    candidates : sequence of Candidate
        The candidates; every C and gamma has one of eta = inf.
    n_pairs : int, default=N_PAIRS
        Pairs of C and gamma, for each kernel and reference, at which the other etas are judged;
        all pairs where no score of eta = inf is finite.

    Returns
    -------
    SearchResults
        The scores of those that were judged, in the order of the candidates.
    """
    plain_by_part: dict[tuple[Any, ...], list[Candidate]] = {}
    for candidate in candidates:
        if candidate.is_plain:
            plain_by_part.setdefault(_part(candidate), []).append(candidate)
    n_plain = [len(members) for members in plain_by_part.values()]
    if max(n_plain) <= n_pairs or sum(n_plain) == len(candidates):
        return judge(candidates)
    plain = judge([candidate for candidate in candidates if candidate.is_plain])
    scores = dict(zip(map(id, plain.candidates), plain.scores, strict=True))
    chosen: set[tuple[Any, ...]] = set()
    for members in plain_by_part.values():
        results = SearchResults(tuple(members), np.array([scores[id(each)] for each in members]))
        places = results.leading(n_pairs) if results.judged.any() else range(len(members))
        chosen.update(_pair(members[place]) for place in places)
    others = judge([each for each in candidates if not each.is_plain and _pair(each) in chosen])
    scores |= zip(map(id, others.candidates), others.scores, strict=True)
    judged = tuple(each for each in candidates if id(each) in scores)
    return SearchResults(judged, np.array([scores[id(each)] for each in judged]))


def _part(candidate: Candidate) -> tuple[Any, ...]:
    return id(candidate.reference), candidate.kernel


def _pair(candidate: Candidate) -> tuple[Any, ...]:
    return *_part(candidate), candidate.C, candidate.gamma


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
    bench = Bench(template, frame, labels, fold)
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
    if weights is None:
        return float(scorer(judge, Z, truth))
    return float(scorer(judge, Z, truth, sample_weight=weights))


def _takes_weights(scorer: Any) -> bool:
    """Return whether a scorer takes weights: the metric does, and no request forbids it."""
    metric = getattr(scorer, "_score_func", None)
    if metric is None:
        names = signature(scorer).parameters
        return "sample_weight" in names or any(p.kind is p.VAR_KEYWORD for p in names.values())
    if get_config()["enable_metadata_routing"]:
        requested = scorer.get_metadata_routing().score.requests.get("sample_weight")
        if requested is False:
            return False
    return "sample_weight" in signature(metric).parameters


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
        return shown(self.decide.decision(Z))

    def predict(self, Z: FloatArray) -> NDArray[Any]:
        """Return labels."""
        return np.asarray(self.labels.classes)[decided(self.decide.decision(Z))]

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Return the logistic function of decision values, normalised."""
        return UNCALIBRATED.probabilities(self.decide.decision(Z))


class _RegressionJudge(RegressorMixin, _Judge):
    """A fitted regressor."""

    def predict(self, Z: FloatArray) -> FloatArray:
        """Return predictions in the unit of the target."""
        values = self.decide.decision(Z)[:, 0]
        return np.asarray(self.labels.centre + self.labels.spread * values)
