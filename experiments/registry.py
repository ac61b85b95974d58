"""Every method by name: what fills, what classifies, what does both, and whose each is.

To add a method, write its file and a line here. Nothing is imported before a method runs, so that
records can be read, and shown, by the names alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

from experiments.naming import (
    Name,
    Option,
    Values,
    one_of,
    parse_name,
    positive_number,
    whole_number,
)

Family = Literal["rival", "field", "ours", "ablation"]
"""The paper's rivals, the simple field, the library's variants, or a control."""


@dataclass(frozen=True)
class Entry:
    """A filler, a classifier or a whole method."""

    label: str
    # "module:function". A filler's takes problem and options and returns an imputer; a
    # classifier's takes problem and filling, a whole method's problem and options, and both yield
    # candidates. The library's own fillings are resolved by `methods.guided`.
    source: str
    options: Mapping[str, Values] = field(default_factory=dict)
    selected: tuple[str, Sequence[Option]] | None = None  # chosen on the holdout rows if not given
    family: Family = "field"
    paper: str | None = None  # what the paper calls it, if it is one of its rivals
    needs: str | None = None  # a package beyond those of the library
    labelled: bool = False  # whether the true labels have a part in the filled values

    def load(self) -> Callable[..., Any]:
        """Return the function of `source`."""
        module, name = self.source.split(":")
        return getattr(import_module(f"experiments.{module}"), name)


_GRID = {"grid": one_of("paper", "wide")}
_GUIDED = "methods.guided:guidance"

FILLERS: Mapping[str, Entry] = {
    "mean": Entry("mean", "methods.fillers:mean", paper="MI"),
    "class_mean": Entry("class mean", "methods.fillers:class_mean", labelled=True),
    "knn": Entry("KNN", "methods.fillers:knn", {"k": whole_number(5)}, selected=("k", (5, 10, 20))),
    "iterative": Entry("iterative", "methods.fillers:iterative"),
    "iterative_label": Entry(
        "iterative with label", "methods.fillers:iterative_label", labelled=True
    ),
    "missforest": Entry("missForest", "methods.fillers:missforest"),
    # The bandwidth of the flow's kernel matters most of what NewImp's authors tune.
    "newimp": Entry(
        "NewImp",
        "baselines.newimp:imputer",
        {"bandwidth": positive_number(0.5)},
        selected=("bandwidth", (0.5, 1.0, 2.0)),
        paper="NewImp",
        needs="torch",
    ),
    "joint": Entry("joint", "methods.fillers:joint", family="ours"),
    "kernel_imputer": Entry(
        "KernelImputer",
        "methods.fillers:kernel_imputer",
        {"subsets": whole_number(1)},
        family="ours",
        labelled=True,
    ),
    "direct": Entry("direct", _GUIDED, family="ours", labelled=True),
    "anchored": Entry("anchored", _GUIDED, family="ours", labelled=True),
    "expected": Entry("expected", _GUIDED, family="ours", labelled=True),
    "paper": Entry("paper", _GUIDED, family="ours", labelled=True),
    "appendix": Entry("appendix", _GUIDED, family="ours", labelled=True),
    "released": Entry("released", _GUIDED, family="ours", labelled=True),
    "K_o": Entry("Stage II alone", _GUIDED, family="ablation"),
}

CLASSIFIERS: Mapping[str, Entry] = {
    "svc": Entry("SVM", "methods.machines:gaussian_svc"),
    "svc_near": Entry("SVM near MI", "methods.guided:svc_near"),
    "logistic": Entry("logistic", "methods.machines:logistic"),
    "mlp": Entry("MLP", "methods.machines:perceptron"),
    "hgb": Entry("gradient boosting", "methods.machines:boosted_trees"),
    "own": Entry("own SVM", "methods.guided:own", family="ours"),
    "refit": Entry("SVM refit", "methods.guided:refit", family="ours"),
}

WHOLE: Mapping[str, Entry] = {
    "geom": Entry("GEOM", "baselines.geom:candidates", paper="GEOM"),
    "karma": Entry("KARMA", "baselines.karma:candidates", _GRID, paper="KARMA"),
    "genrbf": Entry("genRBF", "baselines.genrbf:candidates", _GRID, paper="genRBF"),
    "gaussian": Entry("gaussian by EM", "baselines.gaussian:candidates"),
    "hgb": Entry("gradient boosting", "methods.whole:boosting"),
    "hgb+indicators": Entry("gradient boosting", "methods.whole:boosting_with_indicators"),
    "expected_kernel": Entry(
        "SVM on the expected kernel", "methods.whole:expected_kernel_svm", family="ours"
    ),
    "predictor": Entry("kernimpute predictor", "methods.whole:predictor", family="ours"),
    # The defaults are the library's own for two classes.
    "kernel_classifier": Entry(
        "KernelImputationClassifier",
        "methods.whole:kernel_classifier",
        {"C": positive_number(4.0), "smooth": positive_number(0.25)},
        family="ours",
        labelled=True,
    ),
}

_PLUS = re.compile(r"\+(?![^\[]*\])")
"""A plus sign outside brackets: that of ``eta=1e+3`` parts nothing."""


@dataclass(frozen=True)
class Parts:
    """The parts of a method's name."""

    filler: str  # with its options; the method itself if it is a whole one
    indicators: bool
    classifier: str  # "" for a whole method


def split_method(method: str) -> list[str]:
    """Return what stands between the plus signs of a name, such as "direct[eta=1e+3]+svc"."""
    return _PLUS.split(method)


def parts_of(method: str) -> Parts:
    """Return the parts of a method's name, such as "mean+indicators+svc"."""
    filler, *others = split_method(method)
    classifiers = [other for other in others if other != "indicators"]
    return Parts(filler, len(classifiers) < len(others), classifiers[0] if classifiers else "")


def _entry(method: str) -> tuple[Entry | None, Name]:
    parts = parts_of(method)
    filler = parse_name(parts.filler)
    table = FILLERS if parts.classifier else WHOLE
    return table.get(filler.base), filler


def _is_control(options: Mapping[str, Option]) -> bool:
    """Return whether labels are permuted, the perturbation is off, or cells stay where they are."""
    return (
        options.get("labels") == "shuffled"
        or options.get("perturbation") is False
        or options.get("eta") == math.inf
    )


def family_of(method: str) -> Family:
    """Return the family of a method."""
    entry, filler = _entry(method)
    if _is_control(filler.options):
        return "ablation"
    if entry is not None and entry.family != "field":
        return entry.family
    return "field" if paper_name(method) is None else "rival"


def paper_name(method: str) -> str | None:
    """Return what the paper calls a method that is one of its rivals, such as "MI"."""
    entry, filler = _entry(method)
    parts = parts_of(method)
    if entry is None or parts.indicators:
        return None
    if not parts.classifier:
        # Over another grid it is not the paper's.
        return None if filler.options else entry.paper
    return entry.paper if parts.classifier in ("svc", "svc_near", "mlp") else None


def uses_labels(method: str) -> bool:
    """Return whether the true labels have a part in the filled values."""
    entry, filler = _entry(method)
    kept_out = filler.options.get("labels") == "shuffled" or filler.options.get("eta") == math.inf
    return entry is not None and entry.labelled and not kept_out


def needs_of(method: str) -> str | None:
    """Return the package that a method needs beyond those of the library."""
    entry, _ = _entry(method)
    return None if entry is None else entry.needs


def label_of(method: str) -> str:
    """Return how a method is shown; mean imputation with an SVM is the paper's "MI"."""
    if method == "mean+svc":
        return "MI"
    entry, filler = _entry(method)
    parts = parts_of(method)
    label = filler.base if entry is None else entry.label
    words = [label + str(filler)[len(filler.base) :]]
    words += ["indicators"] * parts.indicators
    if parts.classifier:
        known = CLASSIFIERS.get(parts.classifier)
        words.append(parts.classifier if known is None else known.label)
    return " + ".join(words)


def without_option(method: str, option: str) -> str:
    """Return the name that a method has without one of its filler's options."""
    parts = parts_of(method)
    filler = parse_name(parts.filler)
    kept = {key: value for key, value in filler.options.items() if key != option}
    return str(Name(filler.base, kept)) + method[len(parts.filler) :]
