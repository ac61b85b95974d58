"""mice and miceforest, for those who have them: `run fills --method mice` or miceforest.

mice wants R, from the packages r-base-core and r-cran-mice of Debian; miceforest the packages
miceforest and lightgbm<4.6. What is measured is the error, so the fills of mice are the mean of its
five draws, or the category drawn most often, and those of miceforest its predictions. The filler
of mice leaves training rows as they are; `mice_draws` completes both.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from pandas.api.types import is_numeric_dtype

from experiments.panel_a.fillers import Fill, Filler
from experiments.panel_a.problems import Targets, unrounded

ROUNDS = 5


Completed = tuple[pd.DataFrame, pd.DataFrame]
"""Training rows and other rows, filled."""


def mice_draws(train: pd.DataFrame, y: Targets, frame: pd.DataFrame, seed: int) -> list[Completed]:
    """Return five completions by R's mice, whose models the other rows do not enter."""
    rows = unrounded(pd.concat([train, frame]))
    script = Path(__file__).with_name("mice.R")
    with tempfile.TemporaryDirectory() as folder:
        written, filled = Path(folder) / "rows.csv", Path(folder) / "filled.csv"
        rows.to_csv(written, index=False)
        arguments = [str(written), str(len(frame)), str(filled), str(seed % 2**31)]
        call = ["Rscript", str(script), *arguments]
        said = subprocess.run(call, capture_output=True, text=True)
        if said.returncode:
            raise RuntimeError(f"mice failed: {said.stderr}")
        draws = pd.read_csv(filled, dtype={n: str for n in rows if not is_numeric_dtype(rows[n])})
    n, tables = len(train), [one[list(frame)] for _, one in draws.groupby(".imp")]
    return [(together([t[:n]], train, train), together([t[n:]], frame, train)) for t in tables]


def mice(train: pd.DataFrame, y: Targets, seed: int) -> tuple[pd.DataFrame, Fill]:
    """Return training rows as they are, and a filling by R's mice."""

    def fill(frame: pd.DataFrame) -> pd.DataFrame:
        draws = mice_draws(train, y, frame, seed)
        return together([other for _, other in draws], frame, train)

    return train, fill


def miceforest(train: pd.DataFrame, y: Targets, seed: int) -> tuple[pd.DataFrame, Fill]:
    """Return training rows filled, and a filling by miceforest."""
    from miceforest import ImputationKernel

    def prepared(frame: pd.DataFrame) -> pd.DataFrame:
        dtypes = {
            name: pd.CategoricalDtype(sorted(train[name].dropna().unique()))
            for name in train
            if not is_numeric_dtype(train[name])
        }
        return unrounded(frame).astype(dtypes).reset_index(drop=True)

    # Without candidates a fill is the prediction itself, whose error is lower than a draw's.
    kernel = ImputationKernel(
        prepared(train), num_datasets=1, mean_match_candidates=0, random_state=seed % 2**31
    )
    kernel.mice(ROUNDS, num_threads=1)

    def fill(frame: pd.DataFrame) -> pd.DataFrame:
        new = kernel.impute_new_data(prepared(frame), random_state=seed % 2**31)
        # Of new rows the default is the state before the first round, miceforest 6.0.5.
        return together([new.complete_data(0, iteration=ROUNDS)], frame, train)

    return together([kernel.complete_data(0)], train, train), fill


def together(draws: list[pd.DataFrame], frame: pd.DataFrame, train: pd.DataFrame) -> pd.DataFrame:
    """Return the mean of the draws, and the most frequent category; means where none was drawn."""
    columns = {}
    for name in frame:
        values = pd.DataFrame([list(draw[name]) for draw in draws]).T
        if is_numeric_dtype(train[name]):
            filled = values.astype(float).mean(axis=1).fillna(train[name].mean())
        else:
            filled = values.mode(axis=1)[0].fillna(train[name].mode()[0])
        columns[name] = filled.to_numpy()
    return pd.DataFrame(columns, index=frame.index)


OTHERS: Mapping[str, Filler] = {"mice": mice, "miceforest": miceforest}
