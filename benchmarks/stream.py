"""Tables of any size: seconds and memory of `impute_parquet` over the rows.

``python -m benchmarks.stream`` writes simulated tables of 10^5 to 10^6 rows (``--rows`` for others)
and 20 columns that share five factors, 30 % of the cells missing, as Parquet, and fills each in a
process of its own, BLAS on one thread. It measures wall-clock seconds, those of column means in
place of the joint normal, which are reading, coding and writing, and the peak of the resident
memory, next to what is left when everything is imported; and fits the exponent of the seconds.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measuring import exponent
from benchmarks.setting import one_thread, seed_of, write_results
from kernimpute.stream import impute_parquet

N_COLUMNS, N_FACTORS = 20, 5
MISSING_RATE = 0.3
GROUP_ROWS = 2**16
ROWS = (100_000, 300_000, 1_000_000)
MIB = 2**20


def write_table(path: Path, n_rows: int) -> None:
    """Write rows of a few factors and noise, row group by row group."""
    generator = np.random.default_rng(seed_of("stream", n_rows))
    loadings = generator.standard_normal((N_FACTORS, N_COLUMNS))
    schema = pa.schema([(f"x{column}", pa.float64()) for column in range(N_COLUMNS)])
    with pq.ParquetWriter(path, schema) as writer:
        for first in range(0, n_rows, GROUP_ROWS):
            size = min(GROUP_ROWS, n_rows - first)
            X = generator.standard_normal((size, N_FACTORS)) @ loadings
            X += generator.standard_normal(X.shape)
            gaps = generator.random(X.shape) < MISSING_RATE
            columns = [pa.array(X[:, k], mask=gaps[:, k]) for k in range(N_COLUMNS)]
            writer.write_table(pa.table(columns, schema=schema))


def measure(source: Path, output: Path) -> dict[str, float | int]:
    """Fill one table in this process, and return what it took."""
    at_start = psutil.Process().memory_info().rss
    with one_thread():
        done = impute_parquet(source, output)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        means = impute_parquet(source, output, reference="mean", force=True)
    return {
        "n_rows": done.n_rows,
        "n_filled": done.n_filled,
        "seconds": done.seconds,
        "seconds_of_means": means.seconds,
        "peak_mib": peak / MIB,
        "start_mib": at_start / MIB,
    }


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
            command = [sys.executable, "-m", "benchmarks.stream", "--measure", source, output]
            finished = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        runs.append(json.loads(finished.stdout.splitlines()[-1]))
        print(runs[-1])
    results = {"n_columns": N_COLUMNS, "missing_rate": MISSING_RATE, "runs": runs}
    if len(runs) > 1:
        sizes, seconds = ([run[name] for run in runs] for name in ("n_rows", "seconds"))
        results["exponent_of_seconds"] = exponent(sizes, seconds)
    write_results("stream", results)


if __name__ == "__main__":
    main()
