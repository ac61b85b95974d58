"""The kernels, by their public address.

>>> from kernimpute.kernels import Gaussian
"""

from kernimpute.core import kernels as _home
from kernimpute.core.kernels import *  # noqa: F403

__all__ = list(_home.__all__)
