"""The cost of running a method (time, memory, warnings), the machine and the versions."""

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

EVERY = 0.02
"""Seconds between two looks at the memory."""
MIB = 2.0**20


@dataclass(frozen=True)
class Outcome:
    """The result and the cost of a call."""

    value: Any  # What it returned; None if it raised
    error: Exception | None  # What it raised
    seconds: float  # Wall-clock time
    # Largest resident memory seen during the call less that at its start, in MiB
    peak_memory_mib: float
    warnings: str | None  # Categories of its warnings and their counts as JSON; None without any

    @property
    def reason(self) -> str | None:
        """The error's type and the first line of its message; None without an error."""
        if self.error is None:
            return None
        lines = str(self.error).strip().splitlines()
        return ": ".join([type(self.error).__name__, *lines[:1]])


def measured(call: Callable[[], Any]) -> Outcome:
    """Run a call on one thread of linear algebra and measure it."""
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
    """A thread that reads this process's resident memory every `EVERY` seconds."""

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
    """Return the versions of the packages that the results depend on, as JSON."""
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
    """Return the processor's name, if the system knows it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())
