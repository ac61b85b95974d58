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


class InterruptedRunError(Exception):
    """A run was interrupted and can be taken up again; the message says how."""
