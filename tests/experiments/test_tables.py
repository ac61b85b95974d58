"""Tables say what the records say, in the paper's arrangement."""

import re
from types import SimpleNamespace

import pytest

from experiments.published import MLP
from experiments.statistics import in_order, readings
from experiments.tables import make_tables, write_tables
from experiments.tables.grid import markdown
from tests.experiments.committed_records import COMMITTED, committed


@pytest.mark.parametrize("name", ["recovery", "subsets", "separation", "inherent", "mlp"])
def test_the_committed_tables_are_those_of_the_committed_records(name, tmp_path):
    kind = "recovery" if name == "recovery" else "classification"
    repetitions = 8 if name == "separation" else 10
    config = SimpleNamespace(name=name, kind=kind, repetitions=repetitions)
    for path in write_tables(config, committed(name), tmp_path):
        text = path.read_text(encoding="utf-8")
        assert (COMMITTED / "tables" / path.name).read_text(encoding="utf-8") == text
        if path.suffix == ".tex":
            assert text.count(r"\begin{") == text.count(r"\end{") == 2
        lines = [line for line in text.splitlines() if line[:1] == "|" or line.endswith(r"\\")]
        columns = {len(re.findall(r"(?<!\\)\|| & ", line)) for line in lines}
        assert len(columns) == 1


def test_accuracy_is_the_mean_and_stands_beside_the_papers():
    config = SimpleNamespace(name="mlp", kind="classification", repetitions=10)
    lines = markdown(make_tables(config, committed("mlp"))[0]).splitlines()
    values = readings(in_order(committed("mlp"))).loc[("heart", "mcar", 0.5), "mean+mlp"]
    (plain,) = (line for line in lines if line.startswith("| mean + MLP | plain"))
    assert f"| {values.mean():.3f} ± {values.std(ddof=0):.3f} |" in plain
    (published,) = (line for line in lines if line.startswith("| MI | published"))
    paper = [MLP[name]["MI"] for name in ("australian", "german", "heart", "pima")]
    expected = " | ".join(f"{one.mean:.3f} ± {one.std:.3f}" for one in paper)
    assert published == f"| MI | published | {expected} |"
