"""``/sessions/current/access-token``: a browser's way to ``/mcp``, for the console's playground (decision 63)."""

from uuid import UUID

from pydantic import Field
from starlette.requests import Request

from broker.api.identity_dependencies import IdentityDeps
from core.api.app import create_router
from core.api.dependencies import CurrentUserWrite
from core.api.schemas import ResponseModel
from core.api.security import get_security
from core.errors import Conflict

routes = create_router("sessions")


class SessionAccessTokenView(ResponseModel):
    """An access token of the browser session that asks."""

    access_token: str = Field(description="Access token for the MCP endpoint; keep it in memory only.")
    expires_in: int = Field(description="Lifetime in seconds; it ends earlier with the session.")
    scopes: list[str] = Field(description="Scopes of the token: those of tools, never those of administration.")
    mcp_url: str = Field(description="URL of the MCP endpoint.")


@routes.post("/sessions/current/access-token")
async def create_session_access_token(
    caller: CurrentUserWrite, parts: IdentityDeps, request: Request
) -> SessionAccessTokenView:
    """Create an access token of the browser session.

    With it a page of MCPist calls tools as the person who is signed in, by the MCP endpoint and no other way. It lives
    for minutes, ends with the session, and cannot administer. Only a browser session gets one.
    """
    if caller.authentication_method != "session":
        raise Conflict("this is for a browser's session; the credential that you have works at /mcp as it is")
    if parts.access_tokens is None:
        raise Conflict("tokens of this MCPist come from another authorization server; use a client of it")
    now = get_security(request).clock()
    grant = await parts.grants.get_or_create_session_grant(
        caller.tenant_id, caller.user_id, UUID(caller.credential_id), parts.resource
    )
    token, seconds = await parts.access_tokens.mint(grant, now)
    return SessionAccessTokenView(
        access_token=token.reveal(), expires_in=seconds, scopes=sorted(grant.scopes), mcp_url=parts.resource
    )
