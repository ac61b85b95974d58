"""What the CV estimators share: judge candidates on held-out rows, refit the best on all."""

from __future__ import annotations

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

from kernimpute.estimators._base import KernelImputation
from kernimpute.estimators._folds import Fold, folds_of
from kernimpute.estimators._imputer import KernelImputer
from kernimpute.estimators._labels import Labels, read_labels
from kernimpute.estimators._search import (
    Candidate,
    SearchResults,
    candidates_of,
    default_scales,
    judge_all,
)

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
