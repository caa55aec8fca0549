"""``/services/{module}/credential``: a vendor's token or key, given by a program instead of on the page."""

from dataclasses import replace
from typing import Annotated
from uuid import UUID

from fastapi import Path
from pydantic import Field, SecretStr

from broker.api.connect_dependencies import ConnectDeps
from broker.connect.connect_services import ConnectServices
from broker.connections.api_keys import PROBLEMS_BY_MESSAGE_KEY, OtherAccount, PastedKey
from broker.connections.connect_methods import ConnectError
from broker.web.key_errors import build_key_error
from core.api.app import create_router
from core.api.dependencies import CredentialCreator, resolve_credential_owner
from core.api.principal import Principal
from core.api.schemas import RequestModel, ResponseModel
from core.errors import Conflict, Forbidden, Invalid, NotFound
from core.names import MODULE_NAME_FIELD
from core.scopes import ADMIN_WRITE
from core.secret import Secret

routes = create_router("credentials")

MAX_KEY_LENGTH = 16_384
MAX_USER_LENGTH = 320
ModulePath = Annotated[str, Path(pattern=MODULE_NAME_FIELD, description="Name of the module, such as `github`.")]


class VendorKeyUpsert(RequestModel):
    """A vendor's API key or token to store for the caller, or for a role."""

    secret: Annotated[SecretStr, Field(min_length=1, max_length=MAX_KEY_LENGTH)] = Field(
        description="The API key or token."
    )
    username: Annotated[str, Field(max_length=MAX_USER_LENGTH)] = Field(
        default="", description="User name or e-mail address that belongs to the key, for vendors that require both."
    )
    provider: Annotated[str, Field(max_length=40)] = Field(
        default="", description="Identifier of the provider that issued the key; required if several serve the module."
    )
    role_id: UUID | None = Field(
        default=None,
        description="Identifier of the role to share the key with (administrators only); null for a personal key.",
    )
    user_id: UUID | None = Field(
        default=None,
        description="Identifier of the key's owner: the caller by default; another user for the operator of the "
        "deployment.",
    )
    check: bool = Field(
        default=True,
        description="False to store the key without asking the vendor, which only the operator of the deployment may.",
    )
    allow_account_change: bool = Field(
        default=False, description="Accept a key of another account than the stored one."
    )


class SavedVendorKeyView(ResponseModel):
    """A stored API key, as its vendor identifies it."""

    module: str = Field(description="Name of the module, such as `github`.")
    owner: str = Field(description="E-mail address of the user, or name of the role, that owns the key.")
    account: str = Field(description="Name of the account at the vendor.")
    replaced: bool = Field(description="True if another credential was replaced.")
    previous_account: str | None = Field(
        description="Name of the account of the replaced credential; null if there was none."
    )


@routes.put("/services/{module}/credential")
async def store_key(
    module: ModulePath, body: VendorKeyUpsert, caller: CredentialCreator, connect: ConnectDeps
) -> SavedVendorKeyView:
    """Store an API key for a module.

    The vendor is asked for the account of the key first; a rejected key is not stored. It replaces the previous
    credential. The key decides which account tools use, so a sign-in within the last ten minutes is required.
    """
    if not body.check and not caller.is_operator_credential:
        raise Forbidden("only the operator of this MCPist may store a key without asking the vendor; leave out check")
    if body.role_id is None:
        caller = replace(caller, user_id=resolve_credential_owner(caller, body.user_id))
    elif body.user_id is not None:
        raise Invalid("a key is a user's or a role's: send user_id or role_id")
    if body.role_id is not None and not caller.is_administrator_with(ADMIN_WRITE):
        raise NotFound("there is no such role")
    match = await connect.available_services.find_with_subject(caller, module, body.role_id)
    if match is None:
        raise NotFound("there is no such service for you")
    before, whom = match[0].own, match[1]
    pasted = PastedKey(Secret(body.secret.get_secret_value()), body.username, body.provider)
    try:
        account = await connect.api_keys.connect(
            caller, module, body.role_id, pasted, replace=body.allow_account_change, check=body.check
        )
    except OtherAccount as other:
        raise Conflict(_OTHER.format(now=other.now, before=other.before)) from None
    except ConnectError as refused:
        trouble = PROBLEMS_BY_MESSAGE_KEY.get(refused.key, "setup")
        raise build_key_error(trouble, refused.title or match[0].required_tools.module.title) from None
    owner = f"role {whom.shared_with}" if body.role_id is not None else await _get_email(connect, caller)
    previous = None if before is None else before.account
    return SavedVendorKeyView(
        module=module, owner=owner, account=account, replaced=before is not None, previous_account=previous
    )


async def _get_email(connect: ConnectServices, owner: Principal) -> str:
    """The address of a key's owner, whom the operator has named by id."""
    if not owner.is_operator_credential:
        return owner.email
    async with connect.database.tenant(owner.tenant_id) as work:
        return await work.fetchval("SELECT email FROM core.users WHERE tenant_id = $1 AND id = $2", owner.user_id)


_OTHER = (
    "this secret belongs to the account {now}, the stored one to {before}; send allow_account_change if that is meant. "
    "Nothing was stored"
)
