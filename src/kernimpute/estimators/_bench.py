"""One fold of a search: candidates that share a kernel matrix are fitted together.

With eta = inf a fold needs one table per reference, one matrix of sums per kernel, one matrix of
kernel values per gamma (none of the two where there are many rows), and along a fine grid of C each
machine starts from the one before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernimpute.core.dual import Dual
from kernimpute.core.gram import HELD_ROWS, DenseGram, Gram, KernelGram
from kernimpute.core.kernels import Gaussian, Kernel
from kernimpute.estimators._candidates import Candidate
from kernimpute.estimators._coding import within_reach
from kernimpute.estimators._filling import (
    Settings,
    dual_of,
    fill,
    for_all_classes,
)
from kernimpute.estimators._folds import Fold
from kernimpute.estimators._labels import Labels
from kernimpute.estimators._machines import Machine, Machines, make_machine
from kernimpute.estimators._references import NewRows, fitted_reference
from kernimpute.estimators._subsets import stratified_subsets

__all__ = ["Bench"]

FloatArray = NDArray[np.float64]

NEAR = 1.5
"""Ratio of C up to which a machine starts from the one before: at 1.1 that takes a quarter to half
of the time (276 and 1000 rows), at 1.4 half to all of it, at 2 it can take longer."""


class Bench:
    """One fold: its training rows, coded and filled, as far as candidates share them.

    Parameters
    ----------
    template : estimator
        A plain estimator with the parameters that are not searched; it is changed.
    frame : DataFrame of shape (n_samples, n_columns)
        The training table.
    labels : Labels
        Its labels.
    fold : Fold
        Which rows train and which are held out.
    """

    def __init__(self, template: Any, frame: Any, labels: Labels, fold: Fold) -> None:
        self.template = template
        self.owner = type(template).__name__
        train = fold.train[labels.weights[fold.train] > 0.0]
        self.labels = labels.learned_from(train)
        training = frame.iloc[train]
        code = template._learn_code(training)
        self.rows = template._coded(code, training)
        self.new = template._coded(code, frame.iloc[fold.test], "missing")
        self.code = code
        self.subsets = stratified_subsets(self.labels, template.subset_size, template._seed())
        self.duals: dict[float, Dual] = {}

    def judged(
        self, candidates: Sequence[Candidate]
    ) -> Iterator[tuple[int, FloatArray, Machines | Machine]]:
        """Yield each candidate's place, the held-out rows filled its way, and what decides.

        Parameters
        ----------
        candidates : sequence of Candidate
            The candidates, those that share a kernel matrix together.

        Yields
        ------
        index : int
            The place among them.
        Z : ndarray of shape (n_held_out, n_coded_columns)
            The held-out rows.
        decide : Machines or Machine
            What has their decision values.
        """
        by_setting = groupby(
            enumerate(candidates), key=lambda item: (id(item[1].reference), item[1].kernel)
        )
        for _, group in by_setting:
            yield from self._of_one_kernel(list(group))

    def _of_one_kernel(
        self, group: list[tuple[int, Candidate]]
    ) -> Iterator[tuple[int, FloatArray, Machines | Machine]]:
        """Yield the candidates of one reference and one kernel, gamma by gamma."""
        first = group[0][1]
        self.template.set_params(kernel=first.kernel, reference=first.reference)
        coding = self.template._coding_for(self.code)
        matrix = coding.matrix(self.rows)
        # As far off as rows may be in prediction.
        new = within_reach(coding.matrix(self.new))
        metric = Gaussian(categorical=coding.categorical)
        reference, filler = fitted_reference(
            first.reference, matrix, metric, self.labels.weights, self.owner
        )
        plain = NewRows(None, self.labels.weights, metric, filler).fill(new)

        def filled_new(
            training: FloatArray, kept: NDArray[np.intp], candidate: Candidate
        ) -> FloatArray:
            if self.template._fills_by_reference(self._settings(candidate).eta):
                return plain
            return NewRows(training[kept], self.labels.weights[kept], metric, filler).fill(new)

        # The machines of eta = inf share one table; not so where there is none, or are subsets.
        table = None if isinstance(reference, str) or len(self.subsets) > 1 else reference
        sums: FloatArray | None = None
        for gamma, members in groupby(group, key=lambda item: item[1].gamma):
            kernel = self.template.set_params(gamma=gamma)._kernel_for(matrix, coding, self.labels)
            chosen = list(members)
            if table is not None:
                gram: Gram = KernelGram(kernel, table)
                if table.shape[0] <= HELD_ROWS or not kernel.is_positive_semidefinite:
                    sums = kernel.sums(table, table) if sums is None else sums
                    gram = DenseGram(kernel.link(sums), kernel.factor(table))
                plain_ones = [item for item in chosen if item[1].is_plain]
                for index, machine in self._along_C(plain_ones, kernel, table, gram):
                    every = np.arange(table.shape[0])
                    yield index, filled_new(table, every, plain_ones[0][1]), machine
                chosen = [item for item in chosen if not item[1].is_plain]
            for index, candidate in chosen:
                settings = self._settings(candidate)
                filling = fill(
                    matrix,
                    self.labels,
                    kernel,
                    reference,
                    self.subsets,
                    settings,
                    max_models=self.template.max_models,
                    n_jobs=self.template.n_jobs,
                )
                filled = filled_new(filling.X, filling.kept, candidate)
                yield index, filled, filling.machines

    def _along_C(
        self,
        members: Iterable[tuple[int, Candidate]],
        kernel: Kernel,
        table: FloatArray,
        K: Gram,
    ) -> Iterator[tuple[int, Machine]]:
        """Yield the machines on the reference, each started from that of a C a little smaller."""
        before: tuple[float, FloatArray] | None = None
        for index, candidate in members:
            # One a C: to make it takes a tenth of the time to solve it.
            if candidate.C not in self.duals:
                self.duals[candidate.C] = dual_of(self.labels, self._settings(candidate))
            dual = self.duals[candidate.C]
            guess = None
            if before is not None and candidate.C <= NEAR * before[0]:
                guess = before[1] * (candidate.C / before[0])
            dual_coef = dual.solve(K, start=guess)
            before = candidate.C, dual_coef
            columns = for_all_classes(
                dual_coef, dual.intercept(K, dual_coef), dual.classes, self.labels
            )
            yield index, make_machine(table, *columns, kernel)

    def _settings(self, candidate: Candidate) -> Settings:
        eta = candidate.eta if isinstance(candidate.eta, float) else None
        return replace(self.template._settings(eta), C=candidate.C)
