"""Tables that are larger than the memory: Parquet files and Dask DataFrames, subset by subset."""

from kernimpute.scale.dask_frames import impute_dask
from kernimpute.scale.filling import SubsetsDone
from kernimpute.scale.parquet import ParquetImputation, impute_parquet

__all__ = ["ParquetImputation", "SubsetsDone", "impute_dask", "impute_parquet"]
