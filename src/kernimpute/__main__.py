"""``python -m kernimpute``, and the program ``kernimpute``: the command line."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import threading
import time

PATIENCE = 1.0
"""Seconds after an interrupt in which the program may end by itself."""
_INTERRUPTS = (signal.SIGINT, signal.SIGTERM)
_INTERRUPTED = "kernimpute: interrupted; "
_NO_OUTPUT = "no output was written."


def main() -> int:
    """Run the program, from the first import on, and return its exit code."""
    received: list[int] = []
    ended: list[int] = []

    def interrupt(number: int, frame: object) -> None:
        """Take SIGTERM for Ctrl-C, which removes temporary files."""
        # A further interrupt must not disturb that.
        for each in _INTERRUPTS:
            signal.signal(each, signal.SIG_IGN)
        received.append(number)
        # Where Python cannot raise the interrupt, it would print a traceback.
        sys.unraisablehook = lambda _: None
        files = sys.modules.get("kernimpute.core.files")
        # Files that are being put in place are done in no time.
        if not ended and not (files and files.is_putting_in_place()):
            raise KeyboardInterrupt

    try:
        for each in _INTERRUPTS:
            # `nohup`, and shells in the background, ignore some.
            if signal.getsignal(each) is not signal.SIG_IGN:
                signal.signal(each, interrupt)
        # The helpers that count Python's semaphores would tell of those of a process that left.
        sys.warnoptions.append("ignore:resource_tracker")
        wakened, waker = os.pipe()
        if sys.platform != "win32":
            os.set_blocking(waker, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        threading.Thread(target=_watch, args=(wakened, ended), daemon=True).start()
        from kernimpute.cli import run

        code = run()
    except KeyboardInterrupt:
        print(f"{_INTERRUPTED}{_NO_OUTPUT}", file=sys.stderr)
        code = 130
    ended.append(128 + received[0] if received and code == 130 else code)
    if received:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        # Python's own end would wait for workers, and may be by SIGINT, whatever the code is.
        _leave(ended[0])
    # The output is in place: nothing is left to interrupt, but Python would end by the signal.
    for each in _INTERRUPTS:
        signal.signal(each, signal.SIG_IGN)
    # Otherwise Python spends a third of a second at its end on visiting every object.
    gc.freeze()
    return ended[0]


def _watch(wakened: int, ended: list[int]) -> None:
    """End the process a while after an interrupt, even in the middle of compiled code.

    Python's own handler waits for the main thread; this thread is told by the pipe `wakened`.
    """
    (number,) = os.read(wakened, 1)
    time.sleep(PATIENCE)
    files = sys.modules.get("kernimpute.core.files")
    said = files.leave_nothing() if files else None
    if not ended and sys.__stderr__ is not None:
        with contextlib.suppress(OSError):
            os.write(2, f"{_INTERRUPTED}{said or _NO_OUTPUT}\n".encode())
    _leave(ended[0] if ended else 128 + number)


def _leave(code: int) -> None:
    """End the process and its workers at once."""
    if processes := sys.modules.get("multiprocessing.process"):
        for worker in processes.active_children():
            worker.kill()
    os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
