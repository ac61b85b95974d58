"""Small labelled tables with gaps that the tests of the estimators share."""

import random
import warnings
from contextlib import contextmanager

import numpy as np
import pandas as pd

GUIDED = {"guidance": "direct", "reference": "mean"}
"""Fills of training rows that labels move away from column means."""
GUIDED_SVM = {**GUIDED, "machine": "svm"}


def amputed(X, share, generator):
    """Return a copy of X in which each cell is NaN with probability `share`."""
    X = np.array(X, dtype=float)
    X[generator.random(X.shape) < share] = np.nan
    return X


def uniform_rows(n_samples=40, n_features=5, share=0.3, seed=0):
    """Return the rows of `cases/README.md`: uniform, labelled by column 0 before the gaps."""
    generator = np.random.default_rng(seed)
    X = generator.random((n_samples, n_features))
    y = (X[:, 0] > 0.5).astype(int)
    return amputed(X, share, generator), y


def related_rows(n_samples=60, n_features=4, share=0.25, seed=0, n_classes=2):
    """Return rows whose columns depend on each other and on the label, none of them complete."""
    generator = np.random.default_rng(seed)
    y = np.arange(n_samples) % n_classes
    centre = generator.permutation(n_samples)[:, None] / n_samples
    X = 10.0 * y[:, None] + 8.0 * centre + generator.normal(0.0, 2.0, (n_samples, n_features))
    return amputed(X, share, generator), y


def regression_rows(n_samples=60, n_features=4, share=0.25, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.random((n_samples, n_features))
    noisy = 3.0 * X[:, 0] - 2.0 * X[:, 1] ** 2 + 0.3 * generator.normal(size=n_samples)
    y = 50.0 + 20.0 * noisy
    return amputed(X, share, generator), y


def mixed_table(n_samples=48, share=0.25, seed=0):
    """Return a table of many dtypes with gaps and an odd index, and labels that it tells of."""
    generator = np.random.default_rng(seed)
    y = np.arange(n_samples) % 2
    noise = generator.random(n_samples) < 0.2
    side = np.where(noise, 1 - y, y)
    frame = pd.DataFrame(
        {
            "height": generator.normal(170, 8, n_samples) + 6 * side,
            "weight": (generator.normal(70, 9, n_samples) + 5 * side).astype("float32"),
            "age": pd.array(generator.integers(20, 80, n_samples), dtype="Int64"),
            "smoker": pd.array(side.astype(bool), dtype="boolean"),
            "town": np.where(generator.random(n_samples) < 0.5, "Ulm", "Bonn").astype(object),
            "grade": pd.Categorical(
                generator.choice(["low", "mid", "high"], n_samples),
                categories=["low", "mid", "high"],
                ordered=True,
            ),
        },
        index=pd.Index(generator.permutation(n_samples) + 100, name="row"),
    )
    for name in frame.columns:
        gaps = generator.random(n_samples) < share
        frame.loc[frame.index[gaps], name] = None
    return frame, y


def same_bits(a, b):
    """Return whether two arrays hold the same bytes at every place."""
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def assert_filled(before, after):
    """Assert that a float array came back without gaps, its observed cells to the last bit."""
    before, after = np.asarray(before), np.asarray(after)
    assert after.shape == before.shape and np.isfinite(after).all()
    observed = ~np.isnan(before)
    assert same_bits(after[observed], before[observed])


def assert_table_filled(before, after):
    """Assert that a frame came back with its dtypes, its index and its observed cells, no gaps."""
    assert after.index.equals(before.index) and after.columns.equals(before.columns)
    assert after.dtypes.to_dict() == before.dtypes.to_dict()
    assert not after.isna().any(axis=None)
    for place in range(before.shape[1]):
        seen = before.iloc[:, place].notna().to_numpy()
        pd.testing.assert_series_equal(
            after.iloc[:, place][seen], before.iloc[:, place][seen], check_exact=True
        )


def global_generators():
    """Return the state of NumPy's global generator and of Python's, as something to compare."""
    _, key, *rest = np.random.get_state()
    return key.tobytes(), rest, random.getstate()


@contextmanager
def collected_warnings():
    """Collect every warning, once for each time it is given."""
    with warnings.catch_warnings(record=True) as collected:
        warnings.simplefilter("always")
        yield collected
