"""Other methods for tables with gaps, as scikit-learn estimators, one file each.

``import kernimpute`` alone does not load them. Import them by name, ``from kernimpute.baselines
import GEOMClassifier``, or all of them, ``from kernimpute import baselines``.
"""

from kernimpute.baselines.class_mean import ClassMeanImputer
from kernimpute.baselines.gaussian import GaussianClassifier
from kernimpute.baselines.genrbf import GenRBFClassifier, GenRBFKernel
from kernimpute.baselines.geom import GEOMClassifier, GEOMKernels, GEOMRound, observed_kernel
from kernimpute.baselines.karma import KARMAClassifier, karma_kernel
from kernimpute.baselines.mean import MeanClassifier
from kernimpute.baselines.newimp import NewImpImputer

__all__ = [
    "ClassMeanImputer",
    "GEOMClassifier",
    "GEOMKernels",
    "GEOMRound",
    "GaussianClassifier",
    "GenRBFClassifier",
    "GenRBFKernel",
    "KARMAClassifier",
    "MeanClassifier",
    "NewImpImputer",
    "karma_kernel",
    "observed_kernel",
]
