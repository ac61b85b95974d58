"""Other methods for tables with gaps, as scikit-learn estimators.

`experiments.baselines.newimp` is imported by itself, because it needs torch.
"""

from experiments.baselines.class_mean import ClassMeanImputer
from experiments.baselines.gaussian import GaussianClassifier
from experiments.baselines.genrbf import GenRBFClassifier, GenRBFKernel
from experiments.baselines.geom import GEOMClassifier, GEOMKernels, GEOMRound, observed_kernel
from experiments.baselines.karma import KARMAClassifier, karma_kernel
from experiments.baselines.mean import MeanClassifier
