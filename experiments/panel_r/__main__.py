"""The command line: ``python -m experiments.panel_r run | summary``."""

from experiments.panel_b.commands import command_line

app = command_line("panel_r")

if __name__ == "__main__":
    app(prog_name="python -m experiments.panel_r")
