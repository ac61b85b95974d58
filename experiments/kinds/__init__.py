"""The kinds of experiment: what a unit of work is, and which rows a method leaves."""
