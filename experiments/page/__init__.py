"""The page of results, written from what is committed: ``python -m experiments page``.

Each section is a function from the committed results to text; every claim in it is worded by the
number that it states.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from experiments.config import config_names
from experiments.page.ablations import ablations_section
from experiments.page.advice import advice_section
from experiments.page.labels import labels_section
from experiments.page.others import figures_section, gaps_section, tables_section
from experiments.page.ours import ours_section
from experiments.page.provenance import provenance_section
from experiments.page.ranking import ranking_section
from experiments.page.reproduced import recovery_section, separation_section
from experiments.page.results import Results, Section
from experiments.page.rivals import rivals_section
from experiments.page.settings import settings_section

SECTIONS: tuple[Callable[[Results], Section], ...] = (
    ours_section,
    rivals_section,
    settings_section,
    ranking_section,
    advice_section,
    ablations_section,
    labels_section,
    recovery_section,
    separation_section,
    tables_section,
    figures_section,
    gaps_section,
    provenance_section,
)
"""The sections in their order."""

_HEAD = """\
# Results

What of the paper's experiments is reproduced, and what supervised kernel imputation is worth beside
the strongest simple methods. This page is written by `python -m experiments page` from the records
in `experiments/results/`; edits here would be lost. Accuracies are on test rows. Methods have their
names of the configs, `filler+classifier`; MI is the paper's name for column means with a gaussian
SVM. Where repetitions are compared by a paired t-test, they share rows, which makes the ordinary
test optimistic; the corrected one is Nadeau and Bengio's.
"""


def make_page(results_folder: Path, path: Path) -> str:
    """Return the text of the page of results."""
    results = Results(results_folder, path)
    if not results.names:
        raise ValueError(f"The folder of results must hold records as CSV; got {results_folder}.")
    strays = [name for name in results.names if name not in config_names()]
    if strays:
        raise ValueError(
            f"The page must be of what configs name; got {results_folder / strays[0]}.csv, which "
            "none of experiments/configs does."
        )
    sections = [section(results) for section in SECTIONS]
    brief = [sentence for section in sections for sentence in section.brief]
    in_short = "## In short\n\n" + "\n".join(f"- {sentence}" for sentence in brief)
    parts = [_HEAD.rstrip(), in_short if brief else ""]
    parts += [f"## {section.title}\n\n{section.body.rstrip()}" for section in sections]
    return "\n\n".join(filter(None, parts)) + "\n"


def write_page(results_folder: Path, path: Path) -> Path:
    """Write the page of results."""
    text = make_page(results_folder, path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
    return path
