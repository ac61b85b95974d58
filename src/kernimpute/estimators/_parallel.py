"""Calls that run one after the other or at the same time.

The number of jobs and what runs them are joblib's: an argument, or ``joblib.parallel_config``
around the call where it is None. Calls at the same time have one thread of BLAS each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import threadpool_limits

__all__ = ["on_one_thread", "run_all", "runs_alone"]


def runs_alone(n_jobs: int | None) -> bool:
    """Return whether calls run one after the other, in this process.

    Parameters
    ----------
    n_jobs : int or None
        Calls at the same time, as joblib counts; None takes what ``parallel_config`` says.

    Returns
    -------
    bool
        True for one job.
    """
    return bool(effective_n_jobs(n_jobs) == 1)


def on_one_thread(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Return what a function returns where BLAS has one thread.

    Parameters
    ----------
    function : callable
        The function.
    arguments : tuple
        Its arguments; in a tuple, for joblib hands single ones to one worker of Dask's before any
        asks, and they would be lost with it.

    Returns
    -------
    object
        What it returns.
    """
    with threadpool_limits(1, user_api="blas"):
        return function(*arguments)


def run_all(
    function: Callable[..., Any],
    calls: Iterable[tuple[Any, ...]],
    n_jobs: int | None,
    *,
    verbose: int = 0,
) -> list[Any]:
    """Return what a function returns for each tuple of arguments, in their order.

    Parameters
    ----------
    function : callable
        The function, of a module's own level, so that it can be sent to other processes.
    calls : iterable of tuple
        Its arguments.
    n_jobs : int or None
        Calls at the same time, as in `runs_alone`.
    verbose : int, default=0
        What joblib prints.

    Returns
    -------
    list
        The results.
    """
    if runs_alone(n_jobs):
        return [function(*call) for call in calls]
    # Around all calls, too: the limit is the process's, and threads that each restored what they
    # found would restore the limit of others.
    with threadpool_limits(1, user_api="blas"):
        return list(
            Parallel(n_jobs=n_jobs, verbose=verbose)(
                delayed(on_one_thread)(function, call) for call in calls
            )
        )
