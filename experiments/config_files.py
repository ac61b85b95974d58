"""Configs as YAML files: found by name or path, and refused in one sentence."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from experiments.config import MODELS, Config, MethodEntry
from experiments.yaml_files import read_yaml

CONFIGS = Path(__file__).parent / "configs"
"""Where configs are looked for by their names."""


class ConfigError(ValueError):
    """A config that can't be read or says something that it must not, in one sentence."""


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
