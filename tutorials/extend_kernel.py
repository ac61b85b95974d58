r"""
A kernel of your own
====================

A kernel here is a function of a sum: each column of two rows gives a *feature term*, the terms are
added, and a *link* turns the sum into the kernel's value. From these two kernimpute computes how
far a missing cell can change the kernel. So a new kernel is a class with five short methods.

We write the Cauchy kernel, :math:`k(x, z) = 1 / (1 + \gamma \|x - z\|^2)`.
"""

# %%
# State the kernel
# ----------------
#
# The feature term of the Cauchy kernel is the squared difference, as in the gaussian kernel. Stage
# II, which finds the missing cells from a kernel matrix, moves one cell at a time. ``cell`` names
# its formula: ``"gaussian"``, ``"laplacian"``, ``"product"`` or ``"chi2"``. A kernel with another
# term also needs a formula in ``methods/sweep.py``. ``is_distance`` says that the sum is 0 between
# a row and itself, and ``is_euclidean`` that it is a squared distance or an inner product.

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import minmax_scale

from kernimpute import KernelImputer, impute, recover_features
from kernimpute.kernels import Kernel


@dataclass(frozen=True)
class Cauchy(Kernel):
    """The kernel 1 / (1 + gamma s), where s is the squared distance of two rows."""

    gamma: float = 1.0

    cell = "gaussian"
    is_distance = True
    is_euclidean = True

    def feature_term(self, x, z):
        """Return the squared differences."""
        return (x - z) ** 2

    def feature_gradient(self, x, z):
        """Return the derivative of `feature_term` in x."""
        return 2.0 * (x - z)

    def link(self, sums):
        """Return the kernel's values."""
        return 1.0 / (1.0 + self.gamma * sums)

    def link_gradient(self, sums):
        """Return the derivative of `link`."""
        return -self.gamma * self.link(sums) ** 2

    def inverse_link(self, K):
        """Return the sums that give the values K."""
        return (1.0 / np.clip(K, 1e-12, 1.0) - 1.0) / self.gamma


# %%
# Use it
# ------
#
# Functions and estimators take an object of the class in place of a kernel's name. The estimators
# use a kernel with ``guidance`` or ``machine="svm"`` only.

X_complete, y = load_wine(return_X_y=True)
X_complete = minmax_scale(X_complete)
removed = np.random.default_rng(0).random(X_complete.shape) < 0.3
X = np.where(removed, np.nan, X_complete)

kernel = Cauchy(gamma=1.0)
result = impute(X, y, kernel=kernel, variant="anchored")
print(result.status.name)

guided = KernelImputer(guidance="direct", kernel=kernel).fit(X, y)
print(guided.kernel_)

# %%
# Test it
# -------
#
# Stage II recovers the missing cells from the complete kernel matrix. If the recovery is exact, the
# terms, the link and its inverse agree with each other.

target = kernel.inverse_link(kernel(X_complete, X_complete))
recovered = recover_features(X, target, kernel=kernel)
largest_error = np.abs(recovered.X - X_complete).max()
print(f"largest error: {largest_error:.0e}")
assert largest_error < 1e-8

# %%
# To make a kernel part of the library, put the class with type annotations into
# ``core/kernels.py``, and its name into ``__all__`` and ``KERNELS`` there and into
# ``docs/api.rst``. In ``tests/conftest.py`` add it to ``BATTERY`` and its feature term to
# ``TERMS``. The tests of kernels run over these lists: gradients, bounds, positive
# semidefiniteness, recovery.
