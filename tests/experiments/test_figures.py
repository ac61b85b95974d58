"""Figures are drawn from the records alone, the same bytes for the same records."""

from types import SimpleNamespace

import pandas as pd
import pytest
from matplotlib.image import imread

from experiments.figures import FIGURES, write_figures
from experiments.figures.style import WIDTH
from tests.experiments.committed_records import committed


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_of_the_committed_records_is_a_column_wide(name, tmp_path):
    kind = name if name in ("convergence", "pca", "moons") else "classification"
    config, records = SimpleNamespace(name=name, kind=kind), committed(name)
    written = write_figures(config, records, tmp_path)
    assert [path.stem for path in written] == list(FIGURES[name])
    for path in written:
        picture = imread(path)
        assert picture.shape[1] == round(WIDTH * 150)
        # Something is drawn on the white.
        assert (picture[..., :3].min(axis=2) < 0.5).mean() > 0.003
    if name == "moons":
        again = write_figures(config, records, tmp_path / "again")
        assert [path.read_bytes() for path in again] == [path.read_bytes() for path in written]


def test_without_a_run_done_there_is_no_figure(tmp_path):
    records = committed("life").assign(status="failed")
    for rows in (records, pd.DataFrame()):
        with pytest.raises(ValueError, match="records of life must have at least one run done"):
            write_figures(SimpleNamespace(name="life", kind="classification"), rows, tmp_path)
