"""Services at a server."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from cli.client.admin_api import AdminApiClient
from cli.client.server_http import ServerResponse
from core.directory.services import TenantService
from core.errors import Invalid, NotFound


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
    """Fetch all modules, those that are not installed last."""
    services = sorted(api.iterate("/services", RemoteService), key=lambda service: not service.installed)
    return [
        {
            "module": service.module,
            "enabled": service.enabled,
            "installed": service.installed,
            "tool_count": service.tool_count,
            "settings": service.settings,
            "description": service.description,
        }
        for service in services
    ]


def fetch_available_settings(api: AdminApiClient, module: str) -> list[tuple[str, str]]:
    """Fetch the settings that a module has, with what they are.

    Raises:
        NotFound: there is no such module; the text has the nearest right name.
    """
    try:
        service = api.get("/services/{}", RemoteService, module)
    except NotFound:
        raise build_module_not_found(api, module) from None
    return [(setting.name, setting.description) for setting in service.available_settings]


def require_vendor(api: AdminApiClient, module: str) -> None:
    """Check that there is such a module and that it has a vendor.

    Raises:
        NotFound: there is no such module; the text has the nearest right name.
        Invalid: it has no vendor.
    """
    try:
        service = api.get("/services/{}", RemoteService, module)
    except NotFound:
        service = None
    if service is None or not service.installed:
        raise build_module_not_found(api, module)
    if not service.available_settings:
        raise Invalid(f"{module} has no vendor: it needs no credential, and there is nothing to set")


def set_service_enabled(api: AdminApiClient, module: str, enabled: bool) -> None:
    """Enable or disable a service.

    Raises:
        NotFound: there is no such module; the text has the nearest right name.
    """
    _change_service(api, module, {"enabled": enabled})


def set_settings(api: AdminApiClient, module: str, values: Mapping[str, Any], unset: Sequence[str]) -> TenantService:
    """Change settings; the service as it is now."""
    changes = {**dict.fromkeys(unset), **values}
    service = msgspec.convert(_change_service(api, module, {"settings": changes}).json(), RemoteService)
    return TenantService(service.module, service.enabled, service.settings)


def _change_service(api: AdminApiClient, module: str, change: Mapping[str, Any]) -> ServerResponse:
    try:
        return api.change("PATCH", "/services/{}", change, module)
    except NotFound:
        raise build_module_not_found(api, module) from None


def build_module_not_found(api: AdminApiClient, module: str) -> NotFound:
    """Build the error for a module that is not installed; it names the nearest right name."""
    from gateway.argument_validation import find_closest_match

    names = [service.module for service in api.iterate("/services", RemoteService) if service.installed]
    closest = find_closest_match(module, names)
    hint = f"did you mean {closest}?" if closest else f"there are: {', '.join(names) or 'none'}"
    return NotFound(f"there is no module {module[:100]!r}; {hint}")
