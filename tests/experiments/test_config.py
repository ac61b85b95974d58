import pytest

from experiments.config import ConfigError, MethodEntry, load_config
from tests.experiments.fake_kind import MOONS

GOOD = """
kind: classification
description: A test.
datasets: [heart]
missing_rates: [0, 0.4]
repetitions: 2
methods:
  - mean+svc
  - {name: appendix+refit, repetitions: 1, datasets: [heart], missing_rates: [0.4]}
"""


def load(tmp_path, text):
    path = tmp_path / "trial.yaml"
    path.write_text(text)
    return load_config(path)


def test_a_config_is_read_with_its_defaults_and_limits(tmp_path):
    config = load(tmp_path, GOOD)
    assert (config.name, config.kind, config.repetitions) == ("trial", "classification", 2)
    assert config.missing_rates == (0.0, 0.4)
    assert all(isinstance(rate, float) for rate in config.missing_rates)
    assert (config.held_out, config.scaling, config.splits) == ("complete", "paper", "authors")
    assert [entry.name for entry in config.methods] == ["mean+svc", "appendix+refit"]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("repetitions: 2", "repetition: 2", r"the key repetition must be one of: .*repetitions"),
        ("repetitions: 2", "repetitions: two", r"repetitions must be a valid integer; got \"two"),
        ("[0, 0.4]", "[0, 1.4]", r"missing_rates.1 must be less than 1; got 1.4"),
        ("- mean+svc", "- 'direct[eta=1e+3]+own'", r"must be written 'direct\[eta=1000.0\]\+own'"),
        ("datasets: [heart]\n", "", r"the key datasets must be given"),
        ("kind: classification", "kind: other", r"kind must be one of: .*pca.*; got 'other'"),
        ("  - mean+svc", "  - 7", r"methods.0 must be a name, or keys and values; got 7"),
        ("kind: classification", "kind: [", r"trial.yaml, line 4: must be YAML; got: expected"),
        ("kind: class", "mechanisms: [mar, mar]\nkind: class", r"must be a list without"),
        ("[heart]\nm", "&x [*x]\nm", r"trial.yaml must not hold a value that contains itself"),
        ("repetitions: 2", "kind: pca", r"line 6: must be YAML; got: the key kind is given twice"),
    ],
)
def test_what_a_config_must_not_say_is_refused_in_one_sentence(tmp_path, old, new, complaint):
    assert old in GOOD
    with pytest.raises(ConfigError, match=complaint) as refused:
        load(tmp_path, GOOD.replace(old, new, 1))
    sentence = str(refused.value)
    assert "trial.yaml" in sentence
    assert "\n" not in sentence and "pydantic" not in sentence


def test_no_more_moons_lose_a_cell_than_there_are(tmp_path):
    assert load(tmp_path, MOONS.replace("n_missing: 4", "n_missing: 40")).n_missing == 40
    with pytest.raises(ConfigError, match="n_missing must be at most n_samples, 40; got 41"):
        load(tmp_path, MOONS.replace("n_missing: 4", "n_missing: 41"))
    with pytest.raises(ConfigError, match="n_samples must be greater than or equal to 2; got 1"):
        load(tmp_path, MOONS.replace("n_samples: 40", "n_samples: 1"))


def test_limits_leave_units_out_with_a_reason():
    unit = {"dataset": "heart", "missing_rate": 0.4, "repetition": 3}
    for limits, to in (
        ({}, None),
        ({"repetitions": 4, "datasets": ("heart",)}, None),
        ({"repetitions": 3}, "3 repetitions"),
        ({"datasets": ("pima",)}, "pima"),
        ({"missing_rates": (0.2, 0.6)}, "missing rates 0.2, 0.6"),
    ):
        reason = MethodEntry(name="a", **limits).reason_to_skip(unit)
        assert reason == (to and f"The config limits the method to {to}.")
