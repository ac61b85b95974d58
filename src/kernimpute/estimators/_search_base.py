"""What the CV estimators share: judge candidates on held-out rows, refit the best on all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from kernimpute.core.checks import plain_labels
from kernimpute.estimators._base import KernelImputation
from kernimpute.estimators._candidates import (
    Candidate,
    candidates_of,
    check_candidates,
    default_candidate,
    defaults_of,
)
from kernimpute.estimators._classifier import KernelImputationClassifier
from kernimpute.estimators._folds import DEFAULT_FOLDS, Fold, folds_of
from kernimpute.estimators._imputer import KernelImputer
from kernimpute.estimators._labels import Labels
from kernimpute.estimators._search import accuracy, judge_all, judge_eta_last
from kernimpute.estimators._search_results import SearchResults

__all__ = ["SEARCH_CONSTRAINTS", "KernelImputationSearch"]

FloatArray = NDArray[np.float64]

SEARCH_CONSTRAINTS: dict[str, list[Any]] = {
    "kernels": ["array-like"],
    "Cs": [StrOptions({"auto"}), "array-like"],
    "gammas": [StrOptions({"auto"}), "array-like"],
    "etas": [StrOptions({"auto"}), "array-like"],
    "references": ["array-like"],
    "cv": ["cv_object"],
    "scoring": [StrOptions(set(get_scorer_names())), callable, None],
    "search": [StrOptions({"eta_last", "all"})],
}

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
"""Attributes that the best estimator shares."""

CHOSEN = (
    "best_estimator_",
    "best_params_",
    "best_score_",
    "best_index_",
    "cv_results_",
    "n_splits_",
    "classes_",
)
"""Attributes that the choice adds."""


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
                # Splits given one by one ask for nothing, and may be there to be read only once.
                splitter=check_cv(self.cv if hasattr(self.cv, "split") else None),
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
        )

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether the best estimator is there, which `fit` adds last of all."""
        return hasattr(self, "best_estimator_")

    def _search(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, task: str, params: Any
    ) -> Any:
        """Judge all candidates, fit the best one, and return the filled rows, of an imputer."""
        for stale in (*FITTED, *CHOSEN):
            if hasattr(self, stale):
                delattr(self, stale)
        check_candidates(self)
        owner = type(self).__name__
        _, frame, labels = self._read_labelled(X, y, sample_weight, task=task)
        # A column of labels has been warned of, and is taken as a row from here on.
        y = np.ravel(plain_labels(y, owner))
        folds = folds_of(
            self.cv,
            frame,
            labels,
            warn=self._warn,
            owner=owner,
            **self._split_params(sample_weight, params),
        )
        plain = self._plain_class().set_params(**self._shared_params(labels.task))
        best = default_candidate(plain)
        if folds:
            results = self._judged(plain, frame, labels, folds, sample_weight)
            best = results.candidates[results.best_index]
            self.best_index_ = results.best_index
            self.best_score_ = float(results.scores[results.best_index].mean())
            self.cv_results_ = results.cv_results()
        else:
            what = "a class with a single row leaves"
            if labels.classes is None:
                what = "fewer than 4 rows leave"
            self._warn(
                f"{what} nothing to hold out: the default parameters are taken without a choice."
            )
        self.n_splits_ = len(folds)
        self.best_params_ = best.params
        filled = self._refit(plain.set_params(**best.params), X, y, sample_weight, folds)
        for name in FITTED:
            if hasattr(plain, name):
                setattr(self, name, getattr(plain, name))
        if labels.classes is not None:
            self.classes_ = labels.classes
        self.best_estimator_ = plain
        return filled

    def _refit(
        self, plain: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, folds: list[Fold]
    ) -> Any:
        """Fit the best estimator to all rows, and return them filled, if it is an imputer."""
        if isinstance(plain, KernelImputer):
            return plain.fit_transform(X, y, sample_weight=sample_weight)
        if isinstance(plain, KernelImputationClassifier):
            # Its own `cv` makes folds of other rows; on these, the folds are there already.
            plain.set_params(cv=DEFAULT_FOLDS if self.cv is None else self.cv)
            plain._fit(X, y, sample_weight, folds)
        else:
            plain.fit(X, y, sample_weight=sample_weight)
        return None

    def _best(self) -> Any:
        """Return the best estimator, which checks new rows in its own name."""
        check_is_fitted(self)
        return self.best_estimator_

    def _n_folds(self) -> int:
        """Return in how many folds candidates are fitted; None is 5 here."""
        return DEFAULT_FOLDS if self.cv is None else super()._n_folds()

    def _judged(
        self,
        plain: KernelImputation,
        frame: Any,
        labels: Labels,
        folds: list[Fold],
        sample_weight: ArrayLike | None,
    ) -> SearchResults:
        defaults = defaults_of(plain, frame, labels, self.kernels, self.references)
        candidates = candidates_of(
            kernels=self.kernels,
            Cs=self.Cs,
            gammas=self.gammas,
            etas=self.etas,
            references=self.references,
            defaults=defaults,
        )
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, frame, dtype=np.float64)
        scorer = self._scorer(labels)

        def judge(chosen: Sequence[Candidate]) -> SearchResults:
            return judge_all(plain, frame, labels, folds, chosen, scorer, score_weights=weights)

        results = (
            judge_eta_last(judge, candidates) if self.search == "eta_last" else judge(candidates)
        )
        n_candidates, n_judged = len(results.candidates), int(results.judged.sum())
        if n_judged == 0:
            raise ValueError(
                f"The 'scoring' parameter of {type(self).__name__} must give some candidate a "
                f"finite score in every fold. Got {self.scoring!r}, which gives none of "
                f"{n_candidates} candidates one, instead."
            )
        if n_judged < n_candidates:
            self._warn(
                f"{n_candidates - n_judged} of {n_candidates} candidates could not be judged, for "
                "their score is not finite in some fold; they rank last."
            )
        return results

    def _scorer(self, labels: Labels) -> Any:
        if callable(self.scoring):
            return self.scoring
        if labels.classes is None:
            return get_scorer(self.scoring or "r2")
        return accuracy if self.scoring in (None, "accuracy") else get_scorer(self.scoring)

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
