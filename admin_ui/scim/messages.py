"""Messages of SCIM clients: resources, patches and filters, as Entra ID and Okta write them.

Both are read with the tolerance that they need: booleans as texts, operations in any case, attributes with the schema's
URN before them, values of a patch as one object with dots in its names. What this server does not keep is ignored.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast
from uuid import UUID

import orjson

from admin_ui.scim.documents import GROUP_SCHEMA, USER_SCHEMA
from core.directory.scim import MemberChange, ProvisionedUser, UserAttributes
from core.errors import MCPistError

MAX_OPERATIONS = 1_000
MAX_TEXT = 400
_FILTER = re.compile(
    r'\s*([A-Za-z$:.0-9_]{1,120}|emails\[type eq "work"\]\.value)\s+eq\s+("(?:[^"\\]|\\.){0,400}")\s*', re.IGNORECASE
)
_MEMBER_PATH = re.compile(r'members\[value eq "([^"]{1,100})"\]', re.IGNORECASE)
_PATH = re.compile(r"[A-Za-z$][A-Za-z0-9_$:.-]{0,200}(?:\[[^\]]{1,200}\](?:\.[A-Za-z]{1,60})?)?")
_USER_FILTERS = {
    "username": "user_name",
    "externalid": "external_id",
    "emails.value": "email",
    'emails[type eq "work"].value': "email",
}
_GROUP_FILTERS = {"displayname": "display_name", "externalid": "external_id"}


class ScimInvalid(MCPistError):
    """A request that SCIM refuses; `scim_type` as in RFC 7644 §3.12."""

    status, code = 400, "invalid"

    def __init__(self, scim_type: str, detail: str) -> None:
        super().__init__(detail)
        self.scim_type = scim_type


def parse_user_filter(text: str) -> tuple[str, str]:
    """The attribute and value of a filter for users; both are empty without a filter.

    Raises:
        ScimInvalid: it is another filter than ``userName eq``, ``externalId eq`` or one of the address.
    """
    attribute, value = _parse_filter(text, _USER_FILTERS, USER_SCHEMA)
    return attribute, value.lower() if attribute in ("user_name", "email") else value


def parse_group_filter(text: str) -> tuple[str, str]:
    """As :func:`parse_user_filter`, for ``displayName eq`` and ``externalId eq``."""
    return _parse_filter(text, _GROUP_FILTERS, GROUP_SCHEMA)


def _parse_filter(text: str, known: Mapping[str, str], schema: str) -> tuple[str, str]:
    if not text.strip():
        return "", ""
    found = _FILTER.fullmatch(text) if len(text) <= 1_000 else None
    attribute = known.get(_strip_schema(found[1], schema).lower()) if found else None
    if found is None or attribute is None:
        names = ", ".join(known)
        raise ScimInvalid("invalidFilter", f'this filter is not supported: give one of {names}, then eq "value"')
    try:
        return attribute, str(orjson.loads(found[2])).replace("\x00", "")
    except orjson.JSONDecodeError:
        raise ScimInvalid("invalidFilter", "the value of the filter is no JSON text") from None


def parse_user(body: Mapping[str, Any]) -> UserAttributes:
    """A user that is to be, or to become, exactly this.

    Raises:
        ScimInvalid: an attribute is missing or has the wrong form.
    """
    changes = dict(_read_attributes(body))
    user_name = _read_text("userName", changes.get("username"))
    if not user_name:
        raise ScimInvalid("invalidValue", "userName is missing")
    return _apply(UserAttributes(user_name, ""), changes)


def patch_user(user: ProvisionedUser, body: Mapping[str, Any]) -> UserAttributes:
    """Return the user after a patch (RFC 7644 §3.5.2).

    Raises:
        ScimInvalid: it is no patch, or an operation of it has the wrong form.
    """
    wanted = UserAttributes(
        user.user_name, user.email, user.name, user.given_name, user.family_name, user.external_id, user.active
    )
    for operation, path, value in _read_operations(body):
        if path:
            values: Mapping[str, Any] = {path: "" if operation == "remove" else value}
        elif isinstance(value, dict) and operation != "remove":
            values = cast("Mapping[str, Any]", value)
        else:
            raise ScimInvalid("noTarget", "an operation without a path needs an object as its value")
        wanted = _apply(wanted, dict(_read_attributes(values)))
    return wanted


def _read_attributes(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Attributes by their paths in lower case; complex ones by those of their parts."""
    for name, value in values.items():
        path = _strip_schema(str(name), USER_SCHEMA).lower()
        if path == "name" and isinstance(value, dict):
            for part, text in cast("Mapping[str, Any]", value).items():
                yield f"name.{part.lower()}", text
        elif path == "emails":
            yield "email", _find_address(value)
        elif path.startswith("emails[") and path.endswith("].value"):
            if 'type eq "work"' in path or "primary eq" in path:
                yield "email", value
        else:
            yield path, value


def _find_address(value: Any) -> Any:
    """The primary address of a list, else that of work, else the first."""
    if not isinstance(value, list):
        raise ScimInvalid("invalidValue", "emails: give a list of objects with value, type and primary")
    entries = [cast("Mapping[str, Any]", one) for one in cast("list[Any]", value)[:100] if isinstance(one, dict)]
    if not entries:
        return ""
    best = [one for one in entries if _read_boolean("primary", one.get("primary", False))]
    best += [one for one in entries if one.get("type") == "work"]
    return (best or entries)[0].get("value", "")


def _apply(wanted: UserAttributes, changes: Mapping[str, Any]) -> UserAttributes:
    if "username" in changes:
        user_name = _read_text("userName", changes["username"])
        if not user_name:
            raise ScimInvalid("mutability", "userName cannot be removed")
        was_address = wanted.email.lower() == wanted.user_name.lower()
        # The name is the address where the provider sends no other.
        wanted = replace(wanted, user_name=user_name, email=user_name if was_address else wanted.email)
    if "email" in changes or not wanted.email:
        address = _read_text("emails", changes.get("email", ""))
        wanted = replace(wanted, email=address or wanted.email or wanted.user_name)
    given = _read_text("name.givenName", changes.get("name.givenname", wanted.given_name))
    family = _read_text("name.familyName", changes.get("name.familyname", wanted.family_name))
    shown = changes.get("displayname") or changes.get("name.formatted")
    if shown is None and {"name.givenname", "name.familyname"} & changes.keys() and not wanted.name:
        shown = f"{given} {family}".strip()
    return replace(
        wanted,
        given_name=given,
        family_name=family,
        name=wanted.name if shown is None else _read_text("displayName", shown),
        external_id=_read_text("externalId", changes.get("externalid", wanted.external_id)),
        active=_read_boolean("active", changes.get("active", wanted.active)),
    )


def parse_group(body: Mapping[str, Any]) -> tuple[str, str, list[UUID]]:
    """The name, external id and members of a group.

    Raises:
        ScimInvalid: an attribute is missing or has the wrong form.
    """
    name = _read_text("displayName", body.get("displayName"))
    if not name:
        raise ScimInvalid("invalidValue", "displayName is missing")
    return name, _read_text("externalId", body.get("externalId")), _read_members(body.get("members") or [])


def parse_group_patch(body: Mapping[str, Any]) -> Sequence[MemberChange]:
    """The changes of a group, in order.

    Raises:
        ScimInvalid: it is no patch, or an operation of it has the wrong form.
    """
    return [
        change
        for operation, path, value in _read_operations(body)
        for change in _read_group_operation(operation, _strip_schema(path, GROUP_SCHEMA), value)
    ]


def _read_group_operation(operation: str, path: str, value: Any) -> Iterator[MemberChange]:
    if not path:
        if not isinstance(value, dict):
            raise ScimInvalid("noTarget", "an operation without a path needs an object as its value")
        for name, part in cast("Mapping[str, Any]", value).items():
            yield from _read_group_operation(operation, _strip_schema(name, GROUP_SCHEMA) or "-", part)
        return
    member = _MEMBER_PATH.fullmatch(path)
    if member is not None:
        yield MemberChange(remove=_read_members([{"value": member[1]}])) if operation == "remove" else MemberChange()
    elif path.lower() == "members":
        if operation == "remove" and value is None:
            yield MemberChange(replace=())
        else:
            members = _read_members(value)
            yield {"add": MemberChange(add=members), "remove": MemberChange(remove=members)}.get(
                operation, MemberChange(replace=members)
            )
    elif path.lower() == "displayname":
        if operation == "remove":
            raise ScimInvalid("mutability", "displayName cannot be removed")
        yield MemberChange(display_name=_read_text("displayName", value))
    elif path.lower() == "externalid":
        yield MemberChange(external_id="" if operation == "remove" else _read_text("externalId", value))


def _read_operations(body: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Each operation in lower case, its path, and its value."""
    operations: Any = body.get("Operations", body.get("operations"))
    if not isinstance(operations, list) or not operations:
        raise ScimInvalid("invalidSyntax", "Operations is missing: a list of objects with op, path and value")
    if len(cast("list[Any]", operations)) > MAX_OPERATIONS:
        raise ScimInvalid("tooMany", f"give at most {MAX_OPERATIONS} operations")
    for entry in cast("list[Any]", operations):
        operation: Mapping[str, Any] = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
        kind, path = str(operation.get("op", "")).lower(), operation.get("path") or ""
        if kind not in ("add", "replace", "remove"):
            raise ScimInvalid("invalidSyntax", "op: give add, replace or remove")
        if not isinstance(path, str) or (path and not _PATH.fullmatch(path)):
            raise ScimInvalid("invalidPath", "path: give the name of an attribute")
        if kind == "remove" and not path:
            raise ScimInvalid("noTarget", "a remove operation needs a path")
        yield kind, path, operation.get("value")


def _read_members(value: Any) -> list[UUID]:
    entries = cast("list[Any]", value) if isinstance(value, list) else [value]
    members: list[UUID] = []
    for entry in entries:
        member = cast("Mapping[str, Any]", entry).get("value") if isinstance(entry, dict) else entry
        try:
            members.append(UUID(member) if isinstance(member, str) and len(member) == 36 else UUID(""))
        except ValueError:
            raise ScimInvalid("invalidValue", "members: give the ids of users of this server as value") from None
    return members


def _read_text(name: str, value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise ScimInvalid("invalidValue", f"{name}: give a text of at most {MAX_TEXT} characters")
    return value.strip()


def _read_boolean(name: str, value: Any) -> bool:
    """Entra ID sends booleans as texts."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise ScimInvalid("invalidValue", f"{name}: give true or false")


def _strip_schema(path: str, schema: str) -> str:
    return path[len(schema) + 1 :] if path.lower().startswith(schema.lower() + ":") else path
