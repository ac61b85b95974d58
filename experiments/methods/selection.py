"""Choose one setting of a method by the rows held out for it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from experiments.methods.candidates import Candidate, Rule
from experiments.problem import Problem


@dataclass(frozen=True)
class Chosen:
    """The candidate that a rule selects."""

    candidate: Candidate  # The fitted setting
    holdout_accuracy: float  # Its accuracy on the holdout rows, in [0, 1]


def choose(
    candidates: Iterable[Candidate], problem: Problem, rules: Collection[Rule]
) -> dict[Rule, Chosen]:
    """Return what each rule selects, in one pass that keeps only the best so far.

    "plain" takes the best holdout accuracy, the first among equals. "released" does the same among
    the candidates whose training accuracy exceeds their holdout accuracy, as the authors' released
    code does: where training rows have gaps and holdout rows none, that rejects the good settings.
    """
    best: dict[Rule, Chosen] = {}
    for candidate in candidates:
        predicted = candidate.model.predict(problem.holdout.X)
        accuracy = float(np.mean(predicted == problem.holdout.y))
        for rule in rules:
            if rule == "released" and candidate.train_accuracy <= accuracy:
                continue
            if rule not in best or accuracy > best[rule].holdout_accuracy:
                best[rule] = Chosen(candidate, accuracy)
    return best
