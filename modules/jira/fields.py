"""The fields of a site: custom ones have names of people's own beside their ids."""

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from modules.jira import rest_client
from modules.jira.field_values import get_mapping, list_mappings, make_value
from modules.kit import Context, ToolError, VendorAnswer
from modules.kit.text_cleaning import clean_line

SYSTEM_FIELDS = frozenset(
    {"summary", "status", "issuetype", "priority", "assignee", "reporter", "creator", "created", "updated", "duedate",
     "labels", "parent", "resolution", "resolutiondate", "components", "fixVersions", "versions", "project", "subtasks",
     "issuelinks", "description", "environment", "attachment", "timetracking", "statuscategory", "votes", "watches"}
)  # fmt: skip
_ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,60}")


async def fetch_fields(context: Context) -> VendorAnswer:
    """Fetch all fields of the site."""
    return await rest_client.send_request(context, "GET", "/rest/api/3/field")


def _list_fields(answer: VendorAnswer) -> list[dict[str, Any]]:
    return [one for one in list_mappings(answer.read(list[Any])) if one.get("id")]


async def resolve_names(context: Context, names: Iterable[str]) -> dict[str, str]:
    """Find the ids of fields that were named by id or by name; ids of the system are known without asking.

    Raises:
        ToolError: a name is unknown, or several fields share it.
    """
    wanted = list(names)
    if all(name in SYSTEM_FIELDS or re.fullmatch(r"customfield_[0-9]{1,10}", name) for name in wanted):
        return {name: name for name in wanted}
    fields = _list_fields(await fetch_fields(context))
    return {name: str(find_field(fields, name)["id"]) for name in wanted}


def find_field(fields: Iterable[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    """Find the one field of that id or name.

    Raises:
        ToolError: there is none, or several.
    """
    known = list(fields)
    exact = [one for one in known if name in (one.get("id"), one.get("key"))]
    named = exact or [one for one in known if str(one.get("name", "")).casefold() == name.strip().casefold()]
    if len(named) == 1:
        return named[0]
    shown = clean_line(name)[:60]
    if named:
        raise ToolError(
            f"several fields are called {shown}: name one by id: {', '.join(str(one['id']) for one in named[:10])}"
        )
    close = get_close_matches(name, [str(one.get("name", "")) for one in known], 3)
    hint = f"; similar: {', '.join(map(clean_line, close))}" if close else ""
    raise ToolError(f"fields: there is no field {shown}{hint}; look it up in the list of fields")


async def make_fields(context: Context, values: Mapping[str, Any] | None) -> dict[str, Any]:
    """Make the fields of a request out of values by name or id.

    Raises:
        ToolError: a field is unknown, or takes no such value.
    """
    if not values:
        return {}
    known = _list_fields(await fetch_fields(context))
    made: dict[str, Any] = {}
    for name, value in values.items():
        field = find_field(known, name)
        made[str(field["id"])] = make_value(name, value, get_mapping(field.get("schema")))
    return made
