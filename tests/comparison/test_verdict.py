"""`compare`: the verdict follows from the tests, and everything is kept, resumed and refused."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

import kernimpute
from kernimpute.comparison.candidates import Candidate, candidates_of
from kernimpute.comparison.verdict import judge

LIGHT = ["means", "means+indicators", "linear"]


def gappy_table(seed=0, n_rows=120, of_label=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    gaps = rng.random((n_rows, 2)) < 0.3
    log_odds = X[:, 2] + of_label * (gaps.sum(axis=1) - 0.6)
    y = np.where(rng.random(n_rows) < 1.0 / (1.0 + np.exp(-log_odds)), "yes", "no")
    X[:, :2][gaps] = np.nan
    return pd.DataFrame(X, columns=[*"abcd"]), y


def compare(X, y, **given):
    return kernimpute.compare(
        X, y, **{"methods": LIGHT, "folds": 3, "repeats": 1, "n_jobs": 1} | given
    )


# ------------------------------------------------------------------------- the rule

SETTINGS = {
    "task": "classification",
    "folds": 5,
    "repeats": 3,
    "margin": 0.01,
    "primary": "log_loss",
    "baseline": "means, linear",
    "permuted": False,
}


def verdict_on(gains, p=0.5, n_folds=15):
    """Return the comparison of candidates whose log loss is lower by `gains` in every fold."""
    rng = np.random.default_rng(0)
    candidates = candidates_of("classification", None, {}, 100, 2, 0, 0)[0]
    base = 0.5 + 0.02 * rng.normal(size=n_folds)
    folds = {}
    for k in range(n_folds):
        scores = {}
        for one in candidates:
            parts = [one.name, one.filling, one.learner]
            gain = sum(gains.get(part, 0.0) for part in dict.fromkeys(parts))
            loss = base[k] - gain + 0.002 * rng.normal()
            scores[one.name] = {"log_loss": loss, "auc": 0.7, "accuracy": 0.7, "seconds": 0.1}
        folds[k] = {"number": k, "n_train": 80, "n_test": 20, "scores": scores}
    facts = {"gaps_tell": {"p": p}, "columns": []}
    return judge(candidates, folds, facts, SETTINGS, ())


@pytest.mark.parametrize(
    ("gains", "p", "kind", "candidate", "words"),
    [
        ({}, 0.5, "keep", "means, linear", "Keep mean imputation with logistic regression"),
        ({"knn": 0.005}, 0.5, "keep", "means, linear", "nothing is shown to be better"),
        ({"boosting": 0.05}, 0.5, "use", None, "the learner matters"),
        ({"joint": 0.05}, 0.5, "use", "joint, linear", "the filling matters"),
        ({"joint": 0.05, "svm": 0.06}, 0.5, "use", "joint, svm", "filling and the learner matter"),
        ({"unfilled": 0.05}, 0.5, "use", "unfilled", "Do not fill: use gradient boosting"),
        ({"kernimpute": 0.05}, 0.5, "use", "kernimpute", "no filling is shown to help"),
        ({"means+indicators": 0.03}, 0.001, "indicators", "means+indicators, linear", "p = 0.001"),
        # Gaps that tell, but indicators do not help beyond the fills.
        ({}, 0.001, "keep", "means, linear", "nothing is shown to be better"),
        # The simplest that is as good, though fillings were compared under another learner.
        (
            {"boosting": 0.05, "means+indicators, linear": 0.08, "kernimpute": 0.08},
            *(0.001, "indicators", "means+indicators, linear", "best as logistic regression"),
        ),
        # A predictor that sees gaps is better still.
        (
            {"means+indicators": 0.03, "kernimpute": 0.06},
            *(0.001, "indicators", "kernimpute", "use indicators of gaps"),
        ),
    ],
)
def test_the_verdict_follows_from_the_gains(gains, p, kind, candidate, words):
    found = verdict_on(gains, p)
    assert found.recommendation["kind"] == kind
    if candidate is not None:
        assert found.recommendation["candidate"] == candidate
    else:
        assert found.recommendation["learner"] == "boosting"
    assert words in found.verdict
    assert found.complete


def test_fewer_folds_are_not_complete_and_one_has_no_verdict():
    found = verdict_on({"joint": 0.05}, n_folds=7)
    assert found.verdict.startswith("Not complete, 7 of 15 folds: Use ")
    assert not found.complete
    alone = verdict_on({"joint": 0.05}, n_folds=1)
    assert alone.verdict == "No verdict yet: 1 of 15 folds are finished."
    assert alone.recommendation["kind"] == "incomplete"


# ------------------------------------------------------------------------- whole comparisons


def test_everything_is_plain_json_with_the_documented_keys():
    found = compare(*gappy_table(), permuted=True)
    document = json.loads(found.to_json(), parse_constant=pytest.fail)
    assert {"verdict", "recommendation", "table", "facts", "settings", "complete"} <= {*document}
    assert document["complete"] is True
    assert document["recommendation"]["kind"] == "keep"
    assert document["settings"]["data_sha256"] == found.settings["data_sha256"]
    assert list(found.table.index) == ["means, linear", "means+indicators, linear"]
    assert found.verdict in found.to_markdown()
    assert "<table" in found._repr_html_()
    assert len(found.plot().lines) == 3  # The zero, an interval and its point.


def test_a_quantity_is_judged_by_r2():
    X, _ = gappy_table()
    found = compare(X, 2.0 * X["c"] + X["d"])
    assert found.settings["primary"] == "r2"
    assert found.rows[0]["r2"] > 0.9
    assert "ridge regression" in found.verdict


def test_own_candidates_get_the_table_as_it_was_given():
    X, y = gappy_table()
    X["text"] = "word"
    seen = []

    class Own(DummyClassifier):
        def fit(self, X, y):
            seen.append(X)
            return super().fit(X, y)

    found = compare(X, y, candidates={"own": Own()})
    assert "own" in found.table.index
    assert all(one["text"].eq("word").all() for one in seen)


def test_labels_by_name_gaps_in_labels_rare_classes_and_identifiers_are_named():
    X, y = gappy_table()
    X = X.assign(label=y, name=[f"patient {k}" for k in range(120)], empty=np.nan)
    X.loc[:4, "label"] = None
    X.loc[5:7, "label"] = "rare"
    with pytest.warns(kernimpute.TableWarning) as caught:
        found = compare(X, "label")
    said = " | ".join(str(one.message) for one in caught)
    for words in (
        "rows without a label are left out: 5",
        "classes of fewer than 10 rows are left out, with 3 rows: 'rare'",
        "columns of too many different texts are left out: 'name'",
        "columns without a value are left out: 'empty'",
    ):
        assert words in said
    assert found.facts["n_rows"] == 112
    assert [one["column"] for one in found.facts["columns"]] == [*"abcd"]


def test_a_large_table_is_sampled_with_a_warning():
    X, y = gappy_table(n_rows=200)
    y[:11] = "rare"
    with pytest.warns(kernimpute.TableWarning) as caught:
        found = compare(X, y, max_rows=100)
    said = " | ".join(str(one.message) for one in caught)
    assert "100 of 200 rows are compared, drawn at random: max_rows=100" in said
    # Of eleven rows few are drawn.
    assert "classes of fewer than 10 rows are left out" in said
    assert [*found.facts["classes"]] == ["no", "yes"]
    # The largest group is above the limit.
    groups = np.maximum(0, np.arange(200) - 109)
    with pytest.warns(kernimpute.TableWarning, match="90 of 200 rows"):
        assert compare(X, y, max_rows=100, groups=groups).settings["grouped"]


def test_workers_give_what_one_process_gives():
    one, two = (compare(*gappy_table(), n_jobs=n_jobs) for n_jobs in (1, 2))
    for own, other in zip(one.rows, two.rows, strict=True):
        assert own["log_loss"] == pytest.approx(other["log_loss"], abs=1e-12)


# ------------------------------------------------------------------------- ends and resumes


def test_a_comparison_that_was_ended_is_resumed_without_its_folds_again(tmp_path):
    X, y = gappy_table()
    whole = compare(X, y)
    part = compare(X, y, callback=lambda found: len(found.folds) == 2)
    assert (len(part.folds), part.complete) == (2, False)
    (tmp_path / "part.json").write_text(part.to_json())
    done = []
    for former in (part, tmp_path / "part.json"):
        found = compare(X, y, resume=former, callback=lambda found: done.append(len(found.folds)))
        assert found.complete
        assert [row["log_loss"] for row in found.rows] == [row["log_loss"] for row in whole.rows]
    assert done == [3] * 2


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_time_limit_ends_with_what_is_finished(n_jobs):
    found = compare(*gappy_table(), time_limit=1e-9, n_jobs=n_jobs)
    assert not found.complete
    assert found.recommendation["kind"] == "incomplete"


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"y": "label"}, ValueError, "'y' parameter .* a column of X, which has 'a', .*'label'"),
        ({"y": ["yes", "no"]}, ValueError, "'y' parameter .* of length 120, .* Got 2 values"),
        ({"y": ["yes"] * 120}, ValueError, "must hold at least two classes"),
        ({"y": ["yes"] * 115 + ["no"] * 5}, ValueError, "two classes of at least 10 rows. Got 1"),
        ({"groups": [1, 2]}, ValueError, "'groups' parameter .* of length 120"),
        ({"groups": [1, 2] * 60}, ValueError, "'folds' .* at most 2, the number of groups. Got 3"),
        ({"groups": [1] * 118 + [2, 3]}, ValueError, "Every fold must have two rows to test"),
        (
            {"y": ["yes"] * 20 + ["no"] * 100, "groups": [0] * 20 + [1, 2] * 50},
            *(ValueError, "at least 10 rows and two groups. Got 1."),
        ),
        ({"folds": 61}, ValueError, "'folds' .* must be at most 60, half of the rows. Got 61"),
        ({"folds": 1}, ValueError, "'folds' parameter of compare must be an int in .2, inf"),
        ({"time_limit": 0}, ValueError, "'time_limit' parameter"),
        ({"resume": __file__}, ValueError, "'resume' parameter of compare must be a file of"),
        ({"task": "rank"}, ValueError, "'task' parameter of compare must be one of"),
        ({"X": np.zeros(3)}, ValueError, "two dimensions"),
        ({"X": np.full((120, 2), [1.0, 1e200])}, ValueError, "up to 1e150, .* Got 1e[+]200: scale"),
    ],
)
def test_refusals(given, error, message):
    X, y = gappy_table()
    with pytest.raises(error, match=message):
        compare(**{"X": X, "y": y} | given)


def test_another_comparison_is_not_resumed():
    X, y = gappy_table()
    part = compare(X, y, callback=lambda found: True)
    with pytest.raises(ValueError, match="'resume' .* Got another seed instead"):
        compare(X, y, resume=part, random_state=1)
    for X_or_groups in ({"X": X.fillna(0.0)}, {"groups": np.arange(120)}):
        with pytest.raises(ValueError, match="Got another data_sha256 instead"):
            compare(**{"X": X, "y": y, "resume": part} | X_or_groups)


def test_the_simplest_candidate_must_run():
    broken = [Candidate("means, linear", LogisticRegression(), "means", "linear")]
    scores = {"means, linear": {"error": "ValueError: x"}}
    folds = {k: {"number": k, "n_train": 8, "n_test": 2, "scores": scores} for k in range(5)}
    with pytest.raises(ValueError, match="The simplest candidate failed: ValueError"):
        judge(broken, folds, {"columns": []}, SETTINGS, ())
