"""Handlers of resources/subscribe and resources/unsubscribe ([2025-11-25] Resources, Subscriptions)."""

from gateway.auth.tool_scopes import require_scope
from gateway.capabilities.resources import LOOKUP_KIND, build_not_found, parse_uri
from gateway.lookup_recorder import MissingName
from gateway.mcp.request_context import Handler, Params, RequestContext, Result
from gateway.sieve.sieve import Sieve
from gateway.streams.resource_subscriptions import ResourceSubscriptionStore
from gateway.tool_runner import ToolRunner


class SubscriptionMethods:
    """What a client has subscribed to. Only what a caller may read can be subscribed to; what is told later is decided
    when it is told."""

    def __init__(self, sieve: Sieve, runner: ToolRunner, store: ResourceSubscriptionStore) -> None:
        self._sieve = sieve
        self._runner = runner
        self._store = store

    def get_handlers(self) -> dict[str, Handler]:
        """Return the handlers by method."""
        return {"resources/subscribe": self._subscribe, "resources/unsubscribe": self._unsubscribe}

    async def _subscribe(self, request: RequestContext, params: Params) -> Result:
        """Subscribe. A resource that is hidden is as if made up.

        Raises:
            ProtocolError: there is none with this URI.
            gateway.mcp.errors.InsufficientScope: the credential lacks the scope.
        """
        uri = parse_uri(params)
        found = self._sieve.get_view(request.caller).find_resource(uri)
        if found is None:
            await self._runner.record_lookups(request, 1, [MissingName(LOOKUP_KIND, uri, b"{}")])
            raise build_not_found(uri)
        require_scope(request.caller, found[0].tool)
        await self._store.add(request.caller, uri)
        return {}

    async def _unsubscribe(self, request: RequestContext, params: Params) -> Result:
        """Subscribe no more; what was not subscribed to, or never existed, answers alike."""
        await self._store.remove(request.caller, parse_uri(params))
        return {}
