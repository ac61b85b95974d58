"""
Stage II: features from a kernel matrix
=======================================

Stage II finds the missing cells of a table from the kernel matrix of the complete table. This
example measures how exactly, for 10 % to 97 % of the cells missing.
"""

# %%
# Distances and what is observed
# ------------------------------
#
# The gaussian kernel is a function of squared distances. So Stage II looks for cells that give the
# rows the distances which the kernel matrix states. Distances alone do not fix a table, because it
# may be rotated and shifted. The observed cells fix it. The table is every second row of
# scikit-learn's wine table: 89 rows and 13 features, scaled to [0, 1].

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
# The figure shows the largest error over all cells: a dot for each of three masks, and a line
# through their medians. An error of 1 is as wrong as possible, and 1e-14 is rounding.

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
# Up to 90 % missing, every cell comes back to rounding or nearly so. From 95 % on, features are
# wrong although the kernel matrix is right, because another table has the same observed cells and
# the same distances. A table with more rows can miss more cells, because each row adds its
# distances to all others. The :doc:`benchmarks <../benchmarks>` have a table of 270 rows.
#
# Here Stage II gets an exact kernel matrix. No table has exactly the matrix that Stage I learns, so
# Stage II then finds a compromise.
