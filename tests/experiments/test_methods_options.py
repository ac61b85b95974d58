"""Values of options are checked when a method is resolved by its name, before any work."""

from __future__ import annotations

import pytest

from experiments.methods.named import method

WHOLE = "must be a whole number of at least 1"
POSITIVE = "must be a positive number"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("kernel_imputer[subsets=0]+mlp", f"The subsets of kernel_imputer {WHOLE}; got 0."),
        ("kernel_imputer[subsets=2.5]+mlp", f"The subsets of kernel_imputer {WHOLE}; got 2.5."),
        ("kernel_imputer[subsets=many]+mlp", f"The subsets of kernel_imputer {WHOLE}; got many."),
        ("knn[k=0]+svc", f"The k of knn {WHOLE}; got 0."),
        ("knn[k=2.5]+svc", f"The k of knn {WHOLE}; got 2.5."),
        ("newimp[bandwidth=-1]+svc", f"The bandwidth of newimp {POSITIVE}; got -1."),
        ("kernel_classifier[C=-1]", f"The C of kernel_classifier {POSITIVE}; got -1."),
        ("kernel_classifier[C=inf]", f"The C of kernel_classifier {POSITIVE}; got inf."),
        ("kernel_classifier[smooth=x]", f"The smooth of kernel_classifier {POSITIVE}; got x."),
        ("karma[grid=yes]", "The grid of karma must be one of: paper, wide; got yes."),
        (
            "appendix[perturbation=maybe]+own",
            "The perturbation of appendix must be yes or no; got maybe.",
        ),
        (
            "direct[eta=0]+own",
            "The eta of direct must be a positive number, inf or select; got 0.",
        ),
        ("direct[eta=yes]+own", "The eta of direct must be a positive number, inf or select"),
        ("direct[eta=nan]+own", "The eta of direct must be a positive number, inf or select"),
        ("direct[labels=false]+own", "The labels of direct must be one of: true, shuffled"),
        ("direct[gamma=nan]+own", f"The gamma of direct {POSITIVE}; got nan."),
        ("paper[max_iter=0]+own", f"The max_iter of paper {WHOLE}; got 0."),
        ("direct[C=1,width=3]+own", "An option of direct must be one of: C, gamma, eta, labels"),
    ],
)
def test_another_value_is_refused_with_those_there_are(name, message):
    with pytest.raises(ValueError) as refused:
        method(name)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    "name",
    [
        "kernel_imputer[subsets=20]+mlp",
        "knn[k=3]+svc",
        "newimp[bandwidth=2]+svc",
        "kernel_classifier[C=4,smooth=0.25]",
        "genrbf[grid=wide]",
        "appendix[perturbation=no,max_iter=5]+own",
        "direct[eta=inf]+own",
        "direct[eta=select]+refit",
        "direct[eta=0.5,labels=true,C=1,gamma=2.0]+own",
    ],
)
def test_every_value_of_an_option_is_taken(name):
    assert method(name).name == name
