"""Checks of scalar parameters, with one sentence for every refusal.

The sentence says what, whose, must be, got; every public function and record of the
package words its refusals through the functions of this file.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable
from numbers import Integral, Real

__all__ = [
    "SMALLEST_SUBSET",
    "check_choice",
    "check_integer",
    "check_jobs",
    "check_real",
    "refusal",
    "refusal_in_words",
]

SMALLEST_SUBSET = 10
"""Fewest rows that may be asked for as the size of a subset."""


def refusal(owner: str, name: str, must_be: str, got: object) -> str:
    """Return the sentence with which a parameter is refused.

    Parameters
    ----------
    owner : str
        The function or class whose parameter it is.
    name : str
        The parameter.
    must_be : str
        What it must be, as the end of the clause "must be …".
    got : object
        What was passed; shown by its ``repr``.

    Returns
    -------
    str
        One sentence and what was got instead.

    Examples
    --------
    >>> refusal("Gaussian", "gamma", "a float in (0, inf)", -1.0)
    "The 'gamma' parameter of Gaussian must be a float in (0, inf). Got -1.0 instead."
    """
    return refusal_in_words(owner, name, must_be, repr(got))


def refusal_in_words(owner: str, name: str, must_be: str, got: str) -> str:
    """Return the sentence of `refusal` for what is better described than shown.

    Parameters
    ----------
    owner, name, must_be : str
        As in `refusal`.
    got : str
        What was passed, as the end of the clause "Got … instead".

    Returns
    -------
    str
        One sentence and what was got instead.

    Examples
    --------
    >>> refusal_in_words("impute", "X", "a matrix", "an array of shape (3,)")
    "The 'X' parameter of impute must be a matrix. Got an array of shape (3,) instead."
    """
    return f"The {name!r} parameter of {owner} must be {must_be}. Got {got} instead."


def check_real(
    owner: str,
    name: str,
    value: object,
    low: float,
    high: float = math.inf,
    *,
    low_included: bool = False,
    high_included: bool = False,
) -> float:
    """Return `value` as a float inside an interval.

    Parameters
    ----------
    owner, name : str
        Whose parameter, and which; for the message.
    value : object
        The value to check; booleans are refused.
    low, high : float
        Ends of the interval.
    low_included, high_included : bool, default=False
        Whether the ends belong to the interval.

    Returns
    -------
    float
        The value.

    Raises
    ------
    TypeError
        If `value` is not a real number.
    ValueError
        If it lies outside the interval.
    """
    left, right = "[" if low_included else "(", "]" if high_included else ")"
    must_be = f"a float in {left}{low:g}, {high:g}{right}"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(refusal(owner, name, must_be, value))
    try:
        number = float(value)
    except OverflowError as error:
        raise ValueError(refusal(owner, name, must_be, value)) from error
    above = number >= low if low_included else number > low
    below = number <= high if high_included else number < high
    if not (above and below):
        raise ValueError(refusal(owner, name, must_be, value))
    return number


def check_integer(owner: str, name: str, value: object, low: int) -> int:
    """Return `value` as an int that is at least `low`.

    Parameters
    ----------
    owner, name : str
        Whose parameter, and which; for the message.
    value : object
        The value to check; booleans are refused.
    low : int
        The smallest value allowed.

    Returns
    -------
    int
        The value.

    Raises
    ------
    TypeError
        If `value` is not an integer.
    ValueError
        If it is below `low`.
    """
    must_be = f"an int in [{low}, inf)"
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(refusal(owner, name, must_be, value))
    if value < low:
        raise ValueError(refusal(owner, name, must_be, value))
    return int(value)


def check_jobs(owner: str, n_jobs: object) -> int | None:
    """Return a number of jobs as joblib counts.

    Parameters
    ----------
    owner : str
        The function whose parameter it is, for the message.
    n_jobs : object
        The value to check.

    Returns
    -------
    int or None
        The value.

    Raises
    ------
    TypeError, ValueError
        If it is neither None nor an integer other than 0.
    """
    if n_jobs is None:
        return None
    must_be = "None or an int other than 0"
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral):
        raise TypeError(refusal(owner, "n_jobs", must_be, n_jobs))
    if n_jobs == 0:
        raise ValueError(refusal(owner, "n_jobs", must_be, n_jobs))
    return int(n_jobs)


def check_choice(owner: str, name: str, value: object, choices: Collection[str]) -> str:
    """Return `value` if it is one of the named choices.

    Parameters
    ----------
    owner, name : str
        Whose parameter, and which; for the message.
    value : object
        The value to check.
    choices : collection of str
        The names allowed.

    Returns
    -------
    str
        The value.

    Raises
    ------
    ValueError
        If it is none of them.
    """
    if not (isinstance(value, Hashable) and isinstance(value, str) and value in choices):
        listed = ", ".join(repr(choice) for choice in sorted(choices))
        raise ValueError(refusal(owner, name, f"one of {listed}", value))
    return value
