"""How a command ends: exit codes, and the error that carries one line for the user."""

from __future__ import annotations

__all__ = [
    "EXIT_FAULT",
    "EXIT_INTERRUPTED",
    "EXIT_OK",
    "EXIT_REFUSED",
    "EXIT_USAGE",
    "InterruptedRunError",
    "RefusedError",
    "refused_fit",
]

EXIT_OK = 0
"""The output is written (also where the solver stopped early: a warning says so)."""
EXIT_REFUSED = 1
"""The input, its data or the output file is refused; nothing is written."""
EXIT_USAGE = 2
"""The command line itself is wrong: no such option, a value out of its range."""
EXIT_FAULT = 3
"""A fault of kernimpute; nothing is written."""
EXIT_INTERRUPTED = 130
"""Interrupted (Ctrl-C); nothing is written."""


class RefusedError(Exception):
    """Something that a command cannot work with, said in one line.

    Parameters
    ----------
    message : str
        What is wrong and what to do about it.
    """


def refused_fit(error: ValueError) -> RefusedError:
    """Return a refusal that names options as the command line has them.

    Parameters
    ----------
    error : ValueError
        What an estimator or `impute_table` raised.

    Returns
    -------
    RefusedError
        The same in the words of the command line.
    """
    words = str(error)
    for ours, theirs in {
        "subset_size=": "--subset-size ",
        "subset_size": "--subset-size",
        "max_memory": "--max-memory",
    }.items():
        words = words.replace(ours, theirs)
    return RefusedError(words)


class InterruptedRunError(Exception):
    """A run was interrupted and can be taken up again; the message says how."""
