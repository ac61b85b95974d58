"""Panel B: the field and ours before learners, on 13 tables with gaps of their own.

It decides defaults with panel A, whose field, learners and statistics it uses. `problems` makes the
problems, `run` measures, and `summary` writes the tables of docs/panel_b.md.
"""
