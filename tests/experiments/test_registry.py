"""Names of methods are taken apart as they were put together."""

import pytest

from experiments.config import config_names, load_config
from experiments.methods.named import method
from experiments.registry import Parts, family_of, label_of, paper_name, parts_of, uses_labels


@pytest.mark.parametrize(
    ("method", "parts", "family", "paper", "label"),
    [
        ("mean+svc", ("mean", False, "svc"), "rival", "MI", "MI"),
        ("hgb+indicators", ("hgb", True, ""), "field", None, "gradient boosting + indicators"),
        ("direct[eta=0.5]+refit", ("direct[eta=0.5]", False, "refit"), "ours", None, None),
        ("direct[labels=shuffled]+refit", None, "ablation", None, None),
        ("K_o+refit", None, "ablation", None, "Stage II alone + SVM refit"),
        ("kernel_classifier", None, "ours", None, "KernelImputationClassifier"),
        ("knn+svc_near", None, "field", None, "KNN + SVM near MI"),
    ],
)
def test_a_name_says(method, parts, family, paper, label):
    if parts is not None:
        assert parts_of(method) == Parts(*parts)
    assert family_of(method) == family and paper_name(method) == paper
    if label is not None:
        assert label_of(method) == label


def test_methods_of_a_config_have_labels_of_their_own():
    for name in config_names():
        labels = [label_of(entry.name) for entry in load_config(name).methods]
        assert len(set(labels)) == len(labels)


COUNT = "must be a whole number of at least 1"
POSITIVE = "must be a positive number"
ETA = "The eta of direct must be a positive number, inf or select"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("knn[k=2.5]+svc", f"The k of knn {COUNT}; got 2.5."),
        ("kernel_classifier[C=inf]", f"The C of kernel_classifier {POSITIVE}; got inf."),
        ("appendix[perturbation=maybe]+own", "The perturbation of appendix must be yes or no"),
        ("direct[eta=nan]+own", ETA),
        ("direct[eta=select]+logistic", "The eta of direct must be a number here"),
        ("direct[labels=false]+own", "The labels of direct must be one of: true, shuffled"),
        ("median+svc", "The filler of the method 'median+svc' must be one of: mean, "),
        ("direct+indicators+own", "The classifier of the method 'direct+indicators+own' must be"),
        ("K_o+own", "The classifier of the method 'K_o+own' must not be 'own'"),
        ("mean", "A method must be filler+classifier, filler+indicators+classifier or one"),
        ("mean[k=3]+svc", "mean has no options; got 'k'"),
        ("direct[eta=]+own", "Options must read key=value"),
    ],
)
def test_a_wrong_name_is_refused_before_any_work(name, message):
    with pytest.raises(ValueError) as refused:
        method(name)
    assert str(refused.value).startswith(message)


def test_only_the_papers_rivals_are_read_by_the_released_rule():
    for name in ("mean+svc", "geom", "karma", "genrbf", "newimp+svc", "newimp+svc_near"):
        assert method(name).rules == ("plain", "released")
    for name in ("mean+mlp", "mean+logistic", "knn+svc_near", "direct+own", "hgb"):
        assert method(name).rules == ("plain",)


def test_whether_labels_had_a_part_follows_from_the_name():
    with_labels = ("class_mean+logistic", "iterative_label+svc_near", "direct+refit", "paper+own")
    without = (
        "mean+svc",
        "joint+svc",
        "K_o+refit",
        "direct[labels=shuffled]+refit",
        "direct[eta=inf]+own",
    )
    assert all(map(uses_labels, with_labels)) and not any(map(uses_labels, without))
