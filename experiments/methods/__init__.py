"""The methods that are compared, as ordered candidates to select among.

Every method sees the same numbers: a column of category codes is a column of numbers to all, as in
the paper's experiments; a dataset's option makes indicator columns of the categories instead.
"""
