"""How loops end and what they leave behind."""

import copy
import math
import pickle

import numpy as np
import pytest

from kernimpute.core.status import Record, Status, Trace, overall


def trace():
    return Trace(
        (
            Record(0, objective=3.0, note="start"),
            Record(1, 2.5, 0.4, {"adjustment": 1.5}, 7, 0.1, "fallback", "Stage I"),
            Record(2, gap=0.1, step_norms={"adjustment": 0.5, "perturbation": 0.2}, note="start"),
        )
    )


def test_columns_hold_one_number_a_record_of_a_trace_and_its_copies():
    for kept in (trace(), pickle.loads(pickle.dumps(trace())), copy.deepcopy(trace())):
        for name, expected in {
            "iteration": [0.0, 1.0, 2.0],
            "gap": [math.nan, 0.4, 0.1],
            "inner_iterations": [0.0, 7.0, 0.0],
            "perturbation": [math.nan, math.nan, 0.2],
            "nothing of that name": [math.nan] * 3,
        }.items():
            column = kept.column(name)
            assert column.dtype == np.float64
            np.testing.assert_array_equal(column, expected)
        assert (len(kept), kept.notes) == (3, ("start", "fallback"))
    assert Trace().column("gap").shape == (0,)


def test_every_status_is_a_message_of_its_own_for_the_user():
    assert len({status.value for status in Status}) == len(Status.__members__)
    succeeded = {Status.CONVERGED, Status.NOTHING_MISSING, Status.NOT_PSD, Status.RAISED}
    for status in Status:
        assert status.value[0].isupper() and status.value.endswith(".")
        assert status.success == (status in succeeded)
        if status in (Status.MAX_ITER, Status.STALLED, Status.DIVERGED):
            assert "Causes: (a) " in status.value
        # Saved by its name, so that a reworded message does not matter.
        assert status.value.encode() not in pickle.dumps(status)
        assert pickle.loads(pickle.dumps(status)) is status


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
