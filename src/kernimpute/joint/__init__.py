"""What the columns say of each other: the reference imputations and their kernels."""
