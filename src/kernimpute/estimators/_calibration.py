"""Probabilities from decision values: a sigmoid a decision function, fitted out of fold.

Platt (1999), "Probabilistic outputs for support vector machines", with his smoothed targets; for
several classes one sigmoid a class, normalised. A sigmoid never falls, so that probabilities
rank rows as decision values do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

__all__ = ["UNCALIBRATED", "Calibration", "fit_calibration"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Calibration:
    """Sigmoids ``1 / (1 + exp(-(slope d + offset)))``.

    Parameters
    ----------
    slope, offset : tuple of float
        One each for every decision function, slopes at least 0; empty for slope 1 and offset 0.
    """

    slope: tuple[float, ...] = ()
    offset: tuple[float, ...] = ()

    def probabilities(self, decision: FloatArray) -> FloatArray:
        """Return the probabilities of the classes.

        Parameters
        ----------
        decision : ndarray of shape (n_rows, n_problems)
            Decision values.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Rows that sum to 1.
        """
        slope = np.array(self.slope or (1.0,) * decision.shape[1])
        offset = np.array(self.offset or (0.0,) * decision.shape[1])
        logits = slope * decision + offset
        if logits.shape[1] == 1:
            return np.column_stack([expit(-logits[:, 0]), expit(logits[:, 0])])
        # In logarithms, for all of a row's sigmoids may underflow.
        logs = -np.logaddexp(0.0, -logits)
        shares = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))


UNCALIBRATED = Calibration()
"""The logistic function of the decision values, where nothing can be held out."""


def fit_calibration(
    decision: FloatArray, codes: NDArray[np.generic], weights: FloatArray
) -> Calibration:
    """Fit the sigmoids to decision values of rows that were held out.

    Parameters
    ----------
    decision : ndarray of shape (n_rows, n_problems)
        Decision values.
    codes : ndarray of shape (n_rows,)
        Classes 0, 1, ….
    weights : ndarray of shape (n_rows,)
        Weight of each row.

    Returns
    -------
    Calibration
        The sigmoids of greatest likelihood.
    """
    positives = (
        [codes == 1] if decision.shape[1] == 1 else [codes == k for k in range(decision.shape[1])]
    )
    fitted = [_sigmoid(decision[:, k], positive, weights) for k, positive in enumerate(positives)]
    return Calibration(tuple(a for a, _ in fitted), tuple(b for _, b in fitted))


def _sigmoid(
    decision: FloatArray, positive: NDArray[np.bool_], weights: FloatArray
) -> tuple[float, float]:
    """Return slope and offset of greatest likelihood, of one decision function."""
    n_positive, n_negative = float(weights[positive].sum()), float(weights[~positive].sum())
    # Targets short of 0 and 1, or separable values would have an infinite slope.
    target = np.where(positive, (n_positive + 1.0) / (n_positive + 2.0), 1.0 / (n_negative + 2.0))
    scale = float(np.abs(decision).max()) or 1.0
    scaled = decision / scale
    total = float(weights.sum()) or 1.0

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        logits = parameters[0] * scaled + parameters[1]
        value = weights @ (np.logaddexp(0.0, logits) - target * logits) / total
        excess = weights * (expit(logits) - target) / total
        return float(value), np.array([excess @ scaled, excess.sum()])

    prior = np.log((n_positive + 1.0) / (n_negative + 1.0))
    found = minimize(
        loss,
        np.array([1.0, prior]),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None), (None, None)],
        options={"maxiter": 1000, "ftol": 1e-15, "gtol": 1e-10},
    )
    return float(found.x[0]) / scale, float(found.x[1])
