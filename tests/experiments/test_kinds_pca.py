import numpy as np
import pytest
from sklearn.decomposition import PCA

from experiments.config import PcaConfig
from experiments.kinds import pca
from experiments.make_problem import make_problem
from experiments.problem import Setting


def config(*methods):
    return PcaConfig.model_validate(
        {
            "name": "trial",
            "kind": "pca",
            "description": "A trial.",
            "dataset": "heart",
            "missing_rate": 0.5,
            "methods": [{"name": name} for name in methods],
        }
    )


def points(method, data_dir):
    trial = config(method)
    (unit,) = pca.units(trial)
    rows = pca.rows(trial, unit, method, data_dir)
    assert all(set(row) == set(pca.columns) for row in rows)
    assert [row["point"] for row in rows] == list(range(len(rows)))
    return rows, np.array([[row["component_1"], row["component_2"]] for row in rows])


@pytest.fixture
def train(data_dir):
    return make_problem(Setting("heart", "mcar", 0.5, 0), data_dir).train


def test_complete_rows_are_seen_in_their_own_plane(data_dir, train):
    rows, seen = points("complete", data_dir)
    assert [row["label"] for row in rows] == train.y.tolist()
    np.testing.assert_allclose(seen.mean(axis=0), 0.0, atol=1e-12)
    expected = PCA(n_components=2).fit(train.truth).explained_variance_
    np.testing.assert_allclose(seen.var(axis=0, ddof=1), expected, rtol=1e-10)


def test_filled_rows_are_seen_in_the_plane_of_the_complete_ones(data_dir, train):
    rows, seen = points("mean+logistic", data_dir)
    filled = np.where(np.isnan(train.X), np.nanmean(train.X, axis=0), train.X)
    plane = PCA(n_components=2).fit(train.truth)
    np.testing.assert_allclose(np.abs(seen), np.abs(plane.transform(filled)), atol=1e-10)
    assert '"C"' in rows[0]["parameters"]


def test_a_method_that_fills_nothing_or_does_not_exist_is_refused(data_dir):
    with pytest.raises(ValueError, match="A method of pca must fill the training rows; got 'hgb'"):
        points("hgb", data_dir)
    with pytest.raises(ValueError, match="A method of pca must fill .*; got 'hgb\\+indicators'"):
        pca.units(config("hgb+indicators"))
    with pytest.raises(ValueError, match="'median'"):
        pca.units(config("median+svc"))
