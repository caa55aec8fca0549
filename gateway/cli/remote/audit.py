"""The audit log at a server: one page of it, as the person may see it."""

from datetime import datetime
from uuid import UUID

import msgspec

from core.audit.query import Filter, Item, Page
from gateway.cli.remote.api import PAGE, Api
from gateway.cli.remote.me import me
from gateway.cli.remote.people import user_of, users


class _Item(msgspec.Struct):
    seq: int
    at: datetime
    kind: str
    user_id: UUID | None
    actor: str
    credential_id: str
    client: str
    request_id: str
    module: str
    tool: str
    outcome: str
    duration_us: int | None
    digest: str
    arguments: str | None
    detail: dict[str, str | int]


class _Page(msgspec.Struct):
    items: tuple[_Item, ...]
    next_cursor: str | None


def audit(api: Api, asked: Filter, user: str | None, cursor: str | None, limit: int) -> tuple[Page, dict[UUID, str]]:
    """One page of at most 200, and the addresses of the people in it."""
    mine = me(api)
    administers = mine.system_role == "admin"
    person = None if user is None else mine.id if user.lower() == mine.email else user_of(api, user).id
    found = _page(api, "/audit", asked, cursor, limit, user=person)
    emails = {one.id: one.email for one in users(api)} if administers else {mine.id: mine.email}
    return found, emails


def audit_of_deployment(api: Api, asked: Filter, cursor: str | None, limit: int) -> tuple[Page, dict[UUID, str]]:
    """The same of what belongs to no tenant, for whoever operates the deployment."""
    return _page(api, "/deployment/audit", asked, cursor, limit), {}


def _page(api: Api, path: str, asked: Filter, cursor: str | None, limit: int, **whose: UUID | None) -> Page:
    found = api.get(
        path,
        _Page,
        since=None if asked.since is None else asked.since.isoformat(),
        until=None if asked.until is None else asked.until.isoformat(),
        kind=asked.kind,
        module=asked.module,
        tool=asked.tool,
        outcome=asked.outcome,
        limit=min(limit, PAGE),
        cursor=cursor,
        **whose,
    )
    return Page(tuple(map(_item, found.items)), found.next_cursor)


def _item(one: _Item) -> Item:
    return Item(
        seq=one.seq,
        at=one.at,
        kind=one.kind,
        user_id=one.user_id,
        credential_id=one.credential_id,
        client=one.client,
        request_id=one.request_id,
        module=one.module,
        tool=one.tool,
        outcome=one.outcome,
        duration_us=one.duration_us,
        digest=bytes.fromhex(one.digest),
        arguments=None if one.arguments is None else one.arguments.encode(),
        detail=one.detail,
        actor=one.actor,
    )
