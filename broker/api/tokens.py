"""``/tokens``: API tokens, made by people for themselves (threat-model.md §2, row 34)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, cast
from uuid import UUID

from fastapi import Header, Path, Query
from pydantic import Field

from broker.api.identity_dependencies import IdentityDeps
from broker.identity.api_tokens import TokenSearch, TokenSortKey
from core.api.app import create_router
from core.api.dependencies import (
    AllOwners,
    CredentialCreator,
    OwnerRead,
    OwnerWrite,
    UserFilter,
    check_grantable_scopes,
    resolve_credential_owner,
    resolve_owner_filter,
)
from core.api.pagination import Cursor, PageLimit, TextKey, decode_cursor, split_page
from core.api.schemas import (
    PageOf,
    RequestModel,
    ResponseModel,
    ResultTokens,
    ShortName,
    ShortText,
    ToolExposureText,
    UtcDatetime,
)
from core.known_clients import ToolResultFormat
from core.scopes import ADMIN_WRITE

routes = create_router("tokens")

TokenSort = Literal["created_at", "-created_at", "name", "-name"]
_CURSOR_KEYS: Mapping[TokenSortKey, Any] = {"created_at": tuple[datetime, TextKey], "name": tuple[TextKey, TextKey]}
Scope = Literal["mcp:read", "mcp:write", "admin:read", "admin:write"]
TokenId = Annotated[str, Path(pattern="^[0-9A-Za-z]{12}$", description="Identifier of the token.")]
IdempotencyKey = Annotated[
    str | None,
    Header(
        pattern="^[!-~]{1,100}$",
        description="Key chosen by the caller; a repeated request with it creates no token, and 409 names the first.",
    ),
]


class TokenView(ResponseModel):
    """An API token, without its secret."""

    id: str = Field(description="Identifier of the token.")
    user_id: UUID = Field(description="Identifier of the owner.")
    user_email: str = Field(description="E-mail address of the owner.")
    name: str = Field(description="Name that tells tokens apart.")
    scopes: list[str] = Field(description="Scopes of the token.")
    read_only: bool = Field(description="True if tools that change something are hidden from it.")
    created_at: datetime = Field(description="Time of creation.")
    expires_at: datetime | None = Field(description="Time at which the token expires; null if it does not.")
    revoked_at: datetime | None = Field(description="Time of revocation; null if it was not revoked.")
    last_used_at: datetime | None = Field(description="Time of the latest use; null if it was never used.")
    tool_result_format: ToolResultFormat | None = Field(
        description="Form of the text sent beside a structured tool result: `short` or `full`; null to decide by the "
        "client."
    )
    result_tokens: int | None = Field(
        description="Tokens (o200k) that one tool result may take; the rest is kept and read in parts. Null to decide "
        "by the client."
    )
    tool_exposure: str | None = Field(
        description="Exposure of tools, such as `plain:github,notion`; null to decide by the roles of a user."
    )
    current: bool = Field(default=False, description="True for the token that sends this request.")


class TokenCreate(RequestModel):
    """An API token to create."""

    name: ShortName = Field(description="Name that tells tokens apart.")
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=4)] = Field(description="Scopes of the token.")
    read_only: bool = Field(default=False, description="True if tools that change something are hidden from it.")
    expires_at: UtcDatetime | None = Field(
        default=None,
        description="Time at which the token expires; null for never. Required if the tenant limits token lifetimes.",
    )
    tool_result_format: ToolResultFormat | None = Field(
        default=None,
        description="Form of the text sent beside a structured tool result: `short` or `full`; null to decide by the "
        "client.",
    )
    result_tokens: ResultTokens | None = Field(
        default=None,
        description="Tokens (o200k) that one tool result may take; the rest is kept and read in parts. Null to decide "
        "by the client.",
    )
    tool_exposure: ToolExposureText | None = Field(
        default=None,
        description="Exposure of tools, such as `plain:github,notion`; null to decide by the roles of a user.",
    )
    user_id: UUID | None = Field(
        default=None,
        description="Identifier of the owner; for the operator of the deployment only, default the caller.",
    )


class CreatedTokenView(ResponseModel):
    """A newly created API token."""

    id: str = Field(description="Identifier of the token.")
    token: str = Field(description="The token, returned only once.")


@routes.get("/tokens")
async def list_tokens(
    caller: OwnerRead,
    parts: IdentityDeps,
    user: UserFilter = None,
    all_owners: AllOwners = False,
    revoked: Annotated[bool, Query(description="Return revoked tokens too.")] = True,
    q: Annotated[ShortText, Query(description="Words that the name or the owner's e-mail address contains.")] = "",
    sort: Annotated[TokenSort, Query(description="Field to order by; with `-` the other way round.")] = "-created_at",
    limit: PageLimit = 50,
    cursor: Cursor = None,
) -> PageOf[TokenView]:
    """List API tokens.

    Returns the caller's own, newest first unless `sort` says otherwise, including expired ones, and revoked ones
    unless `revoked=false`. Administrators can name a `user`, or list all of the tenant with `all_owners`.
    """
    owner = resolve_owner_filter(caller, user, all_owners)
    key = cast("TokenSortKey", sort.removeprefix("-"))
    search = TokenSearch(q, key, sort.startswith("-"), revoked)
    after = None if cursor is None else decode_cursor(cursor, _CURSOR_KEYS[key])
    tokens = await parts.tokens.list_page(caller.tenant_id, owner, search, after, limit + 1)
    shown, following = split_page(tokens, limit, lambda token: (getattr(token, key), token.id))
    views = [TokenView.model_validate(token) for token in shown]
    current = caller.credential_id if caller.authentication_method == "token" else None
    items = [token.model_copy(update={"current": token.id == current}) for token in views]
    return PageOf(items=items, next_cursor=following)


@routes.post("/tokens", status_code=201)
async def make_token(
    body: TokenCreate, caller: CredentialCreator, parts: IdentityDeps, idempotency_key: IdempotencyKey = None
) -> CreatedTokenView:
    """Create an API token.

    Its scopes cannot exceed the caller's. It creates a credential, so a sign-in within the last ten minutes is
    required. The operator of the deployment names the owner and may give any scope that the owner may have.
    """
    check_grantable_scopes(caller, body.scopes)
    token_id, token = await parts.tokens.create(
        caller.actor,
        caller.tenant_id,
        resolve_credential_owner(caller, body.user_id),
        body.name,
        scopes=body.scopes,
        read_only=body.read_only,
        expires_at=body.expires_at,
        tool_result_format=body.tool_result_format,
        result_tokens=body.result_tokens,
        tool_exposure=body.tool_exposure,
        request_key=idempotency_key,
    )
    return CreatedTokenView(id=token_id, token=token.reveal())


@routes.delete("/tokens/{token_id}", status_code=204)
async def revoke_token(token_id: TokenId, caller: OwnerWrite, parts: IdentityDeps) -> None:
    """Revoke an API token.

    Administrators can revoke any token of the tenant.
    """
    owner = None if caller.is_administrator_with(ADMIN_WRITE) else caller.user_id
    await parts.tokens.revoke(caller.actor, caller.tenant_id, token_id, user_id=owner)
