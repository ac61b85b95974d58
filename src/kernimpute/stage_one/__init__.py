"""Stage I: learn a kernel matrix from incomplete rows and their labels."""

from kernimpute.stage_one.learn import LearnedKernel, learn_kernel
from kernimpute.stage_one.variants import VARIANTS

__all__ = ["VARIANTS", "LearnedKernel", "learn_kernel"]
