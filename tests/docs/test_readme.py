"""README shows what its commands print, and stays short."""

import re
from pathlib import Path

from benchmarks.readme import COMMANDS, RESULT, output_of
from examples.demo import write_gaps

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```console\n(.*?)```", README, flags=re.DOTALL)


def without_seconds(text):
    return re.sub(r"(?m)^seconds .*$|\d+ s$", "", text)


def test_the_outputs_are_the_recorded_ones():
    recorded = RESULT.read_text(encoding="utf-8")
    assert [part for block in BLOCKS for part in block.split("...\n") if part not in recorded] == []
    assert all(f"$ kernimpute {command}\n" in "".join(BLOCKS) for command in COMMANDS)


def test_impute_still_prints_what_was_recorded(tmp_path):
    write_gaps(tmp_path)
    printed = output_of(COMMANDS[0], tmp_path)
    assert without_seconds(printed) in without_seconds(RESULT.read_text(encoding="utf-8"))


def test_it_is_short():
    assert len(README.splitlines()) < 150
