"""`fit --predict` and `predict`: labels and probabilities beside rows with gaps."""

import numpy as np
import pandas as pd
import pytest

from kernimpute import KernelImputationClassifier
from kernimpute.cli import run
from tests.cli.conftest import FEATURES, FIT, cells_of, example_text, flat

ADDED = ["predicted_y", "probability_y_no", "probability_y_yes"]


@pytest.fixture(scope="module")
def predictor_bytes(tmp_path_factory):
    """Return a model of the example table that predicts, as bytes."""
    folder = tmp_path_factory.mktemp("predictor")
    (folder / "t.csv").write_text(example_text())
    given = (str(folder / "t.csv"), *FIT[2:], "--predict", "-o", str(folder / "p"), "-q")
    assert run(["fit", *given]) == 0
    return (folder / "p.skops").read_bytes()


@pytest.fixture
def predictor(table, predictor_bytes):
    """Return the folder of the example table with the model `p.skops` in it."""
    (table / "p.skops").write_bytes(predictor_bytes)
    return table


def frame_of(path):
    """Return an example table with the types that the command line gives its columns."""
    frame = pd.read_csv(path, dtype={"pet": object, "code": object})
    return frame.astype({"age": "Int64", "score": float})


def test_predictions_stand_beside_the_rows_and_are_those_of_python(program, predictor):
    text = (predictor / "new.csv").read_text()
    (predictor / "new.csv").write_text(f"{text}012,,,,,,x\n")  # Nothing of this row is known.
    code, out, err = program("predict", "p", "new.csv", "-o", "o.csv")
    assert (code, err) == (0, "")
    assert f"label y (classification, 2 classes) added {', '.join(ADDED)}" in flat(out)
    assert "note: left out, as the model says: junk" in out
    before = [row[:-1] for row in cells_of((predictor / "new.csv").read_text())]
    assert [row[:-3] for row in cells_of((predictor / "o.csv").read_text())] == before
    train, new = frame_of("t.csv").dropna(subset="y"), frame_of("new.csv")
    classifier = KernelImputationClassifier().fit(train[FEATURES], train["y"])
    written = pd.read_csv("o.csv")[ADDED]
    assert written["predicted_y"].tolist() == classifier.predict(new[FEATURES]).tolist()
    expected = classifier.predict_proba(new[FEATURES])
    np.testing.assert_allclose(written[ADDED[1:]], expected, atol=1e-7)


@pytest.mark.parametrize(
    ("spelled", "options", "kind"),
    [
        (["+1", "-1"], (), "classification, 2 classes"),
        (["1.0", "2.0", "3.0"], (), "classification, 3 classes"),
        (["01", " b, c ", "NO"], (), "classification, 3 classes"),
        ([f"{k}.25" for k in range(30)], ("--task", "regression"), "regression"),
    ],
)
def test_labels_come_back_as_the_table_spells_them(program, folder, spelled, options, kind):
    labels = [spelled[k % len(spelled)] for k in range(60)]
    rows = [f'{k % 7}.5,{k % len(spelled)},"{label}"' for k, label in enumerate(labels)]
    (folder / "t.csv").write_text("\n".join(["a,b,y", "3.5,0,", *rows]) + "\n")
    code, out, _ = program("fit", "t.csv", "-t", "y", "--predict", "-o", "m", *options)
    assert (code, f"label y ({kind})" in flat(out)) == (0, True)
    assert program("predict", "m", "t.csv", "-o", "o.csv", "-q") == (0, "", "")
    header, *written = cells_of((folder / "o.csv").read_text())
    if kind == "regression":
        assert header == ["a", "b", "y", "predicted_y"]
        assert (
            np.corrcoef([float(row[3]) for row in written[1:]], np.array(labels, float))[0, 1] > 0.5
        )
        return
    names = {label.strip() for label in spelled}
    assert set(header[4:]) == {f"probability_y_{name}" for name in names}
    assert {row[3] for row in written} <= names
    sums = np.sum([[float(text) for text in row[4:]] for row in written], axis=1)
    np.testing.assert_allclose(sums, 1.0, atol=1e-6)


@pytest.mark.parametrize("output", ["o.csv", "o.tsv.gz", "o.parquet", "stream.parquet", "out"])
def test_every_format_has_the_same_predictions(program, predictor, monkeypatch, output):
    frame_of("new.csv").to_parquet("new.parquet")
    new = pd.read_parquet("new.parquet")
    (predictor / "in").mkdir()
    for name, part in {"a": new[:5], "b": new[:0], "c": new[5:]}.items():
        part.to_parquet(f"in/{name}.parquet")
    assert program("predict", "p", "new.csv", "-o", "expected.csv", "-q")[0] == 0
    expected = pd.read_csv("expected.csv")[ADDED]
    given = "in" if output == "out" else "new.parquet"
    if output == "stream.parquet":
        monkeypatch.setattr("kernimpute.stream.SAMPLE_ROWS", 5)
        monkeypatch.setattr("kernimpute.cli.models.BLOCK_ROWS", 5)
    assert program("predict", "p", given, "-o", output, "-q") == (0, "", "")
    is_text = "csv" in output or "tsv" in output
    written = pd.read_csv(output, sep="\t" if "tsv" in output else ",") if is_text else None
    written = pd.read_parquet(output) if written is None else written
    assert len(written) == len(new)
    assert written["predicted_y"].tolist() == expected["predicted_y"].tolist()
    np.testing.assert_allclose(written[ADDED[1:]], expected[ADDED[1:]], atol=1e-7)
    if not is_text:
        kept = new.drop(columns="junk")
        pd.testing.assert_frame_equal(written[[*kept]].reset_index(drop=True), kept)


def test_what_the_predictor_does_not_know_is_told(program, refused, predictor):
    frame = pd.read_csv("new.csv", dtype=str).assign(more="?")
    frame.loc[[1, 4], "pet"], frame.loc[2, "height"] = "fish", "1e12"
    frame.to_csv("odd.csv", index=False)
    code, _, err = program("predict", "p", "odd.csv", "-o", "o.csv")
    assert (code, len(err.splitlines())) == (0, 3)
    assert "1 column ('pet': 'fish' in 2 cells)" in err
    assert "times the training range from it, in 1 row(s)" in err
    assert "does not know are kept as they are: 'more'" in err
    assert pd.read_csv("o.csv", dtype=str)["pet"].equals(frame["pet"])
    given = ("predict", "p", "odd.csv", "-o", "p.csv", "--unknown", "error")
    assert "pass --unknown keep" in refused(*given)


@pytest.mark.parametrize(
    ("model", "text", "message"),
    [
        (
            "m",
            "age,height,score,pet,code\n,,,,\n",
            "kernimpute fit TABLE --target COLUMN --predict",
        ),
        ("p", "age,pet\n1,cat\n", "must have the columns that the model was fitted to. Got a"),
        (
            "p",
            "age,height,score,pet,code,predicted_y\n,,,,,no\n",
            "are to be written: 'predicted_y'",
        ),
        ("p", "age,height,score,pet,code\nx,,,,\n", "line 2, column 'age': 'x' is not a finite"),
    ],
)
def test_what_cannot_be_predicted_is_refused(refused, predictor, model_bytes, model, text, message):
    (predictor / "m.skops").write_bytes(model_bytes)
    (predictor / "new.csv").write_text(text)
    assert message in refused("predict", model, "new.csv", "-o", "o.csv")


@pytest.mark.parametrize(
    ("label", "message"),
    [("", "must hold labels. Got gaps only"), ("a", "two classes. Got 'a' in all 9 rows")],
)
def test_labels_that_teach_nothing_are_refused(refused, folder, label, message):
    (folder / "t.csv").write_text("a,y\n" + "".join(f"{k},{label}\n" for k in range(9)))
    assert message in refused("fit", "t.csv", "-t", "y", "--predict", "-o", "m")
