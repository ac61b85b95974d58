"""Panel A: the field and ours on 24 complete tables in which gaps are made.

It decides defaults. `problems` makes the problems, `fillers` and `prediction` are the field, `run`
measures, and `summary` writes the tables of docs/panel_a.md.
"""
