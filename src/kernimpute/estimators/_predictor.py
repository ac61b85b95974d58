"""The predictor: a blend of three kinds of machine on filled rows, and on what was observed.

1. A kernel ridge (`kernimpute.joint.ridge`); a map makes probabilities of its scores.
2. A logistic regression, or a linear ridge for a quantity, with indicators of gaps.
3. Extremely randomised trees, on the same columns.

They err differently. Each predicts the training rows without having seen them: in closed form, in
folds, out of bag. From these predictions the blend is learnt: classes by

    softmax(sum_k a_k log p_k + b),  a_k >= 0,

and a quantity by sum_k a_k f_k. A penalty holds the a_k near equal, and the offsets b near zero. So
few rows are averaged, and many rows choose.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, nnls
from scipy.special import log_softmax, ndtri, softmax
from sklearn import config_context
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict

from kernimpute.core.arrays import BoolArray, FloatArray
from kernimpute.estimators._subsets import Labels
from kernimpute.joint.fills import FEWEST_CHUNK_ROWS, JointReference, counted_rows
from kernimpute.joint.ridge import KernelRidge, Rows, fit_ridge

SKEWED, FEWEST_VALUES, MOST_VALUES = 1.0, 6, 200
"""From this skewness and so many values on, columns get normal scores, kept at so many values."""
LOGISTIC_C = tuple(np.logspace(-2.5, 2.0, 7))
RIDGES = tuple(np.logspace(4.0, -2.0, 13))
"""Penalties of the linear machine that are compared. The smoother comes first and wins a tie."""
MANY_CLASSES = 50  # for more than these one penalty is taken, for time
FOLDS, N_TREES = 5, 100
MOST_CHOICE_ROWS = 2_000  # to choose the linear machine's penalty on
MOST_TREE_ROWS = 5_000  # to grow a tree on: they bound its size
CHUNK_ROWS = 256  # that go down all trees at a time
LEAST = 1e-3  # probabilities are raised to it before logarithms: a forest's may be zero
MAP_PENALTY, BLEND_PENALTY = 1e-2, 2.0
"""Penalties of squared offsets, and of slopes' squared distance from their start, in its units."""
VALUES_PENALTY = 30.0
"""Penalty of a quantity's blend, on the weights' squared distance from equal ones."""
TIE = 1e-8  # relative differences of losses below this decide nothing


class Scores(NamedTuple):
    """The normal scores of a column: its observed values, ascending, and their quantiles."""

    column: int
    values: FloatArray
    scores: FloatArray


class SoftmaxMap(NamedTuple):
    """softmax(sum_k a_k L_k + b) of K score matrices L_k (n_rows, n_classes)."""

    slopes: FloatArray  # (K,), at least 0
    offsets: FloatArray  # (n_classes,)

    def __call__(self, scores: Sequence[FloatArray]) -> FloatArray:
        """Return probabilities (n_rows, n_classes)."""
        return np.asarray(softmax(np.tensordot(self.slopes, scores, 1) + self.offsets, axis=1))


class Inputs(NamedTuple):
    """How filled rows become the machines' columns."""

    skewed: tuple[Scores, ...]
    centre: FloatArray  # (n_columns,)
    scale: FloatArray  # (n_columns,)
    gappy: NDArray[np.intp]  # the cells that some training rows miss

    def __call__(self, filled: FloatArray, observed: BoolArray) -> tuple[Rows, FloatArray]:
        """Return rows as the kernel ridge takes them, and as the other machines do."""
        Z = (_scored(filled, self.skewed) - self.centre) / self.scale
        known = observed.astype(np.float64)
        return Rows(Z, known), np.hstack([Z, 1.0 - known[:, self.gappy]])


@dataclass(frozen=True)
class Forest:
    """Trees as arrays, because scikit-learn's own read a forged file's nodes without any check."""

    roots: NDArray[np.intp]  # (n_trees,)
    columns: NDArray[np.int32]  # (n_nodes,)
    thresholds: FloatArray  # (n_nodes,)
    # (2, n_nodes): where a row goes beyond the threshold, and up to it; from a leaf, nowhere
    children: NDArray[np.int32]
    values: FloatArray  # (n_nodes, n_outputs)
    depth: int

    def predict(self, X: FloatArray) -> FloatArray:
        """Return the mean of the trees' values, (n_rows, n_outputs)."""
        X = X.astype(np.float32)  # as scikit-learn compares it
        mean = np.empty((len(X), self.values.shape[1]))
        for first in range(0, len(X), CHUNK_ROWS):
            some = X[first : first + CHUNK_ROWS]
            places: NDArray[Any] = np.tile(self.roots, (len(some), 1))
            for _ in range(self.depth):
                cells = np.take_along_axis(some, self.columns[places], axis=1)
                places = self.children[(cells <= self.thresholds[places]).astype(np.intp), places]
            mean[first : first + CHUNK_ROWS] = self.values[places].mean(axis=1)
        return mean


def _forest(trees: Any) -> Forest:
    """Return the trees of scikit-learn's forest as arrays."""
    grown = [one.tree_ for one in trees.estimators_]
    columns, thresholds, left, right, values = (
        np.concatenate([getattr(tree, name) for tree in grown])
        for name in ("feature", "threshold", "children_left", "children_right", "value")
    )
    roots = np.cumsum([0, *(tree.node_count for tree in grown)])
    first, itself = np.repeat(roots[:-1], np.diff(roots)), np.arange(roots[-1])
    is_leaf = left < 0
    children = [np.where(is_leaf, itself, side + first) for side in (right, left)]
    return Forest(
        roots[:-1],
        np.where(is_leaf, 0, columns).astype(np.int32),
        np.where(is_leaf, 0.0, thresholds),
        np.array(children, dtype=np.int32),
        np.where(is_leaf[:, None], values[:, 0], 0.0),
        max(tree.max_depth for tree in grown),
    )


@dataclass(frozen=True)
class Predictor:
    """A kernel ridge, a linear machine and trees, with their blend."""

    inputs: Inputs
    ridge: KernelRidge
    linear: Any
    trees: Forest
    blend: FloatArray | SoftmaxMap  # weights of the kinds' values, or of their log probabilities
    map_of_ridge: SoftmaxMap | None = None  # for classes
    present: NDArray[np.intp] | None = None  # the classes of which there are rows
    n_classes: int = 0

    def predict(self, filled: FloatArray, observed: BoolArray) -> FloatArray:
        """Return probabilities (n_rows, n_classes), or standardised values (n_rows, 1)."""
        rows, X = self.inputs(filled, observed)
        scores = self.ridge.scores(rows)
        if self.map_of_ridge is None or not isinstance(self.blend, SoftmaxMap):
            values = [scores[:, 0], self.linear.predict(X), self.trees.predict(X)[:, 0]]
            return np.asarray((np.column_stack(values) @ self.blend)[:, None])
        kinds = [self.map_of_ridge([scores]), self.linear.predict_proba(X), self.trees.predict(X)]
        probabilities = np.zeros((len(X), self.n_classes))
        probabilities[:, self.present] = self.blend(_logarithms(kinds))
        return probabilities


class SameForEveryRow(np.random.Generator):
    """A generator that gives every row the same numbers: no row's draw depends on the others."""

    def __init__(self, *seed: int) -> None:
        super().__init__(np.random.PCG64())
        self._seed, self._calls = seed, 0

    def random(self, size: Any = None) -> Any:  # type: ignore[override]
        """Return uniform numbers of shape (n_rows, …), the same in every row."""
        # As many calls come before, whatever the rows.
        self._calls += 1
        one = np.random.default_rng((*self._seed, self._calls)).random(size[1:])
        return np.broadcast_to(one, size)

    def standard_normal(self, size: Any = None) -> Any:  # type: ignore[override]
        """Return normal numbers of shape (n_rows, n_gaps, 1), the same in every row."""
        # Rows are drawn by their number of gaps.
        one = np.random.default_rng((*self._seed, size[1])).standard_normal(size[1:])
        return np.broadcast_to(one, size)


def drawn_rows(filler: JointReference, matrix: FloatArray, seed: int, draw: int) -> FloatArray:
    """Return new rows (n_rows, n_columns) with a draw at their gaps, each row on its own."""
    # Blocks that the filler does not divide: the generator counts its calls.
    starts = range(0, len(matrix), FEWEST_CHUNK_ROWS)
    blocks = (matrix[first : first + FEWEST_CHUNK_ROWS] for first in starts)
    return np.vstack([filler.sample(block, SameForEveryRow(seed, draw)) for block in blocks])


def fit_predictor(
    filled: FloatArray,
    matrix: FloatArray,
    observed: BoolArray,
    labels: Labels,
    seed: int,
    prefix: str = "",
) -> Predictor:
    """Return the predictor of filled rows (n_rows, n_columns), which are `matrix` with its gaps."""

    def tell(kind: str) -> None:
        if prefix:
            print(f"{prefix}{kind} of {len(filled)} rows", file=sys.stderr)

    counted, weights = counted_rows(labels.weights)
    weights /= weights.mean()
    filled, matrix, observed = filled[counted], matrix[counted], observed[counted]
    y, n_classes = labels.values[counted], 0
    inputs = _learn_inputs(filled, matrix, observed, weights)
    rows, X = inputs(filled, observed)
    order = np.random.default_rng(seed).permutation(len(y))
    if labels.classes is None:
        Y = y[:, None]
    else:
        # A class without rows of positive weight has probability 0.
        present, y = np.unique(y.astype(np.intp), return_inverse=True)
        n_classes, order = present.size, _with_every_class(order, y)
        Y = np.eye(n_classes)[y]
        Y -= np.average(Y, axis=0, weights=weights)
    tell("kernel ridge")
    ridge, by_ridge = fit_ridge(rows, Y, weights, order)
    tell("logistic regression" if n_classes else "linear ridge")
    linear, by_linear = _linear(X, y, weights, order, seed, n_classes=n_classes)
    tell("trees")
    trees, by_trees = _trees(X, y, weights, seed, is_class=n_classes > 0)
    equal = np.full(3, 1.0 / 3.0)
    if labels.classes is None:
        shares = equal
        if by_linear is not None:
            values = np.column_stack([by_ridge, by_linear, by_trees])
            shares = _blended_values(values, y, weights)
        return Predictor(inputs, ridge, linear, trees, shares)
    unit = 1.0 / (np.sqrt(np.average(by_ridge**2, weights=weights, axis=0).mean()) or 1.0)
    map_of_ridge = _softmax_map([by_ridge], y, weights, unit, MAP_PENALTY)
    blend = SoftmaxMap(equal, np.zeros(n_classes))
    if by_linear is not None:
        kinds = _logarithms([map_of_ridge([by_ridge]), by_linear, by_trees])
        blend = _softmax_map(kinds, y, weights, 1.0 / 3.0, BLEND_PENALTY)
    return Predictor(
        inputs, ridge, linear, trees, blend, map_of_ridge, present, labels.classes.size
    )


def _with_every_class(order: NDArray[np.intp], y: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return rows in an order that begins with some of every class, however rare."""
    first = np.concatenate([order[y[order] == code][:FOLDS] for code in np.unique(y)])
    return np.concatenate([first, order[~np.isin(order, first)]])


def _learn_inputs(
    filled: FloatArray, matrix: FloatArray, observed: BoolArray, weights: FloatArray
) -> Inputs:
    """Return what makes columns of mean 0 and variance 1, skewed ones by normal scores."""
    skewed = []
    for column, cells in enumerate(matrix.T):
        known = ~np.isnan(cells)
        values, place = np.unique(cells[known], return_inverse=True)
        if values.size < FEWEST_VALUES:
            continue
        shares = np.bincount(place, weights[known]) / weights[known].sum()
        deviation = values - shares @ values
        variance = float(shares @ deviation**2)
        if abs(float(shares @ deviation**3)) > SKEWED * variance**1.5:
            # The middle of the quantiles that a value takes.
            scores = ndtri(np.cumsum(shares) - shares / 2.0)
            kept = np.unique(np.linspace(0, values.size - 1, MOST_VALUES).round().astype(int))
            skewed.append(Scores(column, values[kept], scores[kept]))
    Z = _scored(filled, skewed)
    centre = np.average(Z, axis=0, weights=weights)
    scale = np.sqrt(np.average((Z - centre) ** 2, axis=0, weights=weights))
    scale = np.where(scale > 1e-9, scale, 1.0)
    return Inputs(tuple(skewed), centre, scale, np.flatnonzero(~observed.all(axis=0)))


def _scored(filled: FloatArray, skewed: Sequence[Scores]) -> FloatArray:
    """Return rows with the normal scores of their skewed columns."""
    Z = filled.copy()
    for one in skewed:
        Z[:, one.column] = np.interp(filled[:, one.column], one.values, one.scores)
    return Z


def _linear(
    X: FloatArray,
    y: NDArray[Any],
    weights: FloatArray,
    order: NDArray[np.intp],
    seed: int,
    *,
    n_classes: int,
) -> tuple[Any, FloatArray | None]:
    """Return the linear machine of the best penalty, and what it predicts of rows held out."""
    machines: list[Any] = [Ridge(penalty) for penalty in RIDGES]
    if n_classes:
        middle = len(LOGISTIC_C) // 2
        penalties = LOGISTIC_C if n_classes <= MANY_CLASSES else LOGISTIC_C[middle : middle + 1]
        machines = [LogisticRegression(C=C, max_iter=1000) for C in penalties]
    some = np.sort(order[:MOST_CHOICE_ROWS])
    best, least, held_out = machines[len(machines) // 2], np.inf, None
    for machine in machines:
        predicted = _held_out(machine, X[some], y[some], weights[some], seed, n_classes)
        if predicted is None:
            break
        if n_classes:
            own = predicted[np.arange(some.size), y[some]]
            loss = float(-weights[some] @ np.log(np.maximum(own, LEAST)))
        else:
            loss = float(weights[some] @ (predicted - y[some]) ** 2)
        if loss < least * (1.0 - TIE):
            best, least, held_out = machine, loss, predicted
    if held_out is not None and some.size < len(y):
        held_out = _held_out(best, X, y, weights, seed, n_classes)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes")
        return best.fit(X, y, sample_weight=weights), held_out


def _held_out(
    machine: Any, X: FloatArray, y: NDArray[Any], weights: FloatArray, seed: int, n_classes: int
) -> FloatArray | None:
    """Return what a machine predicts of rows held out in folds; None where there are too few."""
    n_folds, splitter = min(FOLDS, len(y) // 2), KFold
    if n_classes:
        counts = np.sort(np.bincount(y, minlength=2))
        # Two classes at the least must be left to learn from in every fold.
        n_folds, splitter = min(FOLDS, counts[-1]) if counts[-2] > 1 else 0, StratifiedKFold
    if n_folds < 2:
        return None
    cut = splitter(n_folds, shuffle=True, random_state=seed % 2**32)
    method, given = "predict_proba" if n_classes else "predict", {"sample_weight": weights}
    # With scikit-learn's metadata routing, weights would have to be requested first.
    with config_context(enable_metadata_routing=False), warnings.catch_warnings():
        # A class may have fewer rows than there are folds, and classes may be many for few rows.
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        return cross_val_predict(machine, X, y, cv=cut, params=given, method=method)


def _trees(
    X: FloatArray, y: NDArray[Any], weights: FloatArray, seed: int, *, is_class: bool
) -> tuple[Forest, FloatArray]:
    """Return extremely randomised trees, and what those that did not see a row predict of it."""
    trees = (ExtraTreesClassifier if is_class else ExtraTreesRegressor)(
        N_TREES,
        min_samples_leaf=2,
        max_features=0.5 if is_class else 1.0,
        bootstrap=True,
        oob_score=True,
        max_samples=min(len(y), MOST_TREE_ROWS),
        random_state=seed % 2**32,
    )
    with warnings.catch_warnings():
        # Of few rows, every tree may have seen one.
        warnings.simplefilter("ignore")
        trees.fit(X, y, sample_weight=weights)
    if not is_class:
        return _forest(trees), np.asarray(trees.oob_prediction_)
    return _forest(trees), np.nan_to_num(trees.oob_decision_function_)


def _logarithms(kinds: Sequence[FloatArray]) -> list[FloatArray]:
    """Return logarithms of probabilities, about their mean over a row's classes."""
    logs = [np.log(np.maximum(shares, LEAST)) for shares in kinds]
    return [log - log.mean(axis=1, keepdims=True) for log in logs]


def _softmax_map(
    scores: Sequence[FloatArray],
    y: NDArray[np.intp],
    weights: FloatArray,
    unit: float,
    penalty: float,
) -> SoftmaxMap:
    """Return the map of least penalised log loss; `unit` is the slope that the penalty favours."""
    # A free slope would turn round the predictions of a table with little signal.
    stacked = np.stack(scores) * unit
    n_kinds, n_rows, n_classes = stacked.shape
    truth = np.eye(n_classes)[y]

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        slopes, offsets = parameters[:n_kinds], parameters[n_kinds:]
        logits = np.tensordot(slopes, stacked, 1) + offsets
        logs = log_softmax(logits, axis=1)
        distance = np.append(slopes - 1.0, offsets)
        value = -weights @ logs[np.arange(n_rows), y] + penalty * (distance @ distance)
        excess = weights[:, None] * (np.exp(logs) - truth)
        slope = np.append(np.tensordot(stacked, excess, 2), excess.sum(axis=0))
        return float(value), slope + 2.0 * penalty * distance

    found = minimize(
        loss,
        np.append(np.ones(n_kinds), np.zeros(n_classes)),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * n_kinds + [(None, None)] * n_classes,
        options={"maxiter": 1000, "ftol": 1e-12, "gtol": 1e-8},
    )
    return SoftmaxMap(unit * found.x[:n_kinds], found.x[n_kinds:])


def _blended_values(values: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the weights of the kinds' values (n_rows, n_kinds), at least 0, of least error."""
    n_kinds = values.shape[1]
    root = np.sqrt(weights)
    # The penalty is that of so many rows more.
    pull = np.sqrt(VALUES_PENALTY) * np.eye(n_kinds)
    rows = np.vstack([root[:, None] * values, pull])
    return np.asarray(nnls(rows, np.append(root * y, pull.sum(axis=1) / n_kinds))[0])
