"""Ask a vendor whose account a secret belongs to: the harmless request that every module with a vendor names."""

import asyncio

from core.secret import Secret
from gateway.vendor_session.session import VendorSessions
from modules.kit import VendorApi, VendorProblem, VendorSettings

MOST_ACCOUNT = 200


class _OneSecret:
    """Implements :class:`gateway.vendor_session.client.LeaseSource` for a secret that no lease was made of."""

    version = 0

    def __init__(self, secret: Secret) -> None:
        self.access_token = secret

    async def lease(self, rejected_version: int | None = None) -> "_OneSecret":
        if rejected_version is not None:  # there is no newer one, and a vendor may count failed attempts
            raise VendorProblem("unauthorized", "the vendor does not accept the secret")
        return self


async def account_of(
    sessions: VendorSessions, api: VendorApi, settings: VendorSettings, secret: Secret, key: str
) -> str:
    """The account's name at the vendor. `key` names the credential in this process's limits.

    Raises:
        modules.kit.ToolError: the vendor does not accept the secret, or cannot be asked (a VendorProblem says which).
    """
    deadline = asyncio.get_running_loop().time() + settings.timeout
    account = await api.account(sessions.client(api, settings, _OneSecret(secret), key, deadline))
    return "".join(sign for sign in account if sign.isprintable()).strip()[:MOST_ACCOUNT]
