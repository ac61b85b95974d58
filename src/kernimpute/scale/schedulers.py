"""Where tasks run: joblib's backends, a cluster of Dask's on this machine, or one elsewhere."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from joblib import cpu_count, effective_n_jobs, parallel_config

from kernimpute.parameters import refusal

__all__ = ["check_scheduler", "on_client", "running_on", "the_distributed"]


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
    """
    if scheduler is None:
        yield n_jobs
        return
    distributed = the_distributed()
    with contextlib.ExitStack() as stack:
        address: Any = scheduler
        if scheduler == "local":
            n_workers = cpu_count() if n_jobs is None else effective_n_jobs(n_jobs)
            address = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=n_workers,
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",
                    local_directory=str(folder),
                    # A task that is dropped at an interrupt is no news.
                    silence_logs=logging.ERROR,
                )
            )
        client = stack.enter_context(distributed.Client(address, set_as_default=False))
        stack.enter_context(on_client(client))
        yield -1


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
