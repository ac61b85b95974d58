import numpy as np
import pytest

from experiments.config import MethodEntry, RecoveryConfig
from experiments.kinds import recovery

CONFIG = RecoveryConfig(
    name="trial",
    kind="recovery",
    description="A trial.",
    dataset="heart",
    gammas=(1.0, 32.0),
    missing_rates=(0.1, 0.9),
    repetitions=2,
)


def test_there_is_a_unit_for_each_gamma_rate_and_repetition():
    units = recovery.units(CONFIG)
    assert len(units) == 8
    assert units[0] == {"dataset": "heart", "gamma": 1.0, "missing_rate": 0.1, "repetition": 0}
    assert len({tuple(unit.values()) for unit in units}) == 8


@pytest.mark.parametrize("unit", recovery.units(CONFIG)[::2], ids=str)
def test_features_come_back_to_eight_digits_from_the_exact_kernel(unit, data_dir):
    (row,) = recovery.rows(CONFIG, unit, "recover_features", data_dir)
    assert set(row) - set(recovery.columns) == {"seconds", "seed"}
    assert 0.0 < row["feature_error_mean"] <= row["feature_error_max"] <= 1e-8
    assert 0.0 < row["gram_error_mean"] <= row["gram_error_max"] <= 1e-8
    assert row["solver_status"] == "CONVERGED" and row["seconds"] > 0.0


def test_the_same_cells_are_removed_at_every_gamma_and_others_in_every_repetition(
    data_dir, monkeypatch
):
    holed = []
    real = recovery.recover_features

    def spied(X, target, **options):
        holed.append(X)
        return real(X, target, **options)

    monkeypatch.setattr(recovery, "recover_features", spied)
    units = [unit for unit in recovery.units(CONFIG) if unit["missing_rate"] == 0.1]
    for unit in units:
        recovery.rows(CONFIG, unit, "recover_features", data_dir)
    tables = [table for table in holed if len(table) == 270]
    first, second = np.isnan(tables[0]), np.isnan(tables[1])
    assert first.sum() == second.sum() == round(270 * 13 * 0.1)
    assert (first != second).any()
    np.testing.assert_array_equal(first, np.isnan(tables[2]))


def test_another_method_is_refused():
    config = CONFIG.model_copy(update={"methods": (MethodEntry(name="x"),)})
    with pytest.raises(ValueError, match="must be one of: recover_features; got 'x'"):
        recovery.units(config)
