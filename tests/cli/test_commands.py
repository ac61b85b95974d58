"""`impute`, `fit` and `apply` as a user meets them."""

import json

import pandas as pd
import pytest

import kernimpute
from kernimpute import KernelImputer, impute_table
from kernimpute.cli.models import read_model
from kernimpute.core.checks import SMALLEST_SUBSET
from tests.cli.conftest import FEATURES, FIT, cells_of, check_filled, contents, example_text, flat

IMPUTE = ("impute", "t.csv", "-t", "y", "-o", "o.csv")
ROLES = ("--ignore", "id", "--drop", "junk", "--categorical", "code")


def example_frame(path):
    """Return an example table as Python reads it, codes as text."""
    return pd.read_csv(path, dtype={"id": object, "pet": object, "code": object})


def assert_written(path, filled):
    """Assert that a CSV holds a filled example table in the decimals of its columns."""
    written = pd.read_csv(path, dtype=str, keep_default_na=False)
    for name, spell in zip(FEATURES, ("{:.0f}", "{:.2f}", "{:.1f}", "{}", "{}"), strict=True):
        assert written[name].tolist() == [spell.format(value) for value in filled[name]]
    return written


GUIDED = ("--guidance", "direct", "--reference", "mean")


@pytest.mark.parametrize(
    ("options", "label", "method"),
    [
        ((), "label y (not used)", "method joint normal seconds"),
        (("--reference", "mean", "--seed", "3"), "label y (not used)", "method column means seco"),
        (GUIDED, "label y (classification, 2 classes)", "method direct from the column means, ga"),
    ],
)
def test_impute_changes_the_gaps_only(program, table, options, label, method):
    before = contents(table)
    code, out, err = program(*IMPUTE, *ROLES, *options)
    assert (code, err) == (0, "")
    after = contents(table)
    assert {path.name for path in after.keys() - before.keys()} == {"o.csv"}
    assert all(after[path] == data for path, data in before.items())
    n_filled = check_filled(
        (table / "t.csv").read_text(), (table / "o.csv").read_text(), dropped=["junk"], unused="y"
    )
    for said in (
        "table 40 rows, 7 columns",
        label,
        "rows without a label 2",
        f"filled {n_filled} of 280 cells (",
        method,
        "wrote o.csv",
    ):
        assert said in flat(out)
    guided = options == GUIDED
    assert ("status Converged: the stop rule is met." in flat(out)) == guided
    assert ("note: labels helped to fill their own rows" in out) == guided


def test_without_a_target_every_column_is_filled_a_label_too(program, table):
    code, out, err = program("impute", "t.csv", "-o", "o.csv", *ROLES)
    assert (code, err) == (0, "")
    check_filled((table / "t.csv").read_text(), (table / "o.csv").read_text(), dropped=["junk"])
    assert "note: every column is filled and used, a label too, because no target is named" in out
    assert "label y" not in out
    assert program("fit", "t.csv", "-o", "m", *ROLES, "-q") == (0, "", "")
    model = read_model(table / "m.skops", trust=False)
    assert (model.target, model.features) == (None, (*FEATURES, "y"))
    assert program("apply", "m", "t.csv", "-o", "p.csv", "-q") == (0, "", "")
    assert (table / "p.csv").read_text() == (table / "o.csv").read_text()


@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        ((), {}),
        (
            (*GUIDED, "--C", "2", "--eta", "5"),
            {"guidance": "direct", "reference": "mean", "C": 2.0, "eta": 5.0},
        ),
    ],
)
def test_impute_is_impute_table(program, table, options, parameters):
    assert program(*IMPUTE, *ROLES, *options, "-q") == (0, "", "")
    frame = example_frame("t.csv")
    expected = impute_table(
        frame, "y", drop=["junk"], ignore=["id"], categorical=["code"], **parameters
    ).table
    assert_written("o.csv", expected)


def test_what_teaches_nothing_is_told_apart_from_no_gap(program, folder):
    rows = [f"{k % 7}.5,{'5' if k % 3 else ''},,{k % 2}" for k in range(20)]
    (folder / "t.csv").write_text("\n".join(["a,b,none,y", *rows]) + "\n")
    code, out, err = program(*IMPUTE)
    assert (code, "'none'" in err) == (0, True)
    assert "columns with one observed value, which fills them: b" in flat(out)
    out = program(*IMPUTE, "--force", "--guidance", "direct")[1]
    assert "Nothing to solve for" in flat(out)
    assert "no other gap to fill" in flat(program(*IMPUTE, "--force", "--ignore", "b")[1])
    (folder / "t.csv").write_text("a,y\n" + "".join(f"{k},{k % 2}\n" for k in range(9)))
    assert "the table has no gap to fill: it is returned unchanged" in flat(
        program(*IMPUTE, "--force")[1]
    )
    assert (folder / "o.csv").read_bytes() == (folder / "t.csv").read_bytes()


def test_quiet_prints_warnings_only(program, table):
    text = example_text().splitlines()
    (table / "t.csv").write_text("\n".join([f"void,{text[0]}", *(f",{row}" for row in text[1:])]))
    for arguments in (IMPUTE, ("fit", *IMPUTE[1:4], "-o", "m")):
        code, out, err = program(*arguments, *ROLES, "-q")
        assert (code, out) == (0, "")
        assert len(err.splitlines()) == 1
        assert err.startswith("warning: column") and "'void'" in err
    assert read_model(table / "m.skops", trust=False).ignored == ("id", "void")


def test_options_reach_the_imputer(program, table):
    options = {
        "--guidance": ("guidance", "anchored"),
        "--reference": ("reference", "mean"),
        "--seed": ("random_state", 4),
        "--C": ("C", 2.5),
        "--eta": ("eta", 7.0),
        "--tol": ("tol", 0.5),
        "--max-iter": ("max_iter", 5),
        "--subset-size": ("subset_size", 20),
        "--max-memory": ("max_memory", 0.5),
        "--jobs": ("n_jobs", 1),
        "--task": ("task", "classification"),
    }
    given = [text for option, (_, value) in options.items() for text in (option, str(value))]
    code, out, _ = program(*FIT, "-o", "m", "--kernel", "laplacian", "--gamma", "0.5", *given)
    assert code == 0
    assert "method anchored from the column means, laplacian kernel, gamma 0.5" in flat(out)
    assert "subsets 2" in flat(out)
    imputer = read_model(table / "m.skops", trust=False).imputer
    assert {name: getattr(imputer, name) for name, _ in options.values()} == dict(options.values())


@pytest.mark.parametrize("command", [IMPUTE, ("fit", *IMPUTE[1:4], "-o", "m")])
def test_a_stop_before_the_rule_is_met_is_a_warning(program, table, command):
    code, out, err = program(*command, "--guidance", "anchored", "--max-iter", "1", "--tol", "0")
    assert code == 0
    assert "Stopped at --max-iter before the stop rule was met." in err and "Causes" not in out


@pytest.mark.parametrize("option", ["--ignore", "--drop"])
def test_a_value_may_hold_commas(program, folder, option):
    (folder / "t.csv").write_text('"a,b",c,y\n' + "".join(f'{k},"1,2",{k % 2}\n' for k in range(9)))
    given = (*IMPUTE, option, "a,b", "--missing-values", "1,2")
    code, _, err = program(*given, "--categorical", "c")
    # No cell is left to use, but the names were understood.
    assert (code, "with an observed value" in err) == (1, True)


def test_the_report_is_written_beside_the_table(program, table):
    code, out, _ = program(*IMPUTE, *ROLES, "--report", "r.html")
    assert code == 0 and out.endswith("wrote o.csv\nwrote r.html\n")
    assert "Filled table: t.csv" in (table / "r.html").read_text()


@pytest.mark.parametrize("extension", ["csv", "parquet"])
def test_a_mask_and_draws_are_written_beside_the_table(program, table, extension):
    out, mask = f"o.{extension}", f"m.{extension}"
    given = (*IMPUTE[:-1], out, *ROLES, "--mask", mask, "--draws", "2", "-q")
    assert program(*given) == (0, "", "")
    names = (out, mask, f"o.1.{extension}", f"o.2.{extension}")
    filled, cells, *draws = (getattr(pd, f"read_{extension}")(name) for name in names)
    assert cells.dtypes.eq(bool).all() and cells.columns.equals(filled.columns)
    before = example_frame("t.csv")[[*filled]]
    gaps = before.isna().assign(y=False)
    pd.testing.assert_frame_equal(cells, gaps)
    for draw in draws:
        assert draw[FEATURES].notna().all(axis=None)
        assert draw.mask(gaps).equals(filled.mask(gaps))
        assert not draw.equals(filled)
    assert not draws[0].equals(draws[1])


RUNS = {
    "impute": ["t.csv", "-t", "y", "-o", "o.csv"],
    "fit": ["t.csv", "-t", "y", "-o", "o.skops"],
    "apply": ["m.skops", "t.csv", "-o", "o.csv"],
}


@pytest.mark.parametrize("command", RUNS)
def test_a_summary_for_programs_says_what_the_one_for_people_says(program, fitted, command):
    text = program(command, *RUNS[command])[1]
    code, out, err = program(command, *RUNS[command], "--force", "--json", "-")
    said = json.loads(out, parse_constant=pytest.fail)
    out = program(command, *RUNS[command], "--force", "--json", "s.json")[1]
    assert "wrote s.json" in out
    written = json.loads((fitted / "s.json").read_text())
    assert {**written, "seconds": 0, "facts": 0} == {**said, "seconds": 0, "facts": 0}
    assert code == 0
    assert said["warnings"] == [line.removeprefix("warning: ") for line in err.splitlines()]
    assert said["outputs"] == RUNS[command][-1:]
    assert said["n_filled"] == sum(said["filled"].values())
    assert (said["n_rows"], said["seconds"] > 0.0) == (40, True)
    for line in (*said["facts"].values(), *said["notes"], *said["filled"]):
        assert flat(line) in flat(text)


HERE = ["t.csv", "-t", "y", "-o", "o.csv"]
GUIDE = ["--guidance", "direct"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.csv", *HERE[1:]], "absent.csv: there is no such file."),
        ([*HERE[:4], "o.xls"], "o.xls: the extension must be one of .csv, .tsv"),
        ([*HERE[:4], "no/o.csv"], "no/o.csv: there is no directory 'no'."),
        ([*HERE[:4], "d.csv"], "d.csv is a directory."),
        ([*HERE[:4], "t.csv"], "t.csv exists: give another name, or --force"),
        ([*HERE, "--report", "o.csv"], "o.csv: the report must be a file of its own"),
        ([*HERE, "--draws", "1", "--mask", "o.1.csv"], "o.1.csv: the mask must be a file of its"),
        ([*HERE[:4], "-", "--json", "-"], "standard output: the JSON must be a file of its own."),
        ([*HERE, "--mask", "m.txt"], "m.txt: the extension must be one of"),
        ([*HERE, "--draws", "1", "--reference", "mean"], "--draws must be 0 unless --reference"),
        (["t.csv", "-t", "Y", "-o", "o.csv"], "--target: there is no column 'Y'. Did you mean"),
        ([*HERE, "--drop", "y"], "--drop: the label column 'y' is needed"),
        ([*HERE, "--drop", "id", "--ignore", "id"], "both in --drop and in --ignore"),
        (["gaps.csv", "-t", "b", "-o", "o.csv", *GUIDE], "label column 'b' must hold labels. Got"),
        (["absent.csv", "-o", "o.csv", *GUIDE], "--guidance needs --target, the label column."),
        ([*HERE, *GUIDE, "--task", "regression"], "such as 'no': use --task classification."),
        ([*HERE, "--task", "regression"], "--task must be left out where labels are not used. Got"),
        ([*HERE, "--C", "2"], "--C must be left out without guidance. Got 2.0 instead: a"),
        (
            [*HERE, "--max-memory", "0.5"],
            "without guidance. Got 0.5 instead: add --guidance direct or leave it out.",
        ),
        (["inf.csv", *HERE[1:]], "inf.csv, line 4, column 'a': 'inf' is not a finite number"),
        (["only.csv", *HERE[1:]], "must have a column besides the label to use"),
        (["gaps.csv", *HERE[1:]], "must have a column, besides the label, with an observed value."),
        (["gaps.csv", *HERE[1:], *GUIDE], "with an observed value in a row that has a label"),
        ([*HERE, *GUIDE, "--max-memory", "1e-9"], "allows"),
        (["fit", *HERE[:4], "t.csv", "--force"], "t.csv has the extension of a table: give the"),
        (["fit", "t.csv", "-o", "m", "--predict"], "--predict needs --target, the label column."),
        (["fit", *HERE[:4], "old"], "old.skops exists: give another name, or --force"),
    ],
)
def test_impute_and_fit_refuse(refused, table, arguments, message):
    (table / "d.csv").mkdir()
    for name, text in {
        "old.csv": "old",
        "old.skops": "old",
        "inf.csv": "a,y\n1,u\n2,v\ninf,u\n",
        "only.csv": "y\n1\n2\n",
        "gaps.csv": "a,b,y\n,,u\n,,v\n,,u\n,,v\n",
    }.items():
        (table / name).write_text(text)
    assert message in refused(*["impute"] * (arguments[0] != "fit"), *arguments)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age,pet\n1,cat\n", "must have the columns that the model was fitted to. Got a table wi"),
        ("age,height,score,pet,code\nx,1,1,cat,1\n", "new.csv, line 2, column 'age': 'x' is not"),
        ("age,height,score,pet,code\n1,1,1,cat,1\n1,inf,1,cat,1\n", "line 3, column 'height': 'i"),
    ],
)
def test_apply_refuses_tables(refused, fitted, text, message):
    (fitted / "new.csv").write_text(text)
    assert message in refused("apply", "m", "new.csv", "-o", "o.csv")


@pytest.mark.parametrize("command", ["impute", "fit"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (HERE[:3], "-o"),
        ([], "table"),
        ([*HERE, "--bogus"], "--bogus"),
        ([*HERE, "--kernel", "rbf"], "'rbf' is not one of 'gaussian',"),
        ([*HERE, "--C", "much"], "'--C'"),
        ([*HERE, "--gamma", "-1"], "-1 is not a positive number"),
        ([*HERE, "--tol", "-1"], "-1 is not a number of at least 0"),
        ([*HERE, "--subset-size", SMALLEST_SUBSET - 1], "'--subset-size'"),
        ([*HERE, "--max-memory", "1.5"], "1.5 is not a share in (0, 1]"),
        ([*HERE, "--jobs", "0"], "0 is no number of jobs"),
        ([*HERE, "--kernel", "linear", "--gamma", "1"], "linear kernel has no gamma"),
    ],
)
def test_a_wrong_command_line_is_refused_in_one_line(refused, table, command, arguments, message):
    err = refused(command, *arguments, code=2)
    assert message.lower() in err.lower()
    assert f"(see kernimpute {command} --help)" in err


def test_apply_is_the_imputer_of_python(program, fitted):
    assert program("apply", "m.skops", "new.csv", "-o", "o.csv", "-q") == (0, "", "")
    whole = {"age": "Int64", "score": "Int64"}
    train, new = (example_frame(name)[FEATURES].astype(whole) for name in ("t.csv", "new.csv"))
    # Rows without a label are fitted, too.
    filled = KernelImputer().fit(train).transform(new)
    assert assert_written("o.csv", filled).columns.tolist() == ["id", *FEATURES]


def test_apply_changes_the_gaps_only_and_does_not_use_the_label(program, fitted):
    text = example_text(12, seed=1)
    (fitted / "labelled.csv").write_text(text)
    code, out, err = program("apply", "m.skops", "labelled.csv", "-o", "o.csv")
    assert (code, err) == (0, "")
    for said in (
        "table 12 rows, 7 columns",
        f"model m.skops, of kernimpute {kernimpute.__version__} filled",
        "note: the label column y is kept as it is and not used",
        "note: left out, as the model says: junk",
        "wrote o.csv",
    ):
        assert said in flat(out)
    written = (fitted / "o.csv").read_text()
    n_filled = check_filled(text, written, dropped=["junk"], unused=["y"])
    assert f"filled {n_filled} of 84 cells" in flat(out)
    program("apply", "m.skops", "new.csv", "-o", "p.csv")
    assert [row[:-1] for row in cells_of(written)] == cells_of((fitted / "p.csv").read_text())


def test_new_columns_may_come_in_any_order_and_with_others(program, fitted):
    frame = pd.read_csv("new.csv", dtype=str)
    order = ["code", "more", "pet", "score", "height", "id", "age"]
    frame.assign(more="?")[order].to_csv("mixed.csv", index=False)
    assert program("apply", "m", "new.csv", "-o", "o.csv", "-q") == (0, "", "")
    code, _, err = program("apply", "m", "mixed.csv", "-o", "p.csv", "-q")
    assert code == 0 and err.endswith("does not know are kept as they are: 'more'\n")
    expected, written = (pd.read_csv(name, dtype=str) for name in ("o.csv", "p.csv"))
    assert written.columns.tolist() == order
    pd.testing.assert_frame_equal(written[[*expected.columns]], expected)


def test_a_single_row_is_read_as_the_model_says(program, fitted):
    (fitted / "one.csv").write_text("id,age,height,score,pet,code\n7,,2,,cat,1\n8,,,,,\n")
    assert program("apply", "m", "one.csv", "-o", "o.csv", "-q") == (0, "", "")
    _, (id_, age, height, score, pet, code), new = cells_of((fitted / "o.csv").read_text())
    assert (id_, height, pet, code) == ("7", "2", "cat", "1")
    assert age.isdigit()
    # Where the column has no cell of its own, fills look like those of the training table.
    assert (score.endswith(".0"), len(new[2].partition(".")[2])) == (True, 2)


def test_missing_values_are_those_of_the_model(program, fitted):
    program(*FIT, "-o", "n", "-q", "--missing-values", "?", "--missing-values", "-9")
    (fitted / "new.csv").write_text("age,height,score,pet,code\n-9,?,5,?,1\n-9.0,1.8,,cat,2\n")
    assert program("apply", "n", "new.csv", "-o", "o.csv", "-q") == (0, "", "")
    cells = sum(cells_of((fitted / "o.csv").read_text()), [])
    assert not {"?", "-9", "-9.0", ""}.intersection(cells)


@pytest.mark.parametrize(
    ("extension", "output"), [("csv", "o.csv"), ("parquet", "o.csv"), ("parquet", "o.parquet")]
)
def test_unknown_categories_are_kept_or_refused(
    program, refused, fitted, monkeypatch, extension, output
):
    # From Parquet to Parquet 12 rows are streamed, as many are.
    monkeypatch.setattr("kernimpute.stream.SAMPLE_ROWS", 5)
    frame = example_frame("new.csv").fillna({"pet": "cat"})
    frame.loc[[1, 4], "pet"] = "fish"
    frame.to_csv("odd.csv", index=False) if extension == "csv" else frame.to_parquet("odd.parquet")
    given = ("apply", "m", f"odd.{extension}", "-o", output)
    err = refused(*given, "--unknown", "error")
    assert "Got 'fish' besides, in 2 cells: correct it, or pass --unknown keep, which" in err
    code, _, err = program(*given)
    assert code == 0
    assert err.endswith("are kept, and not used: 2 cells of 1 column ('pet': 'fish' in 2 cells)\n")
    written = pd.read_parquet(output) if output == "o.parquet" else pd.read_csv(output)
    assert written["pet"].tolist() == frame["pet"].tolist()


@pytest.mark.parametrize("extension", ["csv", "parquet"])
def test_booleans_of_a_parquet_model_have_names_in_text(program, folder, extension):
    frame = pd.DataFrame({"a": [1, 2, 3, None] * 4, "c": [True, False, True, None] * 4})
    frame["c"] = frame["c"].astype("boolean")
    frame.assign(y=[0, 1, 0, 1] * 4).to_parquet("t.parquet")
    assert program("fit", "t.parquet", "-t", "y", "-o", "m", "-q") == (0, "", "")
    (folder / "new.csv").write_text("a,c\n1,yes\n2,\n3,False\n")
    code, _, err = program("apply", "m", "new.csv", "-o", f"o.{extension}")
    assert code == 0 and "'c': 'yes' in 1" in err
    written = getattr(pd, f"read_{extension}")(f"o.{extension}")["c"].tolist()
    assert (written[0], written[2]) == ("yes", "False") and written[1] in ("True", "False")
