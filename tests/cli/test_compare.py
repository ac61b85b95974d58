"""`kernimpute compare`: what it writes, prints and keeps."""

import json

import numpy as np
import pandas as pd
import pytest

from kernimpute.cli import run
from kernimpute.comparison import judging

LIGHT = ("--methods", "means,means+indicators", "--folds", "3", "--repeats", "1", "--jobs", "1")


@pytest.fixture
def table(tmp_path):
    """Write a table whose gaps tell of the label."""
    rng = np.random.default_rng(0)
    gaps = rng.random((300, 2)) < 0.4
    X = pd.DataFrame(rng.normal(size=(300, 3)), columns=[*"abc"])
    X["text"] = np.where(rng.random(300) < 0.1, None, rng.choice([*"uvw"], 300))
    X.loc[gaps[:, 0], "a"] = np.nan
    X.loc[gaps[:, 1], "text"] = None
    log_odds = 2.0 * (gaps.sum(axis=1) - 0.8) + X["b"]
    X["label"] = np.where(rng.random(300) < 1.0 / (1.0 + np.exp(-log_odds)), "yes", "no")
    X["visit"] = rng.integers(0, 60, 300)
    X.to_csv(tmp_path / "table.csv", index=False)
    return tmp_path / "table.csv"


def compare(table, *options):
    return run(["compare", str(table), "--target", "label", *LIGHT, *map(str, options)])


def test_the_verdict_comes_with_python_that_runs(table, tmp_path, capsys):
    outputs = tmp_path / "out.json", tmp_path / "out.md"
    assert compare(table, "--json", outputs[0], "--markdown", outputs[1]) == 0
    printed = capsys.readouterr().out
    document = json.loads(outputs[0].read_text())
    assert document["recommendation"]["kind"] == "indicators"
    assert document["complete"] is True
    assert document["verdict"] in printed
    assert document["verdict"] in outputs[1].read_text()
    assert "gaps tell more than the columns do (p = 0.001)" in printed
    assert document["facts"]["target"] == "label"
    names = {}
    exec(document["recommendation"]["code"], names)
    assert (names["model"].predict(names["X"]) == names["y"]).mean() > 0.6


@pytest.mark.parametrize("end", [".tsv", ".csv.gz", ".parquet", ".jsonl"])
def test_python_reads_the_table_in_every_format(table, tmp_path, end):
    frame = pd.read_csv(table).dropna().head(60)
    path = tmp_path / f"table{end}"
    if end == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    elif end == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if end == ".tsv" else ",")
    out = tmp_path / "out.json"
    assert compare(path, "--json", out, "--ignore", "visit") == 0
    names = {}
    exec(json.loads(out.read_text())["recommendation"]["code"].rpartition("from sklearn")[0], names)
    assert list(names["X"].columns) == [*"abc", "text"]


def test_quietly_only_the_verdict_is_printed_or_the_json(table, capsys):
    assert compare(table, "--quiet", "--groups", "visit") == 0
    (said,) = capsys.readouterr().out.splitlines()
    assert compare(table, "--json", "-", "--groups", "visit") == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == said


def test_an_interrupt_writes_what_is_finished_and_it_can_be_resumed(
    table, tmp_path, monkeypatch, capsys
):
    whole, part = tmp_path / "whole.json", tmp_path / "part.json"
    assert compare(table, "--json", whole) == 0
    run_fold = judging.run_fold

    def interrupted(data, candidates, fold, **how):
        if fold.number == 2:
            raise KeyboardInterrupt
        return run_fold(data, candidates, fold, **how)

    monkeypatch.setattr(judging, "run_fold", interrupted)
    assert compare(table, "--json", part) == 130
    said = f"kernimpute: interrupted; 2 of 3 folds are finished: wrote {part}.\n"
    assert capsys.readouterr().err.endswith(said)
    assert compare(table) == 130
    assert "interrupted; the verdict is that of 2 of 3 folds." in capsys.readouterr().err
    document = json.loads(part.read_text())
    assert document["complete"] is False
    assert len(document["folds"]) == 2
    monkeypatch.setattr(judging, "run_fold", run_fold)
    assert compare(table, "--json", part, "--resume", part) == 0
    tables = [json.loads(path.read_text())["table"] for path in (whole, part)]
    for own, other in zip(*tables, strict=True):
        assert own["log_loss"] == other["log_loss"]


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--methods", "mean"], 1, "--methods must be made of 'means', "),
        (["--groups", "nobody"], 1, "--groups: there is no column 'nobody'"),
        (["--json", "{table}"], 1, "table.csv: the JSON must be a file of its own"),
        (["--resume", "{table}"], 1, "--resume must be a file of Comparison.to_json"),
        (["--ignore", "label"], 1, "the label column 'label' is needed"),
        (["--folds", "1"], 2, "Invalid value for '--folds'"),
    ],
)
def test_refusals_name_options(table, capsys, options, code, message):
    assert compare(table, *(one.format(table=table) for one in options)) == code
    assert message in capsys.readouterr().err
