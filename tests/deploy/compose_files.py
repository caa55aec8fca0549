"""Reads deploy/compose*.yaml as `docker compose` does: variables, merge keys and extension fields resolved."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
FILES = ("compose.yaml", "compose.try.yaml")
_VARIABLE = re.compile(r"\$(?:\$|\{(?P<name>[A-Z_]+)(?::(?P<kind>[-?])(?P<word>[^}]*))?\})")


def interpolate(text: str, variables: Mapping[str, str]) -> str:
    """Replace `${NAME}`, `${NAME:-default}` and `${NAME:?error}`; KeyError, with the error, where the last has no
    value."""

    def replace(found: re.Match[str]) -> str:
        if found["name"] is None:
            return "$"
        value = variables.get(found["name"], "")
        if not value and found["kind"] == "?":
            raise KeyError(found["word"])
        return value or found["word"] or ""

    lines = text.splitlines()
    return "\n".join(line if line.lstrip().startswith("#") else _VARIABLE.sub(replace, line) for line in lines)


def read(name: str, variables: Mapping[str, str]) -> dict[str, Any]:
    """Read the file of this name."""
    return yaml.safe_load(interpolate((DEPLOY / name).read_text(), variables))


def read_env_file(path: Path) -> dict[str, str]:
    """Read what deploy/prepare.sh wrote."""
    return dict(line.split("=", 1) for line in path.read_text().splitlines())
