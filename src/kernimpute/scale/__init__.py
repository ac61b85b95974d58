"""Tables that are larger than the memory: Parquet files and Dask DataFrames, subset by subset."""

from kernimpute.scale.dask_frames import impute_dask
from kernimpute.scale.parquet import impute_parquet
from kernimpute.scale.results import ParquetImputation
from kernimpute.scale.runs import SubsetsDone

__all__ = ["ParquetImputation", "SubsetsDone", "impute_dask", "impute_parquet"]
