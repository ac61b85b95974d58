"""``python -m kernimpute``: the command line."""

from __future__ import annotations

import sys

from kernimpute.cli import run

if __name__ == "__main__":
    sys.exit(run())
