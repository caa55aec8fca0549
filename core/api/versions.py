"""Versions in HTTP: ``ETag: "v17"`` on an object, ``If-Match`` on its change, 412 with its present state (RFC 9110)."""

import re
from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar
from uuid import UUID

from fastapi import Depends, Header, Response
from pydantic import BaseModel

from core.db import Database
from core.directory.versions import ObjectKind, VersionConflict, fetch_version
from core.errors import Invalid

_FORM = re.compile(r'"v([0-9]{1,18})"')
_Result = TypeVar("_Result")


async def _parse_if_match(
    if_match: Annotated[
        str | None,
        Header(
            max_length=100,
            description='Version that the change expects, as the `ETag` of the object: `"v17"`; omit it to change '
            "whatever is there.",
        ),
    ] = None,
) -> int | None:
    if if_match is None or if_match.strip() == "*":
        return None
    found = _FORM.fullmatch(if_match.strip())
    if found is None:
        raise Invalid('If-Match must be one ETag of this object, such as "v17"')
    return int(found[1])


ExpectedVersion = Annotated[int | None, Depends(_parse_if_match)]
"""The version that a change expects; None for any."""


async def set_etag(
    response: Response, database: Database, tenant_id: UUID, kind: ObjectKind, object_id: object
) -> None:
    """Set the ETag of a tenant's object; called before the object is read."""
    async with database.tenant(tenant_id) as work:
        version = await fetch_version(work, kind, str(object_id))
    set_version(response, version.version)


def set_version(response: Response, version: int | None) -> None:
    """Set the ETag of an object that has its version in its own row; None where it cannot be changed."""
    if version is not None:
        response.headers["ETag"] = f'"v{version}"'


async def describe_conflict(change: Awaitable[_Result], load_state: Callable[[], Awaitable[BaseModel]]) -> _Result:
    """Await a change; a conflict of versions gets the object's present state, which `load_state` answers."""
    try:
        return await change
    except VersionConflict as conflict:
        conflict.state = (await load_state()).model_dump(mode="json")
        raise
