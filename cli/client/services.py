"""Services at a server."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from cli.client.admin_api import AdminApiClient
from core.directory.services import TenantService


class RemoteServiceSetting(msgspec.Struct, frozen=True):
    """A setting that there is."""

    name: str
    description: str


class RemoteService(msgspec.Struct, frozen=True):
    """A module as the tenant has it."""

    module: str
    description: str
    installed: bool
    enabled: bool
    tool_count: int
    settings: dict[str, Any]
    available_settings: tuple[RemoteServiceSetting, ...]


def fetch_services(api: AdminApiClient) -> list[dict[str, Any]]:
    """All modules, those that are not installed last."""
    found = sorted(api.iterate("/services", RemoteService), key=lambda one: not one.installed)
    return [
        {
            "module": one.module,
            "enabled": one.enabled,
            "installed": one.installed,
            "tool_count": one.tool_count,
            "settings": one.settings,
            "description": one.description,
        }
        for one in found
    ]


def fetch_available_settings(api: AdminApiClient, module: str) -> list[tuple[str, str]]:
    """The settings that a module has, with what they are."""
    found = api.get("/services/{}", RemoteService, module)
    return [(one.name, one.description) for one in found.available_settings]


def set_service_enabled(api: AdminApiClient, module: str, enabled: bool) -> None:
    """Switch a module on or off."""
    api.change("PATCH", "/services/{}", {"enabled": enabled}, module, missing=_format_not_found(module))


def set_settings(api: AdminApiClient, module: str, given: Mapping[str, Any], unset: Sequence[str]) -> TenantService:
    """Change settings; the service as it is now."""
    changes = {**dict.fromkeys(unset), **given}
    answer = api.change("PATCH", "/services/{}", {"settings": changes}, module, missing=_format_not_found(module))
    made = msgspec.convert(answer.json(), RemoteService)
    return TenantService(made.module, made.enabled, made.settings)


def _format_not_found(module: str) -> str:
    return f"there is no module {module[:100]!r}; `mcpist service list` shows them"
