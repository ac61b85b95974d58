"""Names of methods are taken apart as they were put together."""

from __future__ import annotations

import pytest

from experiments.config import config_names, load_config
from experiments.registry import (
    Parts,
    family_of,
    label_of,
    paper_name,
    parts_of,
    without_option,
)


@pytest.mark.parametrize(
    ("method", "parts", "family", "paper", "label"),
    [
        ("mean+svc", ("mean", False, "svc"), "rival", "MI", "MI"),
        ("mean+indicators+svc", ("mean", True, "svc"), "field", None, "mean + indicators + SVM"),
        (
            "newimp+svc_near",
            ("newimp", False, "svc_near"),
            "rival",
            "NewImp",
            "NewImp + SVM near MI",
        ),
        ("newimp+mlp", ("newimp", False, "mlp"), "rival", "NewImp", "NewImp + MLP"),
        ("geom", ("geom", False, ""), "rival", "GEOM", "GEOM"),
        ("hgb+indicators", ("hgb", True, ""), "field", None, "gradient boosting + indicators"),
        ("direct[eta=0.5]+refit", ("direct[eta=0.5]", False, "refit"), "ours", None, None),
        ("direct[labels=shuffled]+refit", None, "ablation", None, None),
        ("direct[eta=inf]+refit", None, "ablation", None, None),
        ("direct[labels=true]+refit", None, "ours", None, None),
        ("K_o+refit", None, "ablation", None, "Stage II alone + SVM refit"),
        ("appendix[perturbation=no]+refit", None, "ablation", None, None),
        ("kernel_classifier", None, "ours", None, "KernelImputationClassifier"),
        ("knn+svc_near", None, "field", None, "KNN + SVM near MI"),
    ],
)
def test_a_name_says(method, parts, family, paper, label):
    if parts is not None:
        assert parts_of(method) == Parts(*parts)
    assert family_of(method) == family
    assert paper_name(method) == paper
    if label is not None:
        assert label_of(method) == label


def test_an_option_is_left_out():
    assert without_option("kernel_imputer[subsets=5]+mlp", "subsets") == "kernel_imputer+mlp"
    assert without_option("direct[eta=1,subsets=5]+svc", "subsets") == "direct[eta=1]+svc"
    assert without_option("mean+mlp", "subsets") == "mean+mlp"


def test_methods_of_a_config_have_labels_of_their_own():
    for name in config_names():
        labels = [label_of(entry.name) for entry in load_config(name).methods]
        assert len(set(labels)) == len(labels)
