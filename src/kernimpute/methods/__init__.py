"""The paper's methods; start reading at `impute`."""
