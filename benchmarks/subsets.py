"""Tables larger than the memory: seconds and memory of `impute_parquet` over the rows.

``python -m benchmarks.subsets`` writes simulated tables of 10^4 to 10^6 rows (``--rows`` for
others) and 20 columns, 30 % of the cells missing, as Parquet, and fills each by subsets of 500 in a
process of its own with two worker processes. It measures wall-clock seconds, CPU seconds of all
processes, the largest sum of their resident memory (pages that they share count in each of them),
that of the main process alone, and what is left when it has imported everything; and fits the
exponent of the seconds over the rows.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measuring import exponent
from benchmarks.setting import seed_of, write_results
from kernimpute.estimators.impute_table import TableWarning
from kernimpute.scale import impute_parquet

N_COLUMNS = 20
MISSING_RATE = 0.3
SUBSET_SIZE = 500
N_JOBS = 2
GROUP_ROWS = 2**16
ROWS = (10_000, 100_000, 300_000, 1_000_000)
FITTED_FROM = 100_000
"""Rows from which on the exponent is fitted: of fewer, the start of processes is most of it."""
MIB = 2**20


def write_table(path: Path, n_rows: int) -> None:
    """Write two overlapping clusters, row group by row group, sorted by their label."""
    generator = np.random.default_rng(seed_of("subsets", n_rows))
    names = [f"x{column}" for column in range(N_COLUMNS)]
    schema = pa.schema([*((name, pa.float64()) for name in names), ("y", pa.int64())])
    with pq.ParquetWriter(path, schema) as writer:
        for first in range(0, n_rows, GROUP_ROWS):
            size = min(GROUP_ROWS, n_rows - first)
            y = (np.arange(first, first + size) >= n_rows // 2).astype(np.int64)
            X = generator.standard_normal((size, N_COLUMNS)) + 0.5 * y[:, None]
            gaps = generator.random(X.shape) < MISSING_RATE
            columns = [pa.array(X[:, k], mask=gaps[:, k]) for k in range(N_COLUMNS)]
            writer.write_table(pa.table([*columns, pa.array(y)], schema=schema))


class Watch:
    """The memory and the CPU time of this process and of those that it starts."""

    def __init__(self) -> None:
        self.peak = self.peak_alone = 0
        self.seconds: dict[int, float] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Watch:
        """Begin to watch."""
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Look for the last time."""
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        this = psutil.Process()
        while True:
            total = 0
            for process in [this, *this.children(recursive=True)]:
                try:
                    resident = process.memory_info().rss
                    times = process.cpu_times()
                except psutil.NoSuchProcess:
                    continue
                total += resident
                self.seconds[process.pid] = times.user + times.system
                if process.pid == this.pid:
                    self.peak_alone = max(self.peak_alone, resident)
            self.peak = max(self.peak, total)
            if self._over.wait(0.05):
                return


def measure(source: Path, output: Path) -> dict[str, float | int]:
    """Fill one table in this process and its workers, and return what it took."""
    at_start = psutil.Process().memory_info().rss
    began = time.perf_counter()
    with Watch() as watch, warnings.catch_warnings():
        # The stop rule is not what is measured.
        warnings.simplefilter("ignore", TableWarning)
        done = impute_parquet(source, "y", output, subset_size=SUBSET_SIZE, n_jobs=N_JOBS)
    return {
        "n_rows": done.n_rows,
        "n_columns": N_COLUMNS,
        "n_filled": done.n_filled,
        "n_subsets": done.n_subsets,
        "seconds": time.perf_counter() - began,
        "cpu_seconds": sum(watch.seconds.values()),
        "peak_mib": watch.peak / MIB,
        "peak_main_mib": watch.peak_alone / MIB,
        "start_mib": at_start / MIB,
    }


def exponent_of(name: str, runs: list[dict[str, float | int]]) -> float | None:
    """Return the exponent of a figure over the rows, of tables that dwarf the start."""
    large = [run for run in runs if run["n_rows"] >= FITTED_FROM]
    if len(large) < 2:
        return None
    return exponent([run["n_rows"] for run in large], [run[name] for run in large])


def main() -> None:
    """Measure every size in a process of its own."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--measure", type=Path, nargs=2)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(*arguments.measure)))
        return
    runs = []
    for n_rows in arguments.rows:
        with tempfile.TemporaryDirectory() as folder:
            source, output = Path(folder, "table.parquet"), Path(folder, "filled.parquet")
            write_table(source, n_rows)
            command = [sys.executable, "-m", "benchmarks.subsets", "--measure", source, output]
            finished = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        runs.append(json.loads(finished.stdout.splitlines()[-1]))
        print(runs[-1])
    results = {
        "subset_size": SUBSET_SIZE,
        "n_jobs": N_JOBS,
        "missing_rate": MISSING_RATE,
        "runs": runs,
        "exponent_of_seconds": exponent_of("seconds", runs),
        "exponent_of_cpu_seconds": exponent_of("cpu_seconds", runs),
    }
    write_results("subsets", results)


if __name__ == "__main__":
    main()
