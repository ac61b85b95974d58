from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from experiments.methods.candidates import Candidate, choose
from tests.experiments.small_problem import small_problem

PROBLEM = small_problem()
N_HOLDOUT = PROBLEM.holdout.y.size


class Right:
    """Predicts so many of the holdout rows rightly."""

    def __init__(self, n_right: int) -> None:
        self.n_right = n_right
        self.calls = 0

    def predict(self, X):
        self.calls += 1
        wrong = np.arange(len(X)) >= self.n_right
        return np.where(wrong, 1 - PROBLEM.holdout.y, PROBLEM.holdout.y)


def candidate(name: str, n_right: int, train_accuracy: float = 1.0) -> Candidate:
    return Candidate({"name": name}, Right(n_right), train_accuracy)


def test_the_best_is_chosen_and_the_first_among_equals():
    offered = [candidate("a", 10), candidate("b", 20), candidate("c", 20), candidate("d", 5)]
    chosen = choose(offered, PROBLEM, ("plain",))["plain"]
    assert chosen.candidate.parameters["name"] == "b"
    assert chosen.holdout_accuracy == 20 / N_HOLDOUT


def test_the_released_rule_needs_a_training_accuracy_above_the_holdout_accuracy():
    offered = [
        candidate("too good", 25, train_accuracy=0.8),
        candidate("equal", 24, train_accuracy=24 / N_HOLDOUT),
        candidate("passes", 15, train_accuracy=0.6),
        candidate("passes too", 15, train_accuracy=0.9),
    ]
    chosen = choose(offered, PROBLEM, ("plain", "released"))
    assert chosen["plain"].candidate.parameters["name"] == "too good"
    assert chosen["released"].candidate.parameters["name"] == "passes"


def test_a_rule_that_nothing_passes_is_not_there():
    chosen = choose([candidate("a", 20, train_accuracy=0.1)], PROBLEM, ("plain", "released"))
    assert set(chosen) == {"plain"}


def test_one_pass_serves_both_rules_and_predicts_once_a_candidate():
    offered = [candidate("a", 10), candidate("b", 20)]
    choose(iter(offered), PROBLEM, ("plain", "released"))
    assert [one.model.calls for one in offered] == [1, 1]


@pytest.mark.parametrize("rules", [("plain",), ("plain", "released")])
def test_only_the_best_so_far_are_kept(rules):
    born = []

    def offered():
        for n_right in (3, 9, 4, 12, 2, 7):
            one = candidate("a", n_right, train_accuracy=0.3)
            born.append(weakref.ref(one))
            yield one
            del one
            gc.collect()
            # The best of each rule, and the one just judged.
            assert sum(reference() is not None for reference in born) <= len(rules) + 1

    choose(offered(), PROBLEM, rules)
