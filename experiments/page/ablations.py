"""What each part of the method is worth: pairs of methods that differ in one thing."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from experiments.naming import parse_name
from experiments.page.results import Results, Section
from experiments.registry import family_of, parts_of, without_option
from experiments.statistics import gain, versus
from experiments.words import absent, pipe_table, signed, towards

_MEAN = {"own": "mean+svc", "refit": "mean+svc", "svc": "mean+svc", "svc_near": "mean+svc"}

Pair = tuple[str, str, str]


def pairs_of(methods: list[str]) -> Iterator[Pair]:
    """Yield pairs of methods that differ in one thing, and what it is."""
    there = set(methods)
    candidates: list[Pair] = []
    for method in methods:
        parts = parts_of(method)
        options = parse_name(parts.filler).options
        mean = _MEAN.get(parts.classifier, f"mean+{parts.classifier}")
        if options.get("labels") == "shuffled":
            true = without_option(method, "labels")
            candidates += [
                ("guidance by labels, over column means", true, mean),
                ("guidance by permuted labels, over column means", method, mean),
                ("true labels, over permuted ones", true, method),
            ]
        if options.get("perturbation") is False:
            true = without_option(method, "perturbation")
            candidates.append(("the perturbation", true, method))
        if parts.filler == "K_o":
            candidates.append(("Stage II alone, over column means", method, mean))
            candidates += [
                ("the guided filling, over Stage II alone", other, method)
                for other in methods
                if family_of(other) == "ours" and parts_of(other).classifier == parts.classifier
            ]
        if parts.classifier == "refit" and family_of(method) == "ours":
            own = f"{parts.filler}+own"
            candidates.append(("refitting the SVM, over the variant's own", method, own))
    for pair in dict.fromkeys(candidates):
        if {pair[1], pair[2]} <= there:
            yield pair


def ablations_section(results: Results) -> Section:
    """Return what each part is worth, with its standard error."""
    title = "What each part is worth"
    wide = results.readings("classification")
    if wide is None:
        return Section(title, absent("classification"))
    rows, sentences = [], []
    for part, first, second in pairs_of(list(wide.columns)):
        test = gain(wide, first, second)
        if not test.n:
            continue
        cells = versus(wide[[first, second]], second).to_dict("records")[0]
        written = signed(test.difference, 4)
        error = f"{test.standard_error:.4f}" if test.n > 1 else "–"
        counts = f"{cells['higher']} / {cells['lower']} of {cells['cells']}"
        rows.append((part, f"`{first}`", f"`{second}`", f"{written} ± {error}", counts))
        if part.startswith("guidance by permuted") and test.n > 1:
            sentences.append(_of_control(wide, first, second))
    if not rows:
        return Section(title, "No two methods of `classification.csv` differ in one part only.")
    intro = (
        "Differences in accuracy, averaged over the cells, ± the standard error over repetitions "
        "(which share rows: the true error is larger), and in how many cells the difference is "
        "above / below zero. A method with fewer repetitions is compared on those it has."
    )
    header = ("part", "with", "without", "difference ± standard error", "higher / lower")
    body = [intro, pipe_table(header, rows), "\n".join(f"- {one}" for one in sentences)]
    return Section(title, "\n\n".join(filter(None, body)), tuple(sentences[:1]))


def _of_control(wide: pd.DataFrame, shuffled: str, mean: str) -> str:
    true = without_option(shuffled, "labels")
    test = gain(wide, shuffled, mean)
    within = abs(test.difference) <= 2 * test.standard_error
    text = (
        f"With permuted labels the gain of `{true}` over `{mean}` is {signed(test.difference, 4)} "
        f"± {test.standard_error:.4f}, {'within' if within else 'not within'} two standard errors "
        "of zero"
    )
    if true not in wide.columns:
        return f"{text}."
    with_labels, between = gain(wide, true, mean), gain(wide, true, shuffled)
    return (
        f"{text}; with the true labels it is {signed(with_labels.difference, 4)} ± "
        f"{with_labels.standard_error:.4f}, {towards(between.difference, 4)} the permuted ones."
    )
