"""The six kernels, by their public address.

>>> from kernimpute.core.kernels import Gaussian
"""

from kernimpute.core.kernels import (
    KERNELS,
    Chi2,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
    make_kernel,
)

__all__ = [
    "KERNELS",
    "Chi2",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "Polynomial",
    "Sigmoid",
    "make_kernel",
]
