"""
Stage II: features from a kernel matrix
=======================================

Given the kernel matrix that a complete table has, and the table with gaps, the missing cells can be
found again. This example measures how exactly, at ever higher missing rates.
"""

# %%
# Distances and what is observed
# ------------------------------
#
# The gaussian kernel is a function of squared distances, so Stage II looks for cells with which the
# rows have the distances that the kernel matrix demands. Distances alone leave the table free to
# turn and to move; the observed cells pin it. Here the table is every second row of scikit-learn's
# wine: 89 rows of 13 features, scaled to [0, 1].

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import minmax_scale

from kernimpute import recover_features
from kernimpute.kernels import Gaussian

X = np.clip(minmax_scale(load_wine().data[::2]), 0.0, 1.0)
kernel = Gaussian(gamma=1.0)
K = kernel(X, X)
target = kernel.inverse_link(K)


def remove_cells(X, rate, seed):
    """Return a copy in which a share of the cells, drawn uniformly, is NaN."""
    gone = np.zeros(X.size, dtype=bool)
    gone[np.random.default_rng(seed).permutation(X.size)[: round(rate * X.size)]] = True
    return np.where(gone.reshape(X.shape), np.nan, X)


rates = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.97)
seeds = range(3)
feature_error = np.empty((len(rates), len(seeds)))
gram_error = np.empty_like(feature_error)
for i, rate in enumerate(rates):
    for j, seed in enumerate(seeds):
        found = recover_features(
            remove_cells(X, rate, seed), target, kernel=kernel, max_sweeps=100
        ).X
        feature_error[i, j] = np.abs(found - X).max()
        gram_error[i, j] = np.abs(kernel(found, found) - K).max()

# %%
# The largest error over all cells, a dot for each of three masks. A table's cells lie in [0, 1], so
# an error of 1 is as wrong as can be and one of 1e-14 is rounding.

fig, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
for errors, label, color in (
    (feature_error, "features", "tab:blue"),
    (gram_error, "kernel matrix", "tab:orange"),
):
    ax.plot(rates, np.median(errors, axis=1), color=color, label=label)
    ax.plot(rates, errors, ".", color=color)
ax.set(yscale="log", xlabel="share of cells missing", ylabel="largest absolute error")
ax.legend()
plt.show()

print("missing  largest feature error, by mask")
for rate, errors in zip(rates, feature_error, strict=True):
    print(f"{rate:7.0%}  " + "  ".join(f"{error:.0e}" for error in errors))

# %%
# Up to 90 % missing every cell comes back to rounding or nearly so. From 95 % on the features are
# wrong although the kernel matrix is right: another table agrees with the observed cells and has
# the same distances, so nothing could tell the two apart. More rows go further, because each brings
# its distances to all others: the :doc:`benchmarks <../benchmarks>` have a table of 270 rows.
#
# This is what Stage II can do with a *right* matrix. Stage I's learned matrix is one that no table
# has exactly; the fit is then a compromise, and the :doc:`benchmarks <../benchmarks>` say what it
# is worth.
