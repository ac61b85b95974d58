"""What a run lacks is refused in one sentence before anything is printed, made or run."""

from __future__ import annotations

import shutil
import sys
import warnings
from urllib.error import URLError

import pytest
import sklearn.datasets._openml as sklearn_openml
from typer.testing import CliRunner

from experiments import __main__ as program
from experiments import conditions, openml
from experiments.config import MODELS, load_config
from experiments.plan import keys_of, make_plan
from experiments.runner import check_conditions


def text_of(**keys):
    given = {
        "kind": "classification",
        "description": "A trial.",
        "datasets": "[synthetic]",
        "missing_rates": "[0.2]",
        "methods": "[mean+logistic]",
    } | keys
    return "".join(f"{key}: {value}\n" for key, value in given.items())


@pytest.fixture
def refused(tmp_path, data_dir):
    """Return a function that runs a config and returns the one sentence of the refusal."""

    def call(*arguments, data=data_dir, **keys):
        path, records = tmp_path / "trial.yaml", tmp_path / "records"
        path.write_text(text_of(**keys))
        options = ["--jobs", "1", "--records", records, "--data-dir", data, *arguments]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = CliRunner().invoke(program.app, ["run", str(path), *map(str, options)])
        assert result.exit_code == 1, result.output
        assert result.output.count("\n") == 1
        assert not records.exists()
        return result.output

    return call


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [
        ({"datasets": "[mars]"}, "trial: A dataset must be one of: australian, german"),
        ({"datasets": "[heart, 'heart[a=1]']"}, "trial: heart has no options; got 'a'."),
        ({"datasets": "['synthetic[d=0]']"}, "trial: The option 'd' of a drawn table must be at"),
        ({"methods": "[mean+oracle]"}, "trial: The classifier of the method 'mean+oracle' must"),
        ({"methods": "['knn[k=0]+svc']"}, "trial: The k of knn must be a whole number"),
        (
            {"mechanisms": "[inherent]"},
            "trial: The missing rate under 'inherent' must be 0; got 0.2.",
        ),
        (
            {"datasets": "[heart, australian]", "repetitions": "11"},
            "trial: A repetition of the authors' splits must be in 0 ... 9; got 10.",
        ),
        (
            {"methods": "[{name: mean+svc, datasets: [heart]}]"},
            "trial: The datasets of the method 'mean+svc' must be among the config's: synthetic; "
            "got heart.",
        ),
        (
            {"methods": "[{name: mean+svc, missing_rates: [0.2, 0.3]}]"},
            "trial: The missing_rates of the method 'mean+svc' must be among the config's: 0.2; "
            "got 0.3.",
        ),
    ],
)
def test_what_can_be_known_before_any_work_is_refused(refused, keys, complaint):
    assert refused(**keys).startswith(complaint)


def test_moons_have_no_missing_rates_to_be_limited_to(tmp_path):
    entry = {"name": "mean", "missing_rates": (0.2,)}
    sizes = {"n_samples": 9, "noise": 0.1, "n_missing": 2, "C": 1.0, "gamma": 1.0}
    shared = {"name": "trial", "kind": "moons", "description": "A trial."}
    config = MODELS["moons"].model_validate({**shared, **sizes, "methods": (entry,)})
    with pytest.raises(ValueError, match="must be among the config's: none; got 0.2"):
        keys_of(config)


def test_the_authors_splits_are_known_by_their_checksum(refused, data_dir, tmp_path):
    shutil.copy(data_dir / "australian.csv", tmp_path)
    assert "must be read from australian_splits.npz" in refused(
        datasets="[australian]", data=tmp_path
    )
    (tmp_path / "australian_splits.npz").write_bytes(b"other")
    said = refused(datasets="[australian]", data=tmp_path)
    assert said.startswith("trial: The sha256 of ") and "australian_splits.npz' must be" in said


def test_torch_is_looked_for_where_newimp_is_left_to_run(refused, monkeypatch, tmp_path, data_dir):
    monkeypatch.setitem(sys.modules, "torch", None)
    said = refused(methods="[mean+logistic, newimp+svc_near]")
    assert said.startswith("trial: NewImpImputer needs torch, which the extra")
    # What is limited to nothing that is run, or not among the methods asked for, needs nothing.
    path = tmp_path / "trial.yaml"
    options = ["--jobs", "1", "--records", str(tmp_path / "some"), "--methods", "mean+logistic"]
    result = CliRunner().invoke(program.app, ["run", str(path), *options])
    assert result.exit_code == 0, result.output


def test_a_network_that_fails_is_a_reason_and_no_warning(refused, monkeypatch, tmp_path):
    def fail(*_, **__):
        raise URLError("no route")

    monkeypatch.setattr(sklearn_openml, "urlopen", fail)
    monkeypatch.setattr(sklearn_openml.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(
        openml,
        "fetch_openml",
        lambda **keys: sklearn_openml.fetch_openml(data_home=tmp_path / "cache", **keys),
    )
    said = refused(datasets="[heart]", data=tmp_path)
    assert said.startswith("trial: The table heart.csv must be in the folder that --data-dir")
    assert "no route" in said


def test_a_dataset_is_asked_for_only_where_something_is_left_to_run(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(conditions, "check_setting", lambda *given: asked.append(given))
    path = tmp_path / "trial.yaml"
    limited = "[{name: mean+logistic, datasets: [synthetic], repetitions: 2}]"
    path.write_text(text_of(datasets="[synthetic, heart]", methods=limited, repetitions="5"))
    check_conditions(make_plan(load_config(path), tmp_path / "records"), None)
    ((setting, data_dir),) = asked
    assert (setting.dataset, setting.repetition, data_dir) == ("synthetic", 1, None)
