"""The table that the tests of `fit` and `apply` share."""

from __future__ import annotations

import numpy as np
import pandas as pd

FEATURES = ["age", "height", "score", "pet", "code"]


def example_text(n_rows=40, seed=0, label=True):
    """Return a CSV with gaps: whole numbers, decimals, whole decimals, categories, codes."""
    generator = np.random.default_rng(seed)
    side = np.arange(n_rows) % 2
    columns = {
        "id": [f"{row:03d}" for row in range(n_rows)],
        "age": [str(age) for age in generator.integers(20, 80, n_rows) + 10 * side],
        "height": [f"{height:.2f}" for height in generator.normal(1.7, 0.1, n_rows) + 0.1 * side],
        "score": [f"{score}.0" for score in generator.integers(0, 9, n_rows)],
        "pet": [['"dog, big"', "cat"][at] for at in generator.integers(0, 2, n_rows)],
        "code": [str(code) for code in generator.integers(1, 4, n_rows)],
        "junk": ["x"] * n_rows,
    }
    for name in FEATURES:
        for row in np.flatnonzero(generator.random(n_rows) < 0.25):
            columns[name][row] = ""
    if label:
        columns["y"] = [["no", "yes"][at] for at in side]
        columns["y"][3] = columns["y"][8] = ""
    rows = [",".join(cells) for cells in zip(*columns.values(), strict=True)]
    return "\n".join([",".join(columns), *rows]) + "\n"


def example_frame(path):
    """Return the features as Python reads them, whole numbers as nullable integers."""
    frame = pd.read_csv(path, dtype={"pet": object, "code": object})
    for name in ("age", "score"):
        frame[name] = frame[name].astype("Int64")
    return frame
