"""What options of the command line stand for: a kernel, columns of the table."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from kernimpute.cli.errors import RefusedError
from kernimpute.core.kernels import Kernel, make_kernel
from kernimpute.table.columns import TableError, check_column_names

__all__ = ["chosen_kernel", "column_list", "column_lists"]


def chosen_kernel(name: str, gamma: float | None) -> Kernel | str:
    """Return the kernel; its name alone, where gamma is to be fitted to the table.

    Parameters
    ----------
    name : str
        The kernel's name.
    gamma : float or None
        Its gamma.

    Returns
    -------
    Kernel or str
        The kernel, or its name.

    Raises
    ------
    typer.BadParameter
        If the kernel has no gamma.
    """
    if gamma is None:
        return str(name)
    try:
        return make_kernel(str(name), gamma)
    except ValueError as error:
        raise typer.BadParameter(
            f"the {name} kernel has no gamma.", param_hint="--gamma"
        ) from error


def column_list(option: str, given: Sequence[str] | None, names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that an option names.

    Parameters
    ----------
    option : str
        The option, for the message.
    given : sequence of str or None
        Its values: each a column's name, or several names separated by commas.
    names : sequence of str
        The table's columns.

    Returns
    -------
    tuple of str
        The names.

    Raises
    ------
    RefusedError
        If there is no such column.

    Examples
    --------
    >>> column_list("--drop", ["a,b", "c, d"], ["a", "b", "c, d"])
    ('a', 'b', 'c, d')
    """
    chosen: list[str] = []
    for value in given or ():
        parts = [part.strip() for part in value.split(",")]
        chosen.extend([value] if value in names or len(parts) == 1 else parts)
    try:
        return tuple(str(name) for name in check_column_names(option, chosen, names))
    except TableError as error:
        raise RefusedError(str(error)) from error


def column_lists(
    names: Sequence[str],
    target: str,
    drop: Sequence[str] | None,
    ignore: Sequence[str] | None,
    categorical: Sequence[str] | None,
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the columns that are dropped, ignored and categorical.

    Parameters
    ----------
    names : sequence of str
        The table's columns.
    target : str
        The label column.
    drop, ignore, categorical : sequence of str or None
        What the options say.

    Returns
    -------
    dropped, ignored, codes : tuple of str
        The names.

    Raises
    ------
    RefusedError
        If one of them, or the target, is no column.
    """
    dropped = column_list("--drop", drop, names)
    ignored = column_list("--ignore", ignore, names)
    codes = column_list("--categorical", categorical, names)
    try:
        check_column_names("--target", [target], names)
    except TableError as error:
        raise RefusedError(str(error)) from error
    return dropped, ignored, codes
