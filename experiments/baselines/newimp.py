"""NewImp: missing cells moved by a gradient flow that discourages diversity (Chen et al., 2024).

Z. Chen, H. Li, F. Wang, O. Zhang, H. Xu, X. Jiang, Z. Song, H. Wang, "Rethinking the Diffusion
Models for Missing Data Imputation: A Gradient Flow Perspective", NeurIPS 2024.

Let r be the distribution of the filled rows. The missing cells ascend

    F(r) = E_r[log p(x)] - lambda H(r),    H the entropy of r,

whose first variation log p + lambda log r + const has the gradient grad log p + lambda grad log r.
Seen through a kernel K, integration by parts takes the derivative off r:

    u(x) = E_{z ~ r}[K(x, z) grad log p(z) - lambda grad_z K(x, z)].

With lambda = -1 this would be Stein variational gradient descent, whose second term drives rows
apart; here it draws them together, because imputation wants a likely value, not a sample. The
authors show that the density of whole rows serves as well as that of missing cells given observed
ones, so p needs no mask: its score is a network's, trained by denoising score matching on the rows
as they are filled now.

The procedure and all defaults are those of the authors' released script: standardised columns,
cells that start at the column means with a little noise, Adam on the cells as on the weights, all
rows in one batch. Three details are ours: the network's swish has a fixed slope, filled cells are
clipped to the observed range, and new rows can be filled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from torch import Generator, Tensor
from torch.optim import Optimizer

from experiments.naming import Option
from experiments.problem import Problem

FloatArray = NDArray[np.float64]

NOISE = 0.1
"""Standard deviation, in standardised columns, of the noise that the network learns to remove and
of the noise that sets the training rows' cells apart at the start."""

LEARNING_RATE = 1e-3
"""Adam's step on the network's weights."""


class NewImpImputer(TransformerMixin, BaseEstimator):
    """Fill gaps by a kernelised gradient flow under a learned score.

    `fit_transform` alternates `n_rounds` times: train the network on the rows as filled, then move
    the missing cells of all training rows. A new row moves under the last network, with the filled
    training rows and itself as the kernel's rows, from the column means: it depends on no other
    new row, and ``fit_transform(X)`` differs from ``fit(X).transform(X)``.

    Filled cells lie in the observed range of the training column; the cells of a column without
    any observed training cell are 0.
    """

    def __init__(
        self,
        *,
        bandwidth: float = 0.5,  # h of the gaussian kernel, in standardised columns
        hidden_units: int = 128,  # of the network's two hidden layers
        entropy_weight: float = 10.0,  # lambda
        step_size: float = 0.1,  # Adam's on the cells, in standardised columns
        n_rounds: int = 2,
        n_epochs: int = 200,  # of the network in a round, each one step on all rows
        n_steps: int = 500,  # of the flow in a round
        random_state: int = 0,
    ) -> None:
        self.bandwidth = bandwidth
        self.hidden_units = hidden_units
        self.entropy_weight = entropy_weight
        self.step_size = step_size
        self.n_rounds = n_rounds
        self.n_epochs = n_epochs
        self.n_steps = n_steps
        self.random_state = random_state

    def fit(self, X: FloatArray, y: object = None) -> NewImpImputer:
        """Learn the score while filling the training rows."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: FloatArray, y: object = None) -> FloatArray:
        """Learn the score and return the filled training rows."""
        self._columns = _Columns.of(X)
        seed = int(np.random.RandomState(self.random_state).randint(2**31 - 1))
        generator = torch.Generator().manual_seed(seed)
        network = EnergyNetwork.drawn(X.shape[1], self.hidden_units, generator)
        rows, missing = self._start(X)
        noise = torch.randn(rows.shape, generator=generator, dtype=rows.dtype)
        rows = torch.where(missing, NOISE * noise, rows).requires_grad_()
        optimizer = torch.optim.Adam([rows], lr=self.step_size)

        def velocity(current: Tensor) -> Tensor:
            scores = network.score(current)
            return flow_velocity(current, current, scores, self.bandwidth, self.entropy_weight)

        for _ in range(self.n_rounds):
            train_score(network, rows.detach(), n_epochs=self.n_epochs, generator=generator)
            move_cells(rows, missing, velocity, optimizer, self.n_steps)
        self._network, self._rows = network, rows.detach()
        return self._columns.filled(X, self._rows.numpy())

    def transform(self, X: FloatArray) -> FloatArray:
        """Return new rows filled, each by itself."""
        scores = self._network.score(self._rows)

        def velocity(current: Tensor) -> Tensor:
            own = self._network.score(current)
            return velocity_of_new_rows(
                current, own, self._rows, scores, self.bandwidth, self.entropy_weight
            )

        rows, missing = self._start(X)
        rows.requires_grad_()
        optimizer = torch.optim.Adam([rows], lr=self.step_size)
        move_cells(rows, missing, velocity, optimizer, self.n_steps)
        return self._columns.filled(X, rows.detach().numpy())

    def _start(self, X: FloatArray) -> tuple[Tensor, Tensor]:
        """Return standardised rows with the means (0) at the gaps, and the cells that move."""
        standardised = self._columns.standardised(X)
        moving = np.isnan(standardised) & self._columns.known
        return torch.tensor(np.nan_to_num(standardised)), torch.tensor(moving)


def imputer(problem: Problem, options: Mapping[str, Option]) -> NewImpImputer:
    """Return NewImp for a problem."""
    bandwidth = float(options["bandwidth"])
    return NewImpImputer(bandwidth=bandwidth, random_state=problem.seed("newimp"))


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
        known = ~np.isnan(matrix).all(axis=0)
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
        return np.where(self.known, (matrix - self.mean) / self.scale, np.nan)

    def filled(self, matrix: FloatArray, rows: FloatArray) -> FloatArray:
        """Return a matrix with its gaps filled from standardised rows, within the range."""
        values = np.clip(rows * self.scale + self.mean, self.minimum, self.maximum)
        return np.where(~np.isnan(matrix), matrix, values)


def flow_velocity(
    points: Tensor, rows: Tensor, scores: Tensor, bandwidth: float, entropy_weight: float
) -> Tensor:
    """Return the velocity of the flow at some points: the mean over rows z of the module's u."""
    lengths = points.square().sum(1)[:, None] + rows.square().sum(1)[None, :]
    K = ((points @ rows.T - 0.5 * lengths).clamp(max=0.0) / bandwidth**2).exp()
    # grad_z K(x, z) = K(x, z) (x - z) / h^2
    repulsion = (K.sum(1)[:, None] * points - K @ rows) / bandwidth**2
    return (K @ scores - entropy_weight * repulsion) / rows.shape[0]


def velocity_of_new_rows(
    points: Tensor,
    own_scores: Tensor,
    rows: Tensor,
    scores: Tensor,
    bandwidth: float,
    entropy_weight: float,
) -> Tensor:
    """Return the velocity of new rows, each joined by itself to the rows that stand for r.

    Without itself among them, a row that no other is near would hardly move.
    """
    n_rows = rows.shape[0]
    others = n_rows * flow_velocity(points, rows, scores, bandwidth, entropy_weight)
    # A row's kernel with itself is 1 and its gradient 0.
    return (others + own_scores) / (n_rows + 1)


def move_cells(
    rows: Tensor,
    missing: Tensor,
    velocity: Callable[[Tensor], Tensor],
    optimizer: Optimizer,
    n_steps: int,
) -> None:
    """Move the missing cells of rows along a velocity, in place."""
    for _ in range(n_steps):
        rows.grad = -velocity(rows.detach()) * missing
        optimizer.step()


@dataclass(frozen=True)
class EnergyNetwork:
    """An energy E with two hidden layers; p is proportional to exp(-E)."""

    # Weights of shape (n_outputs, n_inputs) and biases of shape (n_outputs,) of the hidden layers,
    # in turn, and the weights of the output; its bias has no say in the score
    parameters: tuple[Tensor, ...]

    @classmethod
    def drawn(cls, n_features: int, hidden_units: int, generator: Generator) -> EnergyNetwork:
        """Return a network with weights uniform within one over the root of a layer's inputs."""
        shapes = [
            (hidden_units, n_features),
            (hidden_units,),
            (hidden_units, hidden_units),
            (hidden_units,),
            (1, hidden_units),
        ]
        inputs = [n_features, n_features, hidden_units, hidden_units, hidden_units]
        parameters = []
        for shape, n_inputs in zip(shapes, inputs, strict=True):
            uniform = torch.rand(shape, generator=generator, dtype=torch.float64)
            drawn = (2.0 * uniform - 1.0) / n_inputs**0.5
            parameters.append(drawn.requires_grad_())
        return cls(tuple(parameters))

    def score(self, rows: Tensor, *, differentiable: bool = False) -> Tensor:
        """Return the gradient of log p, i.e. of -E, at every row."""
        first, first_bias, second, second_bias, output = self.parameters
        inputs = rows.detach().requires_grad_()
        hidden = torch.nn.functional.silu(torch.addmm(first_bias, inputs, first.T))
        hidden = torch.nn.functional.silu(torch.addmm(second_bias, hidden, second.T))
        energy = (hidden @ output.T).sum()
        (slope,) = torch.autograd.grad(energy, inputs, create_graph=differentiable)
        return -slope


def train_score(
    network: EnergyNetwork, rows: Tensor, *, n_epochs: int, generator: Generator
) -> None:
    """Train a network by denoising score matching, in place.

    The loss is half the mean of ``|score(x + v) + v / s^2|^2`` over rows x and fresh noise v of
    standard deviation s = `NOISE`: its minimiser is the score of the rows' density blurred by v.
    """
    optimizer = torch.optim.Adam(network.parameters, lr=LEARNING_RATE)
    for _ in range(n_epochs):
        unit = torch.randn(rows.shape, generator=generator, dtype=rows.dtype)
        score = network.score(rows + NOISE * unit, differentiable=True)
        loss = 0.5 * (score + unit / NOISE).square().sum(1).mean()
        gradients = torch.autograd.grad(loss, network.parameters)
        for parameter, gradient in zip(network.parameters, gradients, strict=True):
            parameter.grad = gradient
        optimizer.step()
