"""
Quick start
===========

You have a table with missing values, and a label to predict. This page fills the table, predicts
from rows with missing values, and asks whether filling was worth it. It takes ten minutes to read.
"""

# %%
# A table with missing values
# ---------------------------
#
# The table is scikit-learn's diabetes table: 442 patients, ten measurements, and the progress of
# their disease a year later. We turn sex into a category and progress into a label. Then we remove
# 30 % of the cells at random. On your own table, begin with ``pandas.read_csv``.

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

measured = load_diabetes(as_frame=True, scaled=False)
complete = measured.data.astype({"age": "Int64"}).rename(columns={"s5": "log_triglycerides"})
complete["sex"] = complete["sex"].map({1.0: "one", 2.0: "two"}).astype("category")
y = (measured.target > 150).map({True: "fast", False: "slow"}).rename("progress")

rng = np.random.default_rng(0)
X = complete.mask(rng.random(complete.shape) < 0.3)
X.head()

# %%
# Fill the table
# --------------
#
# ``KernelImputer`` is a transformer of scikit-learn. It does not need the label. The filled table
# has the same columns, index and dtypes. Observed cells do not change.

from kernimpute import KernelImputer

imputer = KernelImputer()
X_filled = imputer.fit_transform(X)
X_filled.head()

# %%
# We removed these cells ourselves, so we can see how far the fills are from the truth. The error is
# the root mean square over the removed cells, in standard deviations of the column. Mean imputation
# has an error of about 1.

numbers = complete.select_dtypes("number").columns
removed = X[numbers].isna().to_numpy()


def error(filled):
    """Return the error of filled cells, in standard deviations of their column."""
    difference = (filled[numbers].astype(float) - complete[numbers].astype(float)).to_numpy()
    deviation = complete[numbers].astype(float).std().to_numpy()
    return np.sqrt(np.mean((difference / deviation)[removed] ** 2))


means = X.fillna(X[numbers].astype(float).mean().round().to_dict())
print(f"mean imputation  {error(means):.2f}")
print(f"KernelImputer    {error(X_filled):.2f}")

# %%
# Predict from rows with missing values
# -------------------------------------
#
# You need not fill a table to predict from it. ``KernelImputationClassifier`` takes missing values
# in the training rows and in the new rows. For a quantity there is ``KernelImputationRegressor``.

from kernimpute import KernelImputationClassifier

X_train, X_new, y_train, y_new = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
classifier = KernelImputationClassifier().fit(X_train, y_train)
print(f"accuracy on new rows: {classifier.score(X_new, y_new):.2f}")
pd.DataFrame(classifier.predict_proba(X_new), columns=classifier.classes_).head(3).round(2)

# %%
# Should I fill at all, and with what?
# ------------------------------------
#
# ``compare`` cross-validates fillings and learners on your table, and answers in one sentence. It
# recommends something beyond mean imputation only if the gain is not chance. To be quick, we
# compare a few candidates over one repetition of five folds. Leave out ``methods`` and ``repeats``
# for a decision.

from kernimpute import compare

few = ["means", "joint", "linear", "unfilled", "kernimpute"]
found = compare(X, y, methods=few, repeats=1, n_jobs=1)
print(found.verdict)
found.table

# %%
# The same in the shell
# ---------------------
#
# The command line does all this without Python. It reads CSV, Excel, Parquet and other formats.

import subprocess
import sys
import tempfile
from pathlib import Path

folder = Path(tempfile.mkdtemp())
X.assign(progress=y).to_csv(folder / "patients.csv", index=False)


def shell(command):
    """Run a command in the folder and show what it prints."""
    program, *arguments = command.split()
    done = subprocess.run(
        [sys.executable, "-m", program, *arguments], cwd=folder, capture_output=True, text=True
    )
    print(f"$ {command}\n{done.stdout}{done.stderr}")


shell("kernimpute impute patients.csv --target progress -o filled.csv --report report.html")

# %%
# ``fit --predict`` saves a predictor, and ``predict`` writes labels and probabilities beside the
# rows of another table.

shell("kernimpute fit patients.csv --target progress --predict -o predictor.skops")
X_new.to_csv(folder / "new_patients.csv", index=False)
shell("kernimpute predict predictor.skops new_patients.csv -o predicted.csv")
pd.read_csv(folder / "predicted.csv").iloc[:3, -3:]

# %%
# Where to go next
# ----------------
#
# - :doc:`Fill a table </filling>` explains what the fills are, and gives their uncertainty.
# - :doc:`Predict </predicting>` says which predictor to take when.
# - :doc:`Choose and compare </compare>` explains how the verdict is reached.
# - :doc:`Labels and leakage </labels>` is for everyone who cross-validates.
