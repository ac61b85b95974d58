r"""
A kernel of your own
====================

A kernel here is a function of a sum: each column of two rows gives a *feature term*, the terms are
added, and a *link* turns the sum into the kernel's value. All that kernimpute needs to know about
missing values follows from these two. So a new kernel is a class with five short methods.

We write the Cauchy kernel, :math:`k(x, z) = 1 / (1 + \gamma \|x - z\|^2)`.
"""

# %%
# State the kernel
# ----------------
#
# The feature term of the Cauchy kernel is the squared difference, as in the gaussian kernel. So
# ``cell = "gaussian"`` tells Stage II how to move one cell. The four kinds of terms are
# ``"gaussian"``, ``"laplacian"``, ``"product"`` and ``"chi2"``. A kernel with another term also
# needs a formula in ``methods/sweep.py``.

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
# Every function and estimator takes an object of the class in place of a kernel's name.

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
# To make a kernel part of the library, put the class into ``core/kernels.py`` and its name into
# ``KERNELS``. Then add it to ``BATTERY`` in ``tests/conftest.py``. All tests of kernels run over
# that list: gradients, bounds, positive semidefiniteness and exact recovery.
