"""A support vector machine on complete rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernimpute.core.kernels import Kernel

__all__ = ["Machine", "Machines", "decided", "make_machine", "shown"]

FloatArray = NDArray[np.float64]

CHUNK_CELLS = 2**22
"""Kernel values held at a time when new rows are judged."""


@dataclass(frozen=True)
class Machine:
    """Decision functions ``kernel(Z, support) @ dual_coef + intercept``.

    Parameters
    ----------
    support : ndarray of shape (n_support, n_columns)
        The support vectors.
    dual_coef : ndarray of shape (n_support, n_problems)
        Their signed coefficients.
    intercept : ndarray of shape (n_problems,)
        The intercepts.
    kernel : Kernel
        The kernel.
    """

    support: FloatArray
    dual_coef: FloatArray
    intercept: FloatArray
    kernel: Kernel

    def decision(self, Z: FloatArray) -> FloatArray:
        """Return the decision values of complete rows, chunk by chunk.

        Parameters
        ----------
        Z : ndarray of shape (n_rows, n_columns)
            Complete rows.

        Returns
        -------
        ndarray of shape (n_rows, n_problems)
            The values; each row's depends on that row alone.
        """
        values = np.tile(self.intercept, (Z.shape[0], 1))
        size = max(1, CHUNK_CELLS // max(1, self.support.shape[0]))
        if self.support.shape[0]:
            for first in range(0, Z.shape[0], size):
                chunk = slice(first, first + size)
                values[chunk] += self.kernel(Z[chunk], self.support) @ self.dual_coef
        return values


@dataclass(frozen=True)
class Machines:
    """Machines that decide together, by the mean of their decision values.

    Parameters
    ----------
    members : tuple of Machine
        The machines; at least one, to decide.
    """

    members: tuple[Machine, ...]

    def decision(self, Z: FloatArray) -> FloatArray:
        """Return the mean of the machines' decision values.

        Parameters
        ----------
        Z : ndarray of shape (n_rows, n_columns)
            Complete rows.

        Returns
        -------
        ndarray of shape (n_rows, n_problems)
            The values.
        """
        values = self.members[0].decision(Z)
        for machine in self.members[1:]:
            values += machine.decision(Z)
        return values / len(self.members)


def make_machine(
    X: FloatArray, dual_coef: FloatArray, intercept: FloatArray, kernel: Kernel
) -> Machine:
    """Return the machine of filled training rows; rows without a coefficient are left out.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_columns)
        The filled rows.
    dual_coef : ndarray of shape (n_samples, n_problems)
        Signed coefficients.
    intercept : ndarray of shape (n_problems,)
        Intercepts.
    kernel : Kernel
        The kernel.

    Returns
    -------
    Machine
        The machine.
    """
    support = np.any(dual_coef != 0.0, axis=1)
    return Machine(X[support], dual_coef[support], intercept, kernel)


def decided(values: FloatArray) -> NDArray[np.intp]:
    """Return the class that decision values are for.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_problems)
        Decision values: one for two classes, else one a class.

    Returns
    -------
    ndarray of int of shape (n_rows,)
        Codes of classes.
    """
    return (values[:, 0] > 0.0).astype(np.intp) if values.shape[1] == 1 else values.argmax(axis=1)


def shown(values: FloatArray) -> FloatArray:
    """Return decision values as scikit-learn shows them: a single one has no column.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_problems)
        Decision values.

    Returns
    -------
    ndarray of shape (n_rows,) or (n_rows, n_problems)
        The values.
    """
    return values[:, 0] if values.shape[1] == 1 else values
