"""Average ranks of every method, and who wins over all."""

from __future__ import annotations

import pandas as pd

from experiments.page.results import DEFAULT, SIMPLE, Results, Section
from experiments.ranks import average_ranks
from experiments.registry import family_of
from experiments.statistics import CELL, versus
from experiments.tables.grid import markdown
from experiments.tables.ranks import rank_table
from experiments.words import absent, called, joined, pipe_table, share, signed

RANKED = ("classification", "inherent", "life")
"""The experiments over whose cells the default is chosen."""

_CAPTION = (
    "Average ranks of {}, 1 is best. The bar is Nemenyi's critical difference of the methods with "
    "all repetitions, which takes the cells for independent."
)


def common_readings(results: Results) -> pd.DataFrame | None:
    """Return the readings of all cells of the ranked experiments."""
    frames = [results.readings(name) for name in RANKED]
    frames = [frame.dropna(axis="columns") for frame in frames if frame is not None]
    if not frames:
        return None
    joint = pd.concat(frames, join="inner")
    return joint if len(joint.columns) else None


def ranking_section(results: Results) -> Section:
    """Return the ranks in each experiment, and over all of them."""
    title = "Average ranks"
    present = [name for name in RANKED if results.records(name) is not None]
    if not present:
        return Section(title, absent(*RANKED))
    parts = []
    overall = common_readings(results)
    brief: tuple[str, ...] = ()
    if overall is not None:
        sentences = _overall(overall, present)
        brief = (sentences[0],)
        parts += [" ".join(sentences), _table(overall)]
    else:
        parts.append("No method has every reading in all of these experiments.")
    parts += [_other_defaults(results, present)]
    missing = [name for name in RANKED if name not in present]
    if missing:
        parts.append(absent(*missing))
    for name in present:
        table = rank_table(name, results.records(name))
        # Runs may be done under the other selection rule only.
        parts += [f"### {name}", "" if table is None else markdown(table).rstrip()]
        figure = results.figure(f"{name}_ranks", _CAPTION.format(name))
        parts += [figure] if figure else []
    return Section(title, "\n\n".join(filter(None, parts)), brief)


def _other_defaults(results: Results, names: list[str]) -> str:
    """Return what the methods are that have the default classifier's name and options."""
    methods = [method for name in names for method in results.records(name)["method"].unique()]
    others = [one for one in dict.fromkeys(methods) if one.startswith(f"{DEFAULT}[")]
    if not others:
        return ""
    return (
        f"{joined(f'`{one}`' for one in others)}: the library's classifier with other defaults "
        "that it might have; counted as ours."
    )


def _overall(wide: pd.DataFrame, names: list[str]) -> list[str]:
    ranks = average_ranks(wide)
    n_cells = wide.groupby(level=list(CELL), dropna=False).ngroups
    best = ranks["rank"].min()
    winners = list(ranks.index[ranks["rank"] <= best + 1e-9])
    verb = "has" if len(winners) == 1 else "have"
    sentences = [
        f"Over all {n_cells} cells of {joined(names)}, {joined(map(called, winners))} {verb} the "
        f"best average rank of the {len(ranks)} methods that were run in full on all of them: "
        f"{best:.2f}."
    ]
    for family, whose in (("ours", "of ours"), ("field", "of the simple field")):
        members = [method for method in ranks.index if family_of(method) == family]
        if members and members[0] not in winners:
            rank = ranks.loc[members[0], "rank"]
            sentences.append(f"Best {whose} is {called(members[0])} with {rank:.2f}.")
    if DEFAULT in ranks.index and DEFAULT not in winners:
        sentences.append(
            f"The library's default classifier, `{DEFAULT}`, has {ranks.loc[DEFAULT, 'rank']:.2f} "
            f"and place {list(ranks.index).index(DEFAULT) + 1}."
        )
    if SIMPLE in wide.columns and winners[0] != SIMPLE:
        row = versus(wide[[winners[0], SIMPLE]], SIMPLE).to_dict("records")[0]
        sentences.append(
            f"Against `{SIMPLE}` the first is {signed(row['difference'], 4)} in accuracy, higher "
            f"in {share(row['higher'], n_cells)} cells and lower in {share(row['lower'], n_cells)} "
            f"(Wilcoxon's p = {row['p']:.2g}; by the corrected t-test better in "
            f"{row['better_corrected']} and worse in {row['worse_corrected']})."
        )
    return sentences


def _table(wide: pd.DataFrame) -> str:
    ranks = average_ranks(wide)["rank"]
    means = wide.groupby(level=list(CELL), dropna=False).mean().mean()
    rows = [
        (called(method), family_of(method), f"{rank:.2f}", f"{means[method]:.4f}")
        for method, rank in ranks.items()
    ]
    return pipe_table(("method", "family", "average rank", "mean accuracy of the cells"), rows)
