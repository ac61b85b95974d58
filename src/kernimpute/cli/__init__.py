"""The command line: parse, call, print."""

from __future__ import annotations

from kernimpute.cli.main import app, run

__all__ = ["app", "run"]
