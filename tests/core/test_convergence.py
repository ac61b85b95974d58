"""How loops end and what they leave behind."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

from kernimpute.core.status import Record, Status, StopRule, Trace, overall


def trace():
    return Trace(
        (
            Record(0, objective=3.0, note="start"),
            Record(1, 2.5, 0.4, {"adjustment": 1.5}, 7, 0.1, "fallback", "Stage I"),
            Record(2, gap=0.1, step_norms={"adjustment": 0.5, "perturbation": 0.2}, note="start"),
        )
    )


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("iteration", [0.0, 1.0, 2.0]),
        ("objective", [3.0, 2.5, math.nan]),
        ("gap", [math.nan, 0.4, 0.1]),
        ("inner_iterations", [0.0, 7.0, 0.0]),
        ("seconds", [0.0, 0.1, 0.0]),
        ("adjustment", [math.nan, 1.5, 0.5]),
        ("perturbation", [math.nan, math.nan, 0.2]),
        ("nothing of that name", [math.nan] * 3),
    ],
)
def test_columns_hold_one_number_a_record(name, values):
    column = trace().column(name)
    assert column.dtype == np.float64
    np.testing.assert_array_equal(column, values)


def test_an_empty_trace_has_empty_columns():
    assert len(Trace()) == 0
    for name in ("objective", "adjustment"):
        assert Trace().column(name).shape == (0,)
        assert Trace().column(name).dtype == np.float64
    assert Trace().notes == ()


def test_notes_are_distinct_and_in_order():
    assert len(trace()) == 3
    assert trace().notes == ("start", "fallback")


def test_records_and_traces_do_not_change():
    record = Record(1)
    with pytest.raises(AttributeError, match="cannot assign"):
        record.gap = 0.0
    with pytest.raises(AttributeError, match="cannot assign"):
        trace().records = ()


def test_traces_can_be_pickled_and_copied():
    for copied in (pickle.loads(pickle.dumps(trace())), copy.deepcopy(trace())):
        assert copied.notes == trace().notes
        for name in ("iteration", "objective", "gap", "adjustment", "perturbation"):
            np.testing.assert_array_equal(copied.column(name), trace().column(name))


def test_records_share_no_norms():
    assert Record(1).step_norms is not Record(2).step_norms


@pytest.mark.parametrize("status", Status)
def test_a_status_is_a_message_for_the_user(status):
    assert status.value[0].isupper()
    assert status.value.endswith(".")
    succeeded = {Status.CONVERGED, Status.NOTHING_MISSING, Status.NOT_PSD, Status.RAISED}
    assert status.success == (status in succeeded)


def test_no_two_statuses_share_a_message():
    assert len({status.value for status in Status}) == len(Status.__members__)


@pytest.mark.parametrize("status", [Status.MAX_ITER, Status.STALLED, Status.DIVERGED])
def test_failures_name_their_causes_by_letters(status):
    assert "Causes: (a) " in status.value
    assert "; (b) " in status.value


def test_a_stop_rule_may_be_never_and_at_once():
    assert StopRule(tol=0.0, max_iter=0) == StopRule(0.0, 0)


@pytest.mark.parametrize("tol", [-1e-9, math.inf, math.nan])
def test_tolerances_outside_their_range_are_refused(tol):
    with pytest.raises(
        ValueError, match=r"The 'tol' parameter of StopRule must be a float in \[0, inf\)"
    ):
        StopRule(tol=tol, max_iter=10)


@pytest.mark.parametrize("tol", ["auto", None, True])
def test_tolerances_that_are_no_numbers_are_refused(tol):
    with pytest.raises(TypeError, match="The 'tol' parameter of StopRule must be a float"):
        StopRule(tol=tol, max_iter=10)


def test_numbers_of_rounds_are_integers_from_zero():
    with pytest.raises(ValueError, match=r"'max_iter' parameter of StopRule must be an int in \[0"):
        StopRule(tol=0.1, max_iter=-1)
    for max_iter in (10.0, None, True, "10"):
        with pytest.raises(TypeError, match=r"'max_iter' parameter of StopRule must be an int"):
            StopRule(tol=0.1, max_iter=max_iter)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("", "NOTHING_MISSING"),
        ("NOTHING_MISSING NOTHING_MISSING", "NOTHING_MISSING"),
        ("NOTHING_MISSING NOTHING_MISSING CONVERGED", "CONVERGED"),
        ("CONVERGED RAISED RAISED", "RAISED"),
        ("CONVERGED CONVERGED STALLED MAX_ITER MAX_ITER", "STALLED"),
    ],
)
def test_the_status_of_parts_is_that_of_what_was_done(names, expected):
    assert overall(Status[name] for name in names.split()) is Status[expected]
