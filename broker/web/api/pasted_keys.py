"""``/services/{module}/credential``: a vendor's token or key, given by a program instead of on the page."""

from typing import Annotated
from uuid import UUID

from fastapi import Path
from pydantic import Field, SecretStr

from broker.connect.pasted_keys import TROUBLES_BY_KEY, OtherAccount, Pasted
from broker.connect.refusals import ConnectRefused
from broker.web.api.connect_parts import Connect
from broker.web.key_refusals import key_refusal
from core.api.app import router
from core.api.callers import FreshPerson
from core.api.shapes import Asked, Told
from core.errors import Conflict, NotFound
from core.scopes import ADMIN_WRITE
from core.secret import Secret

routes = router("credentials")

MOST_KEY = 16_384
MOST_USER = 320
Module = Annotated[str, Path(pattern="^[a-z][a-z0-9_]{0,62}$")]


class KeyAsked(Asked):
    """One's own key, or as an administrator one that a role shares. `user` is the user name or e-mail address that
    belongs to it, where the vendor wants both; `provider` names whose key it is, where several serve the service.
    `replace_account` says that it may belong to another account than the one before."""

    secret: Annotated[SecretStr, Field(min_length=1, max_length=MOST_KEY)]
    user: Annotated[str, Field(max_length=MOST_USER)] = ""
    provider: Annotated[str, Field(max_length=40)] = ""
    role_id: UUID | None = None
    replace_account: bool = False


class KeyStored(Told):
    """Whose account it is, as the vendor says; `replaced` is whether there was another before."""

    module: str
    owner: str
    account: str
    replaced: bool
    previous_account: str | None


@routes.put("/services/{module}/credential")
async def store_key(module: Module, asked: KeyAsked, caller: FreshPerson, connect: Connect) -> KeyStored:
    """Store a key after the vendor has told whose it is, in the place of the one before. It takes a sign-in of the last
    ten minutes: whoever may do this chooses the account that one's tools work with."""
    if asked.role_id is not None and not caller.administers(ADMIN_WRITE):
        raise NotFound("there is no such role")
    found = await connect.services.see(caller, module, asked.role_id)
    if found is None:
        raise NotFound("there is no such service for you")
    before, whom = found[0].own, found[1]
    pasted = Pasted(Secret(asked.secret.get_secret_value()), asked.user, asked.provider)
    try:
        account = await connect.keys.connect(caller, module, asked.role_id, pasted, replace=asked.replace_account)
    except OtherAccount as other:
        raise Conflict(_OTHER.format(now=other.now, before=other.before)) from None
    except ConnectRefused as refused:
        trouble = TROUBLES_BY_KEY.get(refused.key, "setup")
        raise key_refusal(trouble, refused.title or found[0].needs.module.title) from None
    owner = caller.email if asked.role_id is None else f"role {whom.shared_with}"
    previous = None if before is None else before.name
    return KeyStored(
        module=module, owner=owner, account=account, replaced=before is not None, previous_account=previous
    )


_OTHER = (
    "this secret belongs to the account {now}, the stored one to {before}; say replace_account if that is meant. "
    "Nothing was stored"
)
