"""One guarded way out for all tests here, which may reach this machine's ports."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any, Protocol

import pytest

from broker.oauth_client.token_endpoint_client import HttpTokenEndpointClient
from broker.oauth_client.types import TokenResponse, TokenResult
from broker.oauth_client.vendor_http import VendorHttpClient
from core.http.outbound_addresses import AllowedAddresses
from core.secret import Secret
from tests.support.vendor_tokens import STYLES, VendorTokens, vendor_tokens

REDIRECT_URI = "https://mcpist.example/connect/callback/vendor"
VERIFIER = "a-verifier-of-at-least-forty-three-characters-0123456789"


class Ways(Protocol):
    """Makes an open way to the vendors of these URLs."""

    async def __call__(self, *urls: str, **more: Any) -> VendorHttpClient: ...


@pytest.fixture
async def way() -> AsyncIterator[Ways]:
    async with AsyncExitStack() as stack:

        async def opened(*urls: str, **more: Any) -> VendorHttpClient:
            listed = [url.partition("://")[2].split("/")[0] for url in urls]
            http = VendorHttpClient(AllowedAddresses.from_hosts(listed), **more)
            await http.open()
            stack.push_async_callback(http.close)
            return http

        yield opened


@pytest.fixture
async def vendor(request: pytest.FixtureRequest) -> AsyncIterator[VendorTokens]:
    """The vendor whose provider id is the parameter."""
    async with vendor_tokens(STYLES[request.param]) as running:
        yield running


@pytest.fixture
async def endpoint(vendor: VendorTokens, way: Ways) -> HttpTokenEndpointClient:
    return HttpTokenEndpointClient(await way(vendor.url))


async def connected(
    vendor: VendorTokens, endpoint: HttpTokenEndpointClient, *scopes: str, **more: Any
) -> TokenResponse:
    """A person has said yes, and the code was redeemed."""
    verifier = VERIFIER if vendor.style.pkce else ""
    code = vendor.state.consent(list(scopes), REDIRECT_URI, verifier, **more)
    answer = await endpoint.redeem_code(vendor.provider, vendor.client, Secret(code), REDIRECT_URI, Secret(VERIFIER))
    return granted(answer)


def granted(answer: TokenResult) -> TokenResponse:
    assert isinstance(answer, TokenResponse), answer
    return answer
