"""``/tokens``: API tokens, made by people for themselves (broker-security.md §2, row 34)."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import Header, Path
from pydantic import Field

from broker.api.identity_dependencies import IdentityDeps
from core.api.app import create_router
from core.api.dependencies import CurrentUserRead, CurrentUserWrite, RecentlySignedInUser, resolve_owner
from core.api.pagination import Cursor, PageLimit, TextKey, decode_cursor, split_page
from core.api.schemas import PageOf, RequestModel, ResponseModel, ShortName, UtcDatetime
from core.errors import Forbidden
from core.known_clients import ToolResultFormat
from core.scopes import ADMIN_READ, ADMIN_WRITE, covers

routes = create_router("tokens")

Scope = Literal["mcp:read", "mcp:write", "admin:read", "admin:write"]
TokenId = Annotated[str, Path(pattern="^[0-9A-Za-z]{12}$")]
IdempotencyKey = Annotated[
    str | None,
    Header(
        pattern="^[!-~]{1,100}$",
        description="Chosen by the caller; asked again with it, no second token is made, and 409 names the first.",
    ),
]


class TokenView(ResponseModel):
    """All that may be shown of a token."""

    id: str
    user_id: UUID
    user_email: str
    name: str
    scopes: list[str]
    read_only: bool
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    tool_result_format: ToolResultFormat | None


class TokenCreate(RequestModel):
    """Without `expires_at` the token does not expire; where the tenant sets a longest life, it has to be named.

    `tool_result_format` is what its client is sent beside a result's structured part: `short` if it shows its model
    that part, `full` if it shows the text; without it, what is known of the client decides.
    """

    name: ShortName
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=4)]
    read_only: bool = False
    expires_at: UtcDatetime | None = None
    tool_result_format: ToolResultFormat | None = None


class CreatedTokenView(ResponseModel):
    """`token` is shown this once, and never again."""

    id: str
    token: str


@routes.get("/tokens")
async def list_tokens(
    caller: CurrentUserRead, parts: IdentityDeps, user: UUID | None = None, limit: PageLimit = 50, cursor: Cursor = None
) -> PageOf[TokenView]:
    """One's own tokens, or for administrators those of a `user`; newest first, revoked and expired ones too."""
    owner = resolve_owner(caller, user, ADMIN_READ)
    after = None if cursor is None else decode_cursor(cursor, tuple[datetime, TextKey])
    found = await parts.tokens.list_page(caller.tenant_id, owner, after, limit + 1)
    shown, following = split_page(found, limit, lambda one: (one.created_at, one.id))
    return PageOf(items=[TokenView.model_validate(one) for one in shown], next_cursor=following)


@routes.post("/tokens", status_code=201)
async def make_token(
    asked: TokenCreate, caller: RecentlySignedInUser, parts: IdentityDeps, idempotency_key: IdempotencyKey = None
) -> CreatedTokenView:
    """Make a token for oneself, with no scope that one does not have. It takes a sign-in of the last ten minutes."""
    beyond = [scope for scope in asked.scopes if not covers(caller.scopes, scope)]
    if beyond:
        raise Forbidden(f"you do not have {beyond[0]} yourself")
    token_id, token = await parts.tokens.create(
        caller.actor,
        caller.tenant_id,
        caller.user_id,
        asked.name,
        scopes=asked.scopes,
        read_only=asked.read_only,
        expires_at=asked.expires_at,
        tool_result_format=asked.tool_result_format,
        request_key=idempotency_key,
    )
    return CreatedTokenView(id=token_id, token=token.reveal())


@routes.delete("/tokens/{token_id}", status_code=204)
async def revoke_token(token_id: TokenId, caller: CurrentUserWrite, parts: IdentityDeps) -> None:
    """End a token at once; administrators may end everybody's."""
    owner = None if caller.is_administrator_with(ADMIN_WRITE) else caller.user_id
    await parts.tokens.revoke(caller.actor, caller.tenant_id, token_id, user_id=owner)
