"""The real tables go through the command line as they are."""

import re

import pandas as pd

from tests.cli.conftest import cells_of, check_filled


def test_horse_colic(program, data_dir, folder):
    table = data_dir / "horse_colic.csv"
    given = ("-t", "target", "-o", "o.csv", "--ignore", "hospital_number", "--report", "r.html")
    code, out, err = program("impute", table, *given)
    assert (code, err) == (0, "")
    assert check_filled(table.read_text(), (folder / "o.csv").read_text()) == 1927
    assert "1927 of 10304 cells" in out
    assert "read as codes, because they have leading zeros: lesion_1, lesion_2, lesion_3" in out
    before, after = pd.read_csv(table), pd.read_csv(folder / "o.csv")
    for name in ("pulse", "rectal_temperature", "packed_cell_volume", "total_protein"):
        gaps = before[name].isna()
        assert after[name][gaps].std() >= 0.1 * before[name].std()


def test_a_model_of_one_half_fills_the_other(program, data_dir, folder):
    header, *rows = (data_dir / "horse_colic.csv").read_text().splitlines(keepends=True)
    for name, half in (("t.csv", rows[::2]), ("new.csv", rows[1::2])):
        (folder / name).write_text("".join([header, *half]))
    options = ("-t", "target", "--ignore", "hospital_number", "-q")
    assert program("fit", "t.csv", "-o", "m", *options) == (0, "", "")
    code, _, err = program("apply", "m", "new.csv", "-o", "o.csv", "--unknown", "error", "-q")
    assert (code, "lesion_1" in err) == (1, True)
    code, _, err = program("apply", "m", "new.csv", "-o", "o.csv", "-q")
    assert (code, len(err.splitlines())) == (0, 1)
    assert re.findall(r"lesion_\d", err) == ["lesion_1", "lesion_2", "lesion_3"]
    before, after = (cells_of((folder / name).read_text()) for name in ("new.csv", "o.csv"))
    replaced = {
        before[0][place]
        for old, new in zip(before[1:], after[1:], strict=True)
        for place, text in enumerate(new)
        if old[place] and text != old[place]
    }
    assert not replaced
    assert all(text for row in after for text in row)
