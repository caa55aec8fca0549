"""The tools of the person who is signed in at a server, as the console shows them."""

from typing import Any

from cli.client.admin_api import AdminApiClient


def fetch_tool_modules(api: AdminApiClient, search: str) -> list[dict[str, Any]]:
    """Fetch the modules of one's tools, by name, each with the connection that its calls use."""
    return list(api.iterate("/tool-modules", dict[str, Any], q=search or None))


def fetch_tools(
    api: AdminApiClient, module: str, search: str, *, permitted: bool, kind: str | None = None
) -> list[dict[str, Any]]:
    """Fetch one's tools of a module, or those that one may not use, where the tenant tells them; of all kinds, or one
    of ``tool``, ``resource`` and ``prompt``."""
    query = {"q": search or None, "module": module, "permitted": "true" if permitted else "false", "kind": kind}
    return list(api.iterate("/tools", dict[str, Any], **query))


def fetch_tool(api: AdminApiClient, module: str, tool: str) -> dict[str, Any]:
    """Fetch a tool that one may use, with its schemas."""
    return api.get("/tools/{}/{}", dict[str, Any], module, tool)


def fetch_service_tools(api: AdminApiClient, module: str | None, kind: str | None = None) -> list[dict[str, Any]]:
    """Fetch the tools of the installed modules, whoever may use them, for administrators; see :func:`fetch_tools`."""
    return list(api.iterate("/service-tools", dict[str, Any], module=module, kind=kind))
