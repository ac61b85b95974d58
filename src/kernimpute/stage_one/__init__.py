"""Stage I: learn a kernel matrix from incomplete rows and their labels."""

from kernimpute.stage_one.learn import LearnedKernel, learn_from_rows, learn_kernel
from kernimpute.stage_one.options import StageOneOptions, stage_one_options
from kernimpute.stage_one.variants import VARIANTS

__all__ = [
    "VARIANTS",
    "LearnedKernel",
    "StageOneOptions",
    "learn_from_rows",
    "learn_kernel",
    "stage_one_options",
]
