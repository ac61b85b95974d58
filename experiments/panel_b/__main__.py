"""The command line: ``python -m experiments.panel_b run | summary``."""

from experiments.panel_b.commands import command_line

app = command_line("panel_b")

if __name__ == "__main__":
    app(prog_name="python -m experiments.panel_b")
