"""What an experiment consists of: one record a kind, which refuses unknown keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    ValidationInfo,
    field_validator,
)

from experiments.method_names import split_method
from experiments.naming import parse_name
from experiments.problem import Mechanism
from experiments.wording import counted


def _distinct(values: tuple[Any, ...]) -> tuple[Any, ...]:
    names = [value.name if isinstance(value, MethodEntry) else value for value in values]
    if len(set(names)) < len(names):
        raise ValueError("a list without repetitions")
    return values


def _canonical(text: str) -> str:
    """Return a name; refuse it in any but its one written form, since records are kept by it.

    What is no name at all is left to the kind, which says what it has.
    """
    try:
        parts = [parse_name(part) for part in split_method(text)]
    except ValueError:
        return text
    written = "+".join(map(str, parts))
    if text != written:
        raise ValueError(f"written {written!r}")
    return text


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


Rate = Annotated[float, Field(ge=0.0, lt=1.0)]
Named = Annotated[str, AfterValidator(_canonical)]
Names = Annotated[tuple[Named, ...], Field(min_length=1), AfterValidator(_distinct)]
Rates = Annotated[tuple[Rate, ...], Field(min_length=1), AfterValidator(_distinct)]
Mechanisms = Annotated[tuple[Mechanism, ...], Field(min_length=1), AfterValidator(_distinct)]
Gammas = Annotated[tuple[PositiveFloat, ...], Field(min_length=1), AfterValidator(_distinct)]


class MethodEntry(_Record):
    """A method and the part of the experiment that it is run on."""

    name: Named  # The method
    repetitions: PositiveInt | None = None  # How many of the first repetitions; None is all
    datasets: Names | None = None  # On which datasets; None is on all
    missing_rates: Rates | None = None  # At which missing rates; None is at all

    def reason_to_skip(self, unit: Mapping[str, Any]) -> str | None:
        """Return why the method is left out of a unit of work, None if it is not."""
        if self.repetitions is not None and unit["repetition"] >= self.repetitions:
            return f"The config limits the method to {counted(self.repetitions, 'repetition')}."
        if self.datasets is not None and unit["dataset"] not in self.datasets:
            return f"The config limits the method to {', '.join(self.datasets)}."
        if self.missing_rates is not None and unit["missing_rate"] not in self.missing_rates:
            rates = ", ".join(map(str, self.missing_rates))
            return f"The config limits the method to missing rates {rates}."
        return None


Methods = Annotated[tuple[MethodEntry, ...], Field(min_length=1), AfterValidator(_distinct)]


class Config(_Record):
    """What the configs of all kinds have."""

    name: str  # The name of the experiment: its file's, without the ending
    kind: str  # The module of `experiments.kinds` that says what a row is.
    description: str  # One sentence on what it shows
    methods: Methods  # What is compared; in a file a name, or a name with its limits
    repetitions: PositiveInt = 1  # How many splits and masks


class ClassificationConfig(Config):
    """Methods compared by what their classifiers get right."""

    kind: Literal["classification"]
    datasets: Names  # Names of datasets, with their options
    # What decides which cells are missing; see `experiments.problem.Setting`.
    mechanisms: Mechanisms = ("mcar",)
    missing_rates: Rates  # Shares of missing training cells; 0 for "inherent"
    held_out: Literal["complete", "amputed"] = "complete"  # As in `experiments.problem.Setting`.
    scaling: Literal["paper", "train"] = "paper"
    splits: Literal["authors", "hashed"] = "authors"


class RecoveryConfig(Config):
    """Features recovered from the exact kernel matrix."""

    kind: Literal["recovery"]
    dataset: Named  # Name of the dataset
    gammas: Gammas  # Parameters of the gaussian kernel
    missing_rates: Rates  # Shares of missing cells
    methods: Methods = (MethodEntry(name="recover_features"),)


class ConvergenceConfig(Config):
    """The objective of the variants, round by round; the methods are variants."""

    kind: Literal["convergence"]
    dataset: Named  # Name of the dataset
    missing_rate: Rate  # Share of missing training cells
    C: PositiveFloat  # Penalty of the machine and parameter of the gaussian kernel
    gamma: PositiveFloat


class PcaConfig(Config):
    """Filled training rows in the plane of the complete rows' principal components."""

    kind: Literal["pca"]
    dataset: Named  # Name of the dataset
    missing_rate: Rate  # Share of missing training cells


class MoonsConfig(Config):
    """Two moons with a cell missing in a few rows: where the cell goes, and the boundary."""

    kind: Literal["moons"]
    n_samples: Annotated[int, Field(ge=2)]  # Rows of both moons together, at least 2
    noise: NonNegativeFloat  # Standard deviation of the noise, in units of the moons' radius
    n_missing: PositiveInt  # Rows that lose one cell, at most all
    C: PositiveFloat  # Penalty of the machine and parameter of the gaussian kernel
    gamma: PositiveFloat
    grid: PositiveInt = 40  # Points of the grid along each side

    @field_validator("n_missing")
    @classmethod
    def _within_rows(cls, value: int, info: ValidationInfo) -> int:
        if value > info.data.get("n_samples", value):
            raise ValueError(f"at most n_samples, {info.data['n_samples']}")
        return value


MODELS: dict[str, type[Config]] = {
    "classification": ClassificationConfig,
    "recovery": RecoveryConfig,
    "convergence": ConvergenceConfig,
    "pca": PcaConfig,
    "moons": MoonsConfig,
}
"""The record of each kind."""


def check_methods(config: Config, known: Iterable[str]) -> None:
    """Refuse methods that a kind has not."""
    names = list(known)
    for entry in config.methods:
        if entry.name not in names:
            raise ValueError(
                f"A method of the kind {config.kind} must be one of: {', '.join(names)}; "
                f"got {entry.name!r}."
            )
