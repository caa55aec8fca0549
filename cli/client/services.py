"""Services at a server."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from cli.client.admin_api import AdminApiClient
from cli.client.server_http import ServerResponse
from core.directory.services import TenantService
from core.errors import Invalid, NotFound


class RemoteService(msgspec.Struct, frozen=True):
    """A module as the tenant has it."""

    module: str
    description: str
    installed: bool
    enabled: bool
    tool_count: int
    settings: dict[str, Any]
    has_vendor: bool
    settings_schema: dict[str, Any] = {}
    """JSON Schema of the settings, where a single service was asked for."""


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


def describe_settings(api: AdminApiClient, module: str) -> list[str]:
    """Describe the settings that a module has: name, meaning, limits and default of each.

    Raises:
        NotFound: there is no such module; the text has the nearest right name.
    """
    try:
        service = api.get("/services/{}", RemoteService, module)
    except NotFound:
        raise build_module_not_found(api, module) from None
    properties: Mapping[str, Mapping[str, Any]] = service.settings_schema.get("properties", {})
    return [f"{name} ({_describe_setting(schema)})" for name, schema in properties.items()]


def _describe_setting(schema: Mapping[str, Any]) -> str:
    parts = [str(schema.get("description", ""))]
    if "enum" in schema:
        parts.append("one of " + ", ".join(map(str, schema["enum"])))
    if "minimum" in schema and "maximum" in schema:
        parts.append(f"{schema['minimum']} to {schema['maximum']}")
    if schema.get("default") is not None:
        parts.append(f"default {schema['default']}")
    return "; ".join(parts)


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
    if not service.has_vendor:
        raise Invalid(f"{module} has no vendor: it needs no credential")


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
