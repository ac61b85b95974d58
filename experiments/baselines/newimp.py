"""NewImp: missing cells moved by a gradient flow that discourages diversity (Chen et al., 2024).

The flow and its score are in `experiments.baselines._newimp_flow`. The procedure and all defaults
are those of the authors' released script, read in a public copy: standardised columns, cells that
start at the column means with a little noise, Adam on the cells as on the weights, all rows in one
batch. Three details are ours: the network's swish has a fixed slope, filled cells are clipped to
the observed range, and new rows can be filled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from experiments.baselines._newimp_flow import (
    NOISE,
    EnergyNetwork,
    flow_velocity,
    move_cells,
    train_score,
    velocity_of_new_rows,
)
from experiments.baselines._reading import read_rows
from kernimpute.missing import observed_cells
from kernimpute.parameters import check_integer, check_real

OWNER = "NewImpImputer"

FloatArray = NDArray[np.float64]


class NewImpImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Fill gaps by a kernelised gradient flow under a learned score (NewImp).

    `fit` alternates `n_rounds` times: train the score network on the rows as filled, then move
    the missing cells of all training rows `n_steps` steps. A new row moves under the last network
    with the filled training rows and itself as the kernel's rows: it depends on no other new row,
    and starts at the column means. Hence ``fit_transform(X)`` differs from
    ``fit(X).transform(X)``.

    Filled cells lie in the observed range of the training column (the flow has no bounds of its
    own); the cells of a column without any observed training cell are 0.
    """

    def __init__(
        self,
        *,
        bandwidth: float = 0.5,
        hidden_units: int = 128,
        entropy_weight: float = 10.0,
        step_size: float = 0.1,
        n_rounds: int = 2,
        n_epochs: int = 200,
        n_steps: int = 500,
        random_state: Any = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.hidden_units = hidden_units
        self.entropy_weight = entropy_weight
        self.step_size = step_size
        self.n_rounds = n_rounds
        self.n_epochs = n_epochs
        self.n_steps = n_steps
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Return the tags: gaps are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: ArrayLike, y: object = None) -> NewImpImputer:
        """Learn the score while filling the training rows."""
        self._check_parameters()
        matrix = read_rows(self, X, reset=True)
        self._columns = _Columns.of(matrix)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        generator = torch.Generator().manual_seed(seed)
        network = EnergyNetwork.drawn(matrix.shape[1], self.hidden_units, generator)

        rows, missing = self._start(matrix)
        noise = torch.randn(rows.shape, generator=generator, dtype=rows.dtype)
        rows = torch.where(missing, NOISE * noise, rows).requires_grad_()
        optimizer = torch.optim.Adam([rows], lr=self.step_size)

        def velocity(current: Tensor) -> Tensor:
            scores = network.score(current)
            return flow_velocity(current, current, scores, self.bandwidth, self.entropy_weight)

        for _ in range(self.n_rounds):
            train_score(network, rows.detach(), n_epochs=self.n_epochs, generator=generator)
            move_cells(rows, missing, velocity, optimizer, self.n_steps)
        self._network = tuple(part.detach().numpy() for part in network.parameters)
        self._rows = rows.detach().numpy()
        self.X_filled_ = self._columns.filled(matrix, self._rows)
        return self

    def fit_transform(self, X: ArrayLike, y: object = None) -> FloatArray:
        """Return the filled training rows."""
        return self.fit(X, y).X_filled_.copy()

    def transform(self, X: ArrayLike) -> FloatArray:
        """Return new rows filled, each by itself."""
        check_is_fitted(self)
        matrix = read_rows(self, X, reset=False)
        network = EnergyNetwork(tuple(torch.tensor(part) for part in self._network))
        training = torch.tensor(self._rows)
        scores = network.score(training)

        def velocity(current: Tensor) -> Tensor:
            own_scores = network.score(current)
            return velocity_of_new_rows(
                current, own_scores, training, scores, self.bandwidth, self.entropy_weight
            )

        rows, missing = self._start(matrix)
        rows.requires_grad_()
        optimizer = torch.optim.Adam([rows], lr=self.step_size)
        move_cells(rows, missing, velocity, optimizer, self.n_steps)
        return self._columns.filled(matrix, rows.detach().numpy())

    def _start(self, matrix: FloatArray) -> tuple[Tensor, Tensor]:
        """Return standardised rows with the means (0) at the gaps, and the cells that move."""
        standardised = self._columns.standardised(matrix)
        moving = np.isnan(standardised) & self._columns.known
        rows = torch.tensor(np.nan_to_num(standardised))
        return rows, torch.tensor(moving)

    def _check_parameters(self) -> None:
        check_real(OWNER, "bandwidth", self.bandwidth, 0.0)
        check_real(OWNER, "entropy_weight", self.entropy_weight, 0.0, low_included=True)
        check_real(OWNER, "step_size", self.step_size, 0.0)
        for name in ("hidden_units", "n_rounds", "n_epochs", "n_steps"):
            check_integer(OWNER, name, getattr(self, name), 1)


@dataclass(frozen=True)
class _Columns:
    """Mean, scale and range of the observed cells of each column, each of shape (n_features,)."""

    known: NDArray[np.bool_]
    mean: FloatArray
    scale: FloatArray
    minimum: FloatArray
    maximum: FloatArray

    @classmethod
    def of(cls, matrix: FloatArray) -> _Columns:
        """Return the statistics; 0 and scale 1 for columns without any observed cell."""
        observed = observed_cells(matrix)
        known = np.asarray(observed.any(axis=0))
        cells = np.where(known, matrix, 0.0)
        scale = np.nanstd(cells, axis=0)
        return cls(
            known=known,
            mean=np.nanmean(cells, axis=0),
            scale=np.where(scale > 0.0, scale, 1.0),
            minimum=np.nanmin(cells, axis=0),
            maximum=np.nanmax(cells, axis=0),
        )

    def standardised(self, matrix: FloatArray) -> FloatArray:
        """Return rows in standardised columns, gaps kept; columns never observed become gaps."""
        rows: FloatArray = np.where(self.known, (matrix - self.mean) / self.scale, np.nan)
        return rows

    def filled(self, matrix: FloatArray, rows: FloatArray) -> FloatArray:
        """Return a matrix with its gaps filled from standardised rows, within the range."""
        values = np.clip(rows * self.scale + self.mean, self.minimum, self.maximum)
        return np.where(observed_cells(matrix), matrix, values)
