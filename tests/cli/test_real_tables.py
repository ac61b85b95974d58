"""The real tables go through the command line as they are, with the real solvers."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest


def cells(text):
    return list(csv.reader(io.StringIO(text)))


def check_filled(before, after, dropped=()):
    """Every gap is filled and every other cell has its text."""
    header, *rows = cells(before)
    kept = [place for place, name in enumerate(header) if name not in dropped]
    new_header, *new_rows = cells(after)
    assert new_header == [header[place] for place in kept]
    assert len(new_rows) == len(rows)
    n_filled = 0
    for row, new in zip(rows, new_rows, strict=True):
        for place, value in zip(kept, new, strict=True):
            assert value
            if row[place]:
                assert value == row[place]
            else:
                n_filled += 1
                # A filled category is one of the column's own.
                known = {other[place] for other in rows} - {""}
                if not any(text.replace(".", "").isdigit() for text in known):
                    assert value in known
    return n_filled


def test_horse_colic(impute, data, folder):
    table = data / "horse_colic.csv"
    code, out, err = impute(
        table,
        "--target",
        "target",
        "-o",
        "o.csv",
        "--ignore",
        "hospital_number",
        "--report",
        "r.html",
    )
    assert (code, err) == (0, "")
    assert check_filled(table.read_text(), (folder / "o.csv").read_text()) == 1927
    assert "filled   1927 of 10304 cells" in out
    assert "read as codes, for they have leading zeros: lesion_1, lesion_2, lesion_3" in out


def test_cylinder_bands(impute, data, folder):
    table = data / "cylinder_bands.csv"
    dropped = ("timestamp", "cylinder_number", "customer", "job_number")
    code, out, err = impute(table, "-t", "target", "-o", "o.csv", "--drop", ",".join(dropped))
    assert code == 0
    assert err.startswith("warning: categories that differ only in letter case")
    n_filled = check_filled(table.read_text(), (folder / "o.csv").read_text(), dropped)
    assert f"filled   {n_filled} of 19440 cells" in out


@pytest.mark.parametrize("written", ["o.parquet", "o.arff", "o.tsv"])
def test_german_with_gaps(impute, data, folder, written):
    rows = cells((data / "german.csv").read_text())[:201]
    generator = np.random.default_rng(0)
    for row in rows[1:]:
        for place in range(len(row) - 1):
            if generator.random() < 0.2:
                row[place] = "?"
    for row in rows[1:11]:
        row[-1] = ""
    text = "\n".join(",".join(row) for row in rows) + "\n"
    (folder / "t.csv").write_text(text)
    code, out, err = impute("t.csv", "-t", "target", "-o", written, "--missing-values", "?")
    assert (code, err) == (0, "")
    assert "rows without a label  10" in out
    code, out, err = impute(written, "-t", "target", "-o", "again.csv")
    assert (code, err) == (0, "")
    assert "no gap to fill" in out
    again = (folder / "again.csv").read_text()
    header, *filled = cells(again)
    assert header == rows[0]
    for row, new in zip(rows[1:], filled, strict=True):
        assert [b for a, b in zip(row, new, strict=True) if a not in ("?", b)] == []


def test_a_model_of_one_half_fills_the_other(program, data, folder):
    header, *rows = (data / "horse_colic.csv").read_text().splitlines(keepends=True)
    for name, half in (("t.csv", rows[::2]), ("new.csv", rows[1::2])):
        (folder / name).write_text("".join([header, *half]))
    options = ("-t", "target", "--ignore", "hospital_number", "-q")
    assert program("fit", "t.csv", "-o", "m", *options) == (0, "", "")
    code, _, err = program("apply", "m", "new.csv", "-o", "o.csv", "-q")
    assert code == 1
    assert "lesion_1" in err
    code, _, err = program("apply", "m", "new.csv", "-o", "o.csv", "--unknown", "missing", "-q")
    assert code == 0
    told = [line.split("like gaps: ")[1].split(":")[0] for line in err.splitlines()]
    assert told == ["'lesion_1'", "'lesion_2'", "'lesion_3'"]
    before, after = (cells((folder / name).read_text()) for name in ("new.csv", "o.csv"))
    replaced = {
        before[0][place]
        for old, new in zip(before[1:], after[1:], strict=True)
        for place, text in enumerate(new)
        if old[place] and text != old[place]
    }
    assert replaced == {"lesion_1", "lesion_2", "lesion_3"}
    assert all(text for row in after for text in row)
