"""``python -m kernimpute``, and the program ``kernimpute``: the command line."""

from __future__ import annotations

import gc
import signal
import sys


def main() -> int:
    """Run the program, from the first import on, and return its exit code."""
    terminated = []

    def terminate(number: int, frame: object) -> None:
        """Take SIGTERM for Ctrl-C, which removes temporary files."""
        terminated.append(number)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        from kernimpute.cli import run

        code = run()
    except KeyboardInterrupt:
        print("kernimpute: interrupted; no output was written.", file=sys.stderr)
        code = 130
    finally:
        signal.signal(signal.SIGTERM, before)
    if terminated and code == 130:
        code = 143
    # Otherwise Python spends a third of a second at its end on visiting every object.
    gc.freeze()
    return code


if __name__ == "__main__":
    sys.exit(main())
