"""Services at a server."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from core.directory.services import Service
from gateway.cli.remote.api import Api


class Setting(msgspec.Struct, frozen=True):
    """A setting that there is."""

    name: str
    description: str


class ServiceView(msgspec.Struct, frozen=True):
    """A module as the tenant has it."""

    module: str
    description: str
    installed: bool
    enabled: bool
    tools: int
    settings: dict[str, Any]
    available: tuple[Setting, ...]


def services(api: Api) -> list[dict[str, Any]]:
    """All modules, those that are not installed last."""
    found = sorted(api.all("/services", ServiceView), key=lambda one: not one.installed)
    return [
        {
            "module": one.module,
            "enabled": one.enabled,
            "installed": one.installed,
            "tools": one.tools,
            "settings": one.settings,
            "description": one.description,
        }
        for one in found
    ]


def available(api: Api, module: str) -> list[tuple[str, str]]:
    """The settings that a module has, with what they are."""
    found = api.get("/services/{}", ServiceView, module)
    return [(one.name, one.description) for one in found.available]


def switch(api: Api, module: str, enabled: bool) -> None:
    """Switch a module on or off."""
    api.change("PATCH", "/services/{}", {"enabled": enabled}, module, missing=_missing(module))


def set_settings(api: Api, module: str, given: Mapping[str, Any], unset: Sequence[str]) -> Service:
    """Change settings; the service as it is now."""
    changes = {**dict.fromkeys(unset), **given}
    answer = api.change("PATCH", "/services/{}", {"settings": changes}, module, missing=_missing(module))
    made = msgspec.convert(answer.json(), ServiceView)
    return Service(made.module, made.enabled, made.settings)


def _missing(module: str) -> str:
    return f"there is no module {module[:100]!r}; `mcpist service list` shows them"
