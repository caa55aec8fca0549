"""Keys of vendors that the caller's tenant has, leased from the broker for each use."""

from collections.abc import Mapping

from broker.interface import TenantKeyBroker, TenantKeyLease
from core.http.origins import is_within_origins
from core.secret import Secret
from gateway.mcp.request_context import RequestContext


class TenantKeys:
    """Asks the broker in the name of a request's caller, by their own credential or their job's mandate. `urls` are
    where this process sends keys, by kind: one that may not be sent there is not handed out, and neither is one of a
    kind without a URL. Nothing is kept: a key that is removed is not used again."""

    def __init__(self, broker: TenantKeyBroker, urls: Mapping[str, str]) -> None:
        self._broker = broker
        self._urls = urls

    async def get(self, request: RequestContext, kind: str) -> Secret | None:
        """Return the key of a kind, such as ``voyage``, of the caller's tenant; None if it has none, or the caller's
        credential does not count any more.

        Raises:
            core.errors.Unavailable: the broker, its database or a key cannot be reached.
        """
        url, subject = self._urls.get(kind), request.subject
        if url is None or subject is None:
            return None
        found = await self._broker.lease_tenant_key(subject, kind)
        if not isinstance(found, TenantKeyLease) or not is_within_origins(url, found.origins):
            return None
        return found.key
