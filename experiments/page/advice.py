"""Which method we would use when, as the numbers have it."""

from __future__ import annotations

import pandas as pd

from experiments.page.results import SIMPLE, Results, Section
from experiments.ranks import average_ranks
from experiments.registry import family_of
from experiments.statistics import LEVEL, gain
from experiments.tables.accuracy import written_rate
from experiments.words import absent, called, share, signed, significance

_SOURCES = ("classification", "life", "inherent")

_WORDS = {"complete": "new rows complete", "amputed": "new rows with gaps too"}


def advice_section(results: Results) -> Section:
    """Return the best method by mechanism and missing rate, and whether it matters."""
    title = "Which method we would use when"
    lines = []
    winners: list[str | None] = []
    for name in _SOURCES:
        wide = results.readings(name)
        if wide is None:
            continue
        levels = ["mechanism", "held_out", "missing_rate"]
        for (mechanism, held_out, rate), band in wide.groupby(level=levels, sort=False):
            band = band.dropna(axis="columns")
            # A control is not to be used, however it does.
            band = band[[name for name in band.columns if family_of(name) != "ablation"]]
            if not len(band.columns):
                continue
            sentence, winner = _advice(band)
            if SIMPLE in band.columns:
                winners.append(winner)
            gaps = (
                "gaps of the tables' own"
                if mechanism == "inherent"
                else f"{written_rate(rate)} missing ({mechanism.upper()}), {_WORDS[held_out]}"
            )
            lines.append(f"- **{gaps}**: {sentence}")
    if not lines:
        return Section(title, absent(*_SOURCES))
    verdict = _verdict(winners) if winners else ""
    intro = (
        "By situation, the method with the best average rank over the datasets, among those run in "
        f"full, controls left out. It is held against `{SIMPLE}` with the paired t-tests over "
        "repetitions, each averaged over the datasets. As the best of many it is favoured; where "
        "it isn't significantly better by the corrected test, the simpler method is what we would "
        "use."
    )
    missing = [name for name in _SOURCES if results.records(name) is None]
    parts = [verdict, intro, "\n".join(lines), absent(*missing) if missing else ""]
    return Section(title, "\n\n".join(filter(None, parts)), (verdict,) if verdict else ())


def _advice(band: pd.DataFrame) -> tuple[str, str | None]:
    """Return the advice for a situation, and the winner if it is better than the simple method."""
    ranks = average_ranks(band)
    winner = str(ranks.index[0])
    lead = f"{called(winner)}, average rank {ranks['rank'].iloc[0]:.2f} of {len(ranks)} methods"
    if winner == SIMPLE:
        return f"{lead}: the simple method is the best.", None
    if SIMPLE not in band.columns:
        return f"{lead}; `{SIMPLE}` was not run in full.", None
    test = gain(band, winner, SIMPLE)
    is_better = test.difference > 0 and test.p_corrected < LEVEL
    use = "use it" if is_better else f"`{SIMPLE}` does as well, so far as this tells"
    return (
        f"{lead}; {signed(test.difference, 4)} ± {test.standard_error:.4f} to `{SIMPLE}`, "
        f"{significance(test)}: {use}.",
        winner if is_better else None,
    )


def _verdict(winners: list[str | None]) -> str:
    better = [winner for winner in winners if winner is not None]
    if not better:
        end = f"`{SIMPLE}` is what we would start with"
    else:
        n_ours = sum(family_of(winner) == "ours" for winner in better)
        end = f"there it is one of ours in {n_ours} of {len(better)}"
        if len(better) < len(winners):
            end += f", and in the others `{SIMPLE}` is what we would use"
    return (
        "The best method is significantly better than mean imputation with logistic regression in "
        f"{share(len(better), len(winners))} situations (missing rate, mechanism, new rows with "
        f"gaps or without): {end}."
    )
