"""`compare`: whether filling helps on a table, with what, and the verdict in one sentence."""

from __future__ import annotations

import hashlib
import html
import json
import math
import platform
import sys
import time
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import joblib
import numpy as np
import pandas as pd
from joblib.externals.loky import ProcessPoolExecutor
from numpy.typing import ArrayLike

from kernimpute.comparison import judging
from kernimpute.comparison.candidates import (
    BASELINE,
    LEARNERS,
    WORDS,
    Candidate,
    candidates_of,
    python_of,
)
from kernimpute.comparison.facts import facts_of
from kernimpute.comparison.judging import SCORES, Data, Fold
from kernimpute.core import checks
from kernimpute.estimators.impute_table import TableWarning
from kernimpute.table.code import learn_code, table_labels
from kernimpute.table.columns import TableError, counted, listed, observed_in_table, the_column
from kernimpute.table.frames import check_in_memory, to_pandas

GAPS_TELL = 0.01
"""Gaps tell of the label below this p-value."""
FEWEST_OF_CLASS = 10
"""Rows of smaller classes are left out, because folds inside folds would lack them."""
MOST_CATEGORIES = 254
"""Columns of more categories are left out: boosted trees take no more."""
_SAME = ("task", "folds", "repeats", "seed", "candidates", "permuted", "data_sha256", "versions")
"""The settings in which a resumed comparison must agree."""
_DIFFERENCE = ("difference", "lower", "upper", "p")


@dataclass(frozen=True)
class Comparison:
    """What `compare` found.

    Parameters
    ----------
    verdict : str
        One sentence: what to use, and why.
    recommendation : dict
        ``kind`` ("keep", "use", "indicators" or "incomplete"), ``candidate``, ``filling``,
        ``learner``, ``code`` (Python that makes the estimator) and ``command``; None without one.
    rows : list of dict
        One a candidate: mean scores, seconds, gain over the simplest one with its 95 % interval.
    effects : list of dict
        The tests behind the verdict, corrected by Holm within the questions "learner", "filling".
    facts : dict
        Gaps by column, row and class, their patterns, and whether they tell of the label.
    settings : dict
        Folds, seeds, margin, versions, and the hash of the data.
    folds : list of dict
        The scores in each finished fold.
    cautions : tuple of str
        What was left out or changed.
    complete : bool
        False where a time limit or an interrupt came before the last fold.
    """

    verdict: str
    recommendation: dict[str, Any]
    rows: list[dict[str, Any]]
    effects: list[dict[str, Any]]
    facts: dict[str, Any]
    settings: dict[str, Any]
    folds: list[dict[str, Any]]
    cautions: tuple[str, ...]
    complete: bool

    @property
    def table(self) -> pd.DataFrame:
        """The candidates with their scores, one a row."""
        return pd.DataFrame(self.rows).set_index("candidate")

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python values: the fields, with ``rows`` as ``table``."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        plain: dict[str, Any] = _plain(values | {"table": values.pop("rows")})
        return plain

    def to_json(self) -> str:
        """Return `to_dict` as JSON, which `compare` takes as ``resume`` from a file."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    def to_markdown(self) -> str:
        """Return the verdict and the candidates as Markdown: the sentence, and a table."""
        head, *rows = self.cells()
        lines = [head, ["---"] * len(head), *rows]
        texts = [
            "| " + " | ".join(text.replace("|", "\\|") for text in row) + " |" for row in lines
        ]
        return "\n".join([self.verdict, "", *texts, ""])

    def cells(self) -> list[list[str]]:
        """Return the table as texts: the head, then one row a candidate."""
        scores = SCORES[self.settings["task"]]

        def text(value: float | None, form: str) -> str:
            return "" if value is None else f"{value:{form}}"

        # The area, or R², with permuted labels, where it was asked for.
        more = ["permuted"] if self.settings["permuted"] else []
        scores = (*scores, *more)
        head = ["candidate", *scores, "difference", "95 % interval", "finding", "seconds"]
        return [head] + [
            [
                row["candidate"],
                *(text(row[score], ".3f") for score in scores),
                text(row["difference"], "+.3f"),
                "" if row["lower"] is None else f"{row['lower']:+.3f} to {row['upper']:+.3f}",
                row["error"] or row["finding"],
                text(row["seconds"], ".2f"),
            ]
            for row in self.rows
        ]

    def _repr_html_(self) -> str:
        """Show the verdict and the candidates in a notebook."""
        head, *rows = self.cells()
        table = pd.DataFrame(rows, columns=head).to_html(index=False)
        return f"<p><strong>{html.escape(self.verdict)}</strong></p>{table}"

    def plot(self, ax: Any = None) -> Any:
        """Draw the differences to the simplest candidate with their intervals.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        matplotlib Axes
            With one line a candidate; the zone of practical equivalence is shaded.
        """
        from matplotlib import pyplot

        shown = self.table.dropna(subset="lower")[::-1]
        if ax is None:
            _, ax = pyplot.subplots(figsize=(7, 1 + 0.28 * len(shown)), layout="constrained")
        margin = self.settings["margin"]
        ax.axvspan(-margin, margin, color="0.88")
        ax.axvline(0.0, color="0.5", linewidth=1)
        places = range(len(shown))
        ax.plot(shown[["lower", "upper"]].T, [places, places], color="C0", linewidth=1)
        ax.plot(shown["difference"], places, "o", color="C0", markersize=4)
        ax.set_yticks(places, shown.index)
        ax.set_xlabel(
            f"gain in {_SCORE_WORDS[self.settings['primary']]} over {self.settings['baseline']}"
        )
        return ax


def compare(
    X: Any,
    y: ArrayLike | str,
    *,
    groups: ArrayLike | None = None,
    methods: Sequence[str] | None = None,
    candidates: Mapping[str, Any] | None = None,
    task: Literal["auto", "classification", "regression"] = "auto",
    categorical: Iterable[Hashable] = (),
    missing_values: Sequence[object] = (),
    folds: int = 5,
    repeats: int = 3,
    margin: float = 0.01,
    permuted: bool = False,
    max_rows: int = 5000,
    time_limit: float | None = None,
    resume: Comparison | str | Path | None = None,
    random_state: int = 0,
    n_jobs: int = -1,
    callback: Callable[[Comparison], object] | None = None,
    verbose: int = 0,
) -> Comparison:
    """Tell whether filling gaps helps on a table, and with what.

    Every filling is compared with every learner, and with learners that need no filling, by
    repeated cross-validation. Everything is learnt inside the folds: fillings, tuning, choices.

    Parameters
    ----------
    X : DataFrame, or array of shape (n_samples, n_features)
        The table with its gaps.
    y : array-like of shape (n_samples,), or str
        The labels, or the name of the label's column in X. Rows without a label are left out.
    groups : array-like of shape (n_samples,) or None, default=None
        Rows of one group are never parted, such as the visits of one patient.
    methods : sequence of str or None, default=None
        What to compare. Fillings: "means", "means+indicators", "knn", "iterative", "joint",
        "joint+indicators", "guided"; learners: "linear", "svm", "boosting"; without filling:
        "unfilled" (boosting), "kernimpute", "catboost", "lightgbm". None takes all that are
        installed; "means" with "linear" is always there.
    candidates : mapping of str to estimator or None, default=None
        Further estimators that take X with its gaps; classifiers need `predict_proba`.
    task : {"auto", "classification", "regression"}, default="auto"
        What the labels are; as in `impute_table`.
    categorical : iterable of hashable, default=()
        Columns of numbers that are codes.
    missing_values : sequence of str or number, default=()
        Values that stand for a gap besides None, NaN, NaT and NA.
    folds, repeats : int, default=5, 3
        Folds of the cross-validation, at least 2, and how often it is repeated, at least 1.
    margin : float, default=0.01
        Differences up to this do not matter in practice; in log loss, or in R² for a quantity.
    permuted : bool, default=False
        Also score on permuted labels; a warning names candidates that seem to predict them.
    max_rows : int, default=5000
        Of a larger table a random sample of so many rows is compared, and a warning says so.
    time_limit : float or None, default=None
        Seconds after which the comparison ends with the folds that are finished.
    resume : Comparison, str, Path or None, default=None
        A comparison that did not end, or a file of its `Comparison.to_json`; its folds are kept.
    random_state : int, default=0
        Seed of the folds and of the candidates.
    n_jobs : int, default=-1
        Folds at the same time; -1 takes all cores.
    callback : callable or None, default=None
        Called with the `Comparison` so far after each fold; a true answer ends the comparison.
    verbose : int, default=0
        With 1 or more, progress is printed to stderr.

    Returns
    -------
    Comparison
        The verdict, the candidates with their scores, and the facts of the table.

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of its range, or `resume` is of another comparison; a TableError if
        the table or the labels cannot be used as they are.

    Warns
    -----
    TableWarning
        For rows, columns and candidates that are left out.

    Notes
    -----
    Learners are compared on means, then fillings under the best learner that beats the linear one.
    A difference counts where it is beyond the margin and beyond chance: by the corrected resampled
    t-test [1]_, at level .05 after Holm's correction for each of the two questions. Indicators
    also count where a permutation test finds that gaps tell of the label (p < .01) and the gain is
    beyond the margin. A tuned SVM and guidance are left out above 2,000 rows.

    References
    ----------
    .. [1] C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine Learning 52,
       2003.

    Examples
    --------
    >>> import kernimpute
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(100, 5, random_state=0)
    >>> X[::3, 0] = float("nan")
    >>> found = kernimpute.compare(X, y, methods=["means", "joint"], repeats=1, n_jobs=1)
    >>> found.recommendation["kind"]
    'keep'
    """
    start = time.perf_counter()
    checks.check_choice("compare", "task", task, ("auto", "classification", "regression"))
    checks.check_integer("compare", "folds", folds, 2)
    checks.check_integer("compare", "repeats", repeats, 1)
    checks.check_integer("compare", "max_rows", max_rows, 50)
    checks.check_integer("compare", "random_state", random_state, 0)
    checks.check_real("compare", "margin", margin, 0.0, low_included=True)
    if time_limit is not None:
        checks.check_real("compare", "time_limit", time_limit, 0.0)
    # 1. The table is prepared: numbers, categories, and the rows that have a label.
    data, cautions = _prepared(X, y, groups, task, categorical, missing_values)
    data, more = _compared_rows(data, max_rows, folds, random_state)
    cautions += more
    all_folds = judging.make_folds(data, folds, repeats, random_state)
    if min(fold.test.size for fold in all_folds) < 2:
        raise TableError("Every fold must have two rows to test: give fewer folds or even groups.")
    n_categories = sum(dtype.kind != "f" for dtype in data.table.dtypes)
    n_classes = np.unique(data.y).size if data.task == "classification" else 1
    chosen, more = candidates_of(
        data.task, methods, candidates or {}, len(data.y), n_classes, n_categories, random_state
    )
    cautions += more
    hashed = pd.util.hash_pandas_object(data.table, index=False).to_numpy().tobytes()
    hashed += pd.util.hash_array(np.asarray(data.y), categorize=True).tobytes()
    hashed += b"" if data.groups is None else data.groups.tobytes()
    settings = {
        "task": data.task,
        "folds": folds,
        "repeats": repeats,
        "margin": margin,
        "seed": random_state,
        "primary": SCORES[data.task][0],
        "baseline": f"{BASELINE}, {LEARNERS[0]}",
        "candidates": [candidate.name for candidate in chosen],
        "grouped": data.groups is not None,
        "permuted": permuted,
        "n_jobs": n_jobs,
        "data_sha256": hashlib.sha256(hashed).hexdigest(),
        "versions": {"python": platform.python_version()}
        | {one: version(one) for one in _PACKAGES},
    }
    finished = {fold["number"]: fold for fold in _resumed(resume, settings)}
    for caution in cautions:
        warnings.warn(caution, TableWarning, stacklevel=2)
    # 2. Its facts are collected.
    facts = facts_of(
        data.table, data.y, data.task, has_groups=data.groups is not None, seed=random_state
    )

    def found_so_far() -> Comparison:
        return judge(chosen, finished, facts, settings, tuple(cautions))

    # 3. Every candidate is scored in every fold.
    jobs = [fold for fold in all_folds if fold.number not in finished]
    end = math.inf if time_limit is None else start + time_limit
    begun = time.perf_counter()
    for n_done, result in enumerate(_results(data, chosen, jobs, settings, end), start=1):
        finished[result["number"]] = result
        if verbose:
            left = (time.perf_counter() - begun) / n_done * (len(jobs) - n_done)
            said = f"compare: fold {len(finished)} of {len(all_folds)}, about {left:.0f} s left"
            print(said, file=sys.stderr)
        if callback is not None and callback(found_so_far()):
            break
    # 4. The verdict follows.
    comparison = found_so_far()
    for caution in comparison.cautions[len(cautions) :]:
        warnings.warn(caution, TableWarning, stacklevel=2)
    return comparison


_PACKAGES = ("kernimpute", "numpy", "scipy", "scikit-learn", "pandas")
_SCORE_WORDS = {"log_loss": "log loss", "r2": "R²"}


def _prepared(
    X: Any,
    y: ArrayLike | str,
    groups: ArrayLike | None,
    task: str,
    categorical: Iterable[Hashable],
    missing_values: Sequence[object],
) -> tuple[Data, list[str]]:
    """Return the rows that have a label, numbers as floats, and cautions on what was left out."""
    for name, value in (("X", X), ("y", y)):
        check_in_memory(value, name, "compare")
    given = to_pandas(X).reset_index(drop=True)
    label: Hashable = "y"
    if isinstance(y, str):
        if y not in given.columns:
            must_be = f"the labels, or a column of X, which has {listed(given.columns)}"
            raise ValueError(checks.refusal("compare", "y", must_be, y))
        label, labels = y, given.pop(y)
    else:
        labels = pd.Series(np.asarray(y) if not isinstance(y, pd.Series) else y.array, name="y")
    whose_groups = None if groups is None else np.atleast_1d(np.asarray(groups))
    for whose, own in (("y", labels), ("groups", whose_groups)):
        if own is not None and len(own) != len(given):
            must_be = f"of length {len(given)}, one for each row of X"
            got = counted(len(own), "value")
            raise ValueError(checks.refusal_in_words("compare", whose, must_be, got))
    column = labels.to_frame(label)
    labelled = observed_in_table(column, missing_values)[:, 0]
    read = table_labels(column, labelled, task)
    cautions = list(read.cautions)
    if not labelled.all():
        cautions.append(f"rows without a label are left out: {int((~labelled).sum())}")
    given = given[labelled].reset_index(drop=True)
    table, more = _plain_table(given, categorical, missing_values)
    values = read.values if read.numbers is None else read.numbers
    if whose_groups is not None:
        # Rows without a group are one group.
        whose_groups = pd.factorize(whose_groups[labelled], use_na_sentinel=False)[0]
    return Data(table, given, values, read.task, whose_groups), cautions + more


def _plain_table(
    given: pd.DataFrame, categorical: Iterable[Hashable], missing_values: Sequence[object]
) -> tuple[pd.DataFrame, list[str]]:
    """Return a table of floats and categories, NaN at the gaps, and cautions."""
    code = learn_code(given, categorical=[*categorical], missing_values=missing_values)
    observed = observed_in_table(given, missing_values)
    columns: dict[Hashable, Any] = {}
    empty, various = [], []
    for place, column in enumerate(code.columns):
        series, seen = given.iloc[:, place], observed[:, place]
        if column.kind == "empty":
            empty.append(column.name)
        elif not column.categorical:
            numbers = np.full(len(given), np.nan)
            numbers[seen] = series[seen].to_numpy(dtype=float)
            if (largest := float(np.abs(numbers[seen]).max())) > 1e150:
                must_be = "must hold numbers up to 1e150, whose squares are finite"
                raise TableError(f"{the_column(column.name)} {must_be}. Got {largest:g}: scale it.")
            columns[column.name] = numbers
        elif len(column.values) > min(MOST_CATEGORIES, max(10, int(seen.sum()) // 2)):
            various.append(column.name)
        else:
            texts = series[seen].astype(object).map(str)
            columns[column.name] = pd.Categorical(texts.reindex(range(len(given))))
    if not columns:
        raise TableError("The table must have a column to predict from. Got none.")
    cautions = list(code.cautions)
    for names, what in ((empty, "without a value"), (various, "of too many different texts")):
        if names:
            cautions.append(f"columns {what} are left out: {listed(names, most=10)}")
    return pd.DataFrame(columns), cautions


def _compared_rows(data: Data, max_rows: int, n_folds: int, seed: int) -> tuple[Data, list[str]]:
    """Return the rows that are compared, a sample without rare classes, and cautions on others."""
    cautions = []
    n_rows, rows = len(data.y), np.arange(len(data.y))
    if n_rows > max_rows:
        groups = rows if data.groups is None else data.groups
        sizes = np.bincount(groups)
        order = np.random.default_rng(seed).permutation(sizes.size)
        # A group above the limit would keep all that come after it out.
        order = order[sizes[order] <= max_rows]
        fits = np.cumsum(sizes[order]) <= max_rows
        rows = np.flatnonzero(np.isin(groups, order[fits]))
        cautions.append(
            f"{len(rows)} of {n_rows} rows are compared, drawn at random: max_rows={max_rows}"
        )
    if data.task == "classification":
        classes, counts = np.unique(data.y[rows], return_counts=True)
        rare, also = classes[counts < FEWEST_OF_CLASS], ""
        if data.groups is not None:
            # What is in one group cannot be learnt where that group is tested.
            n_groups = pd.Series(data.groups[rows]).groupby(data.y[rows]).nunique().to_numpy()
            rare, also = classes[(counts < FEWEST_OF_CLASS) | (n_groups < 2)], " or two groups"
        if classes.size - rare.size < 2:
            raise TableError(
                f"The labels must have two classes of at least {FEWEST_OF_CLASS} rows"
                f"{also.replace(' or', ' and')}. Got {classes.size - rare.size}."
            )
        is_rare = np.isin(data.y[rows], rare)
        rows = rows[~is_rare]
        if rare.size:
            cautions.append(
                f"classes of fewer than {FEWEST_OF_CLASS} rows{also} are left out, with "
                f"{counted(int(is_rare.sum()), 'row')}: {listed(rare.tolist())}"
            )
    own_groups = None if data.groups is None else data.groups[rows]
    # R² of a fold needs two rows.
    most = len(rows) // 2 if own_groups is None else np.unique(own_groups).size
    if n_folds > most:
        what = "half of the rows" if own_groups is None else "the number of groups"
        raise ValueError(checks.refusal("compare", "folds", f"at most {most}, {what}", n_folds))
    return replace(
        data,
        y=data.y[rows],
        groups=own_groups,
        table=data.table.iloc[rows].reset_index(drop=True),
        given=data.given.iloc[rows].reset_index(drop=True),
    ), cautions


def _resumed(
    resume: Comparison | str | Path | None, settings: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the folds of a comparison that did not end; refuse another one's."""
    if resume is None:
        return []
    try:
        former = (
            resume.to_dict()
            if isinstance(resume, Comparison)
            else json.loads(Path(resume).read_text(encoding="utf-8"))
        )
        folds, own = list(former["folds"]), dict(former["settings"])
    except (ValueError, KeyError, TypeError) as error:
        must_be = "a file of Comparison.to_json"
        raise ValueError(checks.refusal("compare", "resume", must_be, str(resume))) from error
    differ = [name for name in _SAME if own.get(name) != settings[name]]
    if differ:
        must_be, got = "of the same table and settings", "another " + ", ".join(differ)
        raise ValueError(checks.refusal_in_words("compare", "resume", must_be, got))
    return folds


def _results(
    data: Data,
    candidates: Sequence[Candidate],
    jobs: Sequence[Fold],
    settings: Mapping[str, Any],
    end: float,
) -> Iterator[dict[str, Any]]:
    """Yield the results of folds as they are finished, until the clock says `end`."""
    how = {"permuted": settings["permuted"], "seed": settings["seed"]}
    n_workers = min(joblib.effective_n_jobs(settings["n_jobs"]), len(jobs))
    if n_workers <= 1:
        for fold in jobs:
            if time.perf_counter() >= end:
                return
            yield judging.run_fold(data, candidates, fold, **how)
        return
    # Of its own, because joblib cannot use a shared one that it did not make.
    executor = ProcessPoolExecutor(n_workers)
    left, running = list(jobs), set[Future[dict[str, Any]]]()
    try:
        while (left or running) and time.perf_counter() < end:
            # One fold a worker: loky fails if it is shut down while folds wait for a worker.
            while left and len(running) < n_workers:
                running.add(executor.submit(judging.run_fold, data, candidates, left.pop(0), **how))
            timeout = None if math.isinf(end) else max(0.0, end - time.perf_counter())
            done, running = wait(running, timeout=timeout, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)
    finally:
        # Folds that nobody waits for any more would go on computing.
        executor.shutdown(kill_workers=True)


def judge(
    candidates: Sequence[Candidate],
    finished: Mapping[int, dict[str, Any]],
    facts: dict[str, Any],
    settings: dict[str, Any],
    cautions: tuple[str, ...],
) -> Comparison:
    """Return the comparison by the folds that are finished."""
    folds = [finished[number] for number in sorted(finished)]
    n_folds = settings["folds"] * settings["repeats"]
    complete = len(folds) == n_folds
    rows = {one.name: _row(one, folds, settings) for one in candidates}
    verdict = f"No verdict yet: {len(folds)} of {n_folds} folds are finished."
    how: dict[str, Any] = {"kind": "incomplete"}
    how |= dict.fromkeys(("candidate", "filling", "learner", "code", "command"))
    effects: list[dict[str, Any]] = []
    failed = {name: row["error"] for name, row in rows.items() if row["error"]}
    if (base := settings["baseline"]) in failed:
        raise TableError(f"The simplest candidate failed: {failed[base]}")
    # Of fewer than one repeat the intervals are wild.
    if len(folds) >= settings["folds"]:
        cautions += tuple(f"{name} failed: {error}" for name, error in failed.items())
        primary = settings["primary"]
        choice = _choose(candidates, folds, facts, settings)
        used, effects = choice.candidate, choice.effects
        pairs = [(name, base) for name in rows if name != base]
        for one in judging.compared(folds, pairs, primary, 0.0):
            rows[one["candidate"]] |= {key: one[key] for key in _DIFFERENCE}
        for one in effects:
            if one["against"] == base:
                rows[one["candidate"]] |= {key: one[key] for key in ("p_holm", "finding")}
        task = settings["task"]
        if settings["permuted"] and (cheats := judging.beyond_chance(folds, [*rows], task)):
            cautions += (f"permuted labels are predicted better than by chance: {listed(cheats)}",)
        verdict = "" if complete else f"Not complete, {len(folds)} of {n_folds} folds: "
        verdict += _sentence(choice, facts, settings, rows)
        how |= {"kind": choice.kind, "candidate": used.name}
        how |= {"filling": used.filling, "learner": used.learner}
        if hasattr(used.estimator, "get_params"):
            how["code"] = python_of(used.estimator)
    facts = facts | {"fill_errors": judging.mean_fill_errors(folds, facts["columns"])}
    return Comparison(
        verdict, how, [*rows.values()], effects, facts, settings, folds, cautions, complete
    )


def _row(
    candidate: Candidate, folds: Sequence[dict[str, Any]], settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a candidate's mean scores, without its tests."""
    name = candidate.name
    own = [fold["scores"].get(name, {}) for fold in folds]
    error = next((one["error"] for one in own if "error" in one), "")
    scores: dict[str, float | None] = {}
    chance = "auc" if settings["task"] == "classification" else "r2"
    permuted = [fold.get("permuted", {}).get(name, {}).get(chance) for fold in folds]
    of_folds = {score: [one.get(score) for one in own] for score in SCORES[settings["task"]]}
    of_folds |= {"seconds": [one.get("seconds") for one in own], "permuted": permuted}
    for score, found in of_folds.items():
        values = [value for value in found if value is not None]
        scores[score] = float(np.mean(values)) if values and not error else None
    return {
        "candidate": name,
        "filling": candidate.filling,
        "learner": candidate.learner,
        **scores,
        **dict.fromkeys((*_DIFFERENCE, "p_holm")),
        "finding": "baseline" if name == settings["baseline"] else "",
        "n_folds": len(own),
        "error": error.partition("\n")[0][:200],
    }


@dataclass(frozen=True)
class _Choice:
    """What is recommended, and the tests behind it."""

    kind: Literal["keep", "use", "indicators"]
    candidate: Candidate
    under: str  # The learner under which fillings were compared.
    effects: list[dict[str, Any]]
    learner_matters: bool
    filling_matters: bool


def _choose(
    candidates: Sequence[Candidate],
    folds: Sequence[dict[str, Any]],
    facts: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> _Choice:
    """Return the candidate to use: the simplest, unless another is better beyond chance.

    1. Learners on means, and candidates that need no filling, against the simplest candidate.
    2. Fillings against means, under the best learner of 1.
    3. Indicators of gaps also count where the permutation test says that gaps tell of the label,
       under the linear learner too.
    4. A candidate that needs no filling is taken where it is better than that pair.
    """
    primary, margin, base = settings["primary"], settings["margin"], settings["baseline"]
    named = {one.name: one for one in candidates}
    mean = {name: float(judging.gains_by_fold(folds, name, primary).mean()) for name in named}

    def tests(question: str, names: list[str], against: str) -> list[dict[str, Any]]:
        found = judging.compared(folds, [(name, against) for name in names], primary, margin)
        return [{"question": question} | one for one in found]

    # 1.
    simple = [one.name for one in candidates if one.filling in (None, BASELINE)]
    effects = tests("learner", [name for name in simple if name != base], base)
    better = [one["candidate"] for one in effects if one["finding"] == "better"]
    on_means = [base, *(name for name in better if named[name].filling is not None)]
    start = max(on_means, key=mean.__getitem__)
    under = str(named[start].learner)
    # 2.
    others = [one.name for one in candidates if one.learner == under and one.name != start]
    of_fillings = tests("filling", others, start)
    good = {one["candidate"] for one in of_fillings if one["finding"] == "better"}
    # 3.
    p = facts["gaps_tell"]["p"]
    with_indicators = {
        name
        for learner in (LEARNERS[0], under)
        if (name := f"{BASELINE}+indicators, {learner}") in mean
        and mean[name] > mean[f"{BASELINE}, {learner}"] + margin
    }
    tells = p is not None and p < GAPS_TELL and bool(with_indicators)
    if tells:
        good |= with_indicators
    # Ties go to the simplest.
    pair = max((name for name in named if name == start or name in good), key=mean.__getitem__)
    # 4.
    least = mean[pair] + (margin if pair != base else 0.0)
    whole = [name for name in better if named[name].filling is None and mean[name] > least]
    chosen = named[max([pair, *whole], key=mean.__getitem__)]
    sees_gaps = chosen.filling is None or chosen.filling.endswith("+indicators")
    is_told = tells and sees_gaps
    return _Choice(
        "keep" if chosen.name == base else "indicators" if is_told else "use",
        chosen,
        under,
        effects + of_fillings,
        learner_matters=bool(better),
        filling_matters=bool(good),
    )


def _sentence(
    choice: _Choice,
    facts: Mapping[str, Any],
    settings: Mapping[str, Any],
    rows: Mapping[str, dict[str, Any]],
) -> str:
    """Return the verdict in one sentence."""
    score, chosen = _SCORE_WORDS[settings["primary"]], choice.candidate
    words = dict(WORDS)
    if settings["task"] == "regression":
        words["linear"] = "ridge regression"

    def gain(one: Mapping[str, Any]) -> str:
        interval = f"95 % interval {one['lower']:+.3f} to {one['upper']:+.3f}"
        return f"a gain of {one['difference']:+.3f} in {score}, {interval}"

    if choice.kind == "keep":
        others = [row for row in rows.values() if row["difference"] is not None]
        best = max(others, key=lambda row: float(row["difference"]), default=None)
        beside = f" (the best of the others, {best['candidate']}: {gain(best)})" if best else ""
        kept = f"Keep mean imputation with {words[LEARNERS[0]]}"
        return f"{kept}: nothing is shown to be better{beside}."
    used = words.get(chosen.name, chosen.name)
    if chosen.filling is not None and chosen.learner is not None:
        used = f"{words[chosen.learner]} on {words[chosen.filling]}"
    # A pair is told against its own means where it was tested so, else against the simplest.
    told_by = [one for one in choice.effects if one["candidate"] == chosen.name]
    reason = f"({gain(told_by[-1] if told_by else rows[chosen.name])})"
    if choice.kind == "indicators":
        p = facts["gaps_tell"]["p"]
        told = f"Gaps tell of the label (p = {p:.3f})"
        return f"{told}: use indicators of gaps, best as {used} {reason}."
    if chosen.filling is None:
        fills = (
            "the filling matters too" if choice.filling_matters else "no filling is shown to help"
        )
        takes_gaps = chosen.name in ("unfilled", "catboost", "lightgbm")
        lead = "Do not fill: use" if takes_gaps else "Use"
        return f"{lead} {used} {reason}; under {words[choice.under]}, {fills}."
    if chosen.filling == BASELINE:
        return f"Use {used}: the learner matters {reason}; no filling is shown to help."
    what = "the filling and the learner matter" if choice.learner_matters else "the filling matters"
    return f"Use {used}: {what} {reason}."


def _plain(value: Any) -> Any:
    """Return values as Python's own, with None in place of numbers that are not finite."""
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
