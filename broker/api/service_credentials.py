"""``/services/{module}/credential``: a vendor's token or key, given by a program instead of on the page."""

from typing import Annotated
from uuid import UUID

from fastapi import Path
from pydantic import Field, SecretStr

from broker.api.connect_dependencies import ConnectDeps
from broker.connections.api_keys import PROBLEMS_BY_MESSAGE_KEY, OtherAccount, PastedKey
from broker.connections.connect_errors import ConnectError
from broker.web.key_errors import build_key_error
from core.api.app import create_router
from core.api.dependencies import RecentlySignedInUser
from core.api.schemas import RequestModel, ResponseModel
from core.errors import Conflict, NotFound
from core.names import MODULE_NAME_FIELD
from core.scopes import ADMIN_WRITE
from core.secret import Secret

routes = create_router("credentials")

MAX_KEY_LENGTH = 16_384
MAX_USER_LENGTH = 320
ModulePath = Annotated[str, Path(pattern=MODULE_NAME_FIELD)]


class VendorKeyUpsert(RequestModel):
    """One's own key, or as an administrator one that a role shares. `username` is the user name or e-mail address that
    belongs to it, where the vendor wants both; `provider` names whose key it is, where several serve the service.
    `allow_account_change` says that it may belong to another account than the one before."""

    secret: Annotated[SecretStr, Field(min_length=1, max_length=MAX_KEY_LENGTH)]
    username: Annotated[str, Field(max_length=MAX_USER_LENGTH)] = ""
    provider: Annotated[str, Field(max_length=40)] = ""
    role_id: UUID | None = None
    allow_account_change: bool = False


class SavedVendorKeyView(ResponseModel):
    """Whose account it is, as the vendor says; `replaced` is whether there was another before."""

    module: str
    owner: str
    account: str
    replaced: bool
    previous_account: str | None


@routes.put("/services/{module}/credential")
async def store_key(
    module: ModulePath, asked: VendorKeyUpsert, caller: RecentlySignedInUser, connect: ConnectDeps
) -> SavedVendorKeyView:
    """Store a key after the vendor has told whose it is, in the place of the one before. It takes a sign-in of the last
    ten minutes: whoever may do this chooses the account that one's tools work with."""
    if asked.role_id is not None and not caller.is_administrator_with(ADMIN_WRITE):
        raise NotFound("there is no such role")
    found = await connect.available_services.find_with_subject(caller, module, asked.role_id)
    if found is None:
        raise NotFound("there is no such service for you")
    before, whom = found[0].own, found[1]
    pasted = PastedKey(Secret(asked.secret.get_secret_value()), asked.username, asked.provider)
    try:
        account = await connect.api_keys.connect(
            caller, module, asked.role_id, pasted, replace=asked.allow_account_change
        )
    except OtherAccount as other:
        raise Conflict(_OTHER.format(now=other.now, before=other.before)) from None
    except ConnectError as refused:
        trouble = PROBLEMS_BY_MESSAGE_KEY.get(refused.key, "setup")
        raise build_key_error(trouble, refused.title or found[0].required_tools.module.title) from None
    owner = caller.email if asked.role_id is None else f"role {whom.shared_with}"
    previous = None if before is None else before.name
    return SavedVendorKeyView(
        module=module, owner=owner, account=account, replaced=before is not None, previous_account=previous
    )


_OTHER = (
    "this secret belongs to the account {now}, the stored one to {before}; send allow_account_change if that is meant. "
    "Nothing was stored"
)
