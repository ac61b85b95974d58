"""What a method's name says: its filler, its classifier, whose it is, and how it is shown.

Records are read without running anything, so this needs the names alone.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from experiments.methods.candidates import Family
from experiments.naming import parse_name

_OURS = (
    "kernel_imputer",
    "kernel_classifier",
    "direct",
    "anchored",
    "expected",
    "expected_kernel",
    "paper",
    "appendix",
    "released",
)
_RIVALS = {"geom": "GEOM", "karma": "KARMA", "genrbf": "genRBF"}
_FILLERS = {"mean": "MI", "newimp": "NewImp"}
_LABELS = {
    "mean": "mean",
    "class_mean": "class mean",
    "knn": "KNN",
    "iterative": "iterative",
    "iterative_label": "iterative with label",
    "missforest": "missForest",
    "newimp": "NewImp",
    "kernel_imputer": "KernelImputer",
    "kernel_classifier": "KernelImputationClassifier",
    "expected_kernel": "SVM on the expected kernel",
    "K_o": "Stage II alone",
    "hgb": "gradient boosting",
    "gaussian": "gaussian by EM",
    "indicators": "indicators",
    "svc": "SVM",
    "svc_near": "SVM near MI",
    "logistic": "logistic",
    "mlp": "MLP",
    "own": "own SVM",
    "refit": "SVM refit",
    **_RIVALS,
}

_PLUS = re.compile(r"\+(?![^\[]*\])")
"""A plus sign outside brackets: that of ``eta=1e+3`` parts nothing."""


@dataclass(frozen=True)
class Parts:
    """The parts of a method's name."""

    filler: str  # What fills, with its options; for a whole method the method itself
    indicators: bool  # Whether indicators of the gaps are appended
    classifier: str  # What classifies; "" for a whole method


def split_method(method: str) -> list[str]:
    """Return what stands between the plus signs of a method's name, brackets kept whole."""
    return _PLUS.split(method)


def parts_of(method: str) -> Parts:
    """Return the parts of a method's name."""
    filler, *others = split_method(method)
    indicators = "indicators" in others
    others = [other for other in others if other != "indicators"]
    return Parts(filler, indicators, others[0] if others else "")


def family_of(method: str) -> Family:
    """Return whose a method is."""
    filler = parse_name(parts_of(method).filler)
    options = filler.options
    is_without = options.get("labels") == "shuffled" or options.get("perturbation") is False
    # Held with infinite weight, cells stay at their reference.
    is_without |= options.get("eta") == math.inf
    if filler.base == "K_o" or is_without:
        return "ablation"
    if filler.base in _OURS:
        return "ours"
    return "field" if paper_name(method) is None else "rival"


def paper_name(method: str) -> str | None:
    """Return what the paper calls a method that is one of its rivals."""
    parts = parts_of(method)
    filler = parse_name(parts.filler)
    base = filler.base
    if base in _RIVALS:
        # Over another grid it is not the paper's.
        return None if filler.options else _RIVALS[base]
    kernel_machine = ("svc",) if base == "mean" else ("svc", "svc_near")
    if parts.indicators or parts.classifier not in (*kernel_machine, "mlp"):
        return None
    return _FILLERS.get(base)


def label_of(method: str) -> str:
    """Return how a method is shown in tables and figures."""
    if method == "mean+svc":
        return "MI"
    parts = parts_of(method)
    filler = parse_name(parts.filler)
    words = [_LABELS.get(filler.base, filler.base)]
    if filler.options:
        words[0] += str(filler)[len(filler.base) :]
    words += ["indicators"] * parts.indicators
    words += [_LABELS.get(parts.classifier, parts.classifier)] * bool(parts.classifier)
    return " + ".join(words)


def without_option(method: str, option: str) -> str:
    """Return the name that a method has without one of its filler's options."""
    parts = parts_of(method)
    filler = parse_name(parts.filler)
    kept = {key: value for key, value in filler.options.items() if key != option}
    return str(type(filler)(filler.base, kept)) + method[len(parts.filler) :]
