"""``/users/{id}/sign-in-link``: one way in for a person whom no identity provider knows."""

from datetime import datetime
from uuid import UUID

from fastapi import Request

from broker.identity.one_time_links import LIFETIME
from broker.web.api.parts import Parts
from core.api.app import router
from core.api.callers import FreshAdmin
from core.api.door import door_of
from core.api.shapes import Told

routes = router("users")


class SignInLink(Told):
    """`url` signs that person in, once and until `expires_at`. Whoever has it is them."""

    url: str
    expires_at: datetime


@routes.post("/users/{user_id}/sign-in-link", status_code=201)
async def make_link(user_id: UUID, caller: FreshAdmin, parts: Parts, request: Request) -> SignInLink:
    """Make a one-time link for a user; the older ones that they have not used count no more. It takes a sign-in of the
    last ten minutes, because what it makes is a credential.
    """
    secret = await parts.links.create(caller.actor, caller.tenant_id, user_id)
    door = door_of(request)
    url = f"{door.public_url}/sign-in/link?code={secret.reveal()}"
    return SignInLink(url=url, expires_at=door.clock() + LIFETIME)
