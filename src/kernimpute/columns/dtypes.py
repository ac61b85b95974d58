"""Families of dtypes: which kinds of values a column's dtype holds, whoever made it."""

from __future__ import annotations

from typing import Literal

import pandas as pd
import pyarrow as pa
from pandas.api.types import (
    is_bool_dtype,
    is_float_dtype,
    is_integer_dtype,
    is_object_dtype,
    is_string_dtype,
)

__all__ = ["Source", "dictionary_values", "source_of"]

Source = Literal[
    "integer", "float", "boolean", "text", "object", "category", "dictionary", "null", "other"
]


def source_of(dtype: object) -> Source:
    """Return the family of a column's dtype.

    Parameters
    ----------
    dtype : dtype
        A dtype of pandas or NumPy.

    Returns
    -------
    str
        One of `Source`; "other" is never coded.
    """
    if isinstance(dtype, pd.CategoricalDtype):
        return "category"
    if isinstance(dtype, pd.ArrowDtype):
        if pa.types.is_dictionary(dtype.pyarrow_dtype):
            return "dictionary"
        if pa.types.is_null(dtype.pyarrow_dtype):
            return "null"
    if isinstance(dtype, pd.SparseDtype):
        return "other"
    families: tuple[tuple[Source, object], ...] = (
        ("boolean", is_bool_dtype),
        ("integer", is_integer_dtype),
        ("float", is_float_dtype),
        ("object", is_object_dtype),
        ("text", is_string_dtype),
    )
    return next((family for family, is_it in families if is_it(dtype)), "other")  # type: ignore[operator]


def dictionary_values(series: pd.Series) -> tuple[object, ...]:
    """Return every value of an arrow dictionary column's dictionary, used or not.

    Parameters
    ----------
    series : Series of shape (n_rows,)
        A column of an arrow dictionary dtype.

    Returns
    -------
    tuple
        The values, in the dictionary's order.
    """
    chunks = series.array.__arrow_array__().unify_dictionaries().chunks
    return tuple(chunks[0].dictionary.to_pylist()) if chunks else ()
