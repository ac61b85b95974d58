"""The facts of a run, as the summary and the report state them."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from kernimpute.core.kernels import Kernel
from kernimpute.estimators.impute_table import TableImputation
from kernimpute.methods.impute import ImputationResult
from kernimpute.table.columns import counted

__all__ = ["kernel_text", "rounds", "run_facts"]


def kernel_text(kernel: Kernel) -> str:
    """Return a kernel's name and parameters, without its list of categorical columns.

    Parameters
    ----------
    kernel : Kernel
        The kernel.

    Returns
    -------
    str
        For people.

    Examples
    --------
    >>> from kernimpute.core.kernels import Polynomial
    >>> kernel_text(Polynomial(degree=2))
    'polynomial kernel, degree 2, offset 1'
    """
    parameters = [
        f"{field.name} {getattr(kernel, field.name):.4g}"
        for field in fields(kernel)
        if field.name != "categorical"
    ]
    return ", ".join([f"{type(kernel).__name__.lower()} kernel", *parameters])


def run_facts(imputation: TableImputation) -> list[tuple[str, str]]:
    """Return the facts of a run, as pairs of name and text.

    Parameters
    ----------
    imputation : TableImputation
        The filled table.

    Returns
    -------
    list of (str, str)
        Size, label, cells filled, and how the solver ended.
    """
    result = imputation.result
    n_rows, n_columns = imputation.table.shape
    n_cells = n_rows * n_columns
    share = 100.0 * imputation.n_filled / n_cells
    facts = [
        ("table", f"{counted(n_rows, 'row')}, {counted(n_columns, 'column')}"),
        ("label", _label(imputation)),
        ("filled", f"{imputation.n_filled} of {n_cells} cells ({share:.3g} %)"),
    ]
    if imputation.n_unlabelled:
        facts.append(("rows without a label", str(imputation.n_unlabelled)))
    if result is not None:
        facts.append(("method", f"{imputation.settings['variant']}, {kernel_text(result.kernel)}"))
        facts.extend(_solver_facts(result))
    if imputation.filling is not None:
        variant, kernel = (imputation.settings[name] for name in ("variant", "kernel"))
        facts.append(("method", f"{variant}, {kernel_text(kernel)}"))  # type: ignore[arg-type]
        facts.append(("subsets", str(imputation.filling.n_subsets)))
        facts.append(("solver", f"{rounds(imputation.filling.n_iter)} at the most"))
    new = imputation.new_rows
    if new is not None and new.n_sweeps:
        facts.append(
            ("new rows", f"{counted(new.n_sweeps, 'sweep')}, objective {new.objective:.6g}")
        )
    # The causes that some statuses go on to list are among the warnings.
    facts.append(("status", imputation.status.value.partition(" Causes:")[0]))
    facts.append(("seconds", f"{imputation.seconds:.2f}"))
    return facts


def rounds(n_iter: int) -> str:
    """Return how many rounds a solver took, for people.

    Parameters
    ----------
    n_iter : int
        Records of its trace, of which one is the start.

    Returns
    -------
    str
        The count.

    Examples
    --------
    >>> rounds(1), rounds(2)
    ('0 rounds', '1 round')
    """
    return counted(n_iter - 1, "round")


def _label(imputation: TableImputation) -> str:
    if imputation.n_classes is None:
        return f"{imputation.target} ({imputation.task})"
    return f"{imputation.target} ({imputation.task}, {imputation.n_classes} classes)"


def _solver_facts(result: ImputationResult) -> list[tuple[str, str]]:
    """Return rounds, objective and certificate of each stage."""
    one, two = result.stage_one, result.stage_two
    facts = []
    if one is not None:
        known = f"{_last(one.trace.column('objective'), 'objective')}, {_gap(one.gap)}"
        facts.append(("Stage I", f"{counted(one.n_iter, 'round')}, {known}"))
    if two is not None:
        facts.append(
            ("Stage II", f"{counted(two.n_sweeps, 'sweep')}, objective {two.objective:.6g}")
        )
    if one is None and two is None and len(result.trace):
        trace = result.trace
        # The certificate of the one-stage variant is the slope that is left, no gap.
        slope = _last(trace.column("gap"), "slope")
        known = f"{_last(trace.column('objective'), 'objective')}, {slope} of the start's"
        facts.append(("solver", f"{counted(trace.records[-1].iteration, 'round')}, {known}"))
    return facts


def _gap(gap: float) -> str:
    return "no gap" if np.isnan(gap) else f"gap {gap:.3g}"


def _last(values: NDArray[np.float64], name: str) -> str:
    """Return the last value that was evaluated, of an array of shape (n_records,)."""
    known = values[~np.isnan(values)]
    return f"{name} {known[-1]:.6g}" if known.size else f"no {name}"
