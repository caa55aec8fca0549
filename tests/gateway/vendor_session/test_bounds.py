"""Where a credential may be sent, and the placeholders of a base URL."""

import pytest

from core.secret import Secret
from gateway.vendor_session.vendor_problems import OriginNotAllowed
from modules.kit import VendorApi, VendorProblem, VendorSettings
from tests.gateway.vendor_session.conftest import NO_ACCOUNT, Bench, FakeLease
from tests.gateway.vendor_session.doubles import answering


class Bound:
    """A lease for these origins; the second one that is asked for is for others."""

    def __init__(self, *origins: str) -> None:
        self.origins = list(origins)

    async def lease(self, rejected_version: int | None = None) -> FakeLease:
        return FakeLease(1 if rejected_version is None else 2, Secret("bound-3f"), (self.origins.pop(0),))


async def test_a_credential_is_sent_nowhere_else(bench: Bench) -> None:
    api = VendorApi(bench.vendor.url, NO_ACCOUNT)
    for origin in ("https://api.vendor.test", "", bench.vendor.url + "/", bench.vendor.url.replace("http", "https")):
        with pytest.raises(OriginNotAllowed):
            await bench.sessions.create_client(api, VendorSettings(), Bound(origin), "k").request("GET", "/x")
    assert bench.vendor.requests == []
    answer = await bench.sessions.create_client(api, VendorSettings(), Bound(bench.vendor.url), "k").request(
        "GET", "/x"
    )
    assert answer.status == 200


async def test_a_lease_without_origins_is_sent_nowhere(bench: Bench) -> None:
    api = VendorApi(bench.vendor.url, NO_ACCOUNT)

    class Unbound:
        async def lease(self, rejected_version: int | None = None) -> FakeLease:
            return FakeLease(1, Secret("bound-3f"), ())

    with pytest.raises(OriginNotAllowed):
        await bench.sessions.create_client(api, VendorSettings(), Unbound(), "k").request("GET", "/x")
    assert bench.vendor.requests == []


async def test_a_lease_that_is_given_after_a_refusal_is_looked_at_too(bench: Bench) -> None:
    api = VendorApi(bench.vendor.url, NO_ACCOUNT)
    bench.vendor.scripts = [answering(401)]
    client = bench.sessions.create_client(api, VendorSettings(), Bound(bench.vendor.url, "https://elsewhere.test"), "k")
    with pytest.raises(OriginNotAllowed):
        await client.request("GET", "/x")
    assert len(bench.vendor.requests) == 1


async def test_a_base_url_is_filled_by_what_is_known_of_the_connection(bench: Bench) -> None:
    api = VendorApi(bench.vendor.url + "/ex/jira/{site}/rest", NO_ACCOUNT)
    attributes = {"site": "11223344-a1b2.c_d~e", "site_url": "https://acme.vendor.test"}
    client = bench.sessions.create_client(api, VendorSettings(), bench.leases, "k", attributes=attributes)
    await client.request("GET", "/issue")
    assert bench.vendor.requests[0].target == "/ex/jira/11223344-a1b2.c_d~e/rest/issue"
    assert await client.get_connection() == attributes


@pytest.mark.parametrize("site", ["", ".", "..", "a/b", "a%2fb", "a?b", "a#b", "a b", "ä", "x" * 201, "{site}", "a\n"])
async def test_what_is_no_part_of_a_path_fills_none(bench: Bench, site: str) -> None:
    api = VendorApi(bench.vendor.url + "/ex/{site}", NO_ACCOUNT)
    with pytest.raises(VendorProblem, match="has no site"):
        bench.sessions.create_client(api, VendorSettings(), bench.leases, "k", attributes={"site": site})
    assert bench.vendor.requests == []


@pytest.mark.parametrize(
    "base_url",
    [
        "https://{site}.vendor.test",
        "https://{site}",
        "https://api.vendor.test:{port}/x",
        "https://a.test/{",
        "https://a.test/{A}",
    ],
)
def test_a_placeholder_is_in_the_path_alone(base_url: str) -> None:
    with pytest.raises(TypeError):
        VendorApi(base_url, NO_ACCOUNT)
