"""``/users/{id}/sign-in-link``: one way in for a person whom no identity provider knows."""

from datetime import datetime

from fastapi import Request
from pydantic import Field

from broker.api.identity_dependencies import IdentityDeps
from broker.identity.one_time_links import LINK_LIFETIME
from core.api.app import create_router
from core.api.dependencies import RecentlySignedInAdmin, UserPath
from core.api.schemas import ResponseModel
from core.api.security import get_security

routes = create_router("users")


class SignInLinkView(ResponseModel):
    """A one-time sign-in link. Everyone who has it can sign in as the user."""

    url: str = Field(description="URL that signs the user in, once.")
    expires_at: datetime = Field(description="Time at which the URL stops working.")


@routes.post("/users/{user_id}/sign-in-link", status_code=201)
async def create_sign_in_link(
    user_id: UserPath, caller: RecentlySignedInAdmin, parts: IdentityDeps, request: Request
) -> SignInLinkView:
    """Create a one-time sign-in link for a user.

    Unused older links of the user stop working. It creates a credential, so a sign-in within the last ten minutes is
    required.
    """
    secret = await parts.links.create(caller.actor, caller.tenant_id, user_id)
    security = get_security(request)
    url = f"{security.public_url}/sign-in/link?code={secret.reveal()}"
    return SignInLinkView(url=url, expires_at=security.clock() + LINK_LIFETIME)
