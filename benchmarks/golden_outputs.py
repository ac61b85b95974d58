"""Record what the package returns today, and compare what it returns later with it.

``python benchmarks/golden_outputs.py record FOLDER`` writes every output to FOLDER;
``... compare FOLDER`` computes them again, with the sources on PYTHONPATH, and prints what moved.
The class of a record says how far it may move, relatively to the largest value (at least 1):

- ``exact``: 1e-12. Nothing but sums and products that are not to change.
- ``released``: 1e-9, as the authors' numbers.
- ``solver``: a support vector machine or a descent was solved: 1e-3. The last objective of `direct`
  may rise by 1e-6, and fall; other objectives may move by 1e-6.
- ``pipeline``: a table's way through `impute_table` or the command line. Observed cells, dtypes
  and order must be the same, and fills be values of their column; how far they moved is printed.

Statuses and counts of rounds are listed as findings and decide nothing. The exit code is 1 where a
record differs, 2 on another kind of processor: OpenBLAS rounds differently there.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import importlib.metadata
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.impute import SimpleImputer
from threadpoolctl import threadpool_info, threadpool_limits

import kernimpute
from kernimpute import KernelImputationClassifier as Classifier
from kernimpute import KernelImputationRegressor as Regressor
from kernimpute import KernelImputer as Imputer
from kernimpute import impute, kernels, learn_kernel, recover_features

VARIANTS = ("direct", "anchored", "paper", "appendix", "released")
KERNELS = {
    "gaussian": kernels.Gaussian(0.5),
    "laplacian": kernels.Laplacian(0.5),
    "linear": kernels.Linear(),
    "polynomial": kernels.Polynomial(degree=2),
    "sigmoid": kernels.Sigmoid(gamma=0.1),
    "chi2": kernels.Chi2(),
}
TOLERANCES = {"exact": 1e-12, "released": 1e-9, "solver": 1e-3, "pipeline": np.inf}
FINDINGS = ("status", "n_iter", "n_sweeps", "rounds", "start")
NUMBERS = ("X", "K", "target", "dual_coef", "intercept", "gap", "objective", *FINDINGS[1:])
GOLDEN = Path(os.environ.get("KERNIMPUTE_GOLDEN", "../shared/golden"))
records: dict[str, tuple[str, dict]] = {}
only = [""]


def record(name, kind, function, *arguments, **options):
    """Keep what a function returns, or what it raises, under a name that is wanted."""
    # The commands read each other's files.
    if not name.startswith(only[0]) and not name.startswith("cli/"):
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            records[name] = (kind, kept_of(function(*arguments, **options)))
    except Exception as error:
        builtin = next(one for one in type(error).__mro__ if one.__module__ == "builtins")
        records[name] = (kind, {"error": builtin.__name__, "message": str(error)})


def arrays(seed, n=40, d=5, classes=2):
    """Return rows in [0, 1] with gaps, and labels (numbers for no classes) that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    score = X[:, 0] + X[:, 1] - 0.5 * X[:, 2] + 0.2 * rng.random(n)
    X[rng.random(X.shape) < 0.35] = np.nan
    cuts = np.quantile(score, np.arange(1, classes) / max(classes, 1))
    return X, (np.searchsorted(cuts, score) if classes else score)


def small_tables():
    """Return rows, labels and options of `impute` by name."""
    X, y = arrays(1)
    blank, codes = X.copy(), X.copy()
    blank[[3, 17]] = np.nan
    codes[:, 1:3] = np.floor(4 * X[:, 1:3])
    return {
        "two classes": (X, np.array(["no", "yes"])[y], {}),
        "three classes": (*arrays(2, n=45, classes=3), {}),
        "regression": (*arrays(3, classes=0), {"task": "regression"}),
        "codes": (codes, y, {"categorical": [1, 2]}),
        "weights": (X, y, {"sample_weight": np.tile([1.0, 0.5, 2.0, 0.0], 10)}),
        "nothing missing": (np.where(np.isnan(X), 0.5, X), y, {}),
        "blank rows": (blank, y, {}),
    }


def mixed(seed, n=50):
    """Return a table with a column of each dtype, gaps in all but the last, and two classes."""
    rng = np.random.default_rng(seed)
    size, count = rng.normal(50.0, 10.0, n).round(2), rng.integers(0, 20, n)
    y = (size / 10 + count / 4 + rng.normal(0.0, 1.0, n) > 7.5).astype(int)
    table = pd.DataFrame(
        {
            "size": size,
            "half": rng.random(n).astype("float32"),
            "count": pd.array(count, dtype="Int64"),
            "colour": pd.Series(rng.choice(["red", "blue", "green"], n), dtype="object"),
            "grade": pd.Categorical(rng.choice(["a", "b", "c"], n), ["c", "b", "a", "z"]),
            "text": pd.array(rng.choice(["x", "y"], n), dtype="string"),
            "flag": pd.array(rng.random(n) < 0.3 + 0.4 * y, dtype="boolean"),
            "whole": np.arange(n) % 7,
        },
        index=[f"row{i}" for i in range(n)],
    )
    gaps = rng.random(table.shape) < 0.25
    for place, name in enumerate(table.columns[:-1]):
        table.loc[gaps[:, place], name] = None
    return table, y


# ------------------------------------------------------------------------------ what is kept of it


def kept_of(found):
    """Return the numbers of a result of `learn_kernel`, `recover_features` or `impute`."""
    if isinstance(found, dict):
        return found
    objectives = np.array([one.objective for one in found.trace.records], dtype=float)
    kept = {name: getattr(found, name) for name in NUMBERS if hasattr(found, name)}
    kept |= {"status": found.status.name, "rounds": len(objectives), "objectives": objectives}
    if hasattr(found, "classes"):
        kept["classes"] = str(found.classes)
    if hasattr(found, "kernel"):
        kept["gamma"] = float(getattr(found.kernel, "gamma", 0.0))
    if getattr(found, "stage_one", 0) is None:
        # Rows that are filled alike share their coefficients in any way: only their sum is known.
        K = found.kernel(found.X, found.X)
        kept["decisions"] = K @ kept.pop("dual_coef") + found.intercept
    for stage in ("stage_one", "stage_two"):
        if getattr(found, stage, None) is not None:
            kept[stage] = kept_of(getattr(found, stage))
    return kept


def table_of(table):
    """Return a container's type, columns, dtypes, index and cells."""
    if isinstance(table, np.ndarray):
        columns = np.atleast_2d(table.T).tolist()
        return {"type": f"array {table.dtype}", "cells": dict(enumerate(map(cells_of, columns)))}
    names = list(table.columns)
    if isinstance(table, pd.DataFrame):
        kind, dtypes = f"pandas {table.index.tolist()}", table.dtypes
        lists = [table.iloc[:, place].tolist() for place in range(len(names))]
    elif isinstance(table, pl.DataFrame):
        kind, dtypes, lists = "polars", table.dtypes, [one.to_list() for one in table]
    else:
        kind, names, dtypes = "pyarrow", table.column_names, table.schema.types
        lists = [one.to_pylist() for one in table.columns]
    cells = dict(zip(names, map(cells_of, lists), strict=True))
    return {"type": kind, "columns": names, "dtypes": [str(one) for one in dtypes], "cells": cells}


def cells_of(values):
    """Return numbers as floats with NaN at gaps, and anything else as text with "" there."""
    is_gap = [bool(pd.isna(one)) for one in values]
    known = [one for one, gap in zip(values, is_gap, strict=True) if not gap]
    if all(isinstance(one, int | float) and not isinstance(one, bool) for one in known):
        return np.array([np.nan if gap else one for one, gap in zip(values, is_gap, strict=True)])
    return np.array(["" if gap else str(one) for one, gap in zip(values, is_gap, strict=True)])


def structure_of(before, after):
    """Return a filled table, its cells parted in what was observed and what was filled."""
    old, kept = table_of(before)["cells"], table_of(after)
    new, observed, fills, in_domain = kept.pop("cells"), {}, {}, True
    for name in new:
        gaps = old[name] == "" if old[name].dtype.kind == "U" else np.isnan(old[name])
        # Text of a CSV file is compared as such; of an observed cell both sides are kept.
        observed[name] = new[name][~gaps]
        filled, known = new[name][gaps], old[name][~gaps]
        # A column of a CSV file may become one of Parquet, where text is no longer the same.
        same = new[name].dtype.kind != old[name].dtype.kind or np.array_equal(observed[name], known)
        if not filled.size or not known.size:
            in_domain &= same
            continue
        try:
            filled, known = filled.astype(float), known.astype(float)
            inside = (filled >= known.min()) & (filled <= known.max()) | np.isnan(filled)
        except ValueError:
            inside = np.isin(filled, known) | (filled == "")
        in_domain &= same and bool(inside.all())
        fills[name] = filled
    return {**kept, "observed": observed, "fills": fills, "sound": in_domain}


# ------------------------------------------------------------------------------------ the recorders


def record_methods():
    """Record `impute` and `learn_kernel`."""
    gaussian = KERNELS["gaussian"]
    for variant in VARIANTS:
        kind = {"direct": "solver", "anchored": "solver", "released": "released"}
        kind = kind.get(variant, "exact")
        few, full = (20, 150) if variant == "released" else (2, None)
        fixed = {"variant": variant, "C": 2.0, "eta": 5.0, "rho": 20.0, "radius": 2.0}
        for table, (X, y, options) in small_tables().items():
            name = f"impute/{variant}/{table}"
            # Without a gap the result is a plain machine.
            plain = "solver" if table == "nothing missing" else kind
            for rounds in (few, full):
                given = {**fixed, **options, "kernel": gaussian, "max_iter": rounds}
                record(f"{name}/rounds {rounds}", plain, impute, X, y, **given)
            given = {"variant": variant, "max_iter": 5 * few, **options}
            record(f"{name}/defaults", "solver", impute, X, y, **given)
            if variant == "direct":
                given = {"tol": 1e-7, "max_iter": 2000, "kernel": gaussian, **options}
                record(f"{name}/tight", "solver", impute, X, y, **given)
        X, y = arrays(1)
        for name, kernel in KERNELS.items():
            given = {**fixed, "eta": 20.0, "kernel": kernel, "max_iter": 20 if few == 20 else 8}
            record(f"impute/{variant}/kernel {name}", kind, impute, X, y, **given)
        if variant != "direct":
            given = {"variant": variant, "kernel": gaussian, "eta": 3.0, "max_iter": 15}
            record(f"learn_kernel/{variant}", kind, learn_kernel, X, y, **given)
    references = {"mean": "mean", "expected": "expected", "table": np.where(np.isnan(X), 0.3, X)}
    references["imputer"] = SimpleImputer(strategy="median").fit(X)
    for name, reference in references.items():
        for eta in (4.0, np.inf):
            given = {"kernel": gaussian, "reference": reference, "eta": eta}
            for function in (learn_kernel, impute):
                owner = "impute/direct" if function is impute else "learn_kernel/anchored"
                record(f"{owner}/{name}/eta {eta}", "solver", function, X, y, **given)


def record_recovery():
    """Record Stage II: kernels, starts, weightings and codes."""
    rng = np.random.default_rng(5)
    truth = 0.01 + 0.99 * rng.random((30, 4))
    gaps, noise = rng.random(truth.shape) < 0.4, 0.05 * rng.random((30, 30))
    X, x, z = np.where(gaps, np.nan, truth), truth[:, None], truth[None]
    terms = {"gaussian": (x - z) ** 2, "laplacian": np.abs(x - z), "chi2": 2 * x * z / (x + z)}
    for name, kernel in KERNELS.items():
        record(f"kernels/{name}", "exact", lambda kernel: {"K": kernel(truth, truth / 2)}, kernel)
        sums = terms.get(name, x * z).sum(axis=2)
        for of, target in {"exact": sums, "noisy": sums + noise + noise.T}.items():
            for start in ("auto", "half", "mean", "random", "spectral"):
                for weights in (None, "kernel"):
                    given = {"kernel": kernel, "weights": weights, "max_sweeps": 30}
                    given["starts"] = start if start == "auto" else (start,)
                    title = f"recover/{name}/{of}/{start}/{weights}"
                    record(title, "exact", recover_features, X, target, **given)
        if name in ("gaussian", "laplacian"):
            first, coded = np.floor(3 * truth[:, :1]), X.copy()
            coded[:, 0] = np.floor(3 * X[:, 0])
            target = terms[name][:, :, 1:].sum(axis=2) + (first != first.T)
            given = {"kernel": kernel, "categorical": [0]}
            record(f"recover/{name}/codes", "exact", recover_features, coded, target, **given)


def estimator_of(estimator, X, y, new, weights=None):
    """Fit an estimator and return what it says of training rows and of new rows."""
    kept = {}
    if isinstance(estimator, Imputer):
        kept["training rows"] = table_of(estimator.fit_transform(X, y, sample_weight=weights))
        kept["names"] = [str(one) for one in estimator.get_feature_names_out()]
    else:
        estimator.fit(X, y, sample_weight=weights)
    with tempfile.TemporaryDirectory() as folder:
        kernimpute.save(estimator, Path(folder) / "saved.skops")
        loaded = kernimpute.load(Path(folder) / "saved.skops")
    for name in ("transform", "predict", "decision_function", "predict_proba"):
        if hasattr(estimator, name):
            first, second = (table_of(getattr(one, name)(new)) for one in (estimator, loaded))
            kept |= {name: first, f"{name} saved": judge("", "exact", first, second)[0]}
    kept |= {"n_iter": estimator.n_iter_, "status": estimator.status_.name}
    return kept | {"gamma": estimator.kernel_.gamma, "subsets": estimator.n_subsets_}


def record_estimators():
    """Record the three estimators on arrays and on mixed tables of three libraries."""

    def one(name, kind, estimator, *given):
        record(name, kind, estimator_of, estimator, *given)

    X, y = arrays(11, n=60)
    new = 100 * arrays(12, n=15)[0] - 20
    X, quantity, labels = 100 * X - 20, arrays(11, n=60, classes=0)[1], np.array(["no", "yes"])[y]
    new[0] = np.nan
    X3, y3 = arrays(13, n=60, classes=3)
    empty, weights = np.column_stack([X, np.full(60, np.nan)]), np.tile([1.0, 2.0, 0.0], 20)
    for rule in ("similar", "reference", "auto"):
        # With eta = inf the training rows are the reference: no machine moves them.
        for eta, kind in ((np.inf, "exact"), ("auto", "solver")):
            one(f"imputer/{rule}/{eta}", kind, Imputer(new_rows=rule, eta=eta), X, y, new)
    made = Imputer(kernel="laplacian", eta=np.inf, new_rows="similar")
    one("imputer/laplacian", "exact", made, X, labels, new)
    for variant in VARIANTS:
        given = {"variant": variant, "max_iter": 10}
        one(f"imputer/{variant}", "solver", Imputer(**given), X, y, new)
        one(f"classifier/{variant}", "solver", Classifier(cv=None, **given), X, labels, new)
    options = {
        "indicator": {"add_indicator": True},
        "balanced": {"class_weight": "balanced"},
        "range": {"feature_range": (-50.0, 100.0)},
        "subsets": {"subset_size": 20, "random_state": 3},
        "median": {"reference": SimpleImputer(strategy="median")},
        "scale": {"gamma": "scale", "C": 3.0},
        "marker": {"missing_values": [np.nan, X[np.isfinite(X)][0]]},
    }
    for name, given in options.items():
        one(f"imputer/{name}", "solver", Imputer(**given), X, y, new)
    one("imputer/float32", "solver", Imputer(), X.astype("float32"), y, new)
    one("imputer/three classes", "solver", Imputer(), X3, y3, X3[:9])
    for keep in (False, True):
        made = Imputer(keep_empty_features=keep)
        one(f"imputer/empty column/{keep}", "solver", made, empty, y, empty[:9])
    one("classifier/two", "solver", Classifier(), X, labels, new)
    one("classifier/three", "solver", Classifier(), X3, y3, X3[:9])
    for made, of in ((Imputer, y), (Imputer, quantity), (Classifier, y), (Regressor, quantity)):
        name = f"{made.__name__.removeprefix('KernelImputation').lower()}/{of.dtype}"
        name = name.replace("kernelimputer", "imputer")
        quick = {"cv": None} if made is Classifier else {}
        one(f"{name}/plain", "solver", made(**quick), X, of, new)
        one(f"{name}/weights", "solver", made(**quick), X, of, new, weights)
        one(f"{name}/subset", "solver", made(subset_size=25, **quick), X, of, new)

    (table, y), fresh = mixed(14), mixed(15, n=12)[0]
    both, in_polars = (table, fresh), {"count": pl.Int16, "grade": pl.Enum(["c", "b", "a", "z"])}
    plain = {"count": "float64", "text": "object", "flag": "object"}
    frames = {
        "pandas": both,
        "pandas plain": [one.astype(plain) for one in both],
        "pandas arrow": [one.convert_dtypes(dtype_backend="pyarrow") for one in both],
        "polars": [pl.from_pandas(one).cast(in_polars) for one in both],
        "pyarrow": [pa.Table.from_pandas(one, preserve_index=False) for one in both],
    }
    for name, (train, new) in frames.items():
        one(f"imputer/{name}", "solver", Imputer(), train, y, new)
        made = Imputer(eta=np.inf, new_rows="similar", add_indicator=True)
        one(f"imputer/{name}/reference", "exact", made, train, y, new)
        one(f"classifier/{name}", "solver", Classifier(cv=None), train, y, new)
    one("regressor/pandas", "solver", Regressor(), table, table["whole"] + 0.5 * y, fresh)
    listed = {"categorical_features": ["whole"], "handle_unknown": "missing"}
    one("imputer/pandas/codes", "solver", Imputer(**listed), table, y, fresh)


def record_tables():
    """Record `impute_table`: dtypes, observed cells and fills."""

    def filled(table, **options):
        found = kernimpute.impute_table(table, "outcome", **options)
        table = table.replace(options.get("missing_values", []), np.nan)
        kept = {"filled": {str(name): count for name, count in found.filled.items()}}
        kept |= {"unlabelled": found.n_unlabelled, "status": found.status.name}
        return kept | structure_of(table, found.table)

    def one(name, table, **options):
        record(f"impute_table/{name}", "pipeline", filled, table, **options)

    table, y = mixed(21)
    table = table.assign(outcome=np.array(["no", "yes"])[y], id=np.arange(1000, 1050))
    numbers = table[["size", "half", "count"]].assign(outcome=table["whole"] + 0.3 * y)
    one("mixed", table, ignore=["id"])
    one("dropped", table, drop=["id", "text"], categorical=["whole"])
    for variant in VARIANTS[1:]:
        one(variant, table, ignore=["id"], variant=variant, max_iter=10)
        one(f"{variant}/regression", numbers, variant=variant, max_iter=10)
    one("subsets", table, ignore=["id"], subset_size=20)
    one("laplacian", table, ignore=["id"], kernel="laplacian", eta=3.0)
    open_rows = table.copy()
    open_rows.loc[open_rows.index[::6], "outcome"] = None
    one("unlabelled", open_rows, ignore=["id"])
    for kernel in KERNELS:
        one(f"regression/{kernel}", numbers, kernel=kernel)
    one("markers", table.assign(whole=table["whole"].replace(3, -9)), missing_values=[-9])
    one("nothing missing", table[["whole", "outcome"]])
    one("no label", table.drop(columns="outcome"))


def record_commands():
    """Record the files that the command line writes."""
    table, y = mixed(31)
    table = table.assign(outcome=np.array(["no", "yes"])[y], id=[f"{i:04d}" for i in range(50)])
    table = table.assign(note='a, "b"', code=[f"0{i % 3}" for i in range(50)])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table.to_parquet(folder / "in.parquet", index=False)
        table[:15].drop(columns="outcome").to_parquet(folder / "new.parquet", index=False)
        # Cells of every style: their text is to come back as it is.
        text = table.astype(object).map(lambda one: "" if pd.isna(one) else str(one))
        text.loc[text.index[::9], "size"] = ["5e1", "050.0", "+48.20", "51.", ".5e2", "?"]
        for suffix, separator in (("csv", ","), ("tsv", "\t"), ("csv.gz", ",")):
            text.to_csv(folder / f"in.{suffix}", sep=separator, index=False)
        text[:15].to_csv(folder / "new.csv", index=False)
        label = "--target outcome --ignore id --drop note --missing-values ?"
        for line in (
            f"impute in.csv {label} --report report.html -o out.csv",
            f"impute in.csv {label} -o mixed.parquet",
            f"impute in.parquet {label} -o out.parquet",
            f"impute in.parquet {label} --variant paper --max-iter 5 -o mixed.csv",
            f"impute in.tsv {label} --kernel laplacian --C 2 --eta 8 -o out.tsv",
            f"impute in.csv.gz {label} --variant anchored --categorical whole -o zip.csv.gz",
            f"impute in.csv {label} --subset-size 20 -o subsets.csv",
            f"impute in.parquet {label} --subset-size 20 -o subsets.parquet",
            "impute in.csv --target size --missing-values ? --ignore id,note -o whole.csv",
            f"fit in.csv {label} -o csv.skops",
            f"fit in.parquet {label} -o parquet.skops",
            "apply csv.skops new.csv -o filled.csv",
            "apply parquet.skops new.parquet -o filled.parquet",
            f"impute in.csv {label} -o out.csv",
            "impute in.csv --target nowhere -o never.csv",
        ):
            record(f"cli/{line}", "pipeline", written_by, folder, line)
        files = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
        record("cli/files", "exact", dict, files=files)


def written_by(folder, line):
    """Run one command and return its exit code, and its table beside the one that it read."""
    there = folder / line.split()[-1]
    existed = there.exists()
    program = [sys.executable, "-m", "kernimpute", *line.split(), "--quiet"]
    own = {"PYTHONPATH": str(Path(kernimpute.__file__).parents[1]), "OPENBLAS_NUM_THREADS": "1"}
    own = {**os.environ, **own}
    done = subprocess.run(program, cwd=folder, env=own, capture_output=True, text=True, check=False)
    kept = {"exit code": done.returncode, "message": done.stderr[-300:]}
    if done.returncode or existed or there.suffix == ".skops":
        return kept
    source = next(word for word in line.split() if word.startswith(("in.", "new.")))
    kept |= structure_of(read(folder / source), read(there))
    if there.suffix == ".parquet":
        kept["dtypes"] = [str(one) for one in pq.read_schema(there).types]
    return kept


def read(path):
    """Return a table; of a text file the text of its cells, None at gaps."""
    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", newline="") as file:
        header, *rows = csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ",")
    cells = [[None if one in ("", "?") else one for one in row] for row in rows]
    return pd.DataFrame(cells, columns=header, dtype=object)


def record_authors(golden):
    """Record `released` on the inputs of the authors' numbers, under the names of these."""

    def released(given):
        options = {"C": float(given["C"]), "eta": float(given["eta"]), "radius": float(given["r"])}
        options |= {"variant": "released", "kernel": kernels.Gaussian(float(given["gamma"]))}
        X = np.where(given["mask_missing"] == 1, np.nan, given["X_miss"])
        found = kept_of(impute(X, given["y"], **options))
        first, second = found["stage_one"], found["stage_two"]
        return {
            "alpha": given["y"] * found["dual_coef"],
            "bias": found["intercept"],
            "K_tilde": first["K"],
            "stage2_target": -first["target"],
            "X_filled": found["X"],
            "stage2_objective_history": second["objectives"],
            "stage1_iterations": first["n_iter"],
            "stage2_sweeps": second["n_sweeps"],
        }

    for name, given in golden.items():
        record(f"authors/{name}", "released", released, given)


# ----------------------------------------------------------------------------------- the comparison


def flat(values, prefix=""):
    """Return nested values under names with dots."""
    found = {}
    for name, value in values.items():
        is_nested = isinstance(value, dict)
        found |= flat(value, f"{prefix}{name}.") if is_nested else {f"{prefix}{name}": value}
    return found


def difference(old, new):
    """Return the largest absolute difference (of text: the share), and the relative one."""
    a, b = np.asarray(old), np.asarray(new)
    if a.shape != b.shape or (a.dtype.kind in "fiu") != (b.dtype.kind in "fiu"):
        return np.inf, np.inf
    if a.dtype.kind not in "fiu":
        share = float(np.mean(a != b)) if a.size else 0.0
        return share, share
    known = np.isfinite(a)
    if not np.array_equal(np.where(known, 0.0, a), np.where(np.isfinite(b), 0.0, b), True):
        return np.inf, np.inf
    moved = float(np.max(np.abs(a[known] - b[known]), initial=0.0))
    return moved, moved / max(1.0, float(np.max(np.abs(a[known]), initial=0.0)))


def judge(name, kind, old, new):
    """Return the verdict, the largest differences and their field, and the findings."""
    old, new, verdict, worst, findings = flat(old), flat(new), "equal", (0.0, 0.0, ""), []
    for field in sorted((old.keys() | new.keys()) - {"message"}):
        if field not in old or field not in new:
            change = f"{field} is {'gone' if field in old else 'new'}. {new.get('message', '')}"
            return "DIFFERS", np.inf, np.inf, change, findings
        a, b, allowed = old[field], new[field], TOLERANCES[kind]
        if field.split(".")[-1] in FINDINGS:
            findings += [] if a == b else [f"{field} {a} -> {b}"]
            continue
        if field.endswith("objectives") and len(a) and len(b):
            if kind == "solver" or len(a) != len(b):
                # Only the end counts; of a descent a lower one is as good.
                a, b, allowed = a[-1], b[-1], max(allowed, 1e-6) if kind != "solver" else 1e-6
                b = max(a, b) if name.startswith("impute/direct") else b
        if kind == "pipeline" and not field.startswith("fills."):
            allowed = 0.0
        moved, relative = difference(a, b)
        here = "equal" if relative <= TOLERANCES["exact"] else "within"
        here = "DIFFERS" if relative > allowed else here
        # The field that is named is one that decides the verdict.
        if (here == "DIFFERS", relative) > (verdict == "DIFFERS", worst[1]) or not worst[2]:
            worst = (moved, relative, field)
            verdict = here
    return verdict, *worst, findings


def environment():
    """Return what rounding depends on."""
    names = ("numpy", "scipy", "scikit-learn", "numba", "pandas", "polars", "pyarrow")
    blas = [one["architecture"] for one in threadpool_info() if "architecture" in one]
    return {"OpenBLAS": sorted(blas), **{one: importlib.metadata.version(one) for one in names}}


def main():
    """Record or compare; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command", choices=("record", "compare"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--any-machine", action="store_true", help="compare across processors")
    parser.add_argument("--all", action="store_true", help="list equal records, too")
    parser.add_argument("--only", default="", help="compare records whose name starts so")
    given = parser.parse_args()
    path, began, here = given.folder / "golden.pickle", time.perf_counter(), environment()
    print(f"kernimpute of {Path(kernimpute.__file__).parent}, {json.dumps(here)}", flush=True)
    stored = pickle.loads(path.read_bytes()) if given.command == "compare" else None
    if stored and stored["environment"] != here and not given.any_machine:
        print(f"Recorded elsewhere: {json.dumps(stored['environment'])}. See --any-machine.")
        return 2
    only[0] = given.only
    files = sorted(GOLDEN.glob("*.npz"))
    golden = stored["golden"] if stored else {one.stem: dict(np.load(one)) for one in files}
    if not golden:
        print(f"No authors' numbers in {GOLDEN.resolve()}: name their folder by KERNIMPUTE_GOLDEN.")
    recorders = {
        "impute learn_kernel": record_methods,
        "recover kernels": record_recovery,
        "imputer classifier regressor": record_estimators,
        "impute_table": record_tables,
        "cli": record_commands,
        "authors": lambda: record_authors(golden),
    }
    for names, recorder in recorders.items():
        if not given.only or given.only.split("/")[0] in names.split():
            start = time.perf_counter()
            with threadpool_limits(1):
                recorder()
            print(f"{names}: {time.perf_counter() - start:.0f} s", flush=True)
    # Today's numbers are judged by the authors' own, too.
    against = {
        name: (kind, {one: golden[name.split("/")[1]][one] for one in values})
        for name, (kind, values) in records.items()
        if name.startswith("authors/") and "error" not in values
    }
    against |= stored["records"] if stored else {}
    counts, findings = Counter(), []
    for name, (kind, old) in against.items():
        if name.startswith(given.only):
            new = records.get(name, (kind, {"message": "Not computed."}))[1]
            verdict, moved, relative, field, found = judge(name, kind, old, new)
            counts[f"{kind} {verdict}"] += 1
            findings += [f"finding: {name}: {one}" for one in found]
            if given.all or verdict != "equal":
                print(f"{verdict:7} {kind:8} {moved:8.1e} {relative:8.1e}  {name}  [{field}]")
    print(*findings, sep="\n")
    if stored is None:
        given.folder.mkdir(parents=True, exist_ok=True)
        whole = {"environment": here, "golden": golden, "records": records | against}
        path.write_bytes(pickle.dumps(whole))
        for name, (_, values) in records.items():
            if "error" in values or values.get("exit code") or values.get("sound") is False:
                print(f"look at: {name}: {values.get('message', 'not sound')[:150]}")
    print(f"{len(records)} records in {time.perf_counter() - began:.0f} s;", end=" ")
    print(*(f"{name}: {count}" for name, count in sorted(counts.items())), sep=", ")
    return int(any(name.endswith("DIFFERS") for name in counts))


if __name__ == "__main__":
    sys.exit(main())
