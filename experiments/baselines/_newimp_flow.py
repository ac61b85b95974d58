"""The flow of NewImp's cells and the network that gives its score (Chen et al., 2024).

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
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Generator, Tensor
from torch.optim import Optimizer

NOISE = 0.1
"""Standard deviation, in standardised columns, of the noise that the network learns to remove and
of the noise that sets the training rows' cells apart at the start."""

LEARNING_RATE = 1e-3
"""Adam's step on the network's weights."""


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
