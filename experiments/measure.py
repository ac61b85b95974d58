"""What running a method takes: time, memory and warnings; on which machine, with which versions."""

from __future__ import annotations

import json
import platform
import subprocess
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil
from threadpoolctl import threadpool_limits

__all__ = ["Outcome", "machine", "measured", "versions"]

EVERY = 0.02
"""Seconds between two looks at the memory."""
MIB = 2.0**20


@dataclass(frozen=True)
class Outcome:
    """What a call came to.

    Parameters
    ----------
    value : object
        What it returned; None if it raised.
    error : Exception or None
        What it raised.
    seconds : float
        Wall-clock time.
    peak_memory_mib : float
        Largest resident memory seen during the call less that at its start, in MiB.
    warnings : str or None
        Categories of its warnings and their counts as JSON; None without any.
    """

    value: Any
    error: Exception | None
    seconds: float
    peak_memory_mib: float
    warnings: str | None

    @property
    def reason(self) -> str | None:
        """The error's type and the first line of its message; None without an error."""
        if self.error is None:
            return None
        lines = str(self.error).strip().splitlines()
        return ": ".join([type(self.error).__name__, *lines[:1]])


def measured(call: Callable[[], Any]) -> Outcome:
    """Run a call on one thread of linear algebra and say what it took.

    Parameters
    ----------
    call : callable
        What to run. Its warnings are counted, not shown; its exceptions are kept, except those
        that end the process.

    Returns
    -------
    Outcome
        What it returned or raised, and what it took.
    """
    value, raised = None, None
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(limits=1):
        warnings.simplefilter("always")
        with _PeakMemory() as memory:
            began = time.perf_counter()
            try:
                value = call()
            except Exception as error:
                # Without its frames, which would hold the method's arrays in memory.
                raised = error.with_traceback(None)
            seconds = time.perf_counter() - began
    counts = Counter(warning.category.__name__ for warning in caught)
    written = json.dumps(dict(sorted(counts.items()))) if counts else None
    return Outcome(value, raised, seconds, memory.peak_mib, written)


class _PeakMemory:
    """A look at this process's resident memory every `EVERY` seconds, from a thread."""

    def __enter__(self) -> _PeakMemory:
        self._process = psutil.Process()
        self._start = self._highest = self._process.memory_info().rss
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        ended = False
        while not ended:
            ended = self._over.wait(EVERY)
            self._highest = max(self._highest, self._process.memory_info().rss)

    @property
    def peak_mib(self) -> float:
        """The largest memory seen less that at the start, in MiB."""
        return float(self._highest - self._start) / MIB


@cache
def versions() -> str:
    """Return the versions of what the results rest on, as JSON.

    Returns
    -------
    str
        Package names to versions; and the revision of the checkout this runs from, "+" where files
        differ from it, "" outside of one.
    """
    packages = ("kernimpute", "numpy", "scipy", "scikit-learn")
    found = {"python": platform.python_version(), **{name: version(name) for name in packages}}
    return json.dumps({**found, "revision": _revision()}, separators=(",", ":"))


def _revision() -> str:
    folder = Path(__file__).parent
    command = ("git", "-C", str(folder), "describe", "--always", "--exclude=*", "--dirty=+")
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


@cache
def machine() -> str:
    """Return the processor's name, so far as the system tells it.

    Returns
    -------
    str
        Such as "Intel(R) Xeon(R) Processor".
    """
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())
