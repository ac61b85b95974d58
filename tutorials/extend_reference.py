"""
A reference imputation of your own
==================================

Without guidance, the reference imputation fills the missing cells. With guidance, it is what the
guided cells are held near. The default is the joint reference. Any imputer with scikit-learn's
``fit`` and ``transform`` can take its place.
"""

# %%
# Write the imputer
# -----------------
#
# kernimpute gives your imputer a matrix: numbers scaled to [0, 1], categories as indicators, NaN
# where a cell is missing. It must return the matrix without NaN. This one fills by the median of
# the ten most similar rows.

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_wine
from sklearn.metrics.pairwise import nan_euclidean_distances

from kernimpute import KernelImputer


class NeighbourMedian(TransformerMixin, BaseEstimator):
    """Fill each missing cell with the median of the nearest training rows that observe it."""

    def __init__(self, n_neighbors=10):
        self.n_neighbors = n_neighbors

    def fit(self, X, y=None):
        """Keep the training rows."""
        self.rows_ = np.array(X)
        self.medians_ = np.nanmedian(self.rows_, axis=0)
        return self

    def transform(self, X):
        """Return filled rows."""
        filled = np.array(X)
        distances = np.nan_to_num(nan_euclidean_distances(filled, self.rows_), nan=np.inf)
        for row, order in zip(filled, np.argsort(distances, axis=1), strict=True):
            for column in np.flatnonzero(np.isnan(row)):
                values = self.rows_[order, column]
                nearest = values[~np.isnan(values)][: self.n_neighbors]
                row[column] = np.median(nearest) if nearest.size else self.medians_[column]
        return filled


# %%
# Use it
# ------
#
# ``KernelImputer`` clones the imputer and fits it to the training rows. It keeps dtypes, ranges and
# observed cells as always.

X_complete, y = load_wine(return_X_y=True, as_frame=True)
removed = np.random.default_rng(0).random(X_complete.shape) < 0.3
X = X_complete.mask(removed)

# %%
# We compare errors over the removed cells, in standard deviations of the column.

deviations = X_complete.std()
references = {"joint": "joint", "means": "mean", "neighbours": NeighbourMedian()}
for name, reference in references.items():
    filled = KernelImputer(reference=reference).fit_transform(X)
    difference = ((filled - X_complete) / deviations).to_numpy()
    print(f"{name:12}{np.sqrt(np.mean(difference[removed] ** 2)):.3f}")

# %%
# With ``guidance`` the labels move the cells away from your fills, as far as ``eta`` allows.

guided = KernelImputer(reference=NeighbourMedian(), guidance="direct").fit_transform(X, y)
print(guided.isna().sum().sum(), "missing cells left")
