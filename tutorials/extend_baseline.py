"""
A baseline of your own in the experiments
=========================================

The package ``experiments`` repeats the paper's experiments with many methods. To see how a new
filling does there, write one function and one line. You need a copy of the repository.
"""

# %%
# Write the filler
# ----------------
#
# A filler is a function of a problem and its options that returns an imputer with scikit-learn's
# interface. Its columns are numbers in [0, 1]. In the repository it stands in a file of its own,
# here ``experiments/baselines/median.py``. On this page we make that module by hand.

import sys
import types
from pathlib import Path

from sklearn.impute import SimpleImputer

sys.path.insert(0, str(Path.cwd().parent))


def imputer(problem, options):
    """Return column medians."""
    return SimpleImputer(strategy="median")


module = types.ModuleType("experiments.baselines.median")
module.imputer = imputer
sys.modules[module.__name__] = module

# %%
# Register it
# -----------
#
# The registry names every method. In the repository this is a line of ``experiments/registry.py``.

from experiments.registry import FILLERS, Entry

FILLERS["median"] = Entry("median", "baselines.median:imputer")

# %%
# Run it
# ------
#
# A method is a filler with a classifier, such as ``median+logistic``. Every method sees the same
# rows and the same missing cells. The settings of a classifier are chosen on the holdout rows.

from experiments.make_problem import make_problem
from experiments.methods.candidates import choose
from experiments.methods.named import method
from experiments.problem import Setting

for name in ("mean+logistic", "median+logistic"):
    accuracies = []
    for repetition in range(3):
        table = "synthetic[noise_intensity=2]"
        setting = Setting(table, "mcar", 0.8, repetition, splits="hashed")
        problem = make_problem(setting, None)
        chosen = choose(method(name).candidates(problem), problem, ["plain"])["plain"]
        right = chosen.candidate.model.predict(problem.test.X) == problem.test.y
        accuracies.append(f"{right.mean():.3f}")
    print(f"{name:18}", *accuracies)

# %%
# With the two edits in the repository, this config does the same for whole tables::
#
#     kind: classification
#     description: Medians beside means.
#     datasets: [heart, pima]
#     missing_rates: [0.2, 0.6]
#     repetitions: 10
#     methods: [mean+logistic, median+logistic]
#
# ``python -m experiments run medians.yaml`` runs it. ``export`` and ``table`` write the results.
