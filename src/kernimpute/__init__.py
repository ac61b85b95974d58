"""Supervised kernel-based imputation of labelled tables with gaps."""
