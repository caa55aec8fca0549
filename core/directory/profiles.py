"""A user's own profile: how they are called, and how they like the console."""

import functools
import zoneinfo
from dataclasses import dataclass, replace
from typing import Literal
from uuid import UUID

from core.audit.event import AuditEventKind
from core.db import Database, Row
from core.directory.audit_trail import Actor, audit_change
from core.errors import Invalid, NotFound

Language = Literal["en", "ja"]
MAX_NAME_LENGTH = 200
MAX_TIME_ZONE_LENGTH = 64


@dataclass(frozen=True, slots=True)
class Profile:
    """What a user may change of themselves. Without a `language` or `time_zone` (IANA) the browser's counts;
    `single_key_shortcuts` are the console's shortcuts of one letter; `guided_start` is whether it offers the guided
    start.
    """

    name: str
    language: Language | None
    time_zone: str | None
    single_key_shortcuts: bool
    guided_start: bool


async def get_profile(console: Database, tenant_id: UUID, user_id: UUID) -> Profile:
    """Return a user's profile.

    Raises:
        NotFound: the tenant has no such user.
    """
    async with console.tenant(tenant_id) as work:
        return _build_profile(await work.fetchrow(_GET, user_id))


async def load_time_zone(database: Database, tenant_id: UUID, user_id: UUID) -> str:
    """Load a user's time zone; "" where they have set none, or where there is no such user."""
    async with database.tenant(tenant_id) as work:
        return await work.fetchval(_GET_TIME_ZONE, user_id) or ""


async def change_profile(
    console: Database, actor: Actor, tenant_id: UUID, user_id: UUID, **changes: str | bool | None
) -> Profile:
    """Change the given fields of a user's profile; the profile as it is now.

    Raises:
        NotFound: the tenant has no such user.
        Invalid: a value has the wrong form.
    """
    async with console.tenant(tenant_id) as work:
        before = _build_profile(await work.fetchrow(_LOCK, user_id))
        after = replace(before, **changes)  # pyright: ignore[reportArgumentType] the route's model has checked the types
        _validate_profile(after)
        changed = {name: value for name, value in changes.items() if value != getattr(before, name)}
        if changed:
            await work.execute(
                _CHANGE,
                user_id,
                after.name,
                after.language,
                after.time_zone,
                after.single_key_shortcuts,
                after.guided_start,
            )
            detail = {name: _to_audit_detail(value) for name, value in changed.items()}
            await audit_change(work, actor, AuditEventKind.PROFILE_CHANGED, **detail)
        return after


def _validate_profile(profile: Profile) -> None:
    if len(profile.name) > MAX_NAME_LENGTH:
        raise Invalid(f"a user's name has at most {MAX_NAME_LENGTH} characters")
    if profile.time_zone is not None and profile.time_zone not in _list_time_zones():
        raise Invalid("there is no such time zone; write one of the IANA database, such as Asia/Tokyo")


@functools.cache
def _list_time_zones() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones())


def _to_audit_detail(value: str | bool | None) -> str | int:
    return value if isinstance(value, str) else "" if value is None else int(value)


def _build_profile(row: Row | None) -> Profile:
    if row is None:
        raise NotFound("there is no user of this id")
    return Profile(*row.values())


_GET = """SELECT name, language, time_zone, single_key_shortcuts, guided_start FROM core.users
    WHERE tenant_id = $1 AND id = $2"""
_GET_TIME_ZONE = "SELECT time_zone FROM core.users WHERE tenant_id = $1 AND id = $2"
_LOCK = _GET + " FOR UPDATE"
_CHANGE = """UPDATE core.users SET name = $3, language = $4, time_zone = $5, single_key_shortcuts = $6,
    guided_start = $7 WHERE tenant_id = $1 AND id = $2"""
