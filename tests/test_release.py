"""What a release consists of agrees, and what runs elsewhere is at least well formed."""

import re
import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

import kernimpute

ROOT = Path(__file__).resolve().parents[1]


def test_all_files_name_the_same_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    released = r"## \[(\S+)\] - (\S+)\n"
    version, day = re.search(released, (ROOT / "CHANGELOG.md").read_text("utf-8")).groups()
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    cited = dict(re.findall(r'^(version|date-released): "?([^"\n]+)', citation, re.MULTILINE))
    assert kernimpute.__version__ == project["version"] == version
    assert cited == {"version": version, "date-released": day}


def test_the_package_is_marked_as_typed():
    assert (files(kernimpute) / "py.typed").is_file()


@pytest.mark.parametrize(
    ("schema", "pattern"),
    [("workflows", "workflows/*.yml"), ("issue-forms", "ISSUE_TEMPLATE/[!c]*.yml")],
)
def test_files_for_the_host_are_well_formed(schema, pattern):
    pytest.importorskip("check_jsonschema", reason="only `make test` installs check-jsonschema")
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema"]
    given = [f"vendor.github-{schema}", *(ROOT / ".github").glob(pattern)]
    assert subprocess.run([*check, *given]).returncode == 0
