"""Calls that run one after the other or at the same time.

The number of jobs and what runs them are joblib's: an argument, or ``joblib.parallel_config``
around the call where it is None. Calls at the same time have one thread of BLAS each.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import ThreadpoolController

__all__ = ["on_one_thread", "one_thread", "run_all", "runs_alone"]


class _SharedLimit:
    """What all threads inside `one_thread` share."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.n_inside = 0
        self.found: list[tuple[Any, int]] = []


_LIMIT = _SharedLimit()


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Give BLAS one thread, on several threads of Python's at a time too.

    threadpoolctl saves the limit and puts it back, and most libraries have one for the whole
    process: of two threads that each do so, the one that leaves first would lift the other's. So
    the first to come in saves what is the process's, and the last to leave puts it back.

    Yields
    ------
    None
        Nothing.
    """
    with _LIMIT.lock:
        if _LIMIT.n_inside == 0:
            libraries = _blas().lib_controllers
            # On OpenMP each thread has a limit of its own.
            shared = [one for one in libraries if getattr(one, "threading_layer", "") != "openmp"]
            _LIMIT.found = [(library, library.num_threads) for library in shared]
            _set_limits([(library, 1) for library in shared])
        _LIMIT.n_inside += 1
    try:
        with _blas().limit(limits=1):
            yield
    finally:
        with _LIMIT.lock:
            _LIMIT.n_inside -= 1
            if _LIMIT.n_inside == 0:
                _set_limits(_LIMIT.found)


def _set_limits(limits: list[tuple[Any, int]]) -> None:
    """Set the limit of each library, from whatever thread."""
    for library, n_threads in limits:
        library.set_num_threads(n_threads)
    # threadpoolctl hears one thread alone from its first call on, until it leaves a block.
    with _blas().limit(limits=None):
        pass


@functools.cache
def _blas() -> ThreadpoolController:
    """Return the libraries of BLAS, which takes milliseconds: those that NumPy and SciPy have."""
    return ThreadpoolController().select(user_api="blas")


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
    with one_thread():
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
    # Around all calls, too, so that threads do not set the limit anew for each.
    with one_thread():
        return list(
            Parallel(n_jobs=n_jobs, verbose=verbose)(
                delayed(on_one_thread)(function, call) for call in calls
            )
        )
