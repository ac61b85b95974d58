import pytest

from experiments.config import config_names, load_config
from experiments.plan import keys_of, make_plan
from experiments.records import read_parts
from experiments.runner import run


def test_smoke_runs_every_method_to_a_row(tmp_path, data_dir):
    config = load_config("smoke")
    for _ in run(make_plan(config, tmp_path), data_dir=data_dir):
        pass
    rows = read_parts(tmp_path)
    assert {entry.name for entry in config.methods} == set(rows["method"])
    assert set(rows["status"]) <= {"done", "skipped"}, rows[["method", "reason"]].dropna()
    plain = rows[(rows["status"] == "done") & (rows["rule"] == "plain")]
    assert (plain["accuracy"] > 0.6).all()
    assert make_plan(config, tmp_path).n_left == 0


@pytest.mark.parametrize("name", config_names())
def test_every_config_has_units_of_its_own_with_methods_that_there_are(name):
    config = load_config(name)
    if config.kind == "classification":
        from experiments.methods.named import method

        assert all(method(entry.name).name == entry.name for entry in config.methods)
    names = [key.file_name for key in keys_of(config)]
    assert len(set(names)) == len(names) > 0
