"""Figures are drawn from records alone, the same bytes for the same records."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.image import imread

from experiments.figures import FIGURES, write_figures
from experiments.figures.accuracy import draw_lines, shown_methods
from experiments.figures.points import class_style
from experiments.figures.style import STYLES, WIDTH, draw
from experiments.statistics import arranged
from tests.experiments.made_points import (
    convergence_records,
    moons_records,
    pca_records,
    synthetic_records,
)
from tests.experiments.made_records import classification_records, subsets_records

RECORDS = {
    "classification": classification_records,
    "life": lambda: classification_records(
        "life", ("heart", "pima"), (0.2, 0.4), ("mcar", "mar", "mnar"), held_out="amputed"
    ),
    "synthetic": synthetic_records,
    "subsets": subsets_records,
    "convergence": convergence_records,
    "pca": pca_records,
    "moons": moons_records,
}


def test_every_figure_has_records_here():
    assert set(RECORDS) == set(FIGURES)


@pytest.mark.parametrize("name", RECORDS)
def test_a_figure_is_a_column_wide_and_the_same_bytes_twice(name, tmp_path):
    kind = name if name in ("convergence", "pca", "moons") else "classification"
    config, records = SimpleNamespace(name=name, kind=kind), RECORDS[name]()
    first = write_figures(config, records, tmp_path / "once")
    second = write_figures(config, records, tmp_path / "twice")
    assert [path.stem for path in first] == list(FIGURES[name])
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
        picture = imread(one)
        assert picture.shape[1] == round(WIDTH * 150)
        # Something is drawn on the white.
        assert (picture[..., :3].min(axis=2) < 0.5).mean() > 0.003


def test_an_experiment_without_figures_writes_none(tmp_path):
    config = SimpleNamespace(name="mlp", kind="classification")
    assert write_figures(config, classification_records(), tmp_path) == []
    other = SimpleNamespace(name="life", kind="recovery")
    assert write_figures(other, classification_records(), tmp_path) == []
    assert not list(tmp_path.iterdir())


def test_without_a_run_done_there_is_no_figure(tmp_path):
    records = classification_records().assign(status="failed")
    for rows in (records, pd.DataFrame()):
        with pytest.raises(ValueError, match="records of life must have at least one run done"):
            write_figures(SimpleNamespace(name="life", kind="classification"), rows, tmp_path)


def test_the_methods_shown_follow_from_their_ranks():
    shown = shown_methods(arranged(classification_records()))
    assert shown[:2] == ["mean+svc", "mean+logistic"]
    assert {"anchored+logistic", "kernel_classifier"} <= set(shown)
    assert "direct[labels=shuffled]+svc" not in shown
    assert len(shown) <= len(STYLES)


def test_styles_differ_in_colour_marker_and_lightness():
    assert len({style.color for style in STYLES}) == len(STYLES)
    assert len({style.marker for style in STYLES}) == len(STYLES)
    # The two classes of the scatter plots differ without colour too.
    lightness = [
        np.dot(to_rgb(class_style(label).color), (0.2126, 0.7152, 0.0722)) for label in (0, 1)
    ]
    assert abs(lightness[0] - lightness[1]) > 0.2


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
