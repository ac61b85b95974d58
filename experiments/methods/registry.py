"""Methods by name: a filler, indicators or not, and a classifier; or a method as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import merge

from experiments.method_names import family_of, label_of, paper_name, parts_of, split_method
from experiments.methods.candidates import Candidate, Family, Rule
from experiments.methods.fillers import IMPUTERS, imputer_fillings, imputer_options
from experiments.methods.filling import Filling, with_indicators
from experiments.methods.guided import GUIDED, Guidance, guidance
from experiments.methods.machines import (
    Machine,
    boosted_trees,
    gaussian_svc,
    logistic,
    near,
    perceptron,
)
from experiments.methods.options import checked_options
from experiments.methods.ours import filling_at_choice, mean_choice, own, refit
from experiments.methods.rivals import WHOLE
from experiments.naming import Name, Option, parse_name
from experiments.problem import Problem

_INDICATORS = Name("indicators")
_OWN = ("own", "refit")
"""Classifiers that come with a filling of the library's."""

Offer = Callable[[Problem], Iterator[Candidate]]
Fill = Callable[[Problem], Iterator[tuple[Mapping[str, Option], Filling]]]


@dataclass(frozen=True)
class NamedMethod:
    """A method by its name; see `experiments.methods.candidates.Method`."""

    name: str  # Its name in records, and in tables and figures
    label: str
    family: Family  # Where it comes from
    rules: tuple[Rule, ...]  # The selection rules it is read by
    offer: Offer  # Yields its candidates for a problem

    def candidates(self, problem: Problem) -> Iterator[Candidate]:
        """Yield the fitted settings: smallest C first, then smallest gamma."""
        return self.offer(problem)


def _svc_near(problem: Problem, filling: Filling) -> Iterator[Candidate]:
    """Yield the machines around mean imputation's choice of C and gamma."""
    C, gamma = mean_choice(problem)
    return gaussian_svc(problem, filling, near(C), near(gamma))


CLASSIFIERS: Mapping[str, Machine] = {
    "svc": gaussian_svc,
    "svc_near": _svc_near,
    "logistic": logistic,
    "mlp": perceptron,
    "hgb": boosted_trees,
}
"""Classifiers of any filling, by name."""


def method(name: str) -> NamedMethod:
    """Return a method by its name."""
    offer = _offer(name, [parse_name(part) for part in split_method(name)])
    # The authors' code applies its rule to the rivals' kernel machines.
    is_selected_so = paper_name(name) is not None and parts_of(name).classifier != "mlp"
    rules: tuple[Rule, ...] = ("plain", "released") if is_selected_so else ("plain",)
    return NamedMethod(name, label_of(name), family_of(name), rules, offer)


def _offer(name: str, parts: Sequence[Name]) -> Offer:
    whole = "+".join(part.base for part in parts)
    if whole in WHOLE:
        offer, known = WHOLE[whole]
        options = checked_options(parts[0], known)
        return lambda problem: offer(problem, options)
    filler, classifier = parts[0], parts[-1]
    indicators = len(parts) == 3 and parts[1] == _INDICATORS
    if len(parts) != 2 + indicators:
        raise ValueError(
            "A method must be filler+classifier, filler+indicators+classifier or one of "
            f"{', '.join(WHOLE)}; got {name!r}."
        )
    _check(name, "filler", filler.base, (*IMPUTERS, *GUIDED))
    ours = filler.base in GUIDED
    choices = (*CLASSIFIERS, *(_OWN if ours and not indicators else ()))
    _check(name, "classifier", classifier.base, choices)
    checked_options(classifier, {})
    if classifier.base in _OWN:
        return _with_own(name, guidance(filler), classifier.base)
    return _classified(_fill_by(filler), CLASSIFIERS[classifier.base], indicators=indicators)


def _classified(fill: Fill, machine: Machine, *, indicators: bool) -> Offer:
    def behind(
        problem: Problem, parameters: Mapping[str, Option], filling: Filling
    ) -> Iterator[Candidate]:
        seen = with_indicators(filling, problem.train.X) if indicators else filling
        for candidate in machine(problem, seen):
            yield replace(candidate, parameters={**candidate.parameters, **parameters})

    # Each filling's candidates are in order; so are all of them, merged.
    return lambda problem: merge(
        *(behind(problem, parameters, filling) for parameters, filling in fill(problem)),
        key=lambda candidate: [candidate.parameters.get(name, 0.0) for name in ("C", "gamma")],
    )


def _with_own(name: str, how: Guidance, classifier: str) -> Offer:
    if classifier == "own" and not how.has_machine:
        raise ValueError(
            f"The classifier of the method {name!r} must not be 'own': that filling has no machine "
            "that learned from the true labels."
        )
    candidates = own if classifier == "own" else refit
    return lambda problem: candidates(problem, how)


def _fill_by(filler: Name) -> Fill:
    if filler.base in GUIDED:
        how = guidance(filler)
        if len(how.etas) > 1:
            raise ValueError(f"The eta of {filler.base} must be a number here; got {filler}.")
        return lambda problem: iter([({}, filling_at_choice(problem, how))])
    imputer_options(filler)
    return lambda problem: imputer_fillings(problem, filler)


def _check(name: str, what: str, part: str, choices: Sequence[str]) -> None:
    if part not in choices:
        raise ValueError(
            f"The {what} of the method {name!r} must be one of: {', '.join(choices)}; got {part!r}."
        )
