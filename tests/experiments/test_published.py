"""The paper's numbers are the paper's: its tables are read again."""

import os
import re
from pathlib import Path

import pytest

from experiments.published import CLASSIFICATION, INHERENT, MLP, published_accuracy

ROOT = Path(__file__).resolve().parents[2]
NUMBER = r"(?:\\textbf\{)?([\d.]+)\}?"
READING = re.compile(rf"{NUMBER} \$\\pm\$ {NUMBER}")
DATASETS = ("australian", "german", "heart", "pima")


@pytest.fixture(scope="module")
def paper() -> str:
    path = Path(os.environ.get("KERNIMPUTE_PAPER", ROOT.parent / "shared" / "paper.tex"))
    if not path.exists():
        pytest.skip(f"the paper's source is not at {path}")
    return path.read_text(encoding="utf-8")


def table(paper: str, label: str) -> list[str]:
    start = paper.index(rf"\label{{{label}}}")
    return paper[start : paper.index(r"\end{tabular}", start)].split(r"\\")


@pytest.mark.parametrize(
    ("label", "ours"),
    [
        ("Tab: real-world results", [row for d in DATASETS for row in CLASSIFICATION[d].values()]),
        (
            "Tab: newresults",
            zip(INHERENT["cylinder"].values(), INHERENT["horse"].values(), strict=True),
        ),
        ("Tab: DI_MLP", [[MLP[d][m] for d in DATASETS] for m in ("MI", "NewImp", "Ours")]),
    ],
)
def test_accuracies(paper, label, ours):
    rows = [READING.findall(row) for row in table(paper, label)]
    rows = [[(float(mean), float(std)) for mean, std in row] for row in rows if row]
    assert rows == [[(reading.mean, reading.std) for reading in row] for row in ours]
    assert list(CLASSIFICATION["heart"]) == ["MI", "GEOM", "KARMA", "genRBF", "NewImp", "Ours"]


def test_a_cell_is_found_by_its_axes():
    assert published_accuracy("classification", "heart", 0.6, "Ours").mean == 0.813
    assert published_accuracy("classification", "heart", 0.1 + 0.5, "Ours").std == 0.027
    assert published_accuracy("inherent", "horse", 0.0, "KARMA").mean == 0.842
    for axes in (("mlp", "pima", 0.5, "GEOM"), ("life", "heart", 0.6, "Ours")):
        assert published_accuracy(*axes) is None
    assert published_accuracy("classification", "wine", 0.6, "Ours") is None
