"""`kernimpute fit` as a user meets it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import skops.io

import kernimpute
from kernimpute.cli.models import read_model
from kernimpute.estimators import trusted_types
from tests.cli.fitted import FEATURES, example_text

FIT = ("fit", "t.csv", "-t", "y", "--ignore", "id", "--drop", "junk", "--categorical", "code")


@pytest.fixture
def table(folder):
    path = folder / "t.csv"
    path.write_text(example_text())
    return path


def test_the_summary_says_what_was_learned_and_where_it_is(program, table, folder):
    code, out, err = program(*FIT, "-o", "m.skops")
    assert (code, err) == (0, "")
    flat = " ".join(out.split())
    for said in (
        "table 40 rows, 8 columns",
        "label y (classification, 2 classes)",
        "rows without a label 2, not used",
        "of 190 cells that are used (",
        "method direct, gaussian kernel, gamma ",
        "1 round, slope ",
        "status Converged: the stop rule is met.",
        "seconds ",
        "note: rows without a label: 2, not used",
        "wrote m.skops",
    ):
        assert said in flat
    assert sorted(path.name for path in folder.iterdir()) == ["m.skops", "t.csv"]


def test_quiet_prints_nothing_and_a_bare_name_gets_its_extension(program, table, folder):
    assert program(*FIT, "-o", "m", "--quiet") == (0, "", "")
    assert (folder / "m.skops").exists()
    assert program(*FIT, "-o", "other.model", "-q") == (0, "", "")
    assert (folder / "other.model").exists()


def test_the_file_holds_our_types_only_and_the_roles(program, table, folder):
    program(*FIT, "-o", "m.skops", "--missing-values", "?")
    found = skops.io.get_untrusted_types(file=folder / "m.skops")
    assert all(name.startswith("kernimpute.") for name in found)
    held = skops.io.load(folder / "m.skops", trusted=trusted_types())
    assert held["kernimpute_model"] == 1
    assert held["version"] == kernimpute.__version__
    model = read_model(folder / "m.skops", trust=False)
    assert model.features == tuple(FEATURES)
    assert (model.target, model.ignored, model.dropped) == ("y", ("id",), ("junk",))
    assert model.missing_values == ("?",)
    assert dict(model.decimals) == {"age": 0, "height": 2, "score": 1}
    kinds = {name: column.kind for name, column in model.filled.items()}
    assert kinds == {
        "age": "whole",
        "height": "number",
        "score": "whole",
        "pet": "category",
        "code": "category",
    }


def test_the_options_are_the_imputers_parameters(program, table, folder):
    options = {
        "--variant": ("variant", "anchored"),
        "--kernel": ("kernel", "laplacian"),
        "--C": ("C", 2.5),
        "--gamma": ("gamma", 0.5),
        "--eta": ("eta", 7.0),
        "--tol": ("tol", 0.5),
        "--max-iter": ("max_iter", 50),
        "--subset-size": ("subset_size", 20),
        "--max-memory": ("max_memory", 0.5),
        "--jobs": ("n_jobs", 2),
        "--task": ("task", "classification"),
    }
    given = [text for option, (_, value) in options.items() for text in (option, str(value))]
    code, out, _ = program(*FIT, "-o", "m", *given)
    assert code == 0
    flat = " ".join(out.split())
    assert "method anchored, laplacian kernel, gamma 0.5" in flat
    assert "subsets 2" in flat
    assert "rounds, gap " in flat
    imputer = read_model(folder / "m.skops", trust=False).imputer
    for name, value in options.values():
        assert getattr(imputer, name) == value
    assert imputer.kernel_.gamma == 0.5
    assert not hasattr(imputer, "callback") and "_callback" not in vars(imputer)


def test_a_quantity_is_a_regression(program, table, folder):
    code, out, _ = program("fit", "t.csv", "-t", "height", "-o", "m", "--ignore", "id,y", "-q")
    assert (code, out) == (0, "")
    imputer = read_model(folder / "m.skops", trust=False).imputer
    assert imputer.task == "regression"
    code, out, _ = program("fit", "t.csv", "-t", "code", "-o", "n", "--ignore", "id,y")
    assert "code (classification, 3 classes)" in out
    code, out, _ = program(
        "fit", "t.csv", "-t", "code", "-o", "p", "--ignore", "id,y", "--task", "regression"
    )
    assert "code (regression)" in out


def test_a_stop_before_the_rule_is_met_is_a_warning(program, table, folder):
    code, out, err = program(*FIT, "-o", "m", "--variant", "anchored", "--max-iter", "1")
    assert code == 0
    assert "warning: Stage I: Stopped at max_iter before the stop rule was met." in err
    assert "Causes" not in out
    assert (folder / "m.skops").exists()


def test_columns_without_a_value_are_ignored(program, folder):
    text = example_text().splitlines()
    (folder / "t.csv").write_text("\n".join([f"void,{text[0]}", *(f",{row}" for row in text[1:])]))
    code, _, err = program(*FIT, "-o", "m")
    assert code == 0
    assert err == (
        "warning: column left as found, because nothing is observed in the rows that have a label: "
        "'void'\n"
    )
    assert read_model(folder / "m.skops", trust=False).ignored == ("id", "void")


def test_parquet_is_fitted_by_its_types(program, folder):
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "a": pd.array(generator.integers(0, 9, 30), dtype="Int16"),
            "b": generator.integers(0, 9, 30).astype(float),
            "flag": pd.array(generator.integers(0, 2, 30).astype(bool), dtype="boolean"),
            "y": np.arange(30) % 2,
        },
        index=pd.Index(np.arange(30) + 5, name="key"),
    )
    frame.loc[[7, 9], ["a", "b", "flag"]] = None
    frame.to_parquet(folder / "t.parquet")
    code, out, err = program("fit", "t.parquet", "-t", "y", "-o", "m")
    assert (code, err) == (0, "")
    assert "note: kept and not used, for it is the index: key" in out
    model = read_model(folder / "m.skops", trust=False)
    assert model.ignored == ("key",)
    kinds = [column.kind for column in model.filled.values()]
    assert kinds == ["whole", "number", "category"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "absent.csv", "-t", "y", "-o", "m"], "absent.csv: there is no such file."),
        (["fit", "t.csv", "-t", "Y", "-o", "m"], "--target: there is no column 'Y'."),
        (["fit", "t.csv", "-t", "y", "-o", "t.csv", "--force"], "the model must be a file of its"),
        (["fit", "t.csv", "-t", "y", "-o", "old"], "old.skops exists: give another name, or --f"),
        (["fit", "t.csv", "-t", "y", "-o", "no/m"], "no/m.skops: there is no directory 'no'."),
        (["fit", "t.csv", "-t", "y", "-o", "m", "--drop", "y"], "label column 'y' is needed"),
        (["fit", "t.csv", "-t", "id", "-o", "m"], "'id' must hold classes that recur"),
        (["fit", "t.csv", "-t", "junk", "-o", "m"], "'junk' must hold at least two classes"),
        (["fit", "t.csv", "-t", "pet", "-o", "m", "--task", "regression"], "must hold numbers for"),
        (
            ["fit", "t.csv", "-t", "y", "-o", "m", "--variant", "released", "--ignore", "id"],
            "without categorical columns, for variant='released'",
        ),
        (["fit", "gaps.csv", "-t", "y", "-o", "m"], "with an observed value in a row that has"),
        (
            ["fit", "t.csv", "-t", "y", "-o", "m", "--max-memory", "1e-9", "--ignore", "id"],
            "with N = 38 rows",
        ),
        (
            ["fit", "t.csv", "-t", "y", "-o", "m", "--max-memory", "1e-9", "--ignore", "id"],
            "and --max-memory=1e-09 allows",
        ),
    ],
)
def test_refusals(program_refused, table, folder, arguments, message):
    (folder / "old.skops").write_text("old")
    (folder / "gaps.csv").write_text("a,y\n,u\n,v\n,u\n,v\n")
    assert message in program_refused(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "m"], "--target"),
        (["-t", "y"], "-o"),
        (["-t", "y", "-o", "m", "--subset-size", "9"], "'--subset-size'"),
        (["-t", "y", "-o", "m", "--max-memory", "1.5"], "1.5 is not a share in (0, 1]"),
        (["-t", "y", "-o", "m", "--jobs", "0"], "0 is no number of jobs"),
        (["-t", "y", "-o", "m", "--C", "-1"], "-1 is not a positive number"),
        (["-t", "y", "-o", "m", "--seed", "1"], "--seed"),
        (["-t", "y", "-o", "m", "--kernel", "linear", "--gamma", "1"], "kernel has no gamma"),
    ],
)
def test_a_wrong_command_line_is_refused_in_one_line(program_refused, table, arguments, message):
    err = program_refused("fit", "t.csv", *arguments, code=2)
    assert message in err
    assert "(see kernimpute fit --help)" in err


def test_an_interruption_leaves_what_was_there(program, table, folder, monkeypatch):
    (folder / "m.skops").write_text("old")

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("kernimpute.cli.fitting.KernelImputer.fit", interrupted)
    code, _, err = program(*FIT, "-o", "m", "--force")
    assert (code, err) == (130, "kernimpute: interrupted; no output was written.\n")
    assert sorted(path.name for path in folder.iterdir()) == ["m.skops", "t.csv"]
    assert (folder / "m.skops").read_text() == "old"


def test_the_rounds_are_shown(program, table, monkeypatch):
    shown = []
    monkeypatch.setattr(
        "kernimpute.cli.fitting.Progress.callback", lambda self, each: shown.append(each)
    )
    assert program(*FIT, "-o", "m", "-q")[0] == 0
    assert shown
    assert {record.stage for record in shown} == {"direct"}


def test_columns_that_look_like_codes_are_named(program, folder):
    generator = np.random.default_rng(0)
    rows = [f"{generator.integers(3)},{generator.normal():.3f},{k % 2}" for k in range(40)]
    rows[3] = ",0.5,1"
    (folder / "codes.csv").write_text("code,n,y\n" + "\n".join(rows) + "\n")
    code, out, _ = program("fit", "codes.csv", "-t", "y", "-o", "m")
    assert code == 0
    assert "few whole numbers are filled as quantities" in " ".join(out.split())
    assert "as categorical: code" in " ".join(out.split())
