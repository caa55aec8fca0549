"""Ask a vendor whose account a secret belongs to: the harmless request that every module with a vendor names."""

import asyncio
import logging
from collections.abc import Container, Mapping

from broker.connections.api_keys import KeyProblem
from broker.oauth_client.token_response import resolve_text
from core.errors import Invalid, MCPistError
from core.http.credential_headers import CredentialScheme
from core.http.origins import get_origin
from core.log_events import describe_error
from core.secret import Secret
from gateway.vendor_session.client_factory import NO_ATTRIBUTES, VendorClientFactory
from modules.kit import ToolError, VendorApi, VendorProblem, VendorSettings

MAX_ACCOUNT_NAME_LENGTH = 200
_KEY_TROUBLES: Mapping[str, KeyProblem] = {
    "unauthorized": "not_accepted",
    "forbidden": "forbidden",
    "rate_limited": "busy",
    "unavailable": "away",
    "too_large": "away",
    "refused": "away",  # the address is not allowed, or there is none: nobody is told which
}


def classify_key_trouble(problem: ToolError) -> KeyProblem:
    """Return the reason why the vendor has not named the account of a key."""
    return _KEY_TROUBLES.get(problem.kind, "setup") if isinstance(problem, VendorProblem) else "away"


log = logging.getLogger(__name__)


def get_key_origins(api: VendorApi, settings: VendorSettings) -> tuple[str, ...]:
    """The origin that a secret which is stored now is for.

    Raises:
        core.errors.Invalid: the service's base URL is none.
    """
    try:
        return (get_origin(settings.base_url or api.base_url),)
    except ValueError:
        raise Invalid("the base URL of this service must look like https://host/path") from None


class UnleasedCredential:
    """Implements :class:`gateway.vendor_session.lease_source.LeaseSource` for a secret that no lease was made of; it is
    sent to `origins` alone."""

    version = 0

    def __init__(self, secret: Secret, scheme: CredentialScheme, origins: Container[str]) -> None:
        self.access_token = secret
        self.scheme = scheme
        self.origins = origins

    async def lease(self, rejected_version: int | None = None) -> "UnleasedCredential":
        if rejected_version is not None:  # there is no newer one, and a vendor may count failed attempts
            raise VendorProblem("unauthorized", "the vendor does not accept the secret")
        return self


async def fetch_vendor_account(
    sessions: VendorClientFactory,
    api: VendorApi,
    settings: VendorSettings,
    credential: UnleasedCredential,
    key: str,
    attributes: Mapping[str, str] = NO_ATTRIBUTES,
) -> str:
    """The account's name at the vendor. `key` names the credential in this process's limits; `attributes` are what is
    known of the connection.

    Raises:
        modules.kit.ToolError: the vendor does not accept the secret, or cannot be asked (a VendorProblem says which).
    """
    deadline = asyncio.get_running_loop().time() + settings.timeout
    client = sessions.create_client(api, settings, credential, key, deadline, attributes)
    try:
        account = resolve_text((await client.request("GET", api.account.path)).json(), api.account.name)
        if not account:
            raise VendorProblem("unavailable", "the vendor's answer does not name the account")
    except (ToolError, MCPistError):
        raise
    except Exception as error:  # noqa: BLE001 a module that takes apart another answer than it expects
        log.error("a module's account lookup failed", extra={"event": "account_lookup_failed", **describe_error(error)})
        raise VendorProblem("unavailable", "the vendor's answer does not have the documented form") from None
    return "".join(sign for sign in account if sign.isprintable()).strip()[:MAX_ACCOUNT_NAME_LENGTH]
