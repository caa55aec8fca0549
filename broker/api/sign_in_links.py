"""``/users/{id}/sign-in-link``: one way in for a person whom no identity provider knows."""

from datetime import datetime
from uuid import UUID

from fastapi import Request

from broker.api.identity_dependencies import IdentityDeps
from broker.identity.one_time_links import LINK_LIFETIME
from core.api.app import create_router
from core.api.dependencies import RecentlySignedInAdmin
from core.api.schemas import ResponseModel
from core.api.security import get_security

routes = create_router("users")


class SignInLinkView(ResponseModel):
    """`url` signs that person in, once and until `expires_at`. Whoever has it is them."""

    url: str
    expires_at: datetime


@routes.post("/users/{user_id}/sign-in-link", status_code=201)
async def create_sign_in_link(
    user_id: UUID, caller: RecentlySignedInAdmin, parts: IdentityDeps, request: Request
) -> SignInLinkView:
    """Make a one-time link for a user; the older ones that they have not used count no more. It takes a sign-in of the
    last ten minutes, because what it makes is a credential.
    """
    secret = await parts.links.create(caller.actor, caller.tenant_id, user_id)
    door = get_security(request)
    url = f"{door.public_url}/sign-in/link?code={secret.reveal()}"
    return SignInLinkView(url=url, expires_at=door.clock() + LINK_LIFETIME)
