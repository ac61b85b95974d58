"""Print the core type that makes OpenBLAS compute by another processor's code than it does here.

`make test` runs the numerical tests under it too; where there is none, standard error says so.
"""

import os
import subprocess
import sys

ASK = """
import numpy, scipy.linalg, threadpoolctl
numpy.ones((64, 64)) @ numpy.ones((64, 64))
scipy.linalg.cho_factor(numpy.eye(64))
print({library.get("architecture") for library in threadpoolctl.threadpool_info()} - {None})
"""


def architectures(core_type: str | None = None) -> str:
    """Return the architectures of a fresh interpreter's linear algebra; none if it fails."""
    environment = (
        os.environ if core_type is None else {**os.environ, "OPENBLAS_CORETYPE": core_type}
    )
    ask = [sys.executable, "-c", ASK]
    return subprocess.run(ask, env=environment, capture_output=True, text=True).stdout


if __name__ == "__main__":
    here = architectures()
    for other in ("Haswell", "Prescott"):
        if architectures(other) not in (here, ""):
            print(other)
            break
    else:
        print(f"No second OpenBLAS architecture beside {here}: tests skipped.", file=sys.stderr)
