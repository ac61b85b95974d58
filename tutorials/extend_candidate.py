"""
A candidate of your own in compare
==================================

:func:`kernimpute.compare` asks whether filling helps on your table. It compares fillings and
learners that are built in. You can add any estimator of scikit-learn that takes your table as it
is, with its missing values.
"""

# %%
# Write the candidate
# -------------------
#
# A candidate is an estimator with ``fit`` and ``predict_proba``, or with ``fit`` and ``predict`` if
# the label is a quantity. Everything that it learns must be learned in ``fit``, because ``compare``
# calls ``fit`` inside the folds. A pipeline does that.

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from kernimpute import compare

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X.iloc[:, :10]
X = X.mask(np.random.default_rng(0).random(X.shape) < 0.4)

forest = make_pipeline(
    SimpleImputer(strategy="median", add_indicator=True),
    RandomForestClassifier(n_estimators=100, min_samples_leaf=3, random_state=0),
)

# %%
# Compare it
# ----------
#
# The name in ``candidates`` is yours. Mean imputation before a logistic regression is always
# there as the yardstick. We ask for one repetition of five folds; keep the default of three for a
# decision.

found = compare(X, y, candidates={"forest": forest}, methods=["joint"], repeats=1, n_jobs=1)
found.table

# %%
# The verdict names your candidate only if it gains more than the margin, and more than chance.

print(found.verdict)
