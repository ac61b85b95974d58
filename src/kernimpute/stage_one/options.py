"""The options of Stage I, checked once and handed on whole."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kernimpute.core.checks import check_real, refusal
from kernimpute.core.devices import check_device
from kernimpute.core.status import Callback, StopRule
from kernimpute.joint.reference import Reference

__all__ = ["StageOneOptions", "check_extremes", "stage_one_options"]

LARGEST = 1e40
"""Largest bound of a coefficient, and largest finite eta and rho; the smallest is its inverse.
Their products with each other are squared on the way, and remain numbers."""


@dataclass(frozen=True)
class StageOneOptions:
    """What a caller may say of Stage I beside the rows and the variant; see `learn_kernel`.

    Parameters
    ----------
    eta, rho, radius : float or None
        Weights of the anchor and of the perturbation, and the perturbation's radius; None takes
        the default rule.
    reference : Reference
        What `anchored` is anchored at, and what the default eta is taken from.
    tol, max_iter : float, int or None
        The stop rule; None takes the variant's.
    callback : callable or None
        Called with the `Record` of each round; a true answer stops.
    device : str or None
        Where torch computes the rounds; None for NumPy.
    """

    eta: float | None = None
    rho: float | None = None
    radius: float | None = None
    reference: Reference = None
    tol: float | None = None
    max_iter: int | None = None
    callback: Callback | None = None
    device: str | None = None

    def stop(self, default: StopRule) -> StopRule:
        """Return the stop rule: the default's numbers where none are given."""
        return StopRule(
            default.tol if self.tol is None else self.tol,
            default.max_iter if self.max_iter is None else self.max_iter,
        )


def stage_one_options(
    owner: str,
    *,
    eta: float | None,
    rho: float | None,
    radius: float | None,
    reference: Reference,
    tol: float | None,
    max_iter: int | None,
    callback: Callback | None,
    device: str | None,
) -> StageOneOptions:
    """Return the options, or refuse them.

    Parameters
    ----------
    owner : str
        The function whose parameters these are, for the messages.
    eta, rho : float or None
        In (0, inf].
    radius : float or None
        In [0, inf).
    reference, callback
        Kept as they are.
    tol, max_iter : float, int or None
        What `StopRule` takes.
    device : str or None
        What `check_device` takes.

    Returns
    -------
    StageOneOptions
        The checked options.

    Raises
    ------
    ImportError
        If a device is given and torch is not installed.
    TypeError, ValueError
        If one is not a number in its range, or torch cannot use the device.
    """
    options = StageOneOptions(
        None if eta is None else check_real(owner, "eta", eta, 0.0, high_included=True),
        None if rho is None else check_real(owner, "rho", rho, 0.0, high_included=True),
        None if radius is None else check_real(owner, "radius", radius, 0.0, low_included=True),
        reference,
        tol,
        max_iter,
        callback,
        None if device is None else check_device(owner, device),
    )
    # The defaults of each variant are good: this refuses what was given.
    options.stop(StopRule(0.0, 0))
    return options


def check_extremes(options: StageOneOptions, largest_bound: float) -> None:
    """Refuse what Stage I cannot compute with: its numbers are multiplied and squared.

    Parameters
    ----------
    options : StageOneOptions
        The options.
    largest_bound : float
        C times the largest weight of a row.

    Raises
    ------
    ValueError
        If eta or rho is finite, and not between 1e-40 and 1e40, or the bound is above 1e40.
    """
    for name, weight in (("eta", options.eta), ("rho", options.rho)):
        if weight is not None and not math.isinf(weight) and not 1 / LARGEST <= weight <= LARGEST:
            must_be = f"in [{1 / LARGEST:g}, {LARGEST:g}], or inf, for a variant of Stage I"
            raise ValueError(refusal("learn_kernel", name, must_be, weight))
    if largest_bound > LARGEST:
        must_be = f"at most {LARGEST:g}, times the largest weight, for a variant of Stage I"
        raise ValueError(refusal("learn_kernel", "C", must_be, largest_bound))
