"""The tables of docs/panel_a.md and docs/labels.md from what panel A measured.

A setting is a table, a mechanism and a missing rate. Two methods are compared on the repetitions
that both have, averaged by setting. Tables of one source count as one table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.panel_a.fillers import WAYS
from experiments.panel_a.labels import INSIDE, MACHINES, OUTSIDE
from experiments.panel_a.prediction import BOOSTING, TREES
from experiments.panel_a.problems import SETTINGS
from experiments.panel_a.run import MEASURED
from experiments.panel_runs import read
from experiments.statistics import LEVEL, TIE, paired_test, signed_rank_p
from experiments.tables.grid import Row, Table
from experiments.words import counted, share, signed

SOURCES = {"crx": "australian"}
"""Tables that are another coding of the same rows; they count as one."""
SETTING = ["source", "mechanism", "rate"]
OURS = (
    "kernimpute",
    "kernimpute, whole",
    "kernimpute, guided",
    "kernimpute, class means",
    "kernimpute 0.1",
    "kernimpute 0.1, whole",
)
TEST_TO_TRAIN = 3 / 7
TOP = 5
"""How many tables that gain most are left out once, to see whether the rest agrees."""


@dataclass(frozen=True)
class Aim:
    """What the error of our fills must reach beside a rival's; None where nothing is asked."""

    below: float | None = None  # Share of settings in which ours is lower
    ratio: float | None = None  # Geometric mean of the ratios
    largest: float | None = None  # Largest ratio


AIMS = {
    "means": Aim(largest=1.01),
    "KNN": Aim(0.90, 0.85),
    "KNN, k tuned": Aim(),
    "IterativeImputer": Aim(0.85, 0.85),
    "chained ridge, tuned": Aim(ratio=0.95),
    "missForest": Aim(ratio=0.93, largest=1.10),
    "kernimpute 0.1": Aim(),
}
"""By rival, in the order of the tables."""


def with_source(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows with the source of their table."""
    return rows.assign(source=rows["table"].replace(SOURCES))


def wide(rows: pd.DataFrame, value: str, method: str = "method") -> pd.DataFrame:
    """Return a measure with a row for each problem and a column for each method."""
    index = ["source", *MEASURED["fills"].axes]
    return with_source(rows).pivot(index=index, columns=method, values=value)


def by_setting(readings: pd.DataFrame, methods: Iterable[str]) -> pd.DataFrame:
    """Return the means of some methods in each setting, over the problems that all have."""
    common = readings[list(dict.fromkeys(methods))].dropna()
    return common.groupby(level=SETTING, sort=False).mean()


def ratios(readings: pd.DataFrame, first: str, second: str) -> pd.Series:
    """Return the ratio of two methods' errors in each setting."""
    means = by_setting(readings, [first, second])
    return means[first] / means[second]


def geometric_mean(values: pd.Series) -> float:
    """Return the geometric mean of positive numbers."""
    return float(np.exp(np.log(values).mean())) if len(values) else np.nan


@dataclass(frozen=True)
class Comparison:
    """Differences of two methods over tables; positive where the first is better."""

    mean: float
    median: float
    up: int  # Tables where the first is better
    down: int
    p: float  # Wilcoxon's test over tables
    rest: float  # The mean without the `TOP` tables that gain most
    tests: tuple[int, int] | None  # Tables better and worse by the corrected test; None below 3
    error: float  # Standard error of the mean


def compare(
    readings: pd.DataFrame,
    first: str,
    second: str,
    sign: int = 1,
    test_to_train: float = TEST_TO_TRAIN,
) -> Comparison | None:
    """Compare two methods over tables, each the average of its settings and repetitions.

    With sign -1 the lower reading is the better one. None without a common problem.
    """
    common = readings[[first, second]].dropna()
    if common.empty:
        return None
    gains = sign * (common[first] - common[second])
    runs = gains.groupby(level=["source", "repetition"], sort=False).mean()
    tables = runs.groupby(level="source", sort=False).mean().round(TIE)
    tests = None
    if runs.groupby(level="source").size().min() >= 3:
        found = [
            paired_test(group, np.zeros(len(group)), test_to_train)
            for _, group in runs.groupby(level="source")
        ]
        sure = [np.sign(test.difference) for test in found if test.p_corrected < LEVEL]
        tests = sure.count(1), sure.count(-1)
    rest = tables.sort_values().iloc[: -TOP or None] if len(tables) > TOP else tables.iloc[:0]
    return Comparison(
        float(tables.mean()),
        float(tables.median()),
        int((tables > 0).sum()),
        int((tables < 0).sum()),
        signed_rank_p(tables),
        float(rest.mean()) if len(rest) else np.nan,
        tests,
        float(tables.std() / np.sqrt(len(tables))),
    )


def chosen_elsewhere(
    losses: pd.DataFrame,
    methods: Iterable[str],
    setting: Sequence[str] = ("table", "mechanism", "rate"),
) -> pd.Series:
    """Return for each problem the method with the least loss in its setting's other problems.

    Only problems with another repetition, and methods with all of a setting's readings, take part.
    """
    known = losses[list(methods)]
    chosen = {}
    for _, group in known.groupby(level=list(setting), sort=False):
        complete = group.dropna(axis="columns")
        if len(group) < 2 or complete.empty:
            continue
        for place in complete.index:
            chosen[place] = complete.drop(place).mean().idxmin()
    return pd.Series(chosen, dtype=object)


def written(setting: tuple[str, float]) -> str:
    """Return a mechanism and a rate as in a table's header."""
    return f"{setting[0].upper()} {setting[1]:.0%}".replace("%", " %")


def errors_table(fills: pd.DataFrame, value: str) -> Table:
    """Return each filler's error as a ratio to that of means or modes, by kind of gaps."""
    readings = wide(fills, value).dropna(how="all").dropna(axis="columns", how="all")
    medians = (
        fills.assign(seconds=fills["seconds_fit"] + fills["seconds_fill"])
        .groupby("method")["seconds"]
        .median()
    )
    rows: list[Row] = []
    rivals = [name for name in AIMS if name not in OURS]
    order = [*rivals, *readings.columns.difference([*rivals, *OURS]), *OURS]
    for name in sorted(readings, key=order.index):
        found = ratios(readings, name, "means")
        kinds = [
            geometric_mean(found[[key[1:] == setting for key in found.index]])
            for setting in SETTINGS["fills"]
        ]
        over_all = np.nan if np.isnan(kinds).any() else geometric_mean(found)
        runs = readings[name].notna().groupby(level=["table", "mechanism", "rate"]).sum()
        cells = [_number(ratio) for ratio in (*kinds, over_all)]
        rows.append((f"`{name}`", *cells, f"{runs.max()}", f"{medians[name]:.2f}"))
    what = "error of filled numbers, root mean square in standard deviations of the column"
    if value == "wrong":
        what = "share of wrong fills of categories"
    header = map(written, SETTINGS["fills"])
    return Table(
        f"panel_a_{value}",
        f"New rows: {what}, as a ratio to that of column means and modes; geometric means over "
        "the settings of a kind. Repetitions are the most of a setting, seconds a median.",
        ("filler", *header, "all", "repetitions", "seconds"),
        (tuple(rows),),
    )


def aims_table(fills: pd.DataFrame) -> Table:
    """Return how our fillings stand beside each rival, and what they must reach."""
    readings = wide(fills, "error").dropna(how="all")
    here = [name for name in OURS if name in readings]
    blocks = []
    for ours in here:
        rows: list[Row] = []
        for rival, aim in AIMS.items():
            if rival not in readings or ours.startswith(rival):
                continue
            found = ratios(readings, ours, rival)
            worst = found.idxmax()
            rows.append(
                (
                    f"`{ours}`",
                    f"`{rival}`",
                    f"{(found < 1).mean():.2f}",
                    _number(aim.below, 2),
                    _number(geometric_mean(found)),
                    _number(aim.ratio, 2),
                    _number(found.max()),
                    _number(aim.largest, 2),
                    f"{worst[0]}, {written(worst[1:])}",
                    str(len(found)),
                )
            )
        blocks.append(tuple(rows))
    return Table(
        "panel_a_aims",
        "Numbers of new rows filled by ours beside a rival: share of settings with less error, "
        "geometric mean and largest of the ratios of errors. What is aimed at stands beside what "
        "is reached.",
        ("ours", "rival", "below in", "aim", "ratio", "aim", "largest", "aim", "at", "settings"),
        tuple(blocks),
        tuple(note for ours in here for note in _categories_notes(fills, ours)),
    )


def _categories_notes(fills: pd.DataFrame, ours: str) -> Iterable[str]:
    """Yield how wrong fills of categories stand beside the mode's, with their standard error."""
    readings = wide(fills, "wrong").dropna(how="all")
    means = by_setting(readings, [ours, "means"])
    if means.empty:
        return
    cells = wide(fills, "n_categories").loc[readings.index, [ours]].groupby(level=SETTING).sum()
    cells = cells.loc[means.index, ours]
    error = np.sqrt(means[ours] * (1 - means[ours]) / cells)
    excess = ((means[ours] - means["means"]) / error).rename("excess")
    below = int((means[ours] < means["means"]).sum())
    equal = int((means[ours] == means["means"]).sum())
    yield (
        f"`{ours}`: fewer wrong categories than the mode in {share(below, len(means))} settings, "
        f"as many in {equal}; "
        f"the largest excess is {excess.max():.1f} standard errors of the share, at "
        f"{excess.idxmax()[0]}, {written(excess.idxmax()[1:])}."
    )


MEASURES = (("log_loss", -1), ("auc", 1), ("accuracy", 1))


def predictions(prediction: pd.DataFrame, rows: str) -> pd.DataFrame:
    """Return rows of predictions with the name of filler and learner as the method."""
    return named(prediction[(prediction["rows"] == rows) & prediction["accuracy"].notna()])


def named(prediction: pd.DataFrame) -> pd.DataFrame:
    """Return rows of predictions with the learner in the method's name, where one follows it."""
    follows = ~prediction["learner"].isin(["trees", "own"])
    names = prediction["method"] + np.where(follows, " + " + prediction["learner"], "")
    return prediction.assign(method=names)


SIMPLE = "means + logistic"
CHOSEN = "best simple rival, chosen on other splits"


def rivals_of(measured: Mapping[str, pd.DataFrame]) -> list[str]:
    """Return the methods that are not ours."""
    return [name for name in measured["log_loss"] if not name.startswith("kernimpute")]


def with_chosen(measured: Mapping[str, pd.DataFrame], chosen: pd.Series) -> dict[str, pd.DataFrame]:
    """Return the readings of each measure with those of the method chosen for each problem."""
    if chosen.empty:
        return dict(measured)
    return {
        name: readings.assign(
            **{CHOSEN: pd.Series({at: readings.at[at, method] for at, method in chosen.items()})}
        )
        for name, readings in measured.items()
    }


def prediction_table(prediction: pd.DataFrame, rows: str) -> Table:
    """Return every method's measures against means + logistic, on one kind of new rows."""
    here = predictions(prediction, rows)
    measured = {name: wide(here, name) for name, _ in MEASURES}
    measured = with_chosen(measured, chosen_elsewhere(measured["log_loss"], rivals_of(measured)))
    lines = []
    for method in measured["log_loss"].columns.drop(SIMPLE):
        found = [compare(measured[name], method, SIMPLE, sign) for name, sign in MEASURES]
        if found[0] is not None:
            name = method if method == CHOSEN else f"`{method}`"
            lines.append((found[0].mean, (name, *_against(found))))
    lines.sort(key=lambda line: -line[0])
    what = "with gaps like those of the training rows" if rows == "gaps" else "without gaps"
    means = [measured[name][SIMPLE].groupby(level=["source"]).mean().mean() for name in measured]
    repetitions = counted(int(measured["log_loss"].index.unique("repetition").size), "repetition")
    return Table(
        f"panel_a_prediction_{rows}",
        f"New rows {what}, 30 and 60 % of the cells missing: gains over `{SIMPLE}`, the better the "
        f"higher, which has log loss {means[0]:.3f}, AUC {means[1]:.3f} and accuracy "
        f"{means[2]:.3f}. At most {repetitions}.",
        (
            "method",
            "log loss",
            "up : down",
            "AUC",
            "up : down",
            "accuracy",
            "median",
            "up : down",
            "p",
            f"without the best {TOP}",
        ),
        (tuple(line for _, line in lines),),
    )


def _against(found: list[Comparison]) -> tuple[str, ...]:
    loss, auc, accuracy = found
    return (
        signed(loss.mean),
        f"{loss.up} : {loss.down}",
        signed(auc.mean),
        f"{auc.up} : {auc.down}",
        signed(accuracy.mean),
        signed(accuracy.median),
        f"{accuracy.up} : {accuracy.down}",
        f"{accuracy.p:.2g}",
        signed(accuracy.rest),
    )


_FIELD = ("IterativeImputer", "means", "KNN")
PAIRS = {
    "kernimpute": (*_FIELD, "kernimpute 0.1"),
    "kernimpute, guided": ("kernimpute",),
    "kernimpute, class means": ("kernimpute",),
    "kernimpute 0.1": _FIELD,
}
"""Our fillings, and those that each is compared with before the same learner."""


def pairs_table(prediction: pd.DataFrame) -> Table:
    """Return what our fillings gain over others before the same learner, new rows with gaps."""
    here = predictions(prediction, "gaps")
    measured = {measure: wide(here, measure) for measure, _ in MEASURES}
    known = set(here["method"])
    blocks = []
    for ours, learner in product(PAIRS, ("SVM", "logistic")):
        rows: list[Row] = []
        for rival in PAIRS[ours]:
            pair = [f"{filler} + {learner}" for filler in (ours, rival)]
            if known.issuperset(pair):
                rows += pair_rows(measured, pair[0], pair[1], rival)
        blocks.append(tuple(rows))
    return Table(
        "panel_a_pairs",
        "New rows with gaps: what our filling gains over another before the same learner, the "
        "better the higher, over tables. The corrected test of a table needs three repetitions.",
        ("ours", "over", "measure", *GAINS),
        tuple(blocks),
    )


PREDICTOR = "kernimpute predictor"
OPPONENTS = (
    SIMPLE,
    "means + SVM",
    TREES,
    BOOSTING,
    "IterativeImputer + SVM",
    CHOSEN,
    "kernimpute + logistic",
    "kernimpute + SVM",
)


def predictor_table(prediction: pd.DataFrame) -> Table:
    """Return what the predictor gains over others, on both kinds of new rows."""
    blocks = []
    for rows in ("gaps", "complete"):
        here = predictions(prediction, rows)
        measured = {name: wide(here, name) for name, _ in MEASURES}
        losses = measured["log_loss"]
        if PREDICTOR not in losses:
            continue
        measured = with_chosen(measured, chosen_elsewhere(losses, rivals_of(measured)))
        lines = [
            (rows, *line[1:])
            for rival in OPPONENTS
            if rival in measured["log_loss"]
            for line in pair_rows(measured, PREDICTOR, rival, rival)
        ]
        blocks.append(tuple(lines))
    return Table(
        "panel_a_predictor",
        f"What `{PREDICTOR}` gains over others, the better the higher, over tables; new rows with "
        "gaps and without.",
        ("new rows", "over", "measure", *GAINS),
        tuple(blocks),
    )


def large_table(large: pd.DataFrame) -> Table:
    """Return the accuracy of each method with many rows to learn from, by table."""
    here = large[(large["rows"] == "gaps") & large["accuracy"].notna()]
    means = here.groupby(["table", "method"], sort=False)["accuracy"].mean().unstack()
    lines = [(name, *(f"{value:.3f}" for value in row)) for name, row in means.iterrows()]
    lines.append(("mean", *(f"{value:.3f}" for value in means.mean())))
    repetitions = counted(int(here["repetition"].nunique()), "repetition")
    return Table(
        "panel_a_large",
        f"Accuracy with 4,000 rows to learn from, 30 % of the cells missing; {repetitions}.",
        ("table", *(f"`{name}`" for name in means)),
        (tuple(lines),),
    )


GAINS = ("mean gain", "median", "up : down", "p", "by test", f"without the best {TOP}")
"""How a comparison is written."""


def gains(found: Comparison) -> tuple[str, ...]:
    """Return a comparison as entries of a table."""
    return (
        signed(found.mean, 4),
        signed(found.median, 4),
        f"{found.up} : {found.down}",
        f"{found.p:.2g}",
        "–" if found.tests is None else f"{found.tests[0]} : {found.tests[1]}",
        signed(found.rest, 4),
    )


def pair_rows(
    measured: Mapping[str, pd.DataFrame],
    first: str,
    second: str,
    shown: str,
    test_to_train: float = TEST_TO_TRAIN,
) -> list[Row]:
    """Return what one method gains over another, which is shown by another name."""
    found = [
        (measure, compare(measured[measure], first, second, sign, test_to_train))
        for measure, sign in MEASURES
    ]
    return [
        (f"`{first}`", f"`{shown}`", measure.replace("_", " "), *gains(one))
        for measure, one in found
        if one is not None
    ]


def labels_table(labels: pd.DataFrame) -> Table:
    """Return what each way to use labels gains over none before the same learner."""
    blocks = [
        _gains(labels, learner, rows, ways)
        for learner, ways in (("SVM", WAYS), ("logistic", WAYS), ("machine", MACHINES))
        for rows in ("gaps", "complete")
    ]
    return Table(
        "panel_a_labels",
        "What labels in a filling gain over no labels on new rows, the better the higher: means "
        "over tables with their standard error, tables better and worse, Wilcoxon's p.",
        ("labels", "learner", "new rows", *_MEASURED, "problems"),
        tuple(block for block in blocks if block),
    )


_MEASURED = tuple(
    heading
    for measure in ("log loss", "AUC", "accuracy")
    for heading in (measure, "up : down", "p")
)


def _gains(labels: pd.DataFrame, learner: str, kind: str, ways: Iterable[str]) -> tuple[Row, ...]:
    """Return the lines of a learner and a kind of new rows; the first of the ways has no labels."""
    here = labels[(labels["learner"] == learner) & (labels["rows"] == kind)]
    measured = {measure: wide(here, measure) for measure, _ in MEASURES}
    none, *others = ways
    return tuple(
        (
            f"`{way}`",
            learner,
            kind,
            *_cells([compare(measured[m], way, none, sign) for m, sign in MEASURES]),
            str(measured["auc"][[way, none]].dropna().shape[0]),
        )
        for way in others
        if way in measured["auc"] and none in measured["auc"]
    )


def _cells(found: Iterable[Comparison | None]) -> Iterable[str]:
    """Yield gain and error, tables better and worse, and p of each measure that there is."""
    for one in found:
        if one is None:
            yield from ("", "", "")
        else:
            yield f"{signed(one.mean, 4)} ± {one.error:.4f}"
            yield f"{one.up} : {one.down}"
            yield f"{one.p:.2g}"


def leak_table(labels: pd.DataFrame) -> Table:
    """Return by how much a cross-validation is too good if the filling is fitted before it."""
    rows: list[Row] = []
    for way in WAYS:
        here = labels[(labels["method"] == way) & labels["rows"].isin((INSIDE, OUTSIDE))]
        measured = {measure: wide(here, measure, "rows") for measure, _ in MEASURES}
        if not measured["auc"].empty:
            found = [compare(measured[m], OUTSIDE, INSIDE, sign) for m, sign in MEASURES]
            rows.append((f"`{way}`", *_cells(found), str(len(measured["auc"]))))
    return Table(
        "panel_a_leak",
        "How much better a five-fold cross-validation on the training rows looks if they are "
        "filled once before it, and not in each fold: a logistic regression with C = 1.",
        ("labels", *_MEASURED, "problems"),
        (tuple(rows),),
    )


def _number(value: float | None, decimals: int = 3) -> str:
    return "" if value is None or np.isnan(value) else f"{value:.{decimals}f}"


def tables(results: Path) -> list[Table]:
    """Return all tables."""
    fills, prediction, large, labels = (
        read(MEASURED[kind], results) for kind in ("fills", "prediction", "large", "labels")
    )
    return [
        errors_table(fills, "error"),
        errors_table(fills, "wrong"),
        aims_table(fills),
        prediction_table(prediction, "gaps"),
        prediction_table(prediction, "complete"),
        pairs_table(prediction),
        predictor_table(prediction),
        large_table(large),
        labels_table(labels),
        leak_table(labels),
    ]
