"""Tables of all kinds of columns, with gaps everywhere, as Parquet files."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq


def mixed_table(n_rows: int = 240, n_classes: int = 3, seed: int = 0) -> pd.DataFrame:
    """Return a table sorted by its label, with gaps in every column, the label included."""
    generator = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes

    def gappy(values: object) -> pd.Series:
        return pd.Series(values).where(generator.random(n_rows) > 0.3)

    numbers = generator.normal(size=(n_rows, 3)) + 0.5 * y[:, None]
    table = pd.DataFrame({name: gappy(numbers[:, k]) for k, name in enumerate("abc")})
    table["text"] = gappy(generator.choice(["u", "v", "w"], n_rows))
    table["flag"] = gappy(pd.array(generator.random(n_rows) < 0.5, dtype="boolean"))
    table["count"] = gappy(pd.array(generator.integers(0, 50, n_rows), dtype="Int32"))
    levels = generator.choice(["low", "mid", "high"], n_rows)
    table["level"] = gappy(pd.Categorical(levels, ["low", "mid", "high"], ordered=True))
    table["one"] = gappy(["k"] * n_rows)
    table["none"] = pd.Series([None] * n_rows, dtype="float64")
    table["id"] = np.arange(n_rows)
    table["y"] = gappy(y.astype(str))
    return table.sort_values("y", ignore_index=True)


def numeric_table(n_rows: int, seed: int = 0) -> pd.DataFrame:
    """Return a table of numbers with gaps, whose label is complete."""
    generator = np.random.default_rng(seed)
    y = np.arange(n_rows) % 2
    X = generator.normal(size=(n_rows, 4)) + 0.5 * y[:, None]
    X[generator.random(X.shape) < 0.3] = np.nan
    return pd.DataFrame(X, columns=list("abcd")).assign(y=y)


def written(table: pd.DataFrame, path: Path, rows: int = 90) -> pa.Table:
    """Write a table in row groups of so many rows, and return it."""
    table.to_parquet(path, row_group_size=rows)
    return pq.read_table(path)


def written_folder(table: pd.DataFrame, folder: Path, n_files: int = 3) -> pa.Table:
    """Write a table as several files of two row groups each, and return it."""
    folder.mkdir()
    whole = pa.Table.from_pandas(table)
    size = -(-len(table) // n_files)
    for place in range(n_files):
        part = whole.slice(place * size, size)
        pq.write_table(part, folder / f"part-{place}.parquet", row_group_size=size // 2 + 1)
    return read(folder)


def read(path: Path) -> pa.Table:
    """Return a table of one file or of a folder's files, in the order of their names."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return pa.concat_tables([pq.ParquetFile(file).read() for file in files])
