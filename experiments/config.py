"""Configs: one record for each kind of experiment, and the YAML files they are read from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from experiments.naming import parse_name
from experiments.problem import Mechanism
from experiments.registry import split_method
from experiments.words import counted


def _distinct(values: tuple[Any, ...]) -> tuple[Any, ...]:
    names = [value.name if isinstance(value, MethodEntry) else value for value in values]
    if len(set(names)) < len(names):
        raise ValueError("a list without repetitions")
    return values


def _canonical(text: str) -> str:
    """Return a name, or refuse another spelling of it, because records are stored by name.

    The kind itself refuses what is not a name.
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
        """Return why the method skips a unit of work, or None."""
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
    """Refuse methods that a kind does not have."""
    names = list(known)
    for entry in config.methods:
        if entry.name not in names:
            raise ValueError(
                f"A method of the kind {config.kind} must be one of: {', '.join(names)}; "
                f"got {entry.name!r}."
            )


CONFIGS = Path(__file__).parent / "configs"
"""Where configs are looked for by their names."""


class ConfigError(ValueError):
    """A config is unreadable or wrong; the message is one sentence."""


def config_names() -> list[str]:
    """Return the names of the configs there are, in order."""
    return sorted(path.stem for path in CONFIGS.glob("*.yaml"))


def load_config(source: str | Path) -> Config:
    """Return the config of a name or of a path."""
    path = CONFIGS / f"{source}.yaml"
    if not path.is_file():
        path = Path(source)
    if not path.is_file():
        raise ConfigError(
            f"A config must be a file or one of: {', '.join(config_names())}; got {str(source)!r}."
        )
    try:
        content = read_yaml(path)
    except OSError as error:
        raise ConfigError(f"{path} must be readable; got: {error.strerror}.") from None
    except ValueError as error:
        raise ConfigError(str(error)) from None
    if not isinstance(content, dict):
        raise ConfigError(f"{path} must hold keys and values; got {content!r}.")
    if "name" in content:
        raise ConfigError(f"{path} must not have the key name: an experiment is named by its file.")
    methods = content.get("methods")
    if isinstance(methods, list):
        methods = [{"name": entry} if isinstance(entry, str) else entry for entry in methods]
        content = {**content, "methods": methods}
    kind = content.get("kind")
    if kind not in MODELS:
        got = "nothing" if kind is None else repr(kind)
        raise ConfigError(f"{path}: kind must be one of: {', '.join(MODELS)}; got {got}.")
    model = MODELS[kind]
    try:
        # As JSON a list may become a tuple, and a text still never a number.
        text = json.dumps({"name": path.stem, **content}, default=str)
    except ValueError:
        raise ConfigError(f"{path} must not hold a value that contains itself.") from None
    try:
        return model.model_validate_json(text, strict=True)
    except ValidationError as error:
        raise ConfigError(f"{path}: {_sentence(error, model)}") from None


def _sentence(error: ValidationError, model: type[Config]) -> str:
    """Return the first complaint as key, must be, got."""
    first = error.errors()[0]
    key = ".".join(map(str, first["loc"]))
    got = json.dumps(first["input"])
    match first["type"]:
        case "missing":
            return f"the key {key} must be given."
        case "extra_forbidden":
            known = MethodEntry.model_fields if len(first["loc"]) > 1 else model.model_fields
            # A config's name is its file's; a method's is a key.
            keys = [name for name in known if name != "name" or known is not model.model_fields]
            return f"the key {key} must be one of: {', '.join(keys)}."
        case "value_error":
            return f"{key} must be {first['ctx']['error']}; got {got}."
        case "too_short":
            return f"{key} must be a list of at least one entry; got {got}."
        case "tuple_type":
            return f"{key} must be a list; got {got}."
        case "model_type":
            return f"{key} must be a name, or keys and values; got {got}."
        case _:
            return f"{key} must be {first['msg'].removeprefix('Input should be ')}; got {got}."


class _Strict(yaml.SafeLoader):
    """PyYAML's safe loader, but a key that is given twice is an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.MarkedYAMLError(
                        problem=f"the key {key.value} is given twice", problem_mark=key.start_mark
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> Any:
    """Return what a YAML file says."""
    try:
        # A loader of PyYAML's safe kind constructs plain Python only.
        return yaml.load(path.read_text(encoding="utf-8"), Loader=_Strict)
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f", line {error.problem_mark.line + 1}"
        problem = " ".join(f"{error.problem}".split())
        raise ValueError(f"{path}{line}: must be YAML; got: {problem}.") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} must be YAML; got: {' '.join(str(error).split())}.") from None
