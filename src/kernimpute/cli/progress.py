"""Progress of a run on stderr: one line that is rewritten, and only on a terminal."""

from __future__ import annotations

import math
import sys
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.status import Status as Spinner

from kernimpute.core.status import Record

__all__ = ["Progress", "progress_text"]


def progress_text(record: Record) -> str:
    """Return what is shown of one round.

    Parameters
    ----------
    record : Record
        The round.

    Returns
    -------
    str
        Stage, round, objective and gap or slope, as far as it has them.

    Examples
    --------
    >>> progress_text(Record(iteration=7, objective=12.5, gap=0.002, stage="Stage I"))
    'Stage I: round 7, objective 12.5, gap 0.002'
    """
    parts = [f"{record.stage or 'solving'}: round {record.iteration}"]
    if not math.isnan(record.objective):
        parts.append(f"objective {record.objective:.6g}")
    if not math.isnan(record.gap):
        # The certificate of the one-stage variant is the slope that is left, no gap.
        parts.append(f"{'slope' if record.stage == 'direct' else 'gap'} {record.gap:.2g}")
    return ", ".join(parts)


class Progress:
    """A context in which `callback` shows each round.

    Parameters
    ----------
    quiet : bool
        Show nothing. Nothing is shown either where stderr is not a terminal.
    """

    def __init__(self, *, quiet: bool) -> None:
        self._spinner: Spinner | None = None
        # It is None where it was closed before the start.
        if not quiet and sys.stderr is not None and sys.stderr.isatty():
            self._spinner = Console(stderr=True).status("solving")

    def __enter__(self) -> Self:
        """Begin to show."""
        if self._spinner is not None:
            self._spinner.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Clear the line."""
        if self._spinner is not None:
            self._spinner.stop()

    def callback(self, record: Record) -> bool:
        """Show a round, and let the solver go on.

        Parameters
        ----------
        record : Record
            The round.

        Returns
        -------
        bool
            False: never stop.
        """
        self.show(progress_text(record))
        return False

    def show(self, text: str) -> None:
        """Show a text in place of the one before.

        Parameters
        ----------
        text : str
            The text.
        """
        if self._spinner is not None:
            self._spinner.update(text)
