"""The R code of the documentation runs, where R and reticulate are there."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kernimpute

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "from_r.R"
MORE = """
mixed <- data.frame(text = rep(c("a", NA, "b"), 20), yes = rep(c(TRUE, FALSE, NA, TRUE), 15))
mixed$size <- factor(rep(c("small", "large", NA), 20), c("small", "large"), ordered = TRUE)
mixed$empty <- NA
filled <- from_python(kernimpute$impute_table(to_python(mixed))$table, mixed)
stopifnot(identical(lapply(filled, class), lapply(mixed, class)), !anyNA(filled[1:3]))
stopifnot(identical(filled[!is.na(mixed)], mixed[!is.na(mixed)]), all(is.na(filled$empty)))
"""
"""Kinds of columns that the table of the example lacks."""


def test_the_example_runs_and_keeps_types(tmp_path):
    if shutil.which("Rscript") is None:
        pytest.skip("Rscript is not installed")
    package = str(Path(kernimpute.__file__).parents[1])
    environment = os.environ | {"RETICULATE_PYTHON": sys.executable, "PYTHONPATH": package}
    run = {"env": environment, "capture_output": True, "text": True, "cwd": tmp_path}
    probe = "reticulate::import('kernimpute')"
    if (found := subprocess.run(["Rscript", "-e", probe], **run)).returncode:
        pytest.skip(f"R cannot open this Python by reticulate: {found.stderr.strip()[-200:]}")
    script = tmp_path / "script.R"
    script.write_text(SCRIPT.read_text(encoding="utf-8") + MORE, encoding="utf-8")
    done = subprocess.run(["Rscript", str(script)], **run)
    assert done.returncode == 0, done.stderr
    shown = (SCRIPT.parents[1] / "docs" / "r.md").read_text(encoding="utf-8")
    # The fills, without the predictions, whose last digit a platform may change.
    assert shown.partition("```text\n")[2].partition("[1]")[0] in done.stdout
