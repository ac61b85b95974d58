"""Records as tables, figures and the page take them: methods in one order, a rule in every row."""

from __future__ import annotations

import pandas as pd

from experiments.method_names import family_of, paper_name

_FAMILIES = ("rival", "field", "ours", "ablation")
_RIVALS = ("MI", "GEOM", "KARMA", "genRBF", "NewImp", None)


def arranged(records: pd.DataFrame) -> pd.DataFrame:
    """Return records with a rule in every row, sorted by method.

    Rivals come first, in the paper's order, then the field, ours, and the controls. A run that
    ended before its selection has no rule: it gets a row for each rule that its method has
    elsewhere, for "plain" where it has none.
    """
    if "rule" in records:
        records = _with_rules(records)
    order = {method: _place(method) for method in dict.fromkeys(records["method"])}
    return records.sort_values("method", key=lambda m: m.map(order), kind="stable")


def _place(method: str) -> str:
    rival = _RIVALS.index(paper_name(method))
    return f"{_FAMILIES.index(family_of(method))} {rival} {method}"


def _with_rules(records: pd.DataFrame) -> pd.DataFrame:
    known = records.dropna(subset=["rule"])
    rules = known.groupby("method")["rule"].unique().to_dict()
    lists = [
        list(rules.get(method, ["plain"])) if pd.isna(rule) else [rule]
        for method, rule in zip(records["method"], records["rule"], strict=True)
    ]
    return records.assign(rule=lists).explode("rule")
