"""Where blocks are filled: joblib's backends, worker processes of Dask here, or a cluster."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import resource_tracker
from pathlib import Path
from types import ModuleType
from typing import Any

from joblib import cpu_count, effective_n_jobs, parallel_config

from kernimpute.core.checks import refusal, refusal_in_words

__all__ = ["check_scheduler", "import_distributed", "interrupts_blocked", "running_on"]

PATIENCE = 10
"""Seconds in which a scheduler at an address must answer, and have a worker."""


def import_distributed() -> ModuleType:
    """Return Dask's distributed, or name the extra that installs it."""
    try:
        import distributed
    except ImportError as error:
        raise ImportError(
            "Dask is not installed. It comes with the extra 'dask': pip install 'kernimpute[dask]'."
        ) from error
    return distributed


def check_scheduler(owner: str, scheduler: str | None) -> None:
    """Refuse what is no scheduler, or the address of one that does not answer or has no worker."""
    if scheduler is None:
        return
    must_be = "None, 'local' or an address such as 'tcp://host:8786'"
    if not isinstance(scheduler, str):
        raise TypeError(refusal(owner, "scheduler", must_be, scheduler))
    if scheduler != "local" and "://" not in scheduler:
        raise ValueError(refusal(owner, "scheduler", must_be, scheduler))
    distributed = import_distributed()
    if scheduler == "local":
        return
    must_be = "the address of a scheduler of Dask's that answers and has a worker"
    lacking = "scheduler"
    try:
        # A client without a scheduler prints a traceback when Python exits, so connect first. A
        # notebook's own thread already runs an event loop, so connect in another.
        with ThreadPoolExecutor(1) as pool:
            pool.submit(asyncio.run, _connect(distributed, scheduler)).result()
        with distributed.Client(scheduler, timeout=PATIENCE, set_as_default=False) as client:
            lacking = "worker"
            client.wait_for_workers(1, timeout=PATIENCE)
    except OSError as error:
        got = f"no {lacking} at {scheduler!r} for {PATIENCE} seconds"
        raise ConnectionError(refusal_in_words(owner, "scheduler", must_be, got)) from error
    except ValueError as error:
        raise ValueError(refusal(owner, "scheduler", must_be, scheduler)) from error


async def _connect(distributed: ModuleType, address: str) -> None:
    """Connect to a scheduler and close the connection."""
    security = distributed.Security().get_connection_args("client")
    comm = await distributed.comm.connect(address, timeout=PATIENCE, **security)
    await comm.close()


@contextlib.contextmanager
def running_on(scheduler: str | None, n_jobs: int | None, folder: Path) -> Iterator[int | None]:
    """Let joblib use a scheduler; yield the number of jobs to ask joblib for.

    The worker processes of "local" have one thread each and put their files into `folder`.
    """
    if scheduler is None:
        yield n_jobs
        return
    distributed = import_distributed()
    with contextlib.ExitStack() as stack:
        address: Any = scheduler
        if scheduler == "local":
            n_workers = cpu_count() if n_jobs is None else effective_n_jobs(n_jobs)
            address = stack.enter_context(_local_cluster(distributed, n_workers, folder))
        client = stack.enter_context(distributed.Client(address, set_as_default=False))
        with parallel_config(backend="dask", client=client, n_jobs=-1):
            yield -1


def _local_cluster(distributed: ModuleType, n_workers: int, folder: Path) -> Any:
    """Return a cluster of worker processes on this machine."""
    try:
        with interrupts_blocked():
            return distributed.LocalCluster(
                n_workers=n_workers,
                threads_per_worker=1,
                dashboard_address="127.0.0.1:0",
                local_directory=str(folder),
                silence_logs=logging.ERROR,
            )
    except RuntimeError as error:
        raise ChildProcessError(
            f"The {n_workers} worker processes of scheduler='local' did not start: {error} "
            'A script that asks for them needs `if __name__ == "__main__":` around what it does.'
        ) from error


@contextlib.contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Start threads and processes that never see Ctrl-C, because workers print a traceback at it.

    What is started in the block inherits the signal mask. An interrupt of this process waits for
    the end of the block, which must be short.
    """
    if sys.platform == "win32":
        yield
        return
    # Starting the tracker unblocks interrupts, so start it before they are blocked.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
