"""The commands that README shows, run on the demo's table: ``python -m benchmarks.readme``.

Their output goes to ``results/readme.txt``. A test compares README with it, line by line.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from examples.demo import GAPS, NEW, write_gaps

RESULT = Path(__file__).with_name("results") / "readme.txt"
COMMANDS = (
    f"impute {GAPS} --target diagnosis -o filled.csv --report report.html",
    f"compare {GAPS} --target diagnosis",
    f"fit {GAPS} --target diagnosis --predict -o model.skops",
    f"predict model.skops {NEW} -o predicted.csv",
)


def output_of(command: str, folder: Path) -> str:
    """Return what a command writes to standard output in a folder that has the demo's table."""
    done = subprocess.run(
        [sys.executable, "-m", "kernimpute", *command.split()],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return f"$ kernimpute {command}\n{done.stdout}"


def main() -> None:
    """Run all commands and write what they print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_gaps(folder)
        RESULT.write_text("\n".join(output_of(command, folder) for command in COMMANDS))


if __name__ == "__main__":
    main()
