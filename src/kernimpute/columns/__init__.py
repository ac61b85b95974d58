"""The columns of a table: what each holds, where it is observed, and its numbers or codes.

How a column is read:

- **number**: integer and float dtypes (NumPy's, nullable, pyarrow's) and object columns of
  numbers. Filled values stay inside the observed range, or inside the one that the caller
  declares. Filled values of a column of whole numbers are rounded; which columns are whole is
  the caller's choice (`read_column`).
- **category**: category and dictionary dtypes (ordered or not), strings, booleans, object
  columns of strings or of booleans, and any column that the caller names. Filled values are
  observed categories.
- **constant**: one observed value, of either kind. It says nothing about a label, so it never
  reaches the matrix; its gaps become that value exactly.
- **empty**: nothing observed. It never reaches the matrix.

Everything else (dates, durations, periods, complex numbers, lists, numbers mixed with text) is
refused with the column's name and the remedy.
"""

from kernimpute.columns.checks import check_column_names, check_distinct_names, check_table
from kernimpute.columns.codes import column_codes
from kernimpute.columns.dtypes import Source, dictionary_values, source_of
from kernimpute.columns.gaps import observed_in_table
from kernimpute.columns.messages import TableError, TableTypeError, counted, listed, the_column
from kernimpute.columns.reading import Column, Whole, read_column

__all__ = [
    "Column",
    "Source",
    "TableError",
    "TableTypeError",
    "Whole",
    "check_column_names",
    "check_distinct_names",
    "check_table",
    "column_codes",
    "counted",
    "dictionary_values",
    "listed",
    "observed_in_table",
    "read_column",
    "source_of",
    "the_column",
]
