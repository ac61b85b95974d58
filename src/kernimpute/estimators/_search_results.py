"""The scores of a search's candidates: which is best, and all of them as scikit-learn has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernimpute.estimators._candidates import Candidate

__all__ = ["SearchResults"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class SearchResults:
    """The scores of the candidates that were tried.

    Parameters
    ----------
    candidates : tuple of Candidate
        The candidates.
    scores : ndarray of shape (n_candidates, n_folds)
        The larger the better; NaN or infinite where a candidate could not be judged.
    """

    candidates: tuple[Candidate, ...]
    scores: FloatArray

    @property
    def judged(self) -> NDArray[np.bool_]:
        """Which candidates have a finite score in every fold, of shape (n_candidates,)."""
        return np.asarray(np.isfinite(self.scores).all(axis=1))

    @property
    def best_index(self) -> int:
        """The judged candidate of the highest mean score; of equal ones the most preferred."""
        return self._highest(range(len(self.candidates)))[0]

    def leading(self, n_places: int) -> list[int]:
        """Return the judged candidates of the highest mean scores, to look about from.

        Where more are equal than there are places left, those taken are spread over their order of
        preference: on small tables many settings have equal scores, and those preferred most are
        all of one C.

        Parameters
        ----------
        n_places : int
            How many, if there are so many.

        Returns
        -------
        list of int
            Their places.
        """
        left: list[int] = np.flatnonzero(self.judged).tolist()
        found: list[int] = []
        while left and len(found) < n_places:
            equal = self._highest(left)
            left = [index for index in left if index not in equal]
            n_taken = min(len(equal), n_places - len(found))
            spread = np.linspace(0, len(equal) - 1, n_taken).round().astype(int)
            found.extend(equal[place] for place in spread)
        return found

    def _highest(self, among: Sequence[int]) -> list[int]:
        """Return which of some candidates have the highest mean score, the most preferred first."""
        means = np.full(len(self.candidates), -np.inf)
        means[self.judged] = self.scores[self.judged].mean(axis=1)
        highest = float(means[among].max())
        # Means of equal scores may differ in their last bits by the order of the folds.
        least = highest - 1e-12 * max(1.0, abs(highest))
        equal = [index for index in among if means[index] >= least]
        return sorted(equal, key=lambda index: (*self.candidates[index].preference, index))

    def cv_results(self) -> dict[str, Any]:
        """Return the scores in the form of scikit-learn's `GridSearchCV`."""
        n_candidates, n_folds = self.scores.shape
        # What is infinite has no spread, and no mean where both signs occur.
        with np.errstate(invalid="ignore"):
            means, spreads = self.scores.mean(axis=1), self.scores.std(axis=1)
        results: dict[str, Any] = {
            "params": [candidate.params for candidate in self.candidates],
            "mean_test_score": means,
            "std_test_score": spreads,
            "rank_test_score": _ranks(np.where(self.judged, means, np.nan)),
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
