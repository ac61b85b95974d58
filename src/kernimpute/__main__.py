"""``python -m kernimpute``, and the program ``kernimpute``: the command line."""

from __future__ import annotations

import gc
import sys

__all__ = ["main"]


def main() -> int:
    """Run the program, from the first import on, and return its exit code."""
    try:
        from kernimpute.cli import run

        code = run()
    except KeyboardInterrupt:
        print("kernimpute: interrupted; no output was written.", file=sys.stderr)
        code = 130
    # Otherwise Python spends a third of a second at its end on visiting every object.
    gc.freeze()
    return code


if __name__ == "__main__":
    sys.exit(main())
