"""Progress bars of a run."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from experiments.plan import Plan

EVERY = 1.0
"""Seconds between two looks at what is written."""


@contextmanager
def progress_bars(plan: Plan) -> Iterator[None]:
    """Show progress bars until the block ends, by counting the files that are written."""
    over = threading.Event()
    left = [plan.files_of(work) for work in plan.work]
    ready = _stamps(plan.folder)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    ) as progress:
        runs = progress.add_task("runs", total=plan.n_left)
        units = progress.add_task("units", total=len(plan.work))

        def look() -> None:
            ended = False
            while not ended:
                ended = over.wait(EVERY)
                done = {
                    name for name, when in _stamps(plan.folder).items() if ready.get(name) != when
                }
                progress.update(runs, completed=sum(len(files & done) for files in left))
                progress.update(units, completed=sum(files <= done for files in left))

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def _stamps(folder: Path) -> dict[str, int]:
    """Return when each part was written, because a part that is run again existed before."""
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("*.parquet")}
