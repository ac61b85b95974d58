"""Where tasks run: joblib's backends, a cluster of Dask's on this machine, or one elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

from joblib import cpu_count, effective_n_jobs, parallel_config

from kernimpute.core.checks import refusal, refusal_in_words
from kernimpute.scale.interrupts import kept_from_workers, unheard_ends

__all__ = ["check_answers", "check_scheduler", "on_client", "running_on", "the_distributed"]

PATIENCE = 10
"""Seconds in which a scheduler elsewhere must answer, and have a worker."""

STARTING = 30
"""Seconds in which the next worker process on this machine must be there."""


def the_distributed() -> ModuleType:
    """Return Dask's distributed.

    Raises
    ------
    ImportError
        If it is not installed; the message names the extra.
    """
    try:
        import distributed
    except ImportError as error:
        raise ImportError(
            "Dask is not installed. It comes with the extra 'dask': pip install 'kernimpute[dask]'."
        ) from error
    return distributed


def check_scheduler(owner: str, scheduler: str | None) -> None:
    """Refuse what is no scheduler, or one of Dask's where there is no Dask.

    Parameters
    ----------
    owner : str
        The function whose parameter it is, for the message.
    scheduler : str or None
        As in `running_on`.

    Raises
    ------
    TypeError, ValueError
        If it is neither None, "local" nor an address.
    ImportError
        If Dask is not installed.
    """
    if scheduler is None:
        return
    must_be = "None, 'local' or an address such as 'tcp://host:8786'"
    if not isinstance(scheduler, str):
        raise TypeError(refusal(owner, "scheduler", must_be, scheduler))
    if scheduler != "local" and "://" not in scheduler:
        raise ValueError(refusal(owner, "scheduler", must_be, scheduler))
    the_distributed()


def check_answers(owner: str, scheduler: str | None) -> None:
    """Refuse the address of a scheduler that does not answer, or has no worker.

    Parameters
    ----------
    owner : str
        The function whose parameter it is, for the message.
    scheduler : str or None
        As in `running_on`; nothing is asked but at an address.

    Raises
    ------
    ValueError, ConnectionError
        If it is no address of Dask's, or there was no answer or no worker for 10 seconds.
    """
    if scheduler is None or scheduler == "local":
        return
    distributed = the_distributed()
    name = "scheduler"
    must_be = "the address of a scheduler of Dask's that answers and has a worker"
    try:
        # A client that finds no scheduler is left half made, and waits at the process's end.
        # In a thread, for in a notebook this one has a loop already.
        with ThreadPoolExecutor(1) as pool:
            pool.submit(asyncio.run, _answer(distributed, scheduler)).result()
        with distributed.Client(scheduler, timeout=PATIENCE, set_as_default=False) as client:
            name = "worker"
            client.wait_for_workers(1, timeout=PATIENCE)
    except OSError as error:
        got = f"no {name} at {scheduler!r} for {PATIENCE} seconds"
        raise ConnectionError(refusal_in_words(owner, "scheduler", must_be, got)) from error
    except ValueError as error:
        raise ValueError(refusal(owner, "scheduler", must_be, scheduler)) from error


async def _answer(distributed: ModuleType, scheduler: str) -> None:
    """Connect to a scheduler, and leave it."""
    security = distributed.Security().get_connection_args("client")
    comm = await distributed.comm.connect(scheduler, timeout=PATIENCE, **security)
    await comm.close()


@contextlib.contextmanager
def running_on(scheduler: str | None, n_jobs: int | None, folder: Path) -> Iterator[int | None]:
    """Have joblib run what is in the block on a scheduler.

    Parameters
    ----------
    scheduler : str or None
        None: joblib's own backends, as ``parallel_config`` says. "local": worker processes of
        Dask's on this machine, of one thread each. Else the address of Dask's scheduler.
    n_jobs : int or None
        Jobs at the same time, as joblib counts; None starts a worker process for each core.
    folder : Path
        Where the worker processes may put what they need.

    Yields
    ------
    int or None
        The jobs that joblib is to be asked for.

    Raises
    ------
    ChildProcessError
        If the worker processes do not start.
    """
    if scheduler is None:
        yield n_jobs
        return
    distributed = the_distributed()
    has_started = False
    with contextlib.ExitStack() as ended, contextlib.ExitStack() as stack:
        try:
            is_local = scheduler == "local"
            asked: Any = scheduler
            if is_local:
                asked = stack.enter_context(_cluster(distributed, folder))
            client = stack.enter_context(distributed.Client(asked, set_as_default=False))
            if is_local:
                n_workers = cpu_count() if n_jobs is None else effective_n_jobs(n_jobs)
                # By now, for an interrupt of what came before would leave them half started.
                asked.scale(n_workers)
                _wait_for_workers(asked, n_workers)
                client.register_worker_callbacks(_be_quiet)
            stack.enter_context(on_client(client))
            has_started = True
            yield -1
        except BaseException as error:
            # Why workers do not start is news.
            if has_started or isinstance(error, KeyboardInterrupt):
                ended.enter_context(unheard_ends())
            raise


@contextlib.contextmanager
def _cluster(distributed: ModuleType, folder: Path) -> Iterator[Any]:
    """Yield a cluster on this machine that has no worker yet."""
    with kept_from_workers():
        # It starts workers, and others for those that die, in a thread that exists from now on.
        cluster = distributed.LocalCluster(
            n_workers=0,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            local_directory=str(folder),
            # A task that is dropped at an interrupt is no news.
            silence_logs=logging.ERROR,
        )
    with cluster:
        try:
            yield cluster
        except BaseException:
            _end_workers(cluster)
            raise


_FOR_GOOD = contextlib.ExitStack()
"""What lasts as long as a worker's process."""


def _be_quiet() -> None:
    """Print no error of this worker.

    It has started, and what goes wrong in a task comes back as an exception. What is left is that
    it is ended in the midst of a task, or of its heartbeat, at an interrupt.
    """
    _FOR_GOOD.enter_context(unheard_ends())


def _wait_for_workers(cluster: Any, n_workers: int) -> None:
    """Wait until the workers are there, and refuse to where one fails, or none comes for long."""
    n_there, latest = 0, time.monotonic()
    while n_there < n_workers:
        before, n_there = n_there, len(cluster.scheduler.workers)
        if n_there > before:
            latest = time.monotonic()
        if _has_failed(cluster) or time.monotonic() > latest + STARTING:
            raise ChildProcessError(
                f"Only {n_there} of {n_workers} worker processes started. Where a script asks for "
                'them, it needs `if __name__ == "__main__":` around what it does.'
            )
        time.sleep(0.02)


def _has_failed(cluster: Any) -> bool:
    """Return whether a worker could not start."""
    return any(one.status.name == "failed" for one in cluster.workers.values())


def _end_workers(cluster: Any) -> None:
    """End workers that may be at a task: asked to, they have 0.2 seconds for it, and not 4."""

    async def end() -> None:
        await asyncio.gather(*(one.close(timeout=0.25) for one in cluster.workers.values()))

    with contextlib.suppress(TimeoutError):
        if cluster.plan and not _has_failed(cluster):
            # One that is starting is ended after that at the soonest.
            cluster.wait_for_workers(len(cluster.plan), timeout=10)
        cluster.sync(end)


@contextlib.contextmanager
def on_client(client: Any) -> Iterator[None]:
    """Have joblib run what is in the block on a client of Dask's.

    Parameters
    ----------
    client : distributed.Client
        The client.

    Yields
    ------
    None
        Nothing.
    """
    with parallel_config(backend="dask", client=client, n_jobs=-1):
        yield
