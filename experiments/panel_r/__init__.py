"""Panel R: the field and ours on ten tables with a quantity as target.

It is made and run like panel B. `problems` makes the problems, `run` measures, and `summary` writes
the tables of docs/panel_b.md.
"""
