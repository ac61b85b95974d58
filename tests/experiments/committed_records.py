"""The committed records of an experiment, read once, not to be written to."""

from functools import cache
from pathlib import Path

import pandas as pd

from experiments.records import read_records

COMMITTED = Path(__file__).resolve().parents[2] / "experiments" / "results"


@cache
def committed(name: str) -> pd.DataFrame:
    """Return the committed records of an experiment."""
    return read_records(COMMITTED / f"{name}.csv")
