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
_MESSAGE = "kernimpute: interrupted; no output was written.\n"


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
        files = sys.modules.get("kernimpute.core.files")
        # Files that are being put in place are done in no time.
        if files is None or not files.is_putting_in_place():
            raise KeyboardInterrupt

    before = {each: signal.getsignal(each) for each in _INTERRUPTS}
    wakened, waker = os.pipe()
    try:
        for each in _INTERRUPTS:
            # `nohup` and shells in the background ignore some.
            if before[each] is not signal.SIG_IGN:
                signal.signal(each, interrupt)
        threading.Thread(target=_watch, args=(wakened, ended), daemon=True).start()
        os.set_blocking(waker, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        from kernimpute.cli import run

        code = run()
    except KeyboardInterrupt:
        sys.stderr.write(_MESSAGE)
        code = 130
    finally:
        signal.set_wakeup_fd(-1)
        os.close(waker)
        for each in _INTERRUPTS:
            signal.signal(each, before[each])
    if received and code == 130:
        code = 128 + received[0]
    ended.append(code)
    # Otherwise Python spends a third of a second at its end on visiting every object.
    gc.freeze()
    return code


def _watch(wakened: int, ended: list[int]) -> None:
    """End the process a while after an interrupt, even in the middle of compiled code.

    Python's own handler waits for the main thread; this thread is told by the pipe `wakened`.
    """
    number = os.read(wakened, 1)
    if not number:
        os.close(wakened)
        return
    time.sleep(PATIENCE)
    if files := sys.modules.get("kernimpute.core.files"):
        files.leave_nothing()
    if processes := sys.modules.get("multiprocessing.process"):
        for worker in processes.active_children():
            worker.kill()
    if not ended:
        with contextlib.suppress(OSError):
            os.write(2, _MESSAGE.encode())
    os._exit(ended[0] if ended else 128 + number[0])


if __name__ == "__main__":
    sys.exit(main())
