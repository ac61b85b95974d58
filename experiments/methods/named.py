"""Methods by name: a filler, indicators or not, and a classifier; or a method as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import merge

from experiments.methods.candidates import Candidate, Rule
from experiments.methods.fillers import imputer_fillings
from experiments.methods.filling import Filling, with_indicators
from experiments.methods.guided import GUIDED, filling_at_choice, guidance
from experiments.naming import Name, Option, checked_options, parse_name
from experiments.problem import Problem
from experiments.registry import CLASSIFIERS, FILLERS, WHOLE, paper_name, parts_of, split_method

Offer = Callable[[Problem], Iterator[Candidate]]
Fill = Callable[[Problem], Iterator[tuple[Mapping[str, Option], Filling]]]


@dataclass(frozen=True)
class NamedMethod:
    """A method, ready to be run."""

    name: str
    rules: tuple[Rule, ...]  # The selection rules it is read by
    candidates: Offer  # Yields the fitted settings: smallest C first, then smallest gamma


def method(name: str) -> NamedMethod:
    """Return a method by its name, such as "mean+svc" or "direct[eta=4]+refit"."""
    offer = _offer(name, [parse_name(part) for part in split_method(name)])
    # The authors' code applies its rule to the rivals' kernel machines.
    has_released = paper_name(name) is not None and parts_of(name).classifier != "mlp"
    return NamedMethod(name, ("plain", "released") if has_released else ("plain",), offer)


def _offer(name: str, parts: Sequence[Name]) -> Offer:
    whole = WHOLE.get("+".join(part.base for part in parts))
    if whole is not None:
        options = checked_options(parts[0], whole.options)
        return lambda problem: whole.load()(problem, options)
    filler, classifier = parts[0], parts[-1]
    indicators = len(parts) == 3 and parts[1] == Name("indicators")
    if len(parts) != 2 + indicators:
        raise ValueError(
            "A method must be filler+classifier, filler+indicators+classifier or one of "
            f"{', '.join(WHOLE)}; got {name!r}."
        )
    _check(name, "filler", filler.base, FILLERS)
    has_machine = filler.base in GUIDED and not indicators
    choices = [one for one, entry in CLASSIFIERS.items() if entry.family == "field" or has_machine]
    _check(name, "classifier", classifier.base, choices)
    checked_options(classifier, {})
    entry = CLASSIFIERS[classifier.base]
    if classifier.base in ("own", "refit"):
        how = guidance(filler)
        if classifier.base == "own" and not how.has_machine:
            raise ValueError(
                f"The classifier of the method {name!r} must not be 'own': that filling has no "
                "machine that learned from the true labels."
            )
        return lambda problem: entry.load()(problem, how)
    fill = _fill_by(filler)

    def behind(
        problem: Problem, parameters: Mapping[str, Option], filling: Filling
    ) -> Iterator[Candidate]:
        seen = with_indicators(filling, problem.train.X) if indicators else filling
        for candidate in entry.load()(problem, seen):
            yield replace(candidate, parameters={**candidate.parameters, **parameters})

    # Each filling's candidates are in order; so are all of them, merged.
    return lambda problem: merge(
        *(behind(problem, parameters, filling) for parameters, filling in fill(problem)),
        key=lambda candidate: [candidate.parameters.get(name, 0.0) for name in ("C", "gamma")],
    )


def _fill_by(filler: Name) -> Fill:
    if filler.base in GUIDED:
        how = guidance(filler)
        if len(how.etas) > 1:
            raise ValueError(f"The eta of {filler.base} must be a number here; got {filler}.")
        return lambda problem: iter([({}, filling_at_choice(problem, how))])
    checked_options(filler, FILLERS[filler.base].options)
    return lambda problem: imputer_fillings(problem, filler)


def _check(name: str, what: str, part: str, choices: Sequence[str] | Mapping[str, object]) -> None:
    if part not in choices:
        raise ValueError(
            f"The {what} of the method {name!r} must be one of: {', '.join(choices)}; got {part!r}."
        )
