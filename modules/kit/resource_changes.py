"""Announcing resources that a tool has changed, from a table of a module's::

    CHANGES = {"update_issue": [changed(issue, key="issue")]}
    MODULE = Module(..., tools=announce_changes(TOOLS, CHANGES), resources=RESOURCES)

Once `update_issue` has ended without an error, clients that have subscribed to the issue are told.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from pydantic import BaseModel

from modules.kit.context import Context
from modules.kit.declarations import Tool
from modules.kit.resources import Resource, list_uri_variables

Arguments = Mapping[str, Any]
Select = Callable[[Arguments], Iterable[Mapping[str, Any]]]
"""(a tool's arguments) -> the variables of each resource that it has changed."""

MAX_URI_LENGTH = 2_048
MAX_ANNOUNCED = 100
"""Of one run, as Context.announce_resource_change takes them."""


@dataclass(frozen=True, slots=True)
class ChangedResource:
    """A resource that a tool changes, and which ones of it."""

    resource: Resource
    select: Select


def changed(resource: Resource, **parameters: str) -> ChangedResource:
    """Say that a tool changes a resource whose variables are the tool's `parameters`; none where one is left out."""

    def select(arguments: Arguments) -> Iterable[Mapping[str, Any]]:
        return [{variable: arguments.get(name) for variable, name in parameters.items()}]

    return ChangedResource(resource, select)


def announce_changes(tools: Iterable[Tool], changes: Mapping[str, Sequence[ChangedResource]]) -> tuple[Tool, ...]:
    """Return the tools, of which those in `changes` announce what they have changed."""
    return tuple(_announce_after(tool, changes[tool.name]) if tool.name in changes else tool for tool in tools)


def expand_uri(template: str, variables: Mapping[str, Any]) -> str:
    """Expand a URI template: all but unreserved characters are encoded, and slashes kept in ``{+name}`` (RFC 6570)."""
    for name in list_uri_variables(template):
        value = str(variables[name])
        template = template.replace(f"{{{name}}}", quote(value, safe=""))
        template = template.replace(f"{{+{name}}}", quote(value, safe="/"))
    return template


def list_changed_uris(changes: Iterable[ChangedResource], arguments: Arguments) -> list[str]:
    """List the URIs of what a tool with these arguments has changed, by each of their forms."""
    uris = [
        expand_uri(template, variables)
        for change in changes
        for variables in change.select(arguments)
        if None not in variables.values()
        for template in change.resource.uris
    ]
    return [uri for uri in dict.fromkeys(uris) if len(uri) <= MAX_URI_LENGTH][:MAX_ANNOUNCED]


def _announce_after(tool: Tool, changes: Sequence[ChangedResource]) -> Tool:
    run_tool = tool.run

    async def run(context: Context, **arguments: Any) -> BaseModel:
        result = await run_tool(context, **arguments)
        for uri in list_changed_uris(changes, arguments):
            context.announce_resource_change(uri)
        return result

    return replace(tool, run=run)
