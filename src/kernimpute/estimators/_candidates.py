"""The choices of kernel, C, gamma, eta and reference that a search compares."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone
from sklearn.utils._param_validation import make_constraint

from kernimpute.core.kernels import KERNELS, Kernel
from kernimpute.estimators._base import METHOD_CONSTRAINTS
from kernimpute.estimators._labels import Labels

__all__ = [
    "Candidate",
    "Defaults",
    "candidates_of",
    "check_candidates",
    "default_candidate",
    "defaults_of",
]

DEFAULT_CS = tuple(2.0**power for power in range(-4, 7, 2))
GAMMA_FACTORS = (0.25, 1.0, 4.0)
ETA_FACTORS = (1.0, 0.25)
"""Default etas of `direct`, in units of its default: that, and a stronger pull of the labels."""


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


def default_candidate(plain: Any) -> Candidate:
    """Return the parameters that a plain estimator has, where nothing can be held out.

    Parameters
    ----------
    plain : estimator
        The estimator.

    Returns
    -------
    Candidate
        Its parameters.
    """
    return Candidate(plain.kernel, plain.C, plain.gamma, plain.eta, plain.reference)


def check_candidates(search: Any) -> None:
    """Refuse values that the plain estimator would; at least one of each is needed.

    Parameters
    ----------
    search : estimator
        A CV estimator, in whose name values are refused.

    Raises
    ------
    ValueError
        If a parameter holds no value, or one that is not allowed.
    """
    owner = type(search).__name__
    for name in ("kernels", "references", "Cs", "gammas", "etas"):
        values = getattr(search, name)
        if isinstance(values, str):
            continue
        # Without an eta of its own a search has inf.
        if len(values) == 0 and name != "etas":
            raise ValueError(
                f"The {name!r} parameter of {owner} must hold at least one value. "
                f"Got {values!r} instead."
            )
        allowed = [make_constraint(each) for each in METHOD_CONSTRAINTS[name.rstrip("s")]]
        for value in values:
            if not any(each.is_satisfied_by(value) for each in allowed):
                raise ValueError(
                    f"The {name!r} parameter of {owner} must hold values that are each "
                    f"{' or '.join(map(str, allowed))}. Got {value!r} instead."
                )


@dataclass(frozen=True)
class Defaults:
    """What the plain estimator's named values are for one kernel and one reference.

    They say how the table is coded, and so how much of it is observed.

    Parameters
    ----------
    gammas : mapping of str to float
        The values of gamma="scale" and gamma="auto"; empty for a kernel that has no gamma, or
        its own.
    anchor : float or None
        The value of eta="auto" for C = 1; None for a variant that finds its own.
    """

    gammas: Mapping[str, float]
    anchor: float | None


def defaults_of(
    template: Any, frame: Any, labels: Labels, kernels: Sequence[Any], references: Sequence[Any]
) -> dict[tuple[Any, Any], Defaults]:
    """Return the named values on the whole training table.

    Parameters
    ----------
    template : estimator
        A plain estimator.
    frame : DataFrame of shape (n_samples, n_columns)
        The training table.
    labels : Labels
        Its labels, for the weights and for what they are.
    kernels : sequence of str or Kernel
        The kernels.
    references : sequence of "mean", "expected" or imputer
        The references.

    Returns
    -------
    dict
        The values by kernel and reference.
    """
    frame, labels = frame.iloc[labels.counted], labels.of(labels.counted)
    code = template._learn_code(frame)
    rows = template._coded(code, frame)
    template = clone(template).set_params(C=1.0, eta="auto")
    found = {}
    for reference in references:
        for kernel in kernels:
            coding = template.set_params(kernel=kernel, reference=reference)._coding_for(code)
            matrix = coding.matrix(rows)
            gammas = {}
            if isinstance(kernel, str) and "gamma" in KERNELS[kernel].__dataclass_fields__:
                for name in ("scale", "auto"):
                    fitted = template.set_params(gamma=name)._kernel_for(matrix, coding, labels)
                    gammas[name] = float(fitted.gamma)
            found[kernel, reference] = Defaults(gammas, template._eta_for(matrix, labels))
    return found


def candidates_of(
    *,
    kernels: Sequence[Any],
    Cs: Any,
    gammas: Any,
    etas: Any,
    references: Sequence[Any],
    defaults: Mapping[tuple[Any, Any], Defaults],
) -> tuple[Candidate, ...]:
    """Return all candidates; those that share a kernel matrix stand together.

    Parameters
    ----------
    kernels : sequence of str or Kernel
        The kernels.
    Cs : "auto" or sequence of float
        Penalties.
    gammas : "auto" or sequence of float, "scale" or "auto"
        Values of gamma; "auto" in place of a sequence is multiples of the scaled one.
    etas : "auto" or sequence of float or "auto"
        Values of eta; inf is added where it is not among them. "auto" in place of a sequence is
        parts of the default.
    references : sequence of "mean", "expected" or imputer
        The references.
    defaults : mapping
        What `defaults_of` returns.

    Returns
    -------
    tuple of Candidate
        At least one for each kernel and reference.
    """
    penalties = DEFAULT_CS if isinstance(Cs, str) else tuple(sorted({float(C) for C in Cs}))
    found = []
    for reference in references:
        for kernel in kernels:
            known = defaults[kernel, reference]
            for gamma in _gammas(gammas, known.gammas):
                for C in penalties:
                    for eta in _etas(etas, C, known.anchor):
                        found.append(Candidate(kernel, C, gamma, eta, reference))
    return tuple(dict.fromkeys(found))


def _gammas(gammas: Any, named: Mapping[str, float]) -> tuple[float | str, ...]:
    if not named:
        return ("scale",)
    if isinstance(gammas, str):
        return tuple(factor * named["scale"] for factor in GAMMA_FACTORS)
    values = (named[gamma] if isinstance(gamma, str) else float(gamma) for gamma in gammas)
    return tuple(sorted(set(values)))


def _etas(etas: Any, C: float, anchor: float | None) -> tuple[float | str, ...]:
    """Return the etas, the largest first; "auto" stays for a variant that finds its own."""
    if isinstance(etas, str):
        if anchor is None:
            return (math.inf, "auto")
        return (math.inf, *(factor * C * anchor for factor in ETA_FACTORS))
    numbers = {math.inf, *(float(eta) for eta in etas if not isinstance(eta, str))}
    is_named = any(isinstance(eta, str) for eta in etas)
    if is_named and anchor is not None:
        numbers.add(C * anchor)
    found = tuple(sorted(numbers, reverse=True))
    return (*found, "auto") if is_named and anchor is None else found
