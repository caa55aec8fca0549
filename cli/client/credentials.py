"""Credentials at a server: one's own, and for administrators those that roles share."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from broker.connections.api_keys import PastedKey
from broker.disconnect.disconnect_service import DisconnectResult
from broker.web.key_errors import render_key_error
from cli.client.admin_api import AdminApiClient
from cli.client.me import fetch_profile
from cli.client.roles import fetch_role
from cli.client.services import require_vendor
from cli.client.users import resolve_user
from core.errors import Conflict, Forbidden, Invalid, LimitReached, MCPistError, NotFound, Unavailable


class RemoteCredential(msgspec.Struct, frozen=True):
    """All that may be shown of a credential."""

    id: UUID
    module: str
    type: str
    provider: str
    kind: str
    owner: str
    account: str
    state: str
    cause: str
    created_at: datetime
    updated_at: datetime
    last_used_at: datetime | None


class _StoredView(msgspec.Struct, frozen=True):
    module: str
    account: str
    replaced: bool
    previous_account: str | None


@dataclass(frozen=True, slots=True)
class CredentialTestResult:
    """What a vendor said of a stored credential. `message` is for a person; `state` is as it is stored from now on."""

    kind: str
    owner: str
    works: bool
    account: str
    state: str
    message: str


class _TestView(msgspec.Struct, frozen=True):
    works: bool
    state: str
    account: str
    message: str


def fetch_credentials(api: AdminApiClient, module: str | None = None) -> list[RemoteCredential]:
    """Everybody's, for an administrator; else one's own and those that one's roles share."""
    administers = api.is_operator or fetch_profile(api).system_role == "admin"
    credentials = list(api.iterate("/credentials", RemoteCredential, all_owners="true" if administers else None))
    matching = [credential for credential in credentials if module in (None, credential.module)]
    if module is not None and not matching and administers:
        require_vendor(api, module)
    return matching


def check_owner(api: AdminApiClient, module: str, user: str | None, role: str | None) -> None:
    """Check that there is such an owner and module, and that a person gives a key of their own.

    Raises:
        NotFound: there is no such module, user or role.
        Forbidden: a person sets the key of another user.
    """
    if role is not None:
        fetch_role(api, role)
    if api.is_operator:
        require_vendor(api, module)
        if user is not None:
            resolve_user(api, user)
        return
    own_email = fetch_profile(api).email
    if user is not None and user.lower() != own_email:
        raise Forbidden(f"at a server people give their own keys, and you are {own_email}: they can do it at /connect")


def store_credential(
    api: AdminApiClient,
    module: str,
    user: str | None,
    role: str | None,
    key: PastedKey,
    *,
    test: bool,
    replace_account: bool,
) -> Mapping[str, Any]:
    """Store a key, which the vendor has accepted unless the operator says otherwise; what is printed.

    Raises:
        Invalid: a person does not want the vendor to be asked.
    """
    if not test and not api.is_operator:
        raise Invalid("at a server the vendor is always asked: leave out --no-test")
    check_owner(api, module, user, role)
    role_id = None if role is None else str(fetch_role(api, role).id)
    body: dict[str, Any] = {
        "secret": key.secret.reveal(),
        "username": key.user,
        "provider": key.provider,
        "role_id": role_id,
        "allow_account_change": replace_account,
    }
    missing = f"there is no service {module[:100]!r} that takes a key, for you or that role"
    if api.is_operator:
        body |= {"check": test, "user_id": None if user is None else resolve_user(api, user).id}
        missing = (
            f"{module[:100]} takes no key of {user or f'role {role}'}: enable it by `mcpist service enable {module}`, "
            f"and allow it to them by `mcpist role allow ROLE {module}:read`"
        )
    try:
        response = api.change("PUT", "/services/{}/credential", body, module, missing=missing)
    except (Conflict, Forbidden, Invalid, Unavailable) as error:
        raise _name_options(error, api.is_operator) from None
    result = msgspec.convert(response.json(), _StoredView)
    return {
        "module": result.module,
        "owner": user or f"role {role}",
        "account": result.account,
        "tested": test,
        "replaced": result.replaced,
        "previous_account": result.previous_account,
    }


def _name_options(error: MCPistError, is_operator: bool) -> MCPistError:
    """Return the API's error with the command's options that help."""
    text = str(error).replace("send allow_account_change", "add --replace-account")
    if text.startswith(render_key_error("user", "@").partition("@")[0]):
        text = f"{text}; give it by --key-user NAME, or leave out --key-user where the vendor wants none"
    elif is_operator and isinstance(error, Forbidden | Unavailable) and text.endswith("Nothing was stored"):
        text = f"{text}; --no-test stores it without asking the vendor"
    return type(error)(text)


def check_credentials(
    api: AdminApiClient, module: str, user: str | None, role: str | None
) -> list[CredentialTestResult]:
    """Ask the vendor about stored credentials of a module: all, or those of one owner.

    Raises:
        NotFound: there is none.
    """
    credentials = fetch_credentials(api, module)
    if user is not None or role is not None:
        owner = ("shared", role) if user is None else ("personal", user.lower())
        credentials = [credential for credential in credentials if (credential.kind, credential.owner) == owner]
    elif not api.is_operator and fetch_profile(api).system_role != "admin":
        credentials = [
            credential for credential in credentials if credential.kind == "personal"
        ]  # administrators test what roles share
    if not credentials:
        raise NotFound(f"there is no such credential for {module}; `mcpist credential set {module}` stores one")
    return [_test_credential(api, credential) for credential in credentials]


def _test_credential(api: AdminApiClient, credential: RemoteCredential) -> CredentialTestResult:
    try:
        response = api.change("POST", "/credentials/{}/test", None, str(credential.id))
    except LimitReached as error:  # the results before it count
        return CredentialTestResult(
            credential.kind, credential.owner, False, credential.account, credential.state, f"not tested: {error}"
        )
    result = msgspec.convert(response.json(), _TestView)
    return CredentialTestResult(
        credential.kind, credential.owner, result.works, result.account, result.state, result.message
    )


def remove_credential(api: AdminApiClient, module: str, user: str | None, role: str | None) -> DisconnectResult:
    """Delete a credential; return how the revocation at the vendor ended.

    Raises:
        NotFound: there is none.
    """
    owner = ("shared", role) if user is None else ("personal", user.lower())
    for credential in fetch_credentials(api, module):
        if (credential.kind, credential.owner) == owner:
            removal = api.delete("/credentials/{}", str(credential.id)).json()
            return DisconnectResult(
                (module,), removal["revocation"], str(removal["manage_url"]), credential.provider, credential.account
            )
    raise NotFound(f"there is no such credential for {module[:63]!r}; `mcpist credential list` shows them")
