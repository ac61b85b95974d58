"""Arrays only: kernels, the dual, projections, checks. No tables, no loop of a method."""
