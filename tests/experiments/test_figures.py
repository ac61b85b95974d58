"""Figures are drawn from the records alone, the same bytes for the same records."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

from experiments.figures import FIGURES, write_figures
from experiments.figures.accuracy import draw_lines, shown_methods
from experiments.figures.style import STYLES, WIDTH, draw
from experiments.statistics import in_order
from tests.experiments.made_records import classification_records, committed


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
    if name == "pca":
        again = write_figures(config, records, tmp_path / "again")
        assert [path.read_bytes() for path in again] == [path.read_bytes() for path in written]


def test_without_a_run_done_there_is_no_figure(tmp_path):
    records = classification_records().assign(status="failed")
    for rows in (records, pd.DataFrame()):
        with pytest.raises(ValueError, match="records of life must have at least one run done"):
            write_figures(SimpleNamespace(name="life", kind="classification"), rows, tmp_path)


def test_the_methods_shown_follow_from_their_ranks():
    shown = shown_methods(in_order(classification_records()))
    assert shown[:2] == ["mean+svc", "mean+logistic"]
    assert {"anchored+logistic", "kernel_classifier"} <= set(shown)
    assert "direct[labels=shuffled]+svc" not in shown
    assert len(shown) <= len(STYLES)


def test_error_bars_are_the_standard_deviations(tmp_path):
    mean, std = pd.Series([0.8, 0.7], [0.2, 0.4]), pd.Series([0.01, 0.02], [0.2, 0.4])
    found = []

    def fill(figure: Figure) -> None:
        axes = figure.subplots()
        draw_lines(axes, [("a", mean, std)])
        (bars,) = axes.containers[0].lines[2]
        found.extend(np.array(segment)[:, 1] for segment in bars.get_segments())

    draw(tmp_path / "x.png", 1.0, fill)
    np.testing.assert_allclose(found, [[0.79, 0.81], [0.68, 0.72]])
