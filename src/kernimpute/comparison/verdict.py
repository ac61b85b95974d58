"""`compare`: whether filling helps on a table, with what, and the verdict in one sentence.

1. The table is prepared: numbers, categories, and the rows that have a label.
2. Its facts are collected.
3. Every candidate is scored in every fold.
4. Learners are compared on means, then fillings under the learner that is best there, and the
   verdict follows.
"""

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
from joblib.externals.loky import get_reusable_executor
from numpy.typing import ArrayLike, NDArray

from kernimpute.comparison.candidates import (
    BASELINE,
    LEARNERS,
    WORDS,
    Candidate,
    candidates_of,
    python_of,
)
from kernimpute.comparison.facts import facts_of
from kernimpute.comparison.judging import (
    HIGHER_IS_BETTER,
    SCORES,
    Data,
    Fold,
    beyond_chance,
    compared,
    make_folds,
    mean_fill_errors,
    run_fold,
    scores_by_fold,
)
from kernimpute.core.checks import (
    check_choice,
    check_integer,
    check_real,
    refusal,
    refusal_in_words,
)
from kernimpute.estimators.impute_table import TableWarning
from kernimpute.table.code import learn_code, table_labels
from kernimpute.table.columns import TableError, counted, listed, observed_in_table
from kernimpute.table.frames import check_in_memory, to_pandas

GAPS_TELL = 0.01
"""Gaps tell of the label below this p-value."""
FEWEST_OF_CLASS = 10
"""Rows of smaller classes are left out, because folds inside folds would lack them."""
MOST_CATEGORIES = 254
"""Columns of more categories are left out: boosted trees take no more."""
FEWEST_FOLDS = 2
"""Finished folds that a verdict needs."""
_SAME = ("task", "folds", "repeats", "seed", "candidates", "permuted", "data_sha256", "versions")
"""The settings in which a resumed comparison must agree."""


@dataclass(frozen=True)
class Comparison:
    """What `compare` found.

    Parameters
    ----------
    verdict : str
        One sentence: what to use, and why.
    recommendation : dict
        ``kind`` ("keep", "use", "indicators" or "incomplete"), ``candidate``, ``filling``,
        ``learner``, ``code`` (Python that makes the estimator; None where it cannot be printed)
        and ``command`` (of the command line; None where there is none).
    rows : list of dict
        One for each candidate: mean scores; difference to the simplest candidate in the first
        score, positive where better, with its 95 % interval; seconds a fold.
    effects : list of dict
        The tests behind the verdict. "learner": each learner on means, and each candidate that
        needs no filling, against the simplest candidate. "filling": each filling against means
        under one learner. P-values are corrected by Holm within each question.
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
        """Return everything as plain Python values.

        Returns
        -------
        dict
            With the keys ``verdict``, ``recommendation``, ``table``, ``effects``, ``facts``,
            ``settings``, ``cautions``, ``folds`` and ``complete``.
        """
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        plain: dict[str, Any] = _plain(values | {"table": values.pop("rows")})
        return plain

    def to_json(self) -> str:
        """Return `to_dict` as JSON.

        Returns
        -------
        str
            JSON; `compare` takes a file that holds it as ``resume``.
        """
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    def to_markdown(self) -> str:
        """Return the verdict and the candidates as Markdown.

        Returns
        -------
        str
            The sentence, and a table.
        """
        head, *rows = self.cells()
        lines = [head, ["---"] * len(head), *rows]
        return "\n".join([self.verdict, "", *("| " + " | ".join(row) + " |" for row in lines), ""])

    def cells(self) -> list[list[str]]:
        """Return the table as text.

        Returns
        -------
        list of list of str
            The head, then one row a candidate.
        """
        scores = SCORES[self.settings["task"]]
        cells = [["candidate", *scores, "difference", "95 % interval", "finding", "seconds"]]
        for row in self.rows:
            ends = [_shown(row[one], "+.3f") for one in ("lower", "upper")]
            cells.append(
                [
                    row["candidate"],
                    *(_shown(row[one], ".3f") for one in scores),
                    _shown(row["difference"], "+.3f"),
                    " to ".join(ends) if any(ends) else "",
                    row["error"] or row["finding"],
                    _shown(row["seconds"], ".2f"),
                ]
            )
        return cells

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

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        try:
            from matplotlib import pyplot
        except ImportError as error:
            raise ImportError("plot needs matplotlib: pip install matplotlib.") from error
        rows = [row for row in self.rows if row["lower"] is not None][::-1]
        if ax is None:
            _, ax = pyplot.subplots(figsize=(7, 1 + 0.28 * len(rows)), layout="constrained")
        margin = self.settings["margin"]
        ax.axvspan(-margin, margin, color="0.88")
        ax.axvline(0.0, color="0.5", linewidth=1)
        for place, row in enumerate(rows):
            ax.plot([row["lower"], row["upper"]], [place, place], color="C0", linewidth=1)
            ax.plot(row["difference"], place, "o", color="C0", markersize=4)
        ax.set_yticks(range(len(rows)), [row["candidate"] for row in rows])
        ax.set_xlabel(
            f"gain in {_SCORE_WORDS[self.settings['primary']]} over {self.settings['baseline']}"
        )
        return ax


# ------------------------------------------------------------------------- compare


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
        Which fillings, learners and candidates without filling to compare: "means",
        "means+indicators", "knn", "iterative", "joint", "joint+indicators", "guided"; "linear"
        (logistic or ridge regression), "svm", "boosting"; "unfilled" (gradient boosting with its
        own treatment of gaps), "kernimpute" (its predictor), "catboost", "lightgbm". None takes
        all that are installed; "means" with "linear" is always there.
    candidates : mapping of str to estimator or None, default=None
        Further estimators or pipelines that take X with its gaps, by name. Classifiers need
        `predict_proba`.
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
        If a parameter is out of its range, or `resume` is of another comparison.
    TableError
        If the table or the labels cannot be used as they are.

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
    check_choice("compare", "task", task, ("auto", "classification", "regression"))
    check_integer("compare", "folds", folds, 2)
    check_integer("compare", "repeats", repeats, 1)
    check_integer("compare", "max_rows", max_rows, 50)
    check_integer("compare", "random_state", random_state, 0)
    check_real("compare", "margin", margin, 0.0, low_included=True)
    if time_limit is not None:
        check_real("compare", "time_limit", time_limit, 0.0)
    # 1.
    data, cautions = _prepared(X, y, groups, task, categorical, missing_values)
    data, more = _sampled(data, max_rows, random_state)
    cautions += more
    n_categories = sum(dtype.kind != "f" for dtype in data.table.dtypes)
    n_classes = np.unique(data.y).size if data.task == "classification" else 1
    chosen, more = candidates_of(
        data.task, methods, candidates or {}, len(data.y), n_classes, n_categories, random_state
    )
    cautions += more
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
        "data_sha256": _sha256(data),
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in _VERSIONS},
        },
    }
    finished = {fold["number"]: fold for fold in _resumed(resume, settings)}
    for caution in cautions:
        warnings.warn(caution, TableWarning, stacklevel=2)
    # 2.
    facts = facts_of(
        data.table, data.y, data.task, has_groups=data.groups is not None, seed=random_state
    )

    def found_so_far() -> Comparison:
        return judge(chosen, finished, facts, settings, tuple(cautions), data.table)

    # 3.
    jobs = [
        fold
        for fold in make_folds(data, folds, repeats, random_state)
        if fold.number not in finished
    ]
    end = math.inf if time_limit is None else start + time_limit
    n_before, begun = len(finished), time.perf_counter()
    for result in _results(data, chosen, jobs, settings, end):
        finished[result["number"]] = result
        if verbose:
            each = (time.perf_counter() - begun) / (len(finished) - n_before)
            left = each * (folds * repeats - len(finished))
            print(
                f"compare: fold {len(finished)} of {folds * repeats}, about {left:.0f} s left",
                file=sys.stderr,
            )
        if callback is not None and callback(found_so_far()):
            break
    # 4.
    comparison = found_so_far()
    for caution in comparison.cautions[len(cautions) :]:
        warnings.warn(caution, TableWarning, stacklevel=2)
    return comparison


_VERSIONS = ("kernimpute", "numpy", "scipy", "scikit-learn", "pandas")
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
            raise ValueError(refusal("compare", "y", must_be, y))
        label, labels = y, given.pop(y)
    else:
        labels = pd.Series(np.asarray(y) if not isinstance(y, pd.Series) else y.array, name="y")
    lengths = {"y": len(labels)} | ({} if groups is None else {"groups": len(np.asarray(groups))})
    for whose, length in lengths.items():
        if length != len(given):
            must_be = f"of length {len(given)}, one for each row of X"
            raise ValueError(refusal_in_words("compare", whose, must_be, f"{length} values"))
    column = labels.to_frame(label)
    labelled = observed_in_table(column, missing_values)[:, 0]
    read = table_labels(column, labelled, task)
    cautions = list(read.cautions)
    if not labelled.all():
        cautions.append(f"rows without a label are left out: {int((~labelled).sum())}")
    given = given[labelled].reset_index(drop=True)
    table, more = _plain_table(given, categorical, missing_values)
    values = read.values if read.numbers is None else read.numbers
    own_groups = None if groups is None else pd.factorize(np.asarray(groups)[labelled])[0]
    data = Data(table, given, values, read.task, own_groups)
    if read.task == "classification":
        classes, counts = np.unique(values, return_counts=True)
        rare = classes[counts < FEWEST_OF_CLASS]
        if classes.size - rare.size < 2:
            raise TableError(
                f"The label column {label!r} must have two classes of at least {FEWEST_OF_CLASS} "
                f"rows. Got {classes.size - rare.size}."
            )
        if rare.size:
            kept = np.flatnonzero(~np.isin(values, rare))
            data = _taken(data, kept)
            more.append(
                f"classes of fewer than {FEWEST_OF_CLASS} rows are left out, with "
                f"{counted(len(values) - len(kept), 'row')}: {listed(rare.tolist())}"
            )
    return data, cautions + more


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


def _sampled(data: Data, max_rows: int, seed: int) -> tuple[Data, list[str]]:
    """Return a random sample of a large table, of whole groups if there are any."""
    n_rows = len(data.y)
    if n_rows <= max_rows:
        return data, []
    groups = np.arange(n_rows) if data.groups is None else data.groups
    order = np.random.default_rng(seed).permutation(groups.max() + 1)
    fits = np.cumsum(np.bincount(groups)[order]) <= max_rows
    rows = np.flatnonzero(np.isin(groups, order[fits]))
    return _taken(data, rows), [
        f"{len(rows)} of {n_rows} rows are compared, drawn at random: max_rows={max_rows}"
    ]


def _taken(data: Data, rows: NDArray[Any]) -> Data:
    """Return some of the rows."""
    return replace(
        data,
        table=data.table.iloc[rows].reset_index(drop=True),
        given=data.given.iloc[rows].reset_index(drop=True),
        y=data.y[rows],
        groups=None if data.groups is None else data.groups[rows],
    )


def _sha256(data: Data) -> str:
    """Return a hash of the cells and labels that are compared."""
    rows = pd.util.hash_pandas_object(data.table, index=False).to_numpy()
    labels = pd.util.hash_array(np.asarray(data.y), categorize=True)
    return hashlib.sha256(rows.tobytes() + labels.tobytes()).hexdigest()


def _resumed(
    resume: Comparison | str | Path | None, settings: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the folds of a comparison that did not end; refuse another one's."""
    if resume is None:
        return []
    if isinstance(resume, Comparison):
        former = resume.to_dict()
    else:
        try:
            former = json.loads(Path(resume).read_text(encoding="utf-8"))
            former["folds"], former["settings"]
        except (ValueError, KeyError, TypeError, UnicodeDecodeError) as error:
            must_be = "a file of Comparison.to_json"
            raise ValueError(refusal("compare", "resume", must_be, str(resume))) from error
    differ = [name for name in _SAME if former["settings"].get(name) != settings[name]]
    if differ:
        must_be = "of the same table and settings"
        got = "another " + ", ".join(differ)
        raise ValueError(refusal_in_words("compare", "resume", must_be, got))
    return list(former["folds"])


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
            yield run_fold(data, candidates, fold, **how)
        return
    executor = get_reusable_executor(max_workers=n_workers)
    left, running = list(jobs), set[Future[dict[str, Any]]]()
    try:
        while (left or running) and time.perf_counter() < end:
            # One fold a worker: loky fails if it is shut down while folds wait for a worker.
            while left and len(running) < n_workers:
                running.add(executor.submit(run_fold, data, candidates, left.pop(0), **how))
            timeout = None if math.isinf(end) else max(0.0, end - time.perf_counter())
            done, running = wait(running, timeout=timeout, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)
    finally:
        if running:
            # Folds that nobody waits for any more would go on computing.
            executor.shutdown(kill_workers=True)


# ------------------------------------------------------------------------- the verdict


def judge(
    candidates: Sequence[Candidate],
    finished: Mapping[int, dict[str, Any]],
    facts: dict[str, Any],
    settings: dict[str, Any],
    cautions: tuple[str, ...],
    table: pd.DataFrame,
) -> Comparison:
    """Return the comparison by the folds that are finished."""
    folds = [finished[number] for number in sorted(finished)]
    facts = facts | {"fill_errors": mean_fill_errors(folds, table)}
    n_folds = settings["folds"] * settings["repeats"]
    complete = len(folds) == n_folds
    rows = {one.name: _row(one, folds, settings) for one in candidates}
    found = Comparison(
        verdict=f"No verdict yet: {len(folds)} of {n_folds} folds are finished.",
        recommendation=_recommended("incomplete", None),
        rows=[*rows.values()],
        effects=[],
        facts=facts,
        settings=settings,
        folds=folds,
        cautions=cautions,
        complete=complete,
    )
    if len(folds) < FEWEST_FOLDS:
        return found
    failed = [name for name, row in rows.items() if row["error"]]
    cautions += tuple(f"{name} failed: {rows[name]['error']}" for name in failed)
    base = settings["baseline"]
    if base in failed:
        raise TableError(f"The simplest candidate failed. {rows[base]['error']}.")
    choice = _choose(candidates, folds, facts, settings)
    differences = compared(
        folds, [(name, base) for name in rows if name != base], settings["primary"], 0.0
    )
    for one in differences:
        rows[one["candidate"]] |= {
            name: one[name] for name in ("difference", "lower", "upper", "p")
        }
    for one in choice.effects:
        if one["against"] == base:
            rows[one["candidate"]] |= {name: one[name] for name in ("p_holm", "finding")}
    if settings["permuted"]:
        cheats = [*beyond_chance(folds, [*rows], settings["task"])]
        if cheats:
            cautions += (f"permuted labels are predicted better than by chance: {listed(cheats)}",)
    sentence = _sentence(choice, facts, settings, rows)
    if not complete:
        sentence = f"Not complete, {len(folds)} of {n_folds} folds: {sentence}"
    return replace(
        found,
        verdict=sentence,
        recommendation=_recommended(choice.kind, choice.candidate),
        effects=choice.effects,
        cautions=cautions,
    )


def _row(
    candidate: Candidate, folds: Sequence[dict[str, Any]], settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a candidate's mean scores, without its tests."""
    own = [fold["scores"].get(candidate.name, {}) for fold in folds]
    errors = [one["error"] for one in own if "error" in one]
    scores: dict[str, Any] = {}
    for score in (*SCORES[settings["task"]], "seconds"):
        values = [one[score] for one in own if one.get(score) is not None]
        scores[score] = float(np.mean(values)) if values and not errors else None
    return {
        "candidate": candidate.name,
        "filling": candidate.filling,
        "learner": candidate.learner,
        **scores,
        **dict.fromkeys(("difference", "lower", "upper", "p", "p_holm")),
        "finding": "baseline" if candidate.name == settings["baseline"] else "",
        "n_folds": len(own),
        "error": " ".join(errors[0].split()) if errors else "",
    }


@dataclass(frozen=True)
class _Choice:
    """What is recommended, and the tests behind it."""

    kind: Literal["keep", "use", "indicators"]
    candidate: Candidate
    effects: list[dict[str, Any]]
    learner_matters: bool
    filling_matters: bool
    # The difference that the sentence quotes.
    reason: dict[str, Any] | None


def _choose(
    candidates: Sequence[Candidate],
    folds: Sequence[dict[str, Any]],
    facts: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> _Choice:
    """Return the candidate to use: the simplest, unless another is better beyond chance.

    1. Learners on means, and candidates that need no filling, against the simplest candidate.
    2. Fillings against means, under the best learner of 1.
    3. Indicators of gaps also count where the permutation test says that gaps tell of the label.
    4. A candidate that needs no filling is taken where it is better than that pair.
    """
    primary, margin, base = settings["primary"], settings["margin"], settings["baseline"]
    sign = 1.0 if primary in HIGHER_IS_BETTER else -1.0
    named = {one.name: one for one in candidates}

    def mean(name: str) -> float:
        return sign * float(scores_by_fold(folds, name, primary).mean())

    def family(question: str, pairs: list[tuple[str, str]]) -> list[dict[str, Any]]:
        return [{"question": question} | one for one in compared(folds, pairs, primary, margin)]

    # 1.
    simplest = [one for one in candidates if one.name != base and one.filling in (None, BASELINE)]
    of_learners = family("learner", [(one.name, base) for one in simplest])
    better = {one["candidate"] for one in of_learners if one["finding"] == "better"}
    on_means = [base, *(name for name in better if named[name].filling is not None)]
    start = named[max(on_means, key=mean)]
    # 2.
    others = [
        one
        for one in candidates
        if one.learner == start.learner and one.learner is not None and one.name != start.name
    ]
    of_fillings = family("filling", [(one.name, start.name) for one in others])
    good = {one["candidate"] for one in of_fillings if one["finding"] == "better"}
    # 3.
    p = facts["gaps_tell"]["p"]
    tells = p is not None and p < GAPS_TELL
    with_indicators = f"{BASELINE}+indicators, {start.learner}"
    if tells:
        good |= {
            one["candidate"]
            for one in of_fillings
            if one["candidate"] == with_indicators and one["difference"] > margin
        }
    pair = named[max([start.name, *good], key=mean)]
    # 4.
    more = margin if pair.name != base else 0.0
    whole = [
        name
        for name in better
        if named[name].filling is None and mean(name) > mean(pair.name) + more
    ]
    chosen = named[max([pair.name, *whole], key=mean)]
    sees_gaps = chosen.filling is None or chosen.filling.endswith("+indicators")
    is_told = tells and with_indicators in good and sees_gaps
    effects = of_learners + of_fillings
    reasons = [one for one in effects if one["candidate"] == chosen.name]
    return _Choice(
        "keep" if chosen.name == base else "indicators" if is_told else "use",
        chosen,
        effects,
        learner_matters=bool(better),
        filling_matters=bool(good),
        reason=reasons[-1] if reasons else None,
    )


def _recommended(kind: str, candidate: Candidate | None) -> dict[str, Any]:
    """Return the recommendation, with Python that makes the estimator."""
    found: dict[str, Any] = dict.fromkeys(("candidate", "filling", "learner", "code", "command"))
    if candidate is not None:
        found["candidate"] = candidate.name
        found |= {"filling": candidate.filling, "learner": candidate.learner}
        if hasattr(candidate.estimator, "get_params"):
            found["code"] = python_of(candidate.estimator)
    return {"kind": kind} | found


def in_words(candidate: Candidate, task: str) -> str:
    """Return what a candidate is, in a sentence."""
    words = WORDS | ({"linear": "ridge regression"} if task == "regression" else {})
    if candidate.filling is None or candidate.learner is None:
        return words.get(candidate.name, candidate.name)
    return f"{words[candidate.learner]} on {words[candidate.filling]}"


def _sentence(
    choice: _Choice,
    facts: Mapping[str, Any],
    settings: Mapping[str, Any],
    rows: Mapping[str, dict[str, Any]],
) -> str:
    """Return the verdict in one sentence."""
    task, score = settings["task"], _SCORE_WORDS[settings["primary"]]

    def gain(one: Mapping[str, Any]) -> str:
        return (
            f"{one['difference']:+.3f} in {score}, 95 % interval {one['lower']:+.3f} to "
            f"{one['upper']:+.3f}"
        )

    used = in_words(choice.candidate, task)
    if choice.kind == "keep":
        others = [row for row in rows.values() if row["difference"] is not None]
        best = max(others, key=lambda row: float(row["difference"]), default=None)
        beside = f" (the best of the others, {best['candidate']}: {gain(best)})" if best else ""
        return f"Keep mean imputation with {used.partition(' on ')[0]}: nothing is better{beside}."
    reason = f" ({gain(choice.reason)})" if choice.reason else ""
    if choice.kind == "indicators":
        return (
            f"Gaps tell of the label (p = {facts['gaps_tell']['p']:.3f}): use indicators of gaps, "
            f"best as {used}{reason}."
        )
    if choice.candidate.filling is None:
        fills = "the filling matters too" if choice.filling_matters else "no filling differs"
        lead = (
            "Use"
            if choice.candidate.name not in ("unfilled", "catboost", "lightgbm")
            else "Do not fill: use"
        )
        return f"{lead} {used}{reason}; under {_under(choice, task)}, {fills}."
    if choice.candidate.filling == BASELINE:
        return f"Use {used}: the learner matters{reason}, the filling does not."
    what = "the filling and the learner matter" if choice.learner_matters else "the filling matters"
    return f"Use {used}: {what}{reason}."


def _under(choice: _Choice, task: str) -> str:
    """Return the learner under which fillings were compared."""
    against = {one["against"] for one in choice.effects if one["question"] == "filling"}
    learner = next(iter(against), f"{BASELINE}, {LEARNERS[0]}").rpartition(", ")[2]
    return "ridge regression" if (learner, task) == ("linear", "regression") else WORDS[learner]


# ------------------------------------------------------------------------- text


def _shown(value: float | None, form: str) -> str:
    """Return a number as text, and nothing for none."""
    return "" if value is None else f"{value:{form}}"


def _plain(value: Any) -> Any:
    """Return values as Python's own, with None in place of numbers that are not finite."""
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
