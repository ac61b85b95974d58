"""Ctrl-C, which a terminal sends to this process and to the workers that it has started."""

from __future__ import annotations

import contextlib
import logging
import signal
import sys
import threading
from collections.abc import Iterator
from multiprocessing import resource_tracker

__all__ = ["kept_from_workers", "unheard_ends"]

LOGGERS = ("distributed", "distributed.client", "tornado.application", "asyncio")
"""Those that say that a task, a connection or a process of Dask's has ended before its time."""


@contextlib.contextmanager
def kept_from_workers() -> Iterator[None]:
    """Start threads and processes that never get an interrupt.

    What is started in the block inherits that this thread holds interrupts back. Else a worker
    that is still importing what it needs prints a traceback at Ctrl-C. Here it comes at the end of
    the block, which must be short.

    Yields
    ------
    None
        Nothing.
    """
    if sys.platform == "win32":
        yield
        return
    # It lets interrupts through again when it starts, as some workers' queues would have it do.
    resource_tracker.ensure_running()
    with _postponed():
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _postponed() -> Iterator[None]:
    """Raise what an interrupt raises at the end of the block.

    Another thread, such as one of BLAS's, takes the signal that this one holds back, and what it
    raises comes here all the same.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is None:
        # Signals are the main thread's business, and None is a handler that is not Python's.
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)


@contextlib.contextmanager
def unheard_ends() -> Iterator[None]:
    """Let Dask and its event loop print no error: of what is being ended, nothing ends well.

    Yields
    ------
    None
        Nothing.
    """
    # What comes from a logger below one of them meets its handlers alone.
    loggers = [logging.getLogger(name) for name in LOGGERS]
    told = [*loggers, *(handler for logger in loggers for handler in logger.handlers)]
    is_news = _News()
    for each in told:
        each.addFilter(is_news)
    try:
        yield
    finally:
        for each in told:
            each.removeFilter(is_news)


class _News(logging.Filter):
    """What is worse than an error."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno >= logging.CRITICAL
