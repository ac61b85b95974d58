"""The tables from OpenML, with the columns and labels of the files, for those without the files."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd
from sklearn.datasets import fetch_openml


@dataclass(frozen=True)
class OnOpenML:
    """A table on OpenML."""

    data_id: int  # Its number
    labels: Mapping[str, int | str]  # The file's label for each of its labels
    counts: tuple[int, ...]  # How often the file has each of them
    # Columns of the file that may be absent there, because OpenML hides identifiers; no experiment
    # reads them
    identifiers: tuple[str, ...] = ()
    # For a column of categories that have names there: the attribute's prefix, the number of the
    # first name and the names, of which the file's codes are made, such as A11 and A12
    codes: Mapping[str, tuple[str, int, tuple[str, ...]]] = field(default_factory=dict)


_GERMAN_CODES: Mapping[str, tuple[str, int, tuple[str, ...]]] = {
    "status_checking_account": ("A1", 1, ("<0", "0<=x<200", ">=200", "no checking")),
    "credit_history": (
        "A3",
        0,
        (
            "no credits/all paid",
            "all paid",
            "existing paid",
            "delayed previously",
            "critical/other existing credit",
        ),
    ),
    "purpose": (
        "A4",
        0,
        (
            "new car",
            "used car",
            "furniture/equipment",
            "radio/tv",
            "domestic appliance",
            "repairs",
            "education",
            "vacation",
            "retraining",
            "business",
            "other",
        ),
    ),
    "savings_account_bonds": (
        "A6",
        1,
        ("<100", "100<=x<500", "500<=x<1000", ">=1000", "no known savings"),
    ),
    "present_employment_since": ("A7", 1, ("unemployed", "<1", "1<=x<4", "4<=x<7", ">=7")),
    "personal_status_sex": (
        "A9",
        1,
        ("male div/sep", "female div/dep/mar", "male single", "male mar/wid", "female single"),
    ),
    "other_debtors_guarantors": ("A10", 1, ("none", "co applicant", "guarantor")),
    "property": ("A12", 1, ("real estate", "life insurance", "car", "no known property")),
    "other_installment_plans": ("A14", 1, ("bank", "stores", "none")),
    "housing": ("A15", 1, ("rent", "own", "for free")),
    "job": (
        "A17",
        1,
        ("unemp/unskilled non res", "unskilled resident", "skilled", "high qualif/self emp/mgmt"),
    ),
    "telephone": ("A19", 1, ("none", "yes")),
    "foreign_worker": ("A20", 1, ("yes", "no")),
}

_COLUMNS = {
    "australian.csv": ("A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A12 A13 A14"),
    "german.csv": (
        "status_checking_account duration_month credit_history purpose credit_amount "
        "savings_account_bonds present_employment_since installment_rate "
        "personal_status_sex other_debtors_guarantors present_residence_since property "
        "age_years other_installment_plans housing number_existing_credits job "
        "people_liable_maintenance telephone foreign_worker"
    ),
    "heart.csv": (
        "age sex chest_pain rest_bp serum_chol fasting_blood_sugar electrocardiographic "
        "max_heart_rate angina oldpeak slope major_vessels thal"
    ),
    "pima.csv": ("preg plas pres skin insu mass pedi age"),
    "wine_white.csv": (
        "fixed_acidity volatile_acidity citric_acid residual_sugar chlorides "
        "free_sulfur_dioxide total_sulfur_dioxide density pH sulphates alcohol"
    ),
    "cylinder_bands.csv": (
        "timestamp cylinder_number customer job_number grain_screened ink_color "
        "proof_on_ctd_ink blade_mfg cylinder_division paper_type ink_type direct_steam "
        "solvent_type type_on_cylinder press_type press unit_number cylinder_size "
        "paper_mill_location plating_tank proof_cut viscosity caliper ink_temperature "
        "humidity roughness blade_pressure varnish_pct press_speed ink_pct solvent_pct "
        "esa_voltage esa_amperage wax hardener roller_durometer current_density "
        "anode_space_ratio chrome_content"
    ),
    "horse_colic.csv": (
        "surgery age hospital_number rectal_temperature pulse respiratory_rate "
        "temperature_of_extremities peripheral_pulse mucous_membranes "
        "capillary_refill_time pain peristalsis abdominal_distension nasogastric_tube "
        "nasogastric_reflux nasogastric_reflux_ph rectal_examination_feces abdomen "
        "packed_cell_volume total_protein abdominocentesis_appearance "
        "abdominocentesis_total_protein outcome lesion_1 lesion_2 lesion_3 cp_data"
    ),
}
"""The columns of each file, in order, without the target."""

OPENML = {
    "australian.csv": OnOpenML(40981, {"0": 0, "1": 1}, (383, 307)),
    "german.csv": OnOpenML(31, {"good": 1, "bad": 2}, (700, 300), codes=_GERMAN_CODES),
    "heart.csv": OnOpenML(53, {"absent": 1, "present": 2}, (150, 120)),
    "pima.csv": OnOpenML(37, {"tested_negative": 0, "tested_positive": 1}, (500, 268)),
    "wine_white.csv": OnOpenML(
        40498, {f"{score - 2}": score for score in range(3, 10)}, (20, 163, 1457, 2198, 880, 175, 5)
    ),
    "cylinder_bands.csv": OnOpenML(
        6332,
        {"band": "band", "noband": "noband"},
        (228, 312),
        identifiers=("timestamp", "cylinder_number", "customer", "job_number"),
    ),
    "horse_colic.csv": OnOpenML(25, {"1": 1, "2": 2}, (232, 136), identifiers=("hospital_number",)),
}
"""Where the tables of the files are; german's numeric form is nowhere there."""


def open_table(file: str) -> pd.DataFrame:
    """Return a table of OpenML as its file has it.

    Columns are taken in their order, since names differ; numbers become numbers, categories
    text in lower case.
    """
    there, columns = OPENML[file], _COLUMNS[file].split()
    with warnings.catch_warnings():
        # What the last attempt ends with is in the refusal.
        warnings.filterwarnings("ignore", message="A network error occurred", category=UserWarning)
        bunch = fetch_openml(data_id=there.data_id, as_frame=True, n_retries=1)
    features = pd.DataFrame({name: _plain(bunch.data[name]) for name in bunch.data})
    visible = [name for name in columns if name not in there.identifiers]
    names = columns if features.shape[1] == len(columns) else visible
    if features.shape[1] != len(names):
        raise ValueError(
            f"OpenML's table {there.data_id} must have the {len(columns)} columns of {file}; "
            f"got {features.shape[1]}."
        )
    table = features.set_axis(names, axis=1)
    for name, (prefix, first, values) in there.codes.items():
        codes = {value: f"{prefix}{number}" for number, value in enumerate(values, first)}
        table[name] = table[name].map(codes)
    labels = [there.labels.get(_label(label)) for label in bunch.target]
    found = tuple(labels.count(label) for label in there.labels.values())
    if found != there.counts or len(labels) != sum(there.counts):
        raise ValueError(
            f"OpenML's table {there.data_id} must have {there.counts} rows of the classes of "
            f"{file}; got {found}, and {len(labels)} rows in all."
        )
    return table.assign(target=labels)


def _plain(column: pd.Series) -> pd.Series:
    """Return a column as numbers where all of its cells are, else as text with None at gaps."""
    cells = column.astype(object).where(column.notna(), None)
    try:
        return pd.to_numeric(cells)
    except (TypeError, ValueError):
        text = [None if cell is None else f"{cell}".strip("'\" ").lower() for cell in cells]
        return pd.Series(text, index=column.index, dtype=object)


def _label(label: object) -> str:
    """Return a label as text, whole numbers without a point."""
    text = f"{label}".strip("'\" ").lower()
    return text[:-2] if text.endswith(".0") else text
