"""``/connections``: the connection doctor. How one's services stand, why, who can mend it, and what happened."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import Path

from broker.accounts.standing import Happened, Standing, State, Who
from broker.web.api.connect_parts import Connect
from core.api.app import router
from core.api.callers import Everyone, Person, of_whom
from core.api.paging import Cursor, Most, TextKey, key_of, paged
from core.api.shapes import PageOf, Told
from core.errors import NotFound
from core.scopes import ADMIN_READ

routes = router("connections")


class ConnectionView(Told):
    """How a credential stands, or that there is none yet (`credential_id` null). `cause` is a fixed word and `meaning`
    its sentence; `who` can do something about it, at `link`; `again_at` is when MCPist asks the vendor next by
    itself."""

    credential_id: UUID | None
    module: str
    provider: str
    kind: Literal["personal", "shared"]
    owner: str
    account: str
    state: State
    cause: str
    meaning: str
    who: Who
    link: str
    again_at: datetime | None


class EventView(Told):
    """One event of the account's history; `exchange` is what was said at the token endpoint, without secrets."""

    at: datetime
    kind: str
    error_class: str
    exchange: dict[str, Any]


class ConnectionDetail(ConnectionView):
    """With the last events of the account behind it, the newest first."""

    events: list[EventView]


@routes.get("/connections")
async def list_connections(
    caller: Person,
    connect: Connect,
    user: UUID | None = None,
    everyone: Everyone = False,
    limit: Most = 50,
    cursor: Cursor = None,
) -> PageOf[ConnectionView]:
    """One's own, those that one's roles share, and what is not connected yet; for administrators those of a `user`, or
    the credentials of `everyone`."""
    user_id = of_whom(caller, user, everyone)
    after = None if cursor is None else key_of(cursor, tuple[TextKey, UUID])
    async with connect.database.tenant(caller.tenant_id) as work:
        if user_id is None:
            found = await connect.doctor.of_everyone(work, after=after, limit=limit + 1)
        else:
            found = [one for one in await connect.doctor.of_person(work, user_id) if after is None or one.key > after]
    shown, following = paged(found[: limit + 1], limit, lambda one: one.key)
    return PageOf(items=[_view(one, connect.public_url) for one in shown], next_cursor=following)


@routes.get("/connections/{credential_id}")
async def read_connection(credential_id: Annotated[UUID, Path()], caller: Person, connect: Connect) -> ConnectionDetail:
    """One of one's own or of one's roles', or for an administrator anybody's, with its history."""
    user_id = None if caller.administers(ADMIN_READ) else caller.user_id
    async with connect.database.tenant(caller.tenant_id) as work:
        found = await connect.doctor.one(work, credential_id, user_id)
    if found is None:
        raise NotFound("there is no such connection")
    standing, happened = found
    shown = _view(standing, connect.public_url)
    return ConnectionDetail(**shown.model_dump(), events=[_event(one) for one in happened])


def _view(one: Standing, public_url: str) -> ConnectionView:
    return ConnectionView(
        credential_id=one.id,
        module=one.module,
        provider=one.provider,
        kind=one.kind,
        owner=one.owner,
        account=one.account,
        state=one.state,
        cause=one.cause,
        meaning=one.meaning,
        who=one.who,
        link=public_url + one.link,
        again_at=one.again_at,
    )


def _event(one: Happened) -> EventView:
    return EventView(at=one.at, kind=one.kind, error_class=one.cls, exchange=dict(one.exchange))
