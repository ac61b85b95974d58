"""What is said below a table of the runs that are not in it."""

from __future__ import annotations

import pandas as pd

from experiments.method_names import label_of


def notes_on_gaps(records: pd.DataFrame) -> list[str]:
    """Return a sentence for each method and rule with failed or skipped runs."""
    keys = ["method", "rule"] if "rule" in records else ["method"]
    notes = []
    for key, group in records.groupby(keys, sort=False):
        for status in ("failed", "skipped"):
            gone = group[group["status"] == status]
            if gone.empty:
                continue
            rule = f", {key[1]} selection" if key[1:] == ("released",) else ""
            reasons = "; ".join(dict.fromkeys(str(one).rstrip(".") for one in gone["reason"]))
            notes.append(
                f"{label_of(key[0])}{rule}: {len(gone)} of {len(group)} runs {status}: {reasons}."
            )
    return notes
