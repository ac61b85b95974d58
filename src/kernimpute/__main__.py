"""``python -m kernimpute``, and the program ``kernimpute``: the command line."""

from __future__ import annotations

import gc
import signal
import sys
import threading

__all__ = ["main"]


def main() -> int:
    """Run the program, from the first import on, and return its exit code.

    Returns
    -------
    int
        As of `kernimpute.cli.run`.
    """
    try:
        from kernimpute.cli import run

        code = run()
    except KeyboardInterrupt:
        print("kernimpute: interrupted; no output was written.", file=sys.stderr)
        code = 130
    if threading.current_thread() is threading.main_thread():
        # Whatever the code says is done: to interrupt the process's end would change no file.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    # CPython remembers an interrupt that has passed through a text in `exec`, as dataclasses and
    # named tuples are made, and would end by the signal and not by the code. A text forgets it.
    exec("")
    # Else Python looks through every object once more at its end, for a third of a second.
    gc.freeze()
    return code


if __name__ == "__main__":
    sys.exit(main())
