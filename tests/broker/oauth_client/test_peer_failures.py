"""What has gone wrong in other gateways, played back: each is told apart, and none is silent."""

import pytest

from broker.oauth_client.token_endpoint_client import HttpTokenEndpointClient
from broker.oauth_client.types import ErrorClass, TokenResponse
from tests.broker.oauth_client.conftest import Ways, connected
from tests.support.vendor_tokens import STYLES, vendor_tokens
from tests.support.vendor_tokens.failures import FAILURES, PeerFailure

SEEN_AS = {
    None: {"connected"},
    ErrorClass.PERMANENT: {"needs_reauth"},
    ErrorClass.SERVICE: {"service_misconfigured"},
    ErrorClass.THROTTLED: {"vendor_down"},
    ErrorClass.NOT_SENT: {"vendor_down"},
    ErrorClass.UNCERTAIN: {"refreshing", "vendor_down"},
}


@pytest.mark.parametrize("failure", FAILURES, ids=lambda one: one.id)
@pytest.mark.reuse("some failures of others are a spent token that was shown again")
async def test_a_failure_of_others_is_told_apart(failure: PeerFailure, way: Ways) -> None:
    async with vendor_tokens(STYLES[failure.vendor]) as vendor:
        endpoint = HttpTokenEndpointClient(await way(vendor.url, seconds=0.5))
        client = vendor.client
        first = await connected(vendor, endpoint, "one")
        assert first.tokens.refresh_token is not None
        if failure.spent:
            await endpoint.refresh(vendor.provider, client, first.tokens.refresh_token)
        failure.does(vendor)
        answer = await endpoint.refresh(vendor.provider, client, first.tokens.refresh_token)
        if failure.cls is None:
            assert isinstance(answer, TokenResponse), answer
            assert answer.tokens.expires_in
        else:
            assert not isinstance(answer, TokenResponse)
            assert (answer.error_class, answer.reason) == (failure.cls, failure.reason)
            assert answer.exchange.as_json()["reason"] == failure.reason


def test_the_list_agrees_with_itself() -> None:
    assert len({failure.id for failure in FAILURES}) == len(FAILURES) >= 20
    assert all(failure.state in SEEN_AS[failure.cls] for failure in FAILURES)
