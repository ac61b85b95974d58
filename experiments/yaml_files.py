"""YAML files, strictly: a key that is given twice is refused, and every refusal names the line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml


class _Strict(yaml.SafeLoader):
    """PyYAML's safe loader, which of a key that is given twice would take the last."""

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
