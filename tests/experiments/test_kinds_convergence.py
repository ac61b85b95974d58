import numpy as np
import pytest

from experiments.config import ConvergenceConfig
from experiments.kinds import convergence
from experiments.make_problem import make_problem
from experiments.problem import Setting
from kernimpute import VARIANTS, impute
from kernimpute.kernels import Gaussian


def config(methods):
    return ConvergenceConfig.model_validate(
        {
            "name": "trial",
            "kind": "convergence",
            "description": "A trial.",
            "dataset": "heart",
            "missing_rate": 0.4,
            "C": 2.0,
            "gamma": 0.25,
            "methods": [{"name": name} for name in methods],
        }
    )


@pytest.mark.parametrize("variant", ["anchored", "direct"])
def test_rows_are_the_rounds_of_the_variant(variant, data_dir):
    trial = config([variant])
    (unit,) = convergence.units(trial)
    rows = convergence.rows(trial, unit, variant, data_dir)
    assert {name for row in rows for name in row} == set(convergence.columns)
    train = make_problem(Setting("heart", "mcar", 0.4, 0), data_dir).train
    result = impute(train.X, train.y, variant=variant, kernel=Gaussian(0.25), C=2.0)
    np.testing.assert_array_equal(
        [row["objective"] for row in rows], result.trace.column("objective")
    )
    assert {row["solver_status"] for row in rows} == {result.status.name}
    for stage in dict.fromkeys(row["stage"] for row in rows):
        objectives = [row["objective"] for row in rows if row["stage"] == stage]
        differences = [row["difference"] for row in rows if row["stage"] == stage]
        assert np.isnan(differences[0])
        np.testing.assert_array_equal(differences[1:], np.diff(objectives))


def test_direct_never_raises_its_objective(data_dir):
    trial = config(["direct"])
    rows = convergence.rows(trial, convergence.units(trial)[0], "direct", data_dir)
    assert len(rows) > 2
    assert all(row["difference"] <= 1e-12 * abs(row["objective"]) for row in rows[1:])


def test_methods_are_variants():
    assert convergence.units(config(VARIANTS))
    with pytest.raises(ValueError, match="must be one of: direct, .*; got 'mean'"):
        convergence.units(config(["mean"]))
