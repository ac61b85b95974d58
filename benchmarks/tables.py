"""The committed results as tables in Markdown, for the page docs/benchmarks.md.

The build of the documents calls `all_tables`, so that no figure is typed by hand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from math import floor, log10
from typing import Any

from benchmarks.setting import RESULTS

__all__ = ["all_tables"]

Rows = list[list[str]]


def all_tables() -> dict[str, str]:
    """Return every table by the name of its results."""
    tables: dict[str, Callable[[dict[str, Any]], str]] = {
        "accuracy": accuracy,
        "anchor": anchor,
        "defaults": defaults,
        "growth": growth,
        "joint": joint,
        "multiclass": multiclass,
        "new_rows": new_rows,
        "predictor": predictor,
        "recovery": recovery,
        "regression": regression,
        "rivals": rivals,
        "speed": speed,
        "stream": stream,
        "verdicts": verdicts,
    }
    made = {}
    for name, table in tables.items():
        text = (RESULTS / f"{name}.json").read_text(encoding="utf-8")
        made[name] = table(json.loads(text))
    return made


def accuracy(found: dict[str, Any]) -> str:
    """Return the accuracy of mean imputation, and what each variant's fills gain over it."""
    refits = [one for one in found["summary"] if one["reading"] == "refit"]
    by = {(one["method"], one["missing_rate"]): one for one in refits}
    rates = sorted({rate for _, rate in by})
    methods = ["direct", "direct, eta selected", "anchored", "paper", "appendix", "released"]
    means = [f"{by['mean', rate]['accuracy']:.3f}" for rate in rates]
    rows = [["mean imputation, accuracy", *means]]
    for method in methods:
        cells = [by[method, rate] for rate in rates]
        shown = [gain(one["gain over mean"], one["its standard error"]) for one in cells]
        rows.append([f"`{method}`, gain", *shown])
    return table(["fills", *map(percent, rates)], rows)


def anchor(found: dict[str, Any]) -> str:
    """Return the mean gain over column means for every eta, and the worst table's."""
    rows = []
    etas = sorted({one["eta"] for one in found["gains"]})
    for classifier in ("SVC", "logistic"):
        of = [one for one in found["gains"] if one["classifier"] == classifier]
        columns = [[one["mean"] for one in of if one["eta"] == eta] for eta in etas]
        rows.append([classifier, *(gain(sum(one) / len(one)) for one in columns)])
        rows.append([f"{classifier}, the worst table", *(gain(min(one)) for one in columns)])
    return table(["classifier", *(f"η = {eta:.0f} C" for eta in etas)], rows)


def defaults(found: dict[str, Any]) -> str:
    """Return in how many settings a method is worse and better than mean imputation."""
    names = {
        "KernelImputer()": "`KernelImputer`, guided",
        "KernelImputer(eta=inf)": "the same without labels",
        "KNNImputer()": "`KNNImputer`",
        "KernelImputationClassifier()": "guided SVM",
    }
    keys = ("settings", "worse", "better", "worse after Holm, 5 %")
    rows = []
    for method, name in names.items():
        one = found["counts"][method]
        gains = [gain(one["mean difference"], digits=4), gain(one["smallest difference"])]
        rows.append([name, *(str(one[key]) for key in keys), *gains])
    return table(["method", *keys, "mean difference", "smallest"], rows)


def growth(found: dict[str, Any]) -> str:
    """Return the seconds by the number of rows, and the exponent of their growth."""
    names = {
        "eigh": "one `eigh`",
        "anchored": "`anchored` to a duality gap of 0.001",
        "direct": "`direct`",
        "sweep": "one sweep of Stage II",
        "recovery": "Stage II from the exact kernel",
    }
    rows = []
    for key, name in names.items():
        spent = [seconds(one["seconds"][key]) for one in found["cases"]]
        rows.append([name, *spent, f"{found['exponents'][key]:.2f}"])
    sizes = [f"{one['n_samples']:,} rows" for one in found["cases"]]
    return table(["", *sizes, "exponent"], rows)


def joint(found: dict[str, Any]) -> str:
    """Return the seconds of a default `KernelImputer` beside those of `IterativeImputer`."""
    rows = []
    for one in found["runs"]:
        rival = one.get("iterative_imputer_seconds")
        ours = [one["fit_transform_seconds"], one["without_the_remainder"]]
        rows.append([f"{one['n_rows']:,}\u00a0×\u00a0{one['n_columns']:,}", *map(seconds, ours)])
        rows[-1] += [seconds(rival) if rival else "–", speed_of(one["transform_rows_per_second"])]
    header = ["table", "`fit_transform`", "without the remainder", "`IterativeImputer`"]
    return table([*header, "new rows a second"], rows)


def multiclass(found: dict[str, Any]) -> str:
    """Return the mean gains over mean imputation with more than two classes."""
    names = {
        "default": "guided",
        "without K": "guided, η without the factor K",
        "eta=inf, similar rows": "no labels, new rows from similar ones",
    }
    rows = []
    for method, name in names.items():
        of = {one["classifier"]: one for one in found["counts"] if one["method"] == method}
        worse, better = (sum(one[key] for one in of.values()) for key in ("worse", "better"))
        means = [gain(of[key]["mean_difference"]) for key in ("LR", "SVC", "own machine")]
        least = min(one["smallest_difference"] for one in of.values())
        rows.append([name, str(worse), str(better), *means, gain(least)])
    return table(["fills", "worse", "better", "logistic", "SVC", "own SVM", "smallest"], rows)


def new_rows(found: dict[str, Any]) -> str:
    """Return what rules for new rows gain in accuracy, and how many rows they fill a second."""
    speeds = {one["rule"]: one["rows_per_second"] for one in found["speed"]}
    rows = []
    for rule in ("similar", "sharp", "conditional"):
        one = next(one for one in found["counts"] if one["rule"] == rule)
        counts = [str(one[key]) for key in ("settings", "worse", "better")]
        gains = [gain(one["mean"], digits=4), gain(one["smallest"])]
        rows.append([f"`{rule}`", *counts, *gains, speed_of(speeds[rule])])
    header = ["rule", "settings", "worse", "better", "mean gain", "smallest"]
    return table([*header, "new rows a second"], rows)


def predictor(found: dict[str, Any]) -> str:
    """Return the seconds of the predictors beside those of gradient boosting."""
    names = ["classifier_fit", "classifier_predict", "regressor_fit", "regressor_predict"]
    names.append("gradient_boosting_fit")
    rows = []
    for one in found["runs"]:
        spent = [seconds(one[f"{name}_seconds"]) for name in names]
        rows.append([f"{one['n_rows']:,}", *spent])
    return table(["rows", *(name.replace("_", " ") for name in names)], rows)


def recovery(found: dict[str, Any]) -> str:
    """Return how often features come back from the exact kernel, and the largest errors."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for one in found["runs"]:
        kernel = one["kernel"].partition("(")[0].lower()
        share = percent(one["missing_rate"]) if kernel == "gaussian" else "10 and 50 %"
        groups.setdefault((kernel, share), []).append(one)
    rows = []
    for (kernel, share), runs in groups.items():
        errors = [one["feature_error_max"] for one in runs]
        exact = sum(one <= 1e-8 for one in errors)
        gram = max(one["gram_error_max"] for one in runs)
        rows.append([kernel, share, f"{exact} of {len(runs)}", f"{max(errors):.0e}", f"{gram:.0e}"])
    return table(["kernel", "missing", "exact", "feature error", "kernel error"], rows)


def regression(found: dict[str, Any]) -> str:
    """Return what the guided regressor, and ridge after guided fills, gain in R²."""
    names = {
        "default": "guided",
        "eta=inf, similar rows": "no labels, new rows from similar ones",
        "eta=16 C": "guided as strongly as for classes",
    }
    rows = []
    for method, name in names.items():
        of = {one["comparison"]: one for one in found["counts"] if one["method"] == method}
        rows.append([name])
        for key in ("svr", "ridge"):
            counts = f"{of[key]['worse']} : {of[key]['better']}"
            rows[-1] += [counts, gain(of[key]["mean_difference"])]
    return table(["fills", "SVR, worse : better", "mean", "ridge, worse : better", "mean"], rows)


def rivals(found: dict[str, Any]) -> str:
    """Return the seconds, the speed on new rows and the error of other imputers."""
    by: dict[str, dict[int, dict[str, Any]]] = {}
    for one in found["runs"]:
        if "skipped" not in one:
            by.setdefault(one["imputer"], {})[one["n_samples"]] = one
    sizes = sorted({one["n_samples"] for one in found["runs"]})
    rows = []
    for name, runs in by.items():
        spent = [seconds(runs[n]["fit_transform_seconds"]) if n in runs else "–" for n in sizes]
        last = runs[max(runs)]
        numbers = [speed_of(last["rows_per_second"]), f"{last['rmse_training']:.3f}"]
        if max(runs) < max(sizes):
            numbers = [f"{one} (of {max(runs):,})" for one in numbers]
        rows.append([re.sub(r"(\w+Imputer)", r"`\1`", name), *spent, *numbers])
    header = ["imputer", *(f"{n:,} rows" for n in sizes)]
    return table([*header, f"new rows a second, of {max(sizes):,}", "RMSE there"], rows)


def speed(found: dict[str, Any]) -> str:
    """Return the cost of the stages in units of one `eigh`."""
    one = found["stages"]
    peak = "{:.1f} n × n matrices".format
    eighs = "{:.1f}".format
    rows = [
        [
            "`anchored` to a duality gap of 0.001",
            eighs(one["anchored_eighs"]),
            seconds(one["anchored_seconds"]),
            peak(one["anchored_peak_matrices"]),
        ],
        [
            "`direct`",
            eighs(one["direct_eighs"]),
            seconds(one["direct_seconds"]),
            peak(one["direct_peak_matrices"]),
        ],
        [
            "recovery from the exact kernel",
            eighs(one["recovery_seconds"] / one["eigh_seconds"]),
            seconds(one["recovery_seconds"]),
            "",
        ],
        [
            "`impute` at its defaults",
            eighs(one["default_run_seconds"] / one["eigh_seconds"]),
            seconds(one["default_run_seconds"]),
            "",
        ],
        [
            "a new process: import and `impute`",
            "",
            seconds(found["process"]["process_seconds"]),
            "",
        ],
    ]
    return table(["what", "in units of one `eigh`", "seconds", "peak"], rows)


def stream(found: dict[str, Any]) -> str:
    """Return the seconds and the memory of `impute_parquet`."""
    rows = []
    for one in found["runs"]:
        spent = [seconds(one["seconds"]), seconds(one["seconds_of_means"])]
        peaks = [f"{one[key]:.0f} MiB" for key in ("peak_mib", "start_mib")]
        rows.append([f"{one['n_rows']:,}", *spent, *peaks])
    return table(["rows", "time", "with column means", "peak", "imports alone"], rows)


def verdicts(found: dict[str, Any]) -> str:
    """Return how often the verdict of `compare` is right, with the interval of the share."""
    rows = []
    for kind, one in found["summary"].items():
        low, high = one["interval"]
        interval = f"{low:.2f} to {high:.2f}"
        rows.append([kind, one["must_be"], f"{one['right']} of {one['n']}", interval])
    return table(["tables", "right verdict", "right", "95 % interval of the share"], rows)


def table(header: Iterable[str], rows: Rows) -> str:
    """Return a table in Markdown; every column but the first is aligned to the right."""
    header = list(header)
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def gain(value: float, error: float | None = None, digits: int = 3) -> str:
    """Return a difference with its sign, and its standard error if given."""
    shown = f"{value:+.{digits}f}".replace("-", "−")
    return shown if error is None else f"{shown} ± {error:.{digits}f}"


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def seconds(value: float) -> str:
    """Return a duration of two digits."""
    value, unit = (1000 * value, "ms") if value < 0.0995 else (value, "s")
    return f"{value:.{max(0, 1 - floor(log10(value)))}f} {unit}"


def speed_of(rows_a_second: float) -> str:
    return f"{float(f'{rows_a_second:.2g}'):,.0f}"
