"""README shows what its commands print, and stays short."""

import re
from pathlib import Path

import pytest

from benchmarks.readme import COMMANDS, RESULT, output_of
from examples.demo import GAPS, write_gaps

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```console\n(.*?)```", README, flags=re.DOTALL)


def without_seconds(text):
    return re.sub(r"(?m)^seconds .*$|\d+ s$", "", text)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.split()[0])
def test_an_output_is_the_recorded_one(command):
    block = next(one for one in BLOCKS if one.startswith(f"$ kernimpute {command}\n"))
    parts = block.split("...\n")
    recorded = RESULT.read_text(encoding="utf-8")
    assert all(part in recorded for part in parts)


def test_impute_still_prints_what_was_recorded(tmp_path):
    (tmp_path / GAPS.parent).mkdir()
    write_gaps(tmp_path / GAPS)
    printed = output_of(COMMANDS[0], tmp_path)
    assert without_seconds(printed) in without_seconds(RESULT.read_text(encoding="utf-8"))


def test_it_is_short():
    assert len(README.splitlines()) < 150
